"""Verbs that make robots move, or simulate how they would: demo, simulate, excite, calibrate, search, reproduce."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from steelyard.cli.arguments import (
    AlgorithmKind,
    JsonOption,
    LevelKind,
    MotionKind,
    NoiseKind,
    OutOption,
    PerturbKind,
    RobotArgument,
    SchedulerOption,
    WorkersOption,
)
from steelyard.cli.options import listed, numbered
from steelyard.cli.terminal import print_bodies, print_end, print_table, shown_bar, shown_progress
from steelyard.equations.options import Friction
from steelyard.identify.estimate_json import estimate_json, estimate_text

if TYPE_CHECKING:
    from steelyard.experiment.excite.humanoid import HumanoidRequest as Standing
    from steelyard.fleet.workers import Workers
    from steelyard.robot.model import Robot


def demo(
    robot: Annotated[str, typer.Option(help="Which demonstration: a1 (a quadruped that trots), ur10 (an arm).")] = "a1",
    out: OutOption = Path("demo"),
    as_json: JsonOption = False,
) -> None:
    """Weigh a simulated robot that differs from its description, and what it carries; compare with the truth."""
    from steelyard.cli.demo import ROBOTS, run_arm, run_quadruped
    from steelyard.errors import Finding, UsageError
    from steelyard.output.results import write_results

    if robot not in ROBOTS:
        raise UsageError(Finding(f"demo {robot!r}", "does not exist", f"Demos: {', '.join(ROBOTS)}"))
    with shown_progress() as progress:
        arm = run_arm(robot, out, progress=progress) if robot == "ur10" else None
        result = arm.result if arm else run_quadruped(robot, out, progress=progress).result
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(estimate_text(estimate_json(result.estimate)), end="")
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
    for page in (f for f in files if f.suffix == ".html"):
        print(f"\nReport: {page}")


def simulate(
    robot: RobotArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="LOG", help="Log to write: .parquet, .csv or .npz.")],
    motion: Annotated[MotionKind, typer.Option(help="What it does; fourier is for arms.")] = "trot",
    play: Annotated[
        Path | None,
        typer.Option(metavar="LOG", help="A motion of an arm or humanoid to play, as `steelyard excite` writes it."),
    ] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=q", help="Joints held at a value; repeats.")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long.")] = 10.0,
    noise: Annotated[
        NoiseKind, typer.Option(help="Of encoders, torques and IMU; humanoid: of force sensors on the feet, too.")
    ] = "mid",
    seed: Annotated[int, typer.Option(help="Of noise and motion, and of the truth unless --truth-seed.")] = 0,
    truth_seed: Annotated[int | None, typer.Option(help="Of what the description does not know.")] = None,
    perturb: Annotated[
        PerturbKind | None,
        typer.Option(help="Bodies not as described: base (legged; of humanoids the torso), all (arms, humanoids)."),
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
    from steelyard.experiment.simulate.request import (
        simulate_arm_as_asked,
        simulate_humanoid_as_asked,
        simulate_legged_as_asked,
    )
    from steelyard.log.table import write_log
    from steelyard.robot.model import Robot

    model = Robot.load(robot, lock=numbered("--lock", lock))
    with shown_progress() as progress:
        progress("simulating")
        if play is not None and model.floating:
            log = simulate_humanoid_as_asked(
                model,
                play,
                load or [],
                sensor or [],
                noise,
                (terrain, grip),
                seed=seed,
                truth_seed=truth_seed,
                perturb=perturb or "all",
                friction=friction,
                rate=rate or 200.0,
                feet=listed(feet),
                imu_frame=imu,
            )
        elif motion == "fourier" or play is not None:
            only = {"--load": load, "--sensor": sensor, "--feet": feet, "--imu": imu, "--wrenches": wrenches}
            log = simulate_arm_as_asked(
                model,
                [k for k, v in only.items() if v],
                seconds=seconds,
                noise=noise,
                seed=seed,
                truth_seed=truth_seed,
                perturb=perturb or "all",
                friction=friction,
                rate=rate or 200.0,
                play=play,
            )
        else:
            log = simulate_legged_as_asked(
                model,
                motion,
                (speed, turn, sway),
                load or [],
                sensor or [],
                noise,
                (terrain, grip),
                seconds=seconds,
                seed=seed,
                truth_seed=truth_seed,
                perturb=perturb or "base",
                friction=friction,
                rate=rate or 500.0,
                feet=listed(feet),
                imu_frame=imu,
                wrenches=wrenches,
            )
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        write_log(out, log)
    print(f"{len(log)} samples in {len(log.columns) + 1} columns, with the truth: {out}")
    if touched := log.metadata["simulation"].get("at_joint_limits"):
        print(f"Joints were at a limit in {touched} instants: forces there that no equation knows.")
    if play is not None and model.floating:
        if any(name.startswith("wrench.") for name in log.columns):
            print(f"Identify all its links: steelyard identify {robot} {out} --equations base -o DIR")
    elif found := log.metadata["simulation"].get("feet"):
        print(
            f"Identify its trunk: steelyard identify {robot} {out} --links {model.bodies[0].name} "
            f"--feet {','.join(found)} -o DIR"
        )


def excite(
    robot: RobotArgument,
    out: OutOption,
    duration: Annotated[float, typer.Option(metavar="S", help="How long the motion lasts.")] = 10.0,
    period: Annotated[float | None, typer.Option(metavar="S", help="After which it repeats; the duration.")] = None,
    harmonics: Annotated[int, typer.Option(metavar="K", help="Of the Fourier series.")] = 5,
    speed: Annotated[float, typer.Option(help="Share of the speed limits that may be used.")] = 0.8,
    effort: Annotated[float, typer.Option(help="Share of the torque limits that may be used.")] = 0.8,
    margin: Annotated[float, typer.Option(help="Share of a joint's range that is left free at each end.")] = 0.05,
    clearance: Annotated[float, typer.Option(metavar="M", help="Between links; 0 does not look for contacts.")] = 0.01,
    srdf: Annotated[
        Path | None, typer.Option(metavar="F", help="Says which links may touch; found if not given.")
    ] = None,
    friction: Annotated[Friction, typer.Option(help="Joint terms that are to be told, too.")] = "none",
    criterion: Annotated[
        Literal["determinant", "condition"], typer.Option(help="Smallest uncertainty, or best condition number.")
    ] = "determinant",
    candidates: Annotated[
        int | None, typer.Option(help="Random motions to begin with; 30 for an arm, 120 for a humanoid.")
    ] = None,
    restarts: Annotated[int, typer.Option(help="Starts that are improved.")] = 4,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Of the log that is written.")] = 200.0,
    motions: Annotated[int, typer.Option(help="Humanoid: how many to choose.")] = 12,
    choice: Annotated[
        Literal["determinant", "links"], typer.Option(help="Humanoid: by all base parameters, or three for each link.")
    ] = "determinant",
    rounds: Annotated[int, typer.Option(help="Humanoid: of candidates; later ones move what is told least.")] = 2,
    improve: Annotated[int, typer.Option(help="Humanoid: how many of the chosen ones are improved.")] = 12,
    feet: Annotated[list[str] | None, typer.Option(metavar="L,R", help="Humanoid: links of its soles.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random motions.")] = 0,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=q", help="Joints held at a value; repeats.")] = None,
    base: Annotated[Literal["auto", "fixed", "floating"], typer.Option(help="Whether the base is fixed.")] = "auto",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find motions that tell most about a robot, within its limits and clear of itself; broken off, it goes on.

    An arm gets one periodic motion; a humanoid gets several that it does on its own feet.
    """
    from steelyard.experiment.excite.command import ArmRequest, excite_fixed
    from steelyard.experiment.excite.humanoid import HumanoidRequest as Standing
    from steelyard.fleet.workers import Workers
    from steelyard.robot.model import Robot

    model = Robot.load(robot, base=base, lock=numbered("--lock", lock))
    if model.floating:
        standing = Standing(
            candidates or 120,
            motions,
            choice,
            rounds,
            improve,
            seed,
            tuple(listed(feet)),
            None if srdf is None else str(srdf),
        )
        with Workers.asked(workers, scheduler) as crew:
            _excite_humanoid(model, standing, out, as_json, crew)
        return
    asked = ArmRequest(
        duration,
        period,
        harmonics,
        speed,
        effort,
        margin,
        clearance,
        friction,
        criterion,
        candidates or 30,
        restarts,
        seed,
        rate,
        None if srdf is None else str(srdf),
    )
    with Workers.asked(workers, scheduler) as crew, shown_bar("looking for a motion") as bar:
        found, files = excite_fixed(model, asked, out, bar, crew)  # which refuses a base that floats
    if as_json:
        print(json.dumps(found.as_json(), indent=1))
        return
    start, limits = found.best.motion.at(0.0)[0][0], found.task.limits
    rows = [
        [joint, f"{start[k]:.3f}", f"{limits.lower[k]:.2f} … {limits.upper[k]:.2f}", f"{limits.speed[k]:.2f}"]
        for k, joint in enumerate(found.task.robot.joints)
    ]
    print_table(["joint", "starts at", "kept within", "and below, /s"], rows)
    print_table(["link", "condition of its columns"], [[name, f"{x:.3g}"] for name, x in found.links.items()])
    used = ", ".join(f"{100 * x:.1f} % of {k}" for k, x in found.best.used._asdict().items() if x > 0)
    print(f"limits used at any time: {used}")
    print(f"base parameters: {found.told}; log det {found.best.log_det:.1f}, random {found.start.log_det:.1f}")
    print("told least: " + ", ".join(f"{name} to {100 * std:.0f} %" for name, std in found.weakest))
    print(
        "pairs of links kept apart: " + ("none, --clearance is 0" if found.looked_at is None else str(found.looked_at))
    )
    _say_guessed(found.guessed)
    print("written: " + ", ".join(map(str, files)))
    print(f"\n{found.sentence()}")


