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
        int | None, typer.Option(help="Number of random motions to start from; 30 for an arm, 120 for a humanoid.")
    ] = None,
    srdf: Annotated[
        Path | None, typer.Option(metavar="F", help="SRDF with the pairs of links that may touch; by default inferred.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random motions.")] = 0,
    lock: Annotated[list[str] | None, typer.Option(metavar="J=q", help="Hold a joint at a value; repeatable.")] = None,
    base: Annotated[Literal["auto", "fixed", "floating"], typer.Option(help="Whether the base is fixed.")] = "auto",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Optimise exciting motions within the limits of a robot.

    They respect joint limits and are free of self-collision.
    An arm gets one periodic motion, a humanoid several that keep it balanced.
    An interrupted run resumes.
    """
    from steelyard.experiment.excite.arm_motion import find_arm_motion
    from steelyard.experiment.excite.excite_humanoid import excite_humanoid
    from steelyard.fleet.workers import Workers
    from steelyard.output.arm_motion_files import write_arm_motion
    from steelyard.output.humanoid_motion_files import write_humanoid_motions
    from steelyard.robot.model import Robot

    model = Robot.load(robot, base=base, lock=numbered("--lock", lock))
    file = None if srdf is None else str(srdf)
    result: ArmMotion | HumanoidMotions
    if model.floating:
        several = replace(humanoid, candidates=candidates or humanoid.candidates, seed=seed, srdf=file)
        with Workers.of(workers, scheduler) as crew, shown_bar("optimising motions") as bar:
            result = excite_humanoid(model, several, out, lambda share, _: bar(share), crew)
            files = write_humanoid_motions(result, out)
    else:
        one = replace(arm, candidates=candidates or arm.candidates, seed=seed, srdf=file)
        with Workers.of(workers, scheduler) as crew, shown_bar("optimising a motion") as bar:
            result = find_arm_motion(model, one, out, bar, crew)
            files = write_arm_motion(result, out)
            bar(1.0)
    if as_json:
        print(json.dumps(result.as_json(), indent=1))
    elif model.floating:
        _print_humanoid(result, files)  # type: ignore[arg-type]
    else:
        _print_arm(result, files)  # type: ignore[arg-type]


def _print_arm(result: ArmMotion, files: Sequence[Path]) -> None:
    start, limits = result.best.motion.at(0.0)[0][0], result.task.limits
    rows = [
        [joint, f"{start[k]:.3f}", f"{limits.lower[k]:.2f} … {limits.upper[k]:.2f}", f"{limits.speed[k]:.2f}"]
        for k, joint in enumerate(result.task.robot.joints)
    ]
    print_table(["joint", "starts at", "range", "speed limit, 1/s"], rows)
    _print_links(result.links)
    used = ", ".join(f"{100 * x:.1f} % of {k}" for k, x in result.best.limit_usage._asdict().items() if x > 0)
    print(f"largest use of limits: {used}")
    before, after = result.best_random.log_det, result.best.log_det
    print(f"base parameters: {result.excitation}; log det {after:.1f}, before {before:.1f}")
    print("least excited: " + ", ".join(f"{name} to {100 * std:.0f} %" for name, std in result.weakest))
    checked = "none, since --clearance is 0" if result.collision_pairs is None else str(result.collision_pairs)
    print(f"pairs of links checked for collision: {checked}")
    _print_estimated_shapes(result.guessed)
    print("written: " + ", ".join(map(str, files)))
    print(f"\n{result.sentence()}")


def _print_humanoid(result: HumanoidMotions, files: Sequence[Path]) -> None:
    content = result.as_json()
    print_table(
        ["candidates", "drawn", "feasible as drawn", "feasible"],
        [[kind, str(n["drawn"]), str(n["as_drawn"]), str(n["possible"])] for kind, n in content["candidates"].items()],
    )
    print_table(
        ["motion", "kind", "duration, s", "amplitude kept", "slowed by"],
        [
            [f"{m['number']}", m["kind"], f"{m['seconds']:.1f}", f"{100 * m['amplitude']:.0f} %", f"{m['stretch']:.2f}"]
            for m in content["motions"]
        ],
    )
    _print_links(result.links)
    print("least excited: " + ", ".join(f"{w.name} (move {', '.join(w.joints) or 'the base'})" for w in result.weakest))
    _print_estimated_shapes(result.guessed)
    print(f"written: {files[0]} to {files[-3].name}, {', '.join(f.name for f in files[-2:])}")
    print(f"\n{result.sentence()}")


def _print_links(conditions: Mapping[str, float]) -> None:
    print_table(["link", "condition of its columns"], [[name, f"{x:.3g}"] for name, x in conditions.items()])


def _print_estimated_shapes(bodies: Sequence[str]) -> None:
    if bodies:
        named = ", ".join(bodies[:3]) + (f" and {len(bodies) - 3} more" if len(bodies) > 3 else "")
        print(f"collision shapes estimated from inertias: {named}. Inspect the motion in a viewer before playing it")
