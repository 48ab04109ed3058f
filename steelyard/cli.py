"""The command line: verbs, results on stdout, progress on stderr, one sentence of verdict at the end.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from steelyard.terminal import print_bodies, print_end, print_table, shown_bar, shown_progress

if TYPE_CHECKING:
    from steelyard.log import Log
    from steelyard.plan import Options

app = typer.Typer(
    name="steelyard",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Weigh a robot while it moves: mass, centre of mass and inertia of every link from a log of its motion.",
)

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="URDF or MJCF file, or a name of `steelyard robots`.")
]
OutOption = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the results.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
MappingOption = Annotated[
    Path | None, typer.Option("--mapping", metavar="F", help="TOML that tells how to read foreign logs.")
]
TopicOption = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="KIND=NAME", help="Topic of a bag for joints, imu, odometry or wrench; repeats."),
]


BaseKind = Literal["auto", "fixed", "floating"]
EquationKind = Literal["auto", "joint", "base", "full", "contact-free"]
MethodKind = Literal["lmi", "points", "shapes", "nonlinear", "constrained", "mata", "linear", "least-squares"]
PriorKind = Literal["cad", "box", "none"]
RegularisationKind = Literal["quadratic", "entropic", "pullback"]
NullSpaceKind = Literal["structure", "data"]
PriorSpaceKind = Literal["all", "null"]
PriorWidthKind = Literal["inertia", "box"]
WithinKind = Literal["box", "hull"]
FrictionKind = Literal["none", "viscous", "coulomb", "armature", "all"]
RangeKind = Literal["none", "masses", "com", "all"]
MotionKind = Literal["stand", "sines", "multisine", "trot", "fourier"]
LevelKind = Literal["none", "low", "mid", "high"]
PerturbKind = Literal["base", "all", "none"]

RangesOption = Annotated[
    RangeKind, typer.Option(help="Least and greatest values whatever the prior: of masses, of com too, or of all.")
]
InsideOption = Annotated[
    bool, typer.Option("--ranges-inside", help="Ranges: the mass of each body lies in the box of its shapes.")
]
TogetherOption = Annotated[
    bool, typer.Option("--ranges-together", help="Ranges: all hold at once with 95 %, rather than each on its own.")
]


@app.command()
def identify(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs: .parquet, .csv, .csv.gz, .npz, or a bag.")],
    out: OutOption,
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
    as_json: JsonOption = False,
) -> None:
    """Identify a robot from logs of its motion: writes estimate.json, robot.urdf, report.html and more."""
    from steelyard.plan import Options
    from steelyard.read.shapes import read_shapes
    from steelyard.samples import Filter
    from steelyard.write.results import refuse_overwriting

    options = Options(
        base=base, equations=equations, method=method, prior=prior,
        regularisation=regularisation, realisable=ellipsoid, total_mass=total_mass, hard_mass=hard_mass,
        symmetric=_listed(symmetric), null_space=null_space, friction=friction,
        prior_space=prior_space, prior_width=prior_width, prior_weight=prior_weight,
        points=_count(points), points_in=points_in, point_ridge=point_ridge,
        links=_listed(links), feet=_listed(feet), lock=_locks(lock), repair_prior=repair_prior, robust=robust,
        filter=Filter(
            _positive("--cutoff", cutoff), _positive("--kinematics-cutoff", kinematics_cutoff), delay=delay
        ),
        gravity=gravity, hold_out=hold_out,
        ranges=ranges, ranges_inside=ranges_inside, ranges_together=ranges_together,
        shapes=read_shapes(shapes) if shapes else None, divisions=divisions,
    )  # fmt: skip
    inputs = [*logs, *(validate or []), *(f for f in (mapping, shapes) if f), *_written(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen = _topics(topic)
    given, held_out = _bags(logs, chosen), _bags(validate or [], chosen)
    _run_identify(robot, given, options, held_out, out, as_json, mapping, earlier)


@app.command()
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
    from steelyard.load import load_text, weigh_load
    from steelyard.plan import Options
    from steelyard.read.shapes import read_shapes
    from steelyard.samples import Filter
    from steelyard.write.results import refuse_overwriting, write_results

    options = Options(
        base=base, equations=equations, friction=friction, feet=_listed(feet), lock=_locks(lock),
        repair_prior=repair_prior, robust=robust, filter=Filter(delay=delay),
        ranges=ranges, ranges_inside=ranges_inside, ranges_together=ranges_together,
        load=on, area=area, top=top, shapes=read_shapes(shapes) if shapes else None, divisions=divisions,
    )  # fmt: skip
    read = [path for path in (mapping, shapes) if path]
    inputs = [*logs, *(empty or []), *(validate or []), *read, *_written(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen = _topics(topic)
    with shown_progress() as progress:
        result = weigh_load(
            robot, _bags(logs, chosen), on, options, empty=_bags(empty or [], chosen), earlier=earlier,
            validate=_bags(validate or [], chosen), mapping=mapping, progress=progress,
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


@app.command()
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
    as_json: JsonOption = False,
) -> None:
    """Keep what logs larger than memory say about a robot: reads them in pieces, writes their information."""
    from steelyard.errors import Finding, UsageError
    from steelyard.plan import Options
    from steelyard.samples import Filter
    from steelyard.stream import stream_log
    from steelyard.write.files import Staging

    if out.suffix != ".npz" or out.resolve() in [log.resolve() for log in logs]:
        raise UsageError(Finding(f"-o {out}", "is no place for information", "Name a new file that ends in .npz"))
    filter = Filter(_positive("--cutoff", cutoff), _positive("--kinematics-cutoff", kinematics_cutoff), delay=delay)
    options = Options(
        base=base, equations=equations, friction=friction, feet=_listed(feet), lock=_locks(lock), filter=filter
    )
    with shown_bar("reading") as progress:
        found = stream_log(robot, logs, options, threads=threads, progress=progress)
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


@app.command()
def check(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(metavar="LOG")],
    base: Annotated[BaseKind, typer.Option(help="Whether the base moves.")] = "auto",
    equations: Annotated[EquationKind, typer.Option(help="Which rows would be used.")] = "auto",
    feet: Annotated[list[str] | None, typer.Option(metavar="F,…", help="Frames that may touch.")] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=Q", help="Hold a joint at a value (rad or m).")] = None,
    delay: Annotated[
        float, typer.Option(metavar="S", help="Seconds by which torques come after the motion, to be taken back.")
    ] = 0.0,
    gravity: Annotated[
        tuple[float, float, float] | None, typer.Option(metavar="X Y Z", help="m/s², of a tilted fixed base.")
    ] = None,
    mapping: MappingOption = None,
    write_mapping: Annotated[
        Path | None, typer.Option(metavar="F", help="Draft a mapping from what the log looks like, and stop there.")
    ] = None,
    topic: TopicOption = None,
    topics: Annotated[bool, typer.Option("--topics", help="List the topics of a bag, and stop there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is wrong with a log and what its motion excites, in seconds; identifies nothing."""
    from steelyard.plan import Options
    from steelyard.samples import Filter
    from steelyard.survey import survey

    if topics:
        _list_topics(log, as_json)
        return
    if write_mapping is not None:
        _draft(robot, log, write_mapping, as_json, mapping)
        return
    options = Options(
        base=base,
        equations=equations,
        feet=_listed(feet),
        lock=_locks(lock),
        filter=Filter(delay=delay),
        gravity=gravity,
    )
    with shown_progress() as progress:
        found = survey(robot, log, progress, mapping, _topics(topic), options)
    if as_json:
        print(json.dumps(found.as_json(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        for line in found.lines():
            print(line)
    raise typer.Exit(3 if found.findings else 0)


@app.command()
def demo(
    robot: Annotated[str, typer.Option(help="Which demonstration: a1 (a quadruped that trots), ur10 (an arm).")] = "a1",
    out: OutOption = Path("demo"),
    as_json: JsonOption = False,
) -> None:
    """Weigh a simulated robot that differs from its description, and what it carries; compare with the truth."""
    from steelyard.demo import ROBOTS, run_arm, run_quadruped
    from steelyard.errors import Finding, UsageError
    from steelyard.write.results import write_results

    if robot not in ROBOTS:
        raise UsageError(Finding(f"demo {robot!r}", "does not exist", f"Demos: {', '.join(ROBOTS)}"))
    with shown_progress() as progress:
        arm = run_arm(robot, out, progress=progress) if robot == "ur10" else None
        result = arm.result if arm else run_quadruped(robot, out, progress=progress).result
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(result.estimate.to_json(), end="")
        return
    if arm:
        print("Arm demonstration: simulated, so the truth is known. Nothing below was told to the identification.\n")
    else:
        print("A quadruped trots, first alone, then with a load. Its trunk is not as described, and nobody says what")
        print("it carries: joint angles, joint torques and an inertial sensor are all there is. Simulated, so the")
        print("truth is known; it was not told to the identification.\n")
    print_bodies(result, truth=True)
    if arm:
        print(
            f"\nDistance from the truth in base parameters (all that motion can show): description "
            f"{100 * arm.description_error:.1f} %, identified {100 * arm.estimate_error:.2f} %."
        )
    print_end(result, files)


@app.command()
def simulate(
    robot: RobotArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="LOG", help="Log to write: .parquet, .csv or .npz.")],
    motion: Annotated[MotionKind, typer.Option(help="What it does; fourier is for arms.")] = "trot",
    seconds: Annotated[float, typer.Option(metavar="S", help="How long.")] = 10.0,
    noise: Annotated[LevelKind, typer.Option(help="Of encoders, torques and IMU.")] = "mid",
    seed: Annotated[int, typer.Option(help="Of noise and motion, and of the truth unless --truth-seed.")] = 0,
    truth_seed: Annotated[int | None, typer.Option(help="Of what the description does not know.")] = None,
    perturb: Annotated[
        PerturbKind | None, typer.Option(help="Bodies that are not as described: base (legged), all (arms).")
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="KG@LINK:x,y,z[:sx,sy,sz]", help="A cuboid welded on a link, m; may be repeated."),
    ] = None,
    friction: Annotated[LevelKind, typer.Option(help="Of the joints, with rotor inertia.")] = "none",
    sensor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A further error of sensors, e.g. tau_gain=0.02; may be repeated."),
    ] = None,
    terrain: Annotated[str, typer.Option(metavar="T", help="flat, rough or rough:HEIGHT in m.")] = "flat",
    grip: Annotated[float, typer.Option(help="Coefficient of friction of the ground.")] = 0.8,
    speed: Annotated[float, typer.Option(metavar="M/S", help="Of a trot, forward.")] = 0.3,
    turn: Annotated[float, typer.Option(metavar="RAD/S", help="Of a trot, to the left.")] = 0.0,
    sway: Annotated[float, typer.Option(help="How far the trunk sways in a trot or multisine, 0 to 1.")] = 0.8,
    rate: Annotated[float | None, typer.Option(metavar="HZ", help="Samples a second; 500, of arms 200.")] = None,
    feet: Annotated[
        list[str] | None, typer.Option(metavar="F,…", help="Ball feet, F:point:RADIUS; found if not given.")
    ] = None,
    imu: Annotated[str | None, typer.Option(metavar="FRAME", help="Where the IMU sits; found if not given.")] = None,
    wrenches: Annotated[
        bool, typer.Option("--wrenches", help="Write what the ground does to the feet, too (--noise none).")
    ] = False,
) -> None:
    """Simulate a robot that differs from its description, and write its log with the truth in the metadata."""
    from steelyard.read.table import write_log
    from steelyard.robot import Robot
    from steelyard.simulate.asked import simulate_arm_as_asked, simulate_legged_as_asked

    model = Robot.load(robot)
    with shown_progress() as progress:
        progress("simulating")
        if motion == "fourier":
            only = {"--load": load, "--sensor": sensor, "--feet": feet, "--imu": imu, "--wrenches": wrenches}
            log = simulate_arm_as_asked(
                model, [k for k, v in only.items() if v], seconds=seconds, noise=noise, seed=seed,
                truth_seed=truth_seed, perturb=perturb or "all", friction=friction, rate=rate or 200.0,
            )  # fmt: skip
        else:
            log = simulate_legged_as_asked(
                model, motion, (speed, turn, sway), load or [], sensor or [], noise, (terrain, grip), seconds=seconds,
                seed=seed, truth_seed=truth_seed, perturb=perturb or "base", friction=friction, rate=rate or 500.0,
                feet=_listed(feet), imu_frame=imu, wrenches=wrenches,
            )  # fmt: skip
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        write_log(out, log)
    print(f"{len(log)} samples in {len(log.columns) + 1} columns, with the truth: {out}")
    if touched := log.metadata["simulation"].get("at_joint_limits"):
        print(f"Joints were at a limit in {touched} instants: forces there that no equation knows.")
    if found := log.metadata["simulation"].get("feet"):
        print(f"Identify its trunk: steelyard identify {robot} {out} --links {model.bodies[0].name} "
              f"--feet {','.join(found)} -o DIR")  # fmt: skip