def _say_guessed(bodies: Sequence[str]) -> None:
    if bodies:
        named = ", ".join(bodies[:3]) + (f" and {len(bodies) - 3} more" if len(bodies) > 3 else "")
        print(f"shapes guessed from inertias: {named}. Watch the motion in a viewer before you play it")


def _excite_humanoid(robot: Robot, asked: Standing, out: Path, as_json: bool, workers: Workers) -> None:
    from steelyard.experiment.excite.humanoid import excite_humanoid, write

    with shown_bar("looking for motions") as bar:
        found = excite_humanoid(robot, asked, out, lambda share, _: bar(share), workers)
        files = write(found, out)
    told = found.as_json()
    if as_json:
        print(json.dumps(told, indent=1))
        return
    print_table(
        ["candidates", "drawn", "as drawn", "possible"],
        [[kind, str(n["drawn"]), str(n["as_drawn"]), str(n["possible"])] for kind, n in told["candidates"].items()],
    )
    print_table(
        ["motion", "kind", "seconds", "amplitude kept", "slower by"],
        [
            [f"{m['number']}", m["kind"], f"{m['seconds']:.1f}", f"{100 * m['amplitude']:.0f} %", f"{m['stretch']:.2f}"]
            for m in told["motions"]
        ],
    )
    print_table(["link", "condition of its columns"], [[name, f"{x:.3g}"] for name, x in found.links.items()])
    print("told least: " + ", ".join(f"{w.name} (move {', '.join(w.joints) or 'the base'})" for w in found.weakest))
    _say_guessed(found.guessed)
    print(f"written: {files[0]} to {files[-3].name}, {', '.join(f.name for f in files[-2:])}")
    print(f"\n{found.sentence()}")


