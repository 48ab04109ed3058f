"""``steelyard search``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, RobotArgument, SchedulerOption, WorkersOption
from steelyard.cli.derived_options import takes
from steelyard.cli.terminal import print_table, shown_progress
from steelyard.experiment.search.search_options import SearchOptions


@takes(SearchOptions)
def search(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Positions and torques; velocities if measured.")],
    options: SearchOptions,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Another motion to predict; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for search.json, robot.urdf, checkpoint.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in -o DIR.")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search parameters with which simulation ends where the robot did, and say what prediction cannot see."""
    from steelyard.experiment.search.prediction_search import search as run
    from steelyard.fleet.workers import Workers
    from steelyard.output.results import refuse_overwriting
    from steelyard.output.search_files import CHECKPOINT, write_search

    if out is not None:
        refuse_overwriting(out, logs)
    with shown_progress() as progress, Workers.asked(workers, scheduler) as crew:
        result = run(
            robot,
            logs,
            options,
            validate=validate or (),
            checkpoint=None if out is None else out / CHECKPOINT,
            resume=resume,
            progress=progress,
            workers=crew,
        )
    files = write_search(result, out) if out is not None else []
    content = result.as_json()
    if as_json:
        print(json.dumps(content, indent=1, allow_nan=False))
        return
    f, see = result.found, result.sight
    print_table(["link", "parameter", "start", "found", "who says so"], result.rows())
    print(
        f"GC error {f.start:.4g} at the start, {f.error:.4g} found: {f.reduction:.3g} times less "
        f"({f.algorithm}, {f.evaluations} evaluations)"
    )
    for log, (before, after) in result.held_out.items():
        print(f"held out {log}: GC error a window {before:.4g} at the start, {after:.4g} found")
    if truth := content.get("truth"):
        p, b = truth["parameter_error"], truth["base_error"]
        print(
            f"the truth is known: parameter error {p['start']['relative']:.3g} at the start, "
            f"{p['found']['relative']:.3g} found; base-parameter error {b['start']:.3g}, then {b['found']:.3g}"
        )
    never = [name for name, how in see.seen.items() if how == "never"]
    mixed = sum(how == "combined" for how in see.seen.values())
    print(
        f"prediction sees {see.space.rank} of {len(see.names)} directions; {mixed} parameters only in combination; "
        f"never: {', '.join(never) or 'none'}"
    )
    if files:
        print("written: " + ", ".join(map(str, files)))
    print(f"\n{result.sentence()}")