calibrate_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Let a simulated quadruped weigh itself.")
app.add_typer(calibrate_app, name="calibrate")

CalibrateOut = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for calibration.json.")]
LoadsOption = Annotated[
    list[str] | None,
    typer.Option("--load", metavar="KG@LINK:x,y,z[:sx,sy,sz]", help="A cuboid that nobody told it of; repeats."),
]
NoiseOption = Annotated[LevelKind, typer.Option(help="Of encoders, torques and IMU.")]
RigSeed = Annotated[int, typer.Option(help="Of noise, and of what the description does not know.")]
PerturbOption = Annotated[PerturbKind, typer.Option(help="Bodies that are not as described.")]
JointFriction = Annotated[LevelKind, typer.Option(help="Of the joints, with rotor inertia.")]
ZeroError = Annotated[float, typer.Option(metavar="RAD", help="Standard deviation of each joint's zero.")]


@calibrate_app.command("com")
def calibrate_com(
    robot: RobotArgument,
    out: CalibrateOut = None,
    load: LoadsOption = None,
    noise: NoiseOption = "mid",
    seed: RigSeed = 0,
    perturb: PerturbOption = "base",
    friction: JointFriction = "none",
    zero_error: ZeroError = 0.0,
    method: Annotated[
        Literal["momentum", "halving"],
        typer.Option(help="Where to try next: by the speed of tipping, or in the middle of the bracket."),
    ] = "momentum",
    tilt: Annotated[bool, typer.Option(help="Turn the trunk by ±15°, too, for z.")] = True,
    trials: Annotated[int, typer.Option(help="On each line at most.")] = 6,
    as_json: JsonOption = False,
) -> None:
    """Find the centre of mass by bisection on two diagonal feet, from joints and IMU alone."""
    from steelyard.calibrate.command import calibrate_com as run
    from steelyard.calibrate.command import rig_as_asked

    rig = rig_as_asked(robot, load or [], noise, seed, zero_error, perturb, friction)
    said = (lambda text: None) if as_json else print
    found, result, files = run(rig, out, zero_error=zero_error, method=method, tilt=tilt, most=trials, said=said)
    if as_json:
        print(json.dumps(result, indent=1))
        return
    true = result["truth"]["com"]
    rows = [
        [axis, f"{1e3 * d:.1f}", f"{1e3 * c:.1f} ± {1960 * s:.1f}", f"{1e3 * t:.1f}"]
        for axis, d, c, s, t in zip("xyz", found.described, found.com, found.std, true, strict=True)
    ]
    print_table(["centre of mass, mm", "described", "found (95 %)", "true"], rows)
    print("Of the whole robot in its nominal posture, base axes; the legs' moments are as described.")
    if files:
        print("written: " + ", ".join(map(str, files)))
    depth = "" if tilt else "; z is the description's, nothing measured it"
    print(f"\nIn {found.trials} trials on two feet x and y are known to ± {1960 * max(found.std[:2]):.1f} mm{depth}.")


