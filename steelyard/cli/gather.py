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


@takes(EquationOptions, panel="Robot and equations", only=SHARED)
def gather(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs of any length: .parquet, .csv, .csv.gz.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Information file to write, .npz.")],
    options: EquationOptions,
    threads: Annotated[int, typer.Option(min=1, help="Number of threads.")] = 1,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accumulate the information of logs larger than memory.

    Reads them in pieces, and writes their square-root information to one file.
    """
    from steelyard.errors import Finding, UsageError
    from steelyard.files import Staging
    from steelyard.fleet.gathering import stream_many
    from steelyard.fleet.log_stream import stream_log
    from steelyard.fleet.workers import Workers

    if threads > 1 and (scheduler is not None or (workers or 1) > 1):
        what, fix = "excludes --workers and --scheduler: a worker has one thread", "Drop --threads, or drop those"
        raise UsageError(Finding("option-conflict", f"--threads {threads}", what, fix))
    if out.suffix != ".npz" or out.resolve() in [log.resolve() for log in logs]:
        what, fix = "must be a new file that ends in .npz", "Give another name"
        raise UsageError(Finding("option-value", f"-o {out}", what, fix))
    with Workers.of(workers, scheduler) as crew, shown_bar("reading") as progress:
        if crew.is_local:
            gathered = stream_log(robot, logs, options, threads=threads, progress=progress)
        else:
            gathered = stream_many(robot, [str(log) for log in logs], options, crew, progress)
    weights = gathered.weights()
    information = gathered.channels.information(weights)
    with Staging(out.parent) as staging:
        information.save(staging.path(out.name))
    sigma = {name: 1 / float(w) for name, w in zip(gathered.channels.names, weights, strict=True)}
    if as_json:
        print(json.dumps({"rows": information.rows, "seconds": gathered.seconds, "noise": sigma, "file": str(out)}))
        return
    print_table(["equation", "noise, N·m or N"], [[name, f"{s:.3g}"] for name, s in sigma.items()])
    print(f"{information.rows} rows of {gathered.seconds:.1f} s, {information.n} parameters: {out}")
