"""Verbs that weigh: identify, load, gather."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from steelyard.cli.arguments import (
    BaseKind,
    EquationKind,
    FrictionKind,
    InsideOption,
    JsonOption,
    MappingOption,
    MethodKind,
    NullSpaceKind,
    OutOption,
    PriorKind,
    PriorSpaceKind,
    PriorWidthKind,
    RangesOption,
    RegularisationKind,
    RobotArgument,
    SchedulerOption,
    TogetherOption,
    TopicOption,
    WithinKind,
    WorkersOption,
    bags,
    count,
    listed,
    locks,
    positive,
    topics_of,
    written,
)
from steelyard.cli.terminal import print_bodies, print_end, print_table, shown_bar, shown_progress

if TYPE_CHECKING:
    from steelyard.cli.fleet import Work
    from steelyard.equations.setup import Options
    from steelyard.identify.identify import Identification
    from steelyard.log.log import Log


def identify(
    robot: RobotArgument,
    out: OutOption,
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOG…", help="Logs: .parquet, .csv, .csv.gz, .npz, or a bag; also quoted patterns."),
    ] = None,
    base: Annotated[BaseKind, typer.Option(help="Whether the base moves.")] = "auto",
    links: Annotated[
        list[str] | None, typer.Option(metavar="L,…", help="Bodies to identify (L,…); the others stay as described.")
    ] = None,
    equations: Annotated[EquationKind, typer.Option(help="Which rows to use.")] = "auto",
    method: Annotated[MethodKind, typer.Option(help="What a link may be.")] = "lmi",
    prior: Annotated[PriorKind, typer.Option(help="What is believed beforehand.")] = "cad",
    regularisation: Annotated[
        RegularisationKind, typer.Option(help="How the prior pulls; entropic with method lmi only.")
    ] = "quadratic",
    ellipsoid: Annotated[
        bool, typer.Option("--ellipsoid", help="All mass inside an ellipsoid around each body's box (method lmi).")
    ] = False,
    total_mass: Annotated[
        float | None, typer.Option(metavar="KG", help="Weighed mass of all moving bodies (method constrained).")
    ] = None,
    hard_mass: Annotated[
        bool, typer.Option("--hard-mass", help="The total mass holds exactly (method constrained).")
    ] = False,
    symmetric: Annotated[
        list[str] | None,
        typer.Option(metavar="L=R,…", help="Bodies that mirror each other, or auto (method constrained)."),
    ] = None,
    null_space: Annotated[
        NullSpaceKind, typer.Option(help="Where least-squares and --prior-space null take the unseen directions from.")
    ] = "structure",
    prior_space: Annotated[
        PriorSpaceKind, typer.Option(help="Where the prior pulls: everywhere, or only where no row sees anything.")
    ] = "all",
    prior_width: Annotated[
        PriorWidthKind, typer.Option(help="How far off the prior may be: by a body's inertia, or by its box.")
    ] = "inertia",
    prior_weight: Annotated[float, typer.Option(metavar="X", help="Weight of the bodies' prior.")] = 1.0,
    points: Annotated[
        str, typer.Option(metavar="N", help="Method points: masses along each edge, 2 to 9, or auto.")
    ] = "3",
    points_in: Annotated[WithinKind, typer.Option(help="Method points: where masses may be.")] = "box",
    point_ridge: Annotated[
        float, typer.Option(metavar="X", help="Method points: pull of each single mass, 0 for none.")
    ] = 1e-3,
    shapes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Method shapes: TOML with shapes of links to begin with.")
    ] = None,
    divisions: Annotated[int | None, typer.Option(metavar="N", help="Method shapes: divide at most so often.")] = None,
    friction: Annotated[FrictionKind, typer.Option(help="Joint terms identified along with the links.")] = "none",
    feet: Annotated[
        list[str] | None, typer.Option(metavar="F,…", help="Frames that may touch; also F:point:RADIUS, F:surface.")
    ] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=Q", help="Hold a joint at a value (rad or m).")] = None,
    repair_prior: Annotated[bool, typer.Option(help="Make unphysical bodies of the description physical.")] = False,
    robust: Annotated[bool, typer.Option(help="Let outliers count less (Huber loss).")] = False,
    cutoff: Annotated[float | None, typer.Option(metavar="HZ", help="Low-pass of both sides of the equations.")] = None,
    kinematics_cutoff: Annotated[float | None, typer.Option(metavar="HZ", help="Low-pass of the motion.")] = None,
    delay: Annotated[
        float, typer.Option(metavar="S", help="Seconds by which torques come after the motion (`check` measures it).")
    ] = 0.0,
    gravity: Annotated[
        tuple[float, float, float] | None, typer.Option(metavar="X Y Z", help="m/s², of a tilted fixed base.")
    ] = None,
    validate: Annotated[list[Path] | None, typer.Option(metavar="LOG", help="Held-out log; may be repeated.")] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(metavar="S", help="Hold every third S seconds of each log out of the fit, and predict them."),
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="What `identify` found earlier: its information adds.")
    ] = None,
    ranges: RangesOption = "none",
    ranges_inside: InsideOption = False,
    ranges_together: TogetherOption = False,
    mapping: MappingOption = None,
    topic: TopicOption = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Read each log once, in N processes, and keep only sums.")
    ] = None,
    scheduler: SchedulerOption = None,
    listed_logs: Annotated[
        Path | None, typer.Option("--logs", metavar="FILE", help="Text file with a log, pattern or URL on every line.")
    ] = None,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave logs out that cannot be used, and name them.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Keep what each log said, here or at a URL; a later run goes on from it."),
    ] = None,
    bootstrap: Annotated[
        int | None, typer.Option(metavar="N", help="Draw the logs again N times and fit each: how far results spread.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Identify a robot from logs of its motion: writes estimate.json, robot.urdf, report.html and more."""
    from steelyard.cli.fleet import Work
    from steelyard.compose.shape_file import read_shapes
    from steelyard.equations.prepare import Filter
    from steelyard.equations.setup import Options
    from steelyard.fleet.locations import expand, is_url
    from steelyard.output.results import refuse_overwriting

    options = Options(
        base=base, equations=equations, method=method, prior=prior,
        regularisation=regularisation, realisable=ellipsoid, total_mass=total_mass, hard_mass=hard_mass,
        symmetric=listed(symmetric), null_space=null_space, friction=friction,
        prior_space=prior_space, prior_width=prior_width, prior_weight=prior_weight,
        points=count(points), points_in=points_in, point_ridge=point_ridge,
        links=listed(links), feet=listed(feet), lock=locks(lock), repair_prior=repair_prior, robust=robust,
        filter=Filter(
            positive("--cutoff", cutoff), positive("--kinematics-cutoff", kinematics_cutoff), delay=delay
        ),
        gravity=gravity, hold_out=hold_out,
        ranges=ranges, ranges_inside=ranges_inside, ranges_together=ranges_together,
        shapes=read_shapes(shapes) if shapes else None, divisions=divisions,
    )  # fmt: skip
    inputs = [*(validate or []), *(f for f in (mapping, shapes, listed_logs) if f), *written(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen, work = topics_of(topic), Work(workers, scheduler, listed_logs, skip_unreadable, checkpoint, bootstrap)
    held_out, names = bags(validate or [], chosen), logs or []
    if work.asked or any(map(is_url, names)):
        _identify_many(robot, names, options, work, held_out, out, as_json, mapping, chosen, earlier)
    given = [Path(name) for name in expand(names)]
    refuse_overwriting(out, given)
    _run_identify(robot, bags(given, chosen), options, held_out, out, as_json, mapping, earlier)


def load(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs of the robot with the load.")],
    on: Annotated[str, typer.Option(metavar="LINK", help="The link that carries the load.")],
    out: OutOption,
    empty: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Log without the load, fitted along; may be repeated.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="What `identify` found without the load.")
    ] = None,
    area: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(metavar="X0 X1 Y0 Y1 Z0 Z1", help="m, axes of LINK: the load lies in this cuboid; it is divided."),
    ] = None,
    top: Annotated[
        float | None, typer.Option(metavar="M", help="The load stands on LINK and reaches at most so many m above it.")
    ] = None,
    shapes: Annotated[
        Path | None, typer.Option(metavar="F", help="TOML: shapes of the load to begin with, and how to divide them.")
    ] = None,
    divisions: Annotated[int | None, typer.Option(help="Divide the area at most so often.")] = None,
    base: Annotated[BaseKind, typer.Option(help="Whether the base moves.")] = "auto",
    equations: Annotated[EquationKind, typer.Option(help="Which rows to use.")] = "auto",
    friction: Annotated[
        FrictionKind, typer.Option(help="Joint terms identified along; with --from, those of the estimate.")
    ] = "none",
    feet: Annotated[
        list[str] | None, typer.Option(metavar="F,…", help="Frames that may touch; also F:point:RADIUS, F:surface.")
    ] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=Q", help="Hold a joint at a value (rad or m).")] = None,
    repair_prior: Annotated[bool, typer.Option(help="Make unphysical bodies of the description physical.")] = False,
    robust: Annotated[bool, typer.Option(help="Let outliers count less (Huber loss).")] = False,
    delay: Annotated[
        float, typer.Option(metavar="S", help="Seconds by which torques come after the motion (`check` measures it).")
    ] = 0.0,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Held-out log with the load; may be repeated.")
    ] = None,
    ranges: RangesOption = "none",
    ranges_inside: InsideOption = False,
    ranges_together: TogetherOption = False,
    mapping: MappingOption = None,
    topic: TopicOption = None,
    as_json: JsonOption = False,
) -> None:
    """Weigh an unknown load on a link: writes load.json, the estimate it rests on, and a report."""
    from steelyard.compose.shape_file import read_shapes
    from steelyard.equations.prepare import Filter
    from steelyard.equations.setup import Options
    from steelyard.identify.payload import load_text, weigh_load
    from steelyard.output.results import refuse_overwriting, write_results

    options = Options(
        base=base, equations=equations, friction=friction, feet=listed(feet), lock=locks(lock),
        repair_prior=repair_prior, robust=robust, filter=Filter(delay=delay),
        ranges=ranges, ranges_inside=ranges_inside, ranges_together=ranges_together,
        load=on, area=area, top=top, shapes=read_shapes(shapes) if shapes else None, divisions=divisions,
    )  # fmt: skip
    read = [path for path in (mapping, shapes) if path]
    inputs = [*logs, *(empty or []), *(validate or []), *read, *written(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen = topics_of(topic)
    with shown_progress() as progress:
        result = weigh_load(
            robot, bags(logs, chosen), on, options, empty=bags(empty or [], chosen), earlier=earlier,
            validate=bags(validate or [], chosen), mapping=mapping, progress=progress,
            command=shlex.join(["steelyard", *sys.argv[1:]]),
            save_problem=out.resolve().with_name(out.resolve().name + ".problem.npz"),
        )  # fmt: skip
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(load_text(result), end="")
    else:
        print_bodies(result)
        print_end(result, files)
    raise typer.Exit(result.estimate.exit_code)


def gather(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs of any length: .parquet, .csv, .csv.gz.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Information to write, .npz.")],
    base: Annotated[BaseKind, typer.Option(help="Whether the base moves.")] = "auto",
    equations: Annotated[EquationKind, typer.Option(help="Which rows to use.")] = "auto",
    friction: Annotated[FrictionKind, typer.Option(help="Joint terms that rows have columns of.")] = "none",
    feet: Annotated[
        list[str] | None, typer.Option(metavar="F,…", help="Frames that may touch; also F:point:RADIUS, F:surface.")
    ] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=Q", help="Hold a joint at a value (rad or m).")] = None,
    cutoff: Annotated[float | None, typer.Option(metavar="HZ", help="Low-pass of both sides of the equations.")] = None,
    kinematics_cutoff: Annotated[float | None, typer.Option(metavar="HZ", help="Low-pass of the motion.")] = None,
    delay: Annotated[float, typer.Option(metavar="S", help="Seconds by which torques come after the motion.")] = 0.0,
    threads: Annotated[int, typer.Option(min=1, help="Threads that share the samples.")] = 1,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep what logs larger than memory say about a robot: reads them in pieces, writes their information."""
    from steelyard.equations.prepare import Filter
    from steelyard.equations.setup import Options
    from steelyard.equations.stream import stream_log
    from steelyard.errors import Finding, UsageError
    from steelyard.files import Staging
    from steelyard.fleet.gather import stream_many
    from steelyard.fleet.workers import Workers

    if threads > 1 and (scheduler is not None or (workers or 1) > 1):
        what = "are of this process, and workers have one each"
        raise UsageError(Finding(f"--threads {threads}", what, "Drop it, or drop --workers and --scheduler"))
    if out.suffix != ".npz" or out.resolve() in [log.resolve() for log in logs]:
        raise UsageError(Finding(f"-o {out}", "is no place for information", "Name a new file that ends in .npz"))
    filter = Filter(positive("--cutoff", cutoff), positive("--kinematics-cutoff", kinematics_cutoff), delay=delay)
    options = Options(
        base=base, equations=equations, friction=friction, feet=listed(feet), lock=locks(lock), filter=filter
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


def _identify_many(
    robot: str, logs: Sequence[str], options: Options, work: Work, validate: Sequence[Path | Log], out: Path,
    as_json: bool, mapping: Path | None, topics: Mapping[str, str], earlier: Path | None,
) -> NoReturn:  # fmt: skip
    from steelyard.cli.fleet import run

    command = shlex.join(["steelyard", *sys.argv[1:]])
    result, files = run(
        robot, logs, options, work, out, validate=validate, mapping=mapping, topics=topics, earlier=earlier,
        command=command,
    )  # fmt: skip
    _tell(result, files, as_json)


def _tell(result: Identification, files: list[Path], as_json: bool) -> NoReturn:
    if as_json:
        print(result.estimate.to_json(), end="")
    else:
        print_bodies(result)
        print_end(result, files)
    raise typer.Exit(result.estimate.exit_code)


def _run_identify(
    robot: str, logs: Sequence[Path | Log], options: Options, validate: Sequence[Path | Log], out: Path,
    as_json: bool, mapping: Path | None, earlier: Path | None,
) -> None:  # fmt: skip
    from functools import partial

    from steelyard.identify.identify import identify as run
    from steelyard.identify.resume import identify_further
    from steelyard.output.results import write_results

    command = shlex.join(["steelyard", *sys.argv[1:]])
    start = run if earlier is None else partial(identify_further, earlier=earlier)
    with shown_progress() as progress:
        result = start(
            robot, logs, options=options, validate=validate, mapping=mapping, command=command, progress=progress,
            save_problem=out.resolve().with_name(out.resolve().name + ".problem.npz"),
        )  # fmt: skip
        progress("writing")
        files = write_results(result, out)
    _tell(result, files, as_json)
