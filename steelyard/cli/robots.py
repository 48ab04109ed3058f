"""``steelyard robots``."""

from __future__ import annotations

import json

from steelyard.cli.arguments import JsonOption
from steelyard.cli.terminal import print_table


def robots(as_json: JsonOption = False) -> None:
    """List the names that can be given as ROBOT."""
    from steelyard.robot.index import robots as index

    entries = index()
    if as_json:
        print(json.dumps([{**e._asdict(), "path": str(e.path) if e.path else None} for e in entries], indent=1))
        return
    print_table(
        ["name", "kind", "base", "joints", "source"],
        [
            [
                e.name,
                e.kind,
                e.base,
                "—" if e.joints is None else str(e.joints),
                e.source if e.path else f"{e.source} (not installed)",
            ]
            for e in entries
        ],
    )
    if any(e.path is None for e in entries):
        print('\nInstall the missing robots: pip install "steelyard[robots]"')
