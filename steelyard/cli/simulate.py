"""``steelyard simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import RobotArgument
from steelyard.cli.derived_options import numbered, takes
from steelyard.cli.terminal import shown_progress
from steelyard.experiment.simulate.simulation_options import SimulationOptions


@takes(SimulationOptions)
def simulate(
    robot: RobotArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="LOG", help="Log to write: .parquet, .csv or .npz.")],
    options: SimulationOptions,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=q", help="Hold a joint at a value; repeatable.")] = None,
) -> None:
    """Simulate a robot that differs from its description.

    Writes a log with the true parameters in its metadata.
    """
    from steelyard.experiment.simulate.request import simulate as run
    from steelyard.log.table import write_log
    from steelyard.robot.model import Robot

    model = Robot.load(robot, lock=numbered("--lock", lock))
    with shown_progress() as progress:
        progress("simulating")
        log = run(model, options)
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        write_log(out, log)
    print(f"written: {out}, {len(log)} samples in {len(log.columns) + 1} columns, the truth in its metadata")
    if touched := log.metadata["simulation"].get("at_joint_limits"):
        print(f"Joints were at a limit in {touched} samples, where unmodelled forces act.")
    if options.play is not None and model.floating:
        if any(name.startswith("wrench.") for name in log.columns):
            print(f"Identify all links: steelyard identify {robot} {out} --equations base -o DIR")
    elif names := log.metadata["simulation"].get("feet"):
        links, feet = model.bodies[0].name, ",".join(names)
        print(f"Identify the trunk: steelyard identify {robot} {out} --links {links} --feet {feet} -o DIR")
