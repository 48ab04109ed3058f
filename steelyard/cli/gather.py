"""``steelyard gather``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, RobotArgument, SchedulerOption, WorkersOption
from steelyard.cli.derived_options import takes
from steelyard.cli.terminal import print_table, shown_bar
from steelyard.equations.equation_options import EquationOptions

SHARED = ("base", "equations", "friction", "feet", "lock", "filter")


@takes(EquationOptions, panel="What is gathered", only=SHARED)
def gather(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs of any length: .parquet, .csv, .csv.gz.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Information to write, .npz.")],
    options: EquationOptions,
    threads: Annotated[int, typer.Option(min=1, help="Threads that share the samples.")] = 1,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep what logs larger than memory say about a robot: reads them in pieces, writes their information."""
    from steelyard.errors import Finding, UsageError
    from steelyard.files import Staging
    from steelyard.fleet.gathering import stream_many
    from steelyard.fleet.log_stream import stream_log
    from steelyard.fleet.workers import Workers

    if threads > 1 and (scheduler is not None or (workers or 1) > 1):
        what = "are of this process, and workers have one each"
        raise UsageError(Finding("todo", f"--threads {threads}", what, "Drop it, or drop --workers and --scheduler"))
    if out.suffix != ".npz" or out.resolve() in [log.resolve() for log in logs]:
        raise UsageError(
            Finding("todo", f"-o {out}", "is no place for information", "Name a new file that ends in .npz")
        )
    with Workers.asked(workers, scheduler) as crew, shown_bar("reading") as progress:
        if crew.here:
            found = stream_log(robot, logs, options, threads=threads, progress=progress)
        else:
            found = stream_many(robot, [str(log) for log in logs], options, crew, progress)
    weights = found.weights()
    information = found.channels.information(weights)
    with Staging(out.parent) as staging:
        information.save(staging.path(out.name))
    sigma = {name: 1 / float(w) for name, w in zip(found.channels.names, weights, strict=True)}
    if as_json:
        print(json.dumps({"rows": information.rows, "seconds": found.seconds, "noise": sigma, "file": str(out)}))
        return
    print_table(["equation", "noise, N·m or N"], [[name, f"{s:.3g}"] for name, s in sigma.items()])
    print(f"{information.rows} rows of {found.seconds:.1f} s about {information.n} parameters: {out}")
