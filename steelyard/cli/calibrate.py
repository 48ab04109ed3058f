"""``steelyard calibrate``: calibration routines on a simulated quadruped, compared with the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from steelyard.cli.arguments import JsonOption, RobotArgument
from steelyard.cli.derived_options import takes
from steelyard.cli.terminal import print_table, shown_progress
from steelyard.experiment.calibrate.rig_options import RigOptions

calibrate = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Run calibration routines of a simulated quadruped."
)

CalibrateOut = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder for calibration.json.")]


@calibrate.command("com")
@takes(RigOptions)
def calibrate_com(
    robot: RobotArgument,
    options: RigOptions,
    out: CalibrateOut = None,
    method: Annotated[
        Literal["momentum", "halving"],
        typer.Option(help="Choice of the next trial: from the tipping speed, or the middle of the bracket."),
    ] = "momentum",
    tilt: Annotated[bool, typer.Option(help="Tilt the trunk by ±15° as well, to measure z.")] = True,
    trials: Annotated[int, typer.Option(help="Most trials on each line.")] = 6,
    as_json: JsonOption = False,
) -> None:
    """Measure the centre of mass by bisection on two diagonal feet, from joints and IMU."""
    from steelyard.experiment.calibrate.bisection import Bisection
    from steelyard.experiment.calibrate.com import find_com
    from steelyard.experiment.calibrate.simulated import com_beside_truth, rig_of
    from steelyard.output.calibration import com_picture, write_calibration
    from steelyard.robot.model import Robot

    rig = rig_of(Robot.load(robot), options)
    report = (lambda text: None) if as_json else print
    measured = find_com(rig, Bisection(method, trials), zero_error=options.zero_error, tilt=tilt, progress=report)
    result = com_beside_truth(rig, measured)
    files = [] if out is None else write_calibration(out, result, {"com.svg": com_picture(rig, measured, result)})
    if as_json:
        print(json.dumps(result, indent=1))
        return
    rows = [
        [axis, f"{1e3 * d:.1f}", f"{1e3 * c:.1f} ± {1960 * s:.1f}", f"{1e3 * t:.1f}"]
        for axis, d, c, s, t in zip(
            "xyz", measured.described, measured.com, measured.std, result["truth"]["com"], strict=True
        )
    ]
    print_table(["centre of mass, mm", "described", "measured (95 %)", "true"], rows)
    print("Whole robot in its nominal posture, base axes; first moments of the legs from the description.")
    if files:
        print("written: " + ", ".join(map(str, files)))
    depth = "" if tilt else "; z is taken from the description"
    half_width = 1960 * max(measured.std[:2])
    print(f"\nx and y are measured to ± {half_width:.1f} mm in {measured.trials} trials on two feet{depth}.")


@calibrate.command("inertia")
@takes(RigOptions)
def calibrate_inertia(
    robot: RobotArgument,
    options: RigOptions,
    out: CalibrateOut = None,
    periods: Annotated[int, typer.Option(help="Periods of two seconds about each axis.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Measure the moments of inertia from sinusoidal rotations of the trunk: effective and composite."""
    from steelyard.experiment.calibrate.composite import find_inertia
    from steelyard.experiment.calibrate.simulated import inertia_beside_truth, rig_of
    from steelyard.experiment.calibrate.sinusoid import Shake
    from steelyard.output.calibration import write_calibration
    from steelyard.robot.model import Robot

    rig = rig_of(Robot.load(robot), options)
    with shown_progress() as progress:
        measured = find_inertia(rig, Shake(periods=periods), progress=progress)
        result = inertia_beside_truth(rig, measured)
        files = [] if out is None else write_calibration(out, result, {})
    if as_json:
        print(json.dumps(result, indent=1))
        return
    whole, true = measured.composite, result["truth"]
    rows = [
        [
            one.axis,
            f"{one.inertia:.4f} ± {1.96 * one.std:.4f}",
            f"{true['effective'][k]:.4f}",
            f"{one.damping:.3f}",
            f"{whole.inertia[k, k]:.4f} ± {1.96 * whole.std[k]:.4f}",
            f"{true['composite'][(0, 2, 5)[k]]:.4f}",
        ]
        for k, one in enumerate(measured.effective)
    ]
    print_table(["kg·m² about", "effective (95 %)", "true", "damping, N·m·s", "composite (95 %)", "true"], rows)
    if files:
        print("written: " + ", ".join(map(str, files)))
    print("\nEffective: of the trunk on fixed feet with bending legs, as a balance controller needs it.")
    print("Composite: of the whole robot as one body in its nominal posture, with legs from the description.")