calibrate_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Let a simulated quadruped weigh itself.")

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
    from steelyard.experiment.calibrate.command import calibrate_com as run
    from steelyard.experiment.calibrate.command import rig_as_asked

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
    from steelyard.experiment.calibrate.command import calibrate_inertia as run
    from steelyard.experiment.calibrate.command import rig_as_asked

    rig = rig_as_asked(robot, load or [], noise, seed, zero_error, perturb, friction)
    with shown_progress() as progress:
        found, result, files = run(rig, out, periods=periods, said=progress)
    if as_json:
        print(json.dumps(result, indent=1))
        return
    whole, true = found.composite, result["truth"]
    rows = [
        [
            one.axis,
            f"{one.inertia:.4f} ± {1.96 * one.std:.4f}",
            f"{true['effective'][k]:.4f}",
            f"{one.damping:.3f}",
            f"{whole.inertia[k, k]:.4f} ± {1.96 * whole.std[k]:.4f}",
            f"{true['composite'][(0, 2, 5)[k]]:.4f}",
        ]
        for k, one in enumerate(found.effective)
    ]
    print_table(["kg·m² about", "effective (95 %)", "true", "damping, N·m·s", "composite (95 %)", "true"], rows)
    if files:
        print("written: " + ", ".join(map(str, files)))
    print("\nEffective: what the trunk shows while its feet stay and its legs bend, as its controller needs it.")
    print("Composite: the whole robot as one body in its nominal posture, the legs as described.")


