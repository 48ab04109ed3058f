"""``steelyard identify``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import (
    JsonOption,
    MappingOption,
    OutOption,
    RobotArgument,
    SchedulerOption,
    TopicOption,
    files_of,
    read_bags,
    topics_of,
)
from steelyard.cli.derived_options import METHOD_PANEL, in_panels, takes, takes_method
from steelyard.cli.terminal import command_line, finish, shown_progress
from steelyard.identify.method import Method
from steelyard.identify.options import Options, RangeOptions

PANELS = {
    "": ("out", "validate", "friction", "links", "method", "no_report", "as_json"),  # most used
    "Robot and equations": ("base", "equations", "feet", "lock", "gravity", "cutoff", "kinematics_cutoff", "delay"),
    "Prior and weights": (
        "prior",
        "prior_weight",
        "prior_space",
        "prior_width",
        "total_mass",
        "repair_prior",
        "robust",
        "hold_out",
        "despite",
    ),
    METHOD_PANEL: (),
    "Ranges": ("ranges", "ranges_inside", "ranges_together"),
    "Foreign logs": ("mapping", "topic"),
    "Many logs": (
        "earlier",
        "listed_logs",
        "workers",
        "scheduler",
        "skip_unreadable",
        "checkpoint",
        "bootstrap",
    ),
}


@in_panels(PANELS)
@takes_method
@takes(Options)
@takes(RangeOptions, name="ranges")
def identify(
    robot: RobotArgument,
    out: OutOption,
    options: Options,
    method: Method,
    ranges: RangeOptions,
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOG…", help="Logs: .parquet, .csv, .csv.gz, .npz or a bag; also quoted patterns."),
    ] = None,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Held-out log to predict; repeatable.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Result of an earlier run, whose information is added.")
    ] = None,
    mapping: MappingOption = None,
    topic: TopicOption = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Read each log once, in N processes, in constant memory."),
    ] = None,
    scheduler: SchedulerOption = None,
    listed_logs: Annotated[
        Path | None,
        typer.Option("--logs", metavar="FILE", help="Text file with a log, pattern or URL on each line."),
    ] = None,
    skip_unreadable: Annotated[
        bool,
        typer.Option("--skip-unreadable", help="Skip logs that cannot be used, and list them."),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder or URL that keeps the information of each log, so that a later run resumes.",
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(metavar="N", help="Standard deviations from N fits to resampled logs."),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Identify inertial parameters from logs of a robot's motion.

    Writes estimate.json, the robot as robot.urdf and robot.xml, and report.html.
    """
    from steelyard.fleet.locations import expand_logs, is_url
    from steelyard.identify.identification import identify as run
    from steelyard.identify.job import Job
    from steelyard.output.results import refuse_overwriting, write_results

    options = replace(options, method=method)
    shapes = getattr(method, "file", None)
    read = [f for f in (mapping, listed_logs, shapes and Path(shapes.source)) if f]
    inputs = [*(validate or []), *read, *files_of(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen, names = topics_of(topic), logs or []
    held_out = read_bags(validate or [], chosen)
    job = Job(ranges=ranges, command=command_line(), save_problem=problem_file(out))
    fleet = (workers, scheduler, listed_logs, checkpoint, bootstrap)  # any of them: read each log once, keep its sums
    if skip_unreadable or any(x is not None for x in fleet) or any(map(is_url, names)):
        from steelyard.cli.many_logs import Work, identify_many_logs

        work = Work(workers, scheduler, listed_logs, skip_unreadable, checkpoint, bootstrap, mapping, chosen, earlier)
        work = replace(work, report=not no_report)
        result, files = identify_many_logs(robot, names, options, work, out, validate=held_out, job=job)
        finish(result, files, as_json)
    given = [Path(name) for name in expand_logs(names)]
    refuse_overwriting(out, given)
    files_in = read_bags(given, chosen)
    with shown_progress() as progress:
        job = replace(job, progress=progress)
        if earlier is None:
            result = run(robot, files_in, options, validate=held_out, mapping=mapping, job=job)
        else:
            from steelyard.identify.resume import identify_further

            result = identify_further(robot, files_in, earlier, options, validate=held_out, mapping=mapping, job=job)
        progress("writing")
        files = write_results(result, out, report=not no_report)
    finish(result, files, as_json)


def problem_file(out: Path) -> Path:
    """File beside the results for a problem whose solution fails its certificate; no results are written then."""
    return out.resolve().with_name(out.resolve().name + ".problem.npz")