@calibrate_app.command("inertia")
def calibrate_inertia(
    robot: RobotArgument,
    out: CalibrateOut = None,
    load: LoadsOption = None,
    noise: NoiseOption = "mid",
    seed: RigSeed = 0,
    perturb: PerturbOption = "base",
    friction: JointFriction = "none",
    zero_error: ZeroError = 0.0,
    periods: Annotated[int, typer.Option(help="Of two seconds, about each axis.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Find the moments of inertia by shaking the trunk: effective ones of that motion, and the composite."""
    from steelyard.calibrate.command import calibrate_inertia as run
    from steelyard.calibrate.command import rig_as_asked

    rig = rig_as_asked(robot, load or [], noise, seed, zero_error, perturb, friction)
    with shown_progress() as progress:
        found, result, files = run(rig, out, periods=periods, said=progress)
    if as_json:
        print(json.dumps(result, indent=1))
        return
    whole, true = found.composite, result["truth"]
    rows = [
        [one.axis, f"{one.inertia:.4f} ± {1.96 * one.std:.4f}", f"{true['effective'][k]:.4f}", f"{one.damping:.3f}",
         f"{whole.inertia[k, k]:.4f} ± {1.96 * whole.std[k]:.4f}", f"{true['composite'][(0, 2, 5)[k]]:.4f}"]
        for k, one in enumerate(found.effective)
    ]  # fmt: skip
    print_table(["kg·m² about", "effective (95 %)", "true", "damping, N·m·s", "composite (95 %)", "true"], rows)
    if files:
        print("written: " + ", ".join(map(str, files)))
    print("\nEffective: what the trunk shows while its feet stay and its legs bend, as its controller needs it.")
    print("Composite: the whole robot as one body in its nominal posture, the legs as described.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def reproduce(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A folder of papers/ with a run.py, e.g. lee.")],
) -> None:
    """Compute a paper's tables and figures anew: `steelyard reproduce lee --quick`; from a checkout."""
    import importlib

    from steelyard.errors import Finding, UsageError

    root = Path(__file__).resolve().parents[1]
    known = sorted(path.parent.name for path in (root / "papers").glob("*/run.py"))
    if paper not in known:
        what = "cannot be reproduced" if known else "needs the papers folder of a checkout, which is not here"
        fix = f"Choose from: {', '.join(known)}" if known else "Clone the repository and install it with pip install -e"
        raise UsageError(Finding(f"paper {paper!r}", what, fix))
    sys.path.insert(0, str(root))
    importlib.import_module(f"papers.{paper}.run").main(context.args)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="Folder or estimate.json of `identify`, or a robot description.")],
    b: Annotated[Path, typer.Argument(help="The other.")],
    as_json: JsonOption = False,
) -> None:
    """Show how two estimates differ, in units of their own uncertainty."""
    from steelyard.compare import compare as compared

    differences = compared(a, b)
    if as_json:
        print(json.dumps([d.as_json() for d in differences], indent=1, allow_nan=False))
        return
    rows = [
        [d.body, f"{d.mass[0]:.3f} ({d.verdicts[0]})", f"{d.mass[1]:.3f} ({d.verdicts[1]})",
         f"{1e3 * d.com_distance:.1f}", f"{100 * d.inertia_distance:.0f} %",
         "—" if d.deviations is None else f"{d.deviations:.1f} σ"]
        for d in differences
    ]  # fmt: skip
    print_table(
        ["body", f"mass in A, kg ({a})", f"mass in B, kg ({b})", "CoM apart, mm", "inertia apart", "worst parameter"],
        rows,
    )
    widths = [d.deviations for d in differences if d.deviations is not None]
    if widths:
        print(f"\n{sum(w <= 3 for w in widths)} of {len(widths)} bodies agree within three standard deviations.")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `identify` wrote.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="HTML file; default DIR/report.html.")] = None,
) -> None:
    """Write the report of a finished identification again."""
    from steelyard.estimate import read_estimate
    from steelyard.report import load_series, render
    from steelyard.scene import read_scene
    from steelyard.write.files import write_text

    estimate = read_estimate(folder)
    series = load_series(folder / "series.npz") if (folder / "series.npz").exists() else []
    path = out or folder / "report.html"
    write_text(path, render(estimate, series, scene=read_scene(folder)))
    print(path)


