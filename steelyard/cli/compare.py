"""``steelyard compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption
from steelyard.cli.terminal import print_table


def compare(
    a: Annotated[Path, typer.Argument(help="Results of `identify` (folder or estimate.json), or a robot description.")],
    b: Annotated[Path, typer.Argument(help="Another of these, to compare with.")],
    as_json: JsonOption = False,
) -> None:
    """Compare two estimates or descriptions, in standard deviations."""
    from steelyard.output.comparison import compare as compared

    differences = compared(a, b)
    if as_json:
        print(json.dumps([d.as_json() for d in differences], indent=1, allow_nan=False))
        return
    rows = [
        [
            d.body,
            f"{d.mass[0]:.3f} ({d.sources[0]})",
            f"{d.mass[1]:.3f} ({d.sources[1]})",
            f"{1e3 * d.com_distance:.1f}",
            f"{100 * d.inertia_distance:.0f} %",
            "—" if d.deviations is None else f"{d.deviations:.1f} σ",
        ]
        for d in differences
    ]
    print_table(
        [
            "body",
            f"mass in A, kg ({a})",
            f"mass in B, kg ({b})",
            "CoM distance, mm",
            "inertia distance",
            "largest deviation",
        ],
        rows,
    )
    widths = [d.deviations for d in differences if d.deviations is not None]
    if widths:
        print(f"\n{sum(w <= 3 for w in widths)} of {len(widths)} bodies agree within three standard deviations.")
