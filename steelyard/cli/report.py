"""``steelyard report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results of `identify` or `load`.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="HTML file to write; default DIR/report.html.")
    ] = None,
) -> None:
    """Write the HTML report of results again."""
    from steelyard.files import write_text
    from steelyard.identify.estimate_json import read_estimate
    from steelyard.identify.series import load_series
    from steelyard.output.report.page import render
    from steelyard.output.scene_file import read_scene

    estimate = read_estimate(folder)
    series = load_series(folder / "series.npz") if (folder / "series.npz").exists() else []
    path = out or folder / "report.html"
    write_text(path, render(estimate, series, scene=read_scene(folder)))
    print(path)