@app.command()
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `identify` or `load` wrote.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen; the next free one if taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Look at a finished identification in three dimensions and move its joints; served to this machine alone."""
    import webbrowser
    from contextlib import redirect_stdout

    from steelyard.view import LOOPBACK, serve

    with redirect_stdout(sys.stderr):  # viser greets
        server = serve(folder, port)
    url = f"http://{LOOPBACK}:{server.get_port()}"
    print(f"{url} (Ctrl+C ends it)", flush=True)
    if browser:
        webbrowser.open(url)
    try:
        server.sleep_forever()
    except KeyboardInterrupt:
        with redirect_stdout(sys.stderr):
            server.stop()


@app.command()
def robots(as_json: JsonOption = False) -> None:
    """List the robots that can be named instead of giving a file."""
    from steelyard.read.index import robots as index

    entries = index()
    if as_json:
        print(json.dumps([{**e._asdict(), "path": str(e.path) if e.path else None} for e in entries], indent=1))
        return
    print_table(
        ["name", "kind", "base", "joints", "from"],
        [[e.name, e.kind, e.base, "—" if e.joints is None else str(e.joints),
          e.source if e.path else f"{e.source} (not installed)"] for e in entries],
    )  # fmt: skip
    if any(e.path is None for e in entries):
        print('\nInstall the robots that are missing: pip install "steelyard[robots]"')


def main() -> None:
    """Entry point: known errors become one message with every reason, and an exit code."""
    try:
        app()
    except OSError as error:
        print(f"steelyard: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        from steelyard.errors import SteelyardError

        if not isinstance(error, SteelyardError):
            raise
        count = len(error.findings)
        print(f"steelyard: {count} thing{'s' if count > 1 else ''} to correct:", file=sys.stderr)
        for finding in error.findings:
            print(f"  {finding}", file=sys.stderr)
        sys.exit(error.exit_code)


def _run_identify(
    robot: str, logs: Sequence[Path | Log], options: Options, validate: Sequence[Path | Log], out: Path,
    as_json: bool, mapping: Path | None, earlier: Path | None,
) -> None:  # fmt: skip
    from functools import partial

    from steelyard.earlier import identify_further
    from steelyard.identification import identify as run
    from steelyard.write.results import write_results

    command = shlex.join(["steelyard", *sys.argv[1:]])
    start = run if earlier is None else partial(identify_further, earlier=earlier)
    with shown_progress() as progress:
        result = start(
            robot, logs, options=options, validate=validate, mapping=mapping, command=command, progress=progress,
            save_problem=out.resolve().with_name(out.resolve().name + ".problem.npz"),
        )  # fmt: skip
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(result.estimate.to_json(), end="")
    else:
        print_bodies(result)
        print_end(result, files)
    raise typer.Exit(result.estimate.exit_code)


def _written(earlier: Path | None) -> list[Path]:
    """The files of an earlier identification that are read."""
    if earlier is None:
        return []
    folder = earlier if earlier.is_dir() else earlier.parent
    return [folder / "estimate.json", folder / "information.npz"]


def _draft(robot: str, log: Path, file: Path, as_json: bool, mapping: Path | None) -> None:
    """Draft a mapping; a file that is there stays as it is."""
    from steelyard.errors import Finding, UsageError
    from steelyard.read.description import read_description
    from steelyard.read.draft import draft_mapping
    from steelyard.robot import ONE_DOF
    from steelyard.write.files import write_text

    if mapping is not None:
        raise UsageError(Finding("--write-mapping", "does not go with --mapping", "Give one of them"))
    if file.exists():
        raise UsageError(Finding(f"--write-mapping {file}", "exists", "Give another name, or --mapping to use it"))
    joints = read_description(robot).joints.values()
    text = draft_mapping(log, [j.name for j in joints if j.kind in ONE_DOF and j.mimic is None])
    write_text(file, text)
    if as_json:
        print(json.dumps({"schema": 1, "mapping": str(file)}))
        return
    print(f"written: {file}")
    print(f"Complete it, then: {shlex.join(['steelyard', 'check', robot, str(log), '--mapping', str(file)])}")


def _listed(values: list[str] | None) -> tuple[str, ...]:
    return tuple(part.strip() for value in values or [] for part in value.split(",") if part.strip())


def _locks(values: list[str] | None) -> dict[str, float]:
    from steelyard.errors import Finding, UsageError

    locks: dict[str, float] = {}
    for value in _listed(values):
        joint, sign, number = value.partition("=")
        try:
            locks[joint] = float(number)
        except ValueError:
            raise UsageError(
                Finding(f"--lock {value}", "is not JOINT=VALUE", "Write e.g. --lock finger_joint=0.04")
            ) from None
        if not sign:
            raise UsageError(Finding(f"--lock {value}", "is not JOINT=VALUE", "Write e.g. --lock finger_joint=0.04"))
    return locks


def _topics(values: list[str] | None) -> dict[str, str]:
    """Kind → topics, separated by commas."""
    from steelyard.errors import Finding, UsageError

    topics: dict[str, str] = {}
    for value in values or []:
        kind, sign, name = value.partition("=")
        if not sign:
            raise UsageError(Finding(f"--topic {value}", "is not KIND=NAME", "Write e.g. --topic imu=/imu/data"))
        topics[kind] = f"{topics[kind]},{name}" if kind in topics else name
    return topics


def _bags(paths: Sequence[Path], topics: dict[str, str]) -> list[Path | Log]:
    """Bags read from the chosen topics; whatever needs no choice stays a path."""
    from steelyard.read.table import is_bag, read_log

    return [read_log(path, topics=topics) if topics and is_bag(path) else path for path in paths]


def _list_topics(path: Path, as_json: bool) -> None:
    from steelyard.read.bag import bag_topics

    found = bag_topics(path)
    if as_json:
        print(json.dumps([vars(topic) for topic in found], indent=1, ensure_ascii=False))
        return
    print_table(["topic", "type", "messages", "Hz"], [[t.name, t.type, str(t.count), f"{t.rate:.1f}"] for t in found])


def _count(value: str) -> Any:
    """A whole number where it is one; ``Options`` says what else is allowed."""
    return int(value) if value.lstrip("-").isdecimal() else value


def _positive(name: str, value: Any) -> float | None:
    from steelyard.errors import Finding, UsageError

    if value is not None and not value > 0:
        raise UsageError(Finding(name, f"is {value}", "Give a positive frequency in Hz"))
    return value if value is None else float(value)


if __name__ == "__main__":
    main()
