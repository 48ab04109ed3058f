"""Verbs that make robots move: demo, simulate, calibrate, reproduce."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from steelyard.commands.arguments import (
    JsonOption,
    LevelKind,
    MotionKind,
    OutOption,
    PerturbKind,
    RobotArgument,
    listed,
)
from steelyard.terminal import print_bodies, print_end, print_table, shown_progress

if TYPE_CHECKING:
    pass


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
    for page in (f for f in files if f.suffix == ".html"):
        print(f"\nReport: {page}")


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
                feet=listed(feet), imu_frame=imu, wrenches=wrenches,
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
