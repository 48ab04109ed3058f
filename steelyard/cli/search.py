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
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG…", help="Logs of positions and torques; velocities if measured.")
    ],
    options: SearchOptions,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Held-out log to predict; repeatable.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder for search.json, robot.urdf and the checkpoint."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint in -o DIR.")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for parameters that minimise the simulation error.

    Also reports which parameters the error does not depend on.
    """
    from steelyard.experiment.search.prediction_search import search as run
    from steelyard.fleet.workers import Workers
    from steelyard.output.results import refuse_overwriting
    from steelyard.output.search_files import CHECKPOINT, write_search

    if out is not None:
        refuse_overwriting(out, logs)
    with shown_progress() as progress, Workers.of(workers, scheduler) as crew:
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
    f, see = result.optimum, result.observability
    print_table(["link", "parameter", "start", "estimate", "source"], result.rows())
    print(
        f"GC error {f.start:.4g} at the start, {f.error:.4g} at the optimum: {f.reduction:.3g} times smaller "
        f"({f.algorithm}, {f.evaluations} evaluations)"
    )
    for log, (before, after) in result.held_out.items():
        print(f"held out {log}: GC error per window {before:.4g} at the start, {after:.4g} at the optimum")
    if truth := content.get("truth"):
        p, b = truth["parameter_error"], truth["base_error"]
        print(
            f"against the truth: parameter error {p['start']['relative']:.3g} at the start, "
            f"{p['found']['relative']:.3g} at the optimum; base-parameter error {b['start']:.3g}, then {b['found']:.3g}"
        )
    never = [name for name, how in see.dependence.items() if how == "never"]
    mixed = sum(how == "combined" for how in see.dependence.values())
    print(
        f"simulation error depends on {see.space.rank} of {len(see.names)} directions; {mixed} parameters only in "
        f"combination; not at all on: {', '.join(never) or 'none'}"
    )
    if files:
        print("written: " + ", ".join(map(str, files)))
    print(f"\n{result.sentence()}")
