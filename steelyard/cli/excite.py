"""``steelyard excite``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from steelyard.cli.arguments import JsonOption, OutOption, RobotArgument, SchedulerOption, WorkersOption
from steelyard.cli.derived_options import numbered, takes
from steelyard.cli.terminal import print_table, shown_bar
from steelyard.experiment.excite.motion_request import ArmRequest, HumanoidRequest

if TYPE_CHECKING:
    from steelyard.experiment.excite.arm_motion import ArmMotion
    from steelyard.experiment.excite.excite_humanoid import HumanoidMotions


@takes(HumanoidRequest, panel="Motions of a humanoid", name="humanoid")
@takes(ArmRequest, panel="Motion of an arm", name="arm")
def excite(
    robot: RobotArgument,
    out: OutOption,
    arm: ArmRequest,
    humanoid: HumanoidRequest,
    candidates: Annotated[
        int | None, typer.Option(help="Random motions to begin with; 30 for an arm, 120 for a humanoid.")
    ] = None,
    srdf: Annotated[
        Path | None, typer.Option(metavar="F", help="Says which links may touch; found if not given.")
    ] = None,
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
    from steelyard.experiment.excite.arm_motion import find_arm_motion
    from steelyard.experiment.excite.excite_humanoid import excite_humanoid
    from steelyard.fleet.workers import Workers
    from steelyard.output.arm_motion_files import write_arm_motion
    from steelyard.output.humanoid_motion_files import write_humanoid_motions
    from steelyard.robot.model import Robot

    model = Robot.load(robot, base=base, lock=numbered("--lock", lock))
    file = None if srdf is None else str(srdf)
    found: ArmMotion | HumanoidMotions
    if model.floating:
        several = replace(humanoid, candidates=candidates or humanoid.candidates, seed=seed, srdf=file)
        with Workers.asked(workers, scheduler) as crew, shown_bar("looking for motions") as bar:
            found = excite_humanoid(model, several, out, lambda share, _: bar(share), crew)
            files = write_humanoid_motions(found, out)
    else:
        one = replace(arm, screened=candidates or arm.screened, seed=seed, srdf=file)
        with Workers.asked(workers, scheduler) as crew, shown_bar("looking for a motion") as bar:
            found = find_arm_motion(model, one, out, bar, crew)
            files = write_arm_motion(found, out)
            bar(1.0)
    if as_json:
        print(json.dumps(found.as_json(), indent=1))
    elif model.floating:
        _print_humanoid(found, files)  # type: ignore[arg-type]
    else:
        _print_arm(found, files)  # type: ignore[arg-type]


def _print_arm(found: ArmMotion, files: Sequence[Path]) -> None:
    start, limits = found.best.motion.at(0.0)[0][0], found.task.limits
    rows = [
        [joint, f"{start[k]:.3f}", f"{limits.lower[k]:.2f} … {limits.upper[k]:.2f}", f"{limits.speed[k]:.2f}"]
        for k, joint in enumerate(found.task.robot.joints)
    ]
    print_table(["joint", "starts at", "kept within", "and below, /s"], rows)
    _print_links(found.links)
    used = ", ".join(f"{100 * x:.1f} % of {k}" for k, x in found.best.used._asdict().items() if x > 0)
    print(f"limits used at any time: {used}")
    print(f"base parameters: {found.told}; log det {found.best.log_det:.1f}, random {found.start.log_det:.1f}")
    print("told least: " + ", ".join(f"{name} to {100 * std:.0f} %" for name, std in found.weakest))
    apart = "none, --clearance is 0" if found.looked_at is None else str(found.looked_at)
    print(f"pairs of links kept apart: {apart}")
    _print_guessed(found.guessed)
    print("written: " + ", ".join(map(str, files)))
    print(f"\n{found.sentence()}")


def _print_humanoid(found: HumanoidMotions, files: Sequence[Path]) -> None:
    told = found.as_json()
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
    _print_links(found.links)
    print("told least: " + ", ".join(f"{w.name} (move {', '.join(w.joints) or 'the base'})" for w in found.weakest))
    _print_guessed(found.guessed)
    print(f"written: {files[0]} to {files[-3].name}, {', '.join(f.name for f in files[-2:])}")
    print(f"\n{found.sentence()}")


def _print_links(conditions: Mapping[str, float]) -> None:
    print_table(["link", "condition of its columns"], [[name, f"{x:.3g}"] for name, x in conditions.items()])


def _print_guessed(bodies: Sequence[str]) -> None:
    if bodies:
        named = ", ".join(bodies[:3]) + (f" and {len(bodies) - 3} more" if len(bodies) > 3 else "")
        print(f"shapes guessed from inertias: {named}. Watch the motion in a viewer before you play it")