def search(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Positions and torques; velocities if measured.")],
    algorithm: Annotated[AlgorithmKind, typer.Option(help="How to search.")] = "gauss-newton",
    horizon: Annotated[
        list[float] | None, typer.Option(metavar="S", help="How far to predict; repeats: several at once.")
    ] = None,
    windows: Annotated[int, typer.Option(help="Predictions in each log.")] = 64,
    model: Annotated[
        Literal["seven", "ten"], typer.Option(help="Parameters a link: without products of inertia, or all.")
    ] = "seven",
    links: Annotated[list[str] | None, typer.Option(metavar="L,…", help="Links to search; default all.")] = None,
    total_mass: Annotated[float | None, typer.Option(metavar="KG", help="Of all moving links, as weighed.")] = None,
    engine: Annotated[
        Literal["auto", "compiled", "mujoco"], typer.Option(help="What simulates; legged robots need mujoco.")
    ] = "auto",
    feet: Annotated[list[str] | None, typer.Option(metavar="F,…", help="Feet of a legged robot.")] = None,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=Q", help="Hold a joint at a value (rad or m).")] = None,
    repair_prior: Annotated[bool, typer.Option("--repair-prior", help="Make unphysical bodies physical.")] = False,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Another motion to predict; may be repeated.")
    ] = None,
    evaluations: Annotated[int, typer.Option(help="Candidates to simulate, each in all windows.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for search.json, robot.urdf, checkpoint.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in -o DIR.")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search parameters with which simulation ends where the robot did, and say what prediction cannot see."""
    from steelyard.experiment.search.command import search as searched
    from steelyard.fleet.workers import Workers
    from steelyard.output.results import refuse_overwriting

    if out is not None:
        refuse_overwriting(out, logs)
    with shown_progress() as progress, Workers.asked(workers, scheduler) as crew:
        result = searched(
            robot,
            logs,
            algorithm=algorithm,
            horizons=horizon or (0.03,),
            windows=windows,
            model=model,
            links=listed(links),
            total=total_mass,
            engine=engine,
            feet=listed(feet),
            lock=numbered("--lock", lock),
            repair=repair_prior,
            validate=validate or (),
            evaluations=evaluations,
            seed=seed,
            out=out,
            resume=resume,
            progress=progress,
            workers=crew,
        )
    files = result.write(out) if out is not None else []
    if as_json:
        print(json.dumps(result.as_json(), indent=1, allow_nan=False))
        return
    f, see = result.found, result.sight
    print_table(["link", "parameter", "start", "found", "who says so"], result.rows())
    print(
        f"GC error {f.start:.4g} at the start, {f.error:.4g} found: {f.reduction:.3g} times less "
        f"({f.algorithm}, {f.evaluations} evaluations)"
    )
    for log, (before, after) in result.held_out.items():
        print(f"held out {log}: GC error a window {before:.4g} at the start, {after:.4g} found")
    if truth := result.as_json().get("truth"):
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


def reproduce(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A folder of papers/ with a run.py, e.g. lee.")],
) -> None:
    """Compute a paper's tables and figures anew: `steelyard reproduce lee --quick`; from a checkout."""
    import importlib

    from steelyard.errors import Finding, UsageError

    root = Path(__file__).resolve().parents[2]
    known = sorted(path.parent.name for path in (root / "papers").glob("*/run.py"))
    if paper not in known:
        what = "cannot be reproduced" if known else "needs the papers folder of a checkout, which is not here"
        fix = f"Choose from: {', '.join(known)}" if known else "Clone the repository and install it with pip install -e"
        raise UsageError(Finding(f"paper {paper!r}", what, fix))
    sys.path.insert(0, str(root))
    importlib.import_module(f"papers.{paper}.run").main(context.args)
