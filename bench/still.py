"""Only one joint moves, the others stand still: does the noise of those hurt the answer?

Arms that are not as described, each joint moving in turn, all joints one after another, and all at once; sensors of
three kinds; joints that are held exactly, or sag under gravity. Beside the base-parameter error of each answer stand
those of the description and of the same motion without noise and sag. A body that the motion does not show, by a log
with the same torques and exact positions, must stay where the description has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard import Options, identify
from steelyard.cli.demonstration import reference_motion
from steelyard.equations.subspace import Subspace
from steelyard.experiment.simulate.reference import quintic
from steelyard.experiment.simulate.simulate_arm import Friction, fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.estimate import BodyEstimate, Estimate
from steelyard.identify.identification import Identification
from steelyard.identify.scoring import base_error
from steelyard.log.log import Log
from steelyard.robot.model import Robot

CASES = ("demo_arm:7", "demo_arm:2", "panda:2")  # robot and seed of what is true of it
SENSORS = ("low", "mid", "quantised", "sag")
SECONDS, RATE = 20.0, 200.0
STEP = 2 * np.pi / 2**14  # rad, of a quantised encoder
SAG = 3e-3  # rad, by which joints that are held give way
SAG_TIME = 4.0  # s, its time constant
FADE = 1.0  # s, at either end of a joint's turn
SHOWN = 0.98  # of its prior standard deviation: a parameter that the data narrow below this is shown
STAYS = 0.1  # prior standard deviations that exact joint positions move a parameter which is not shown, at most
WORSE, WORSE_AT_BEST = 1.02, 1.3  # times the description's error: at most, and where noise-free data give no better
MOVED = 0.5  # prior standard deviations that a body which is not shown may move
DEMO = {"shoulder_pan_joint": 0.03, "shoulder_lift_joint": 0.01, "elbow_joint": 0.025, "wrist_1_joint": 0.04}
Motion = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class World:
    """An arm that is not as described."""

    robot: Robot
    truth: Mapping[str, np.ndarray]
    friction: Friction
    seed: int

    @classmethod
    def draw(cls, name: str, seed: int) -> World:
        """The arm of this seed."""
        robot, rng = Robot.load(name), np.random.default_rng(seed)
        return cls(robot, perturbed(robot, rng), Friction.random(robot, rng), seed)

    def log(self, moving: str, sensors: str, friction: str, noise: str | None = None) -> Log:
        """A log in which a joint moves, ``all`` do, or all ``in turn``; ``noise``: other than that of the sensors."""
        noise = noise or {"quantised": "low", "sag": "mid"}.get(sensors, sensors)
        motion = self.motion(moving, sag=sensors == "sag")
        rub = self.friction if friction == "all" else None
        log = simulate_arm(self.robot, self.truth, seed=100 + self.seed, noise=noise, friction=rub, motion=motion)
        if sensors != "quantised":
            return log
        rounded = {name: np.round(x / STEP) * STEP if name.startswith("q.") else x for name, x in log.columns.items()}
        return replace(log, columns=rounded)

    def motion(self, moving: str, *, sag: bool) -> Motion:
        """Time and q, v, a: the random motion of the seed, of some joints alone; others are where it begins."""
        t, q, v, a = fourier_motion(self.robot, np.random.default_rng([self.seed, 1]), SECONDS, RATE)
        posture, joints = q[:1].copy(), self.robot.joints
        if moving == "all":
            return t, q, v, a
        share = SECONDS / len(joints)
        for k, joint in enumerate(joints):
            if moving == "in turn":
                u = np.minimum((t - k * share) / FADE, ((k + 1) * share - t) / FADE)
                side = np.where(t < (k + 0.5) * share, 1.0, -1.0) / FADE
                w, dw, ddw = quintic(np.clip(u, 0.0, 1.0))
                dw, ddw, d = dw * side, ddw / FADE**2, q[:, k] - posture[:, k]
                a[:, k] = w * a[:, k] + 2 * dw * v[:, k] + ddw * d
                v[:, k] = w * v[:, k] + dw * d
                q[:, k] = posture[:, k] + w * d
            elif joint != moving:
                q[:, k], v[:, k], a[:, k] = posture[:, k], 0.0, 0.0
            if sag and joint != moving:
                fall = SAG * np.exp(-t / SAG_TIME)
                q[:, k] -= SAG - fall
                v[:, k] -= fall / SAG_TIME
                a[:, k] += fall / SAG_TIME**2
        return t, q, v, a


def still(cases: Sequence[str] = CASES, quick: bool = False) -> dict[str, Any]:
    """Base-parameter errors of every case, ``ROBOT:SEED``; ``quick``: of the first, two joints, one kind of sensors."""
    out = []
    for case in cases[:1] if quick else cases:
        name, seed = case.split(":")
        world = World.draw(name, int(seed))
        joints = world.robot.joints
        for friction in ("all",) if quick else ("none", "all"):
            for moving in ("all", "in turn", *(joints[1:3] if quick else joints)):
                out += _cases(world, name, moving, friction, ("mid",) if quick else SENSORS)
    return {"cases": out}


def kept(result: Mapping[str, Any]) -> bool:
    """Whether no answer is worse than the description, and bodies that are not shown stay there."""
    return not any(case["faults"] for case in result["cases"])


def table(result: Mapping[str, Any]) -> str:
    """Lines of Markdown: errors in %."""
    lines = [
        f"| arm, seed | friction | moving | described | noise-free | {' | '.join(SENSORS)} | moved, σ |",
        "|---" * (len(SENSORS) + 6) + "|",
    ]
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for case in result["cases"]:
        key = (f"{case['arm']}, {case['seed']}", case["friction"], case["moving"])
        groups.setdefault(key, {})[case["sensors"]] = case
    for key, cases in groups.items():
        first = next(iter(cases.values()))
        errors = [
            f"{100 * cases[s]['error']:.3g}" + ("!" * bool(cases[s]["faults"])) if s in cases else "" for s in SENSORS
        ]
        moved = max(case["moved"] for case in cases.values())
        known = f"{100 * first['described']:.3g} | {100 * first['noise_free']:.3g}"
        lines.append(f"| {' | '.join(key)} | {known} | {' | '.join(errors)} | {moved:.2g} |")
    return "\n".join(lines)


def _cases(world: World, arm: str, moving: str, friction: str, sensors: Sequence[str]) -> list[dict[str, Any]]:
    out = []
    least = _identify(world, world.log(moving, "", friction, noise="none"), friction)
    reference = reference_motion(world.robot, least.columns)
    described, noise_free = (_error(world, reference, theta) for theta in (world.robot.prior, least.theta))
    for kind in sensors:
        log, without = world.log(moving, kind, friction), world.log(moving, kind, friction, noise="none")
        exact = {name: without.columns[name] for name in log.columns if name.startswith("q.")}
        shown = _identify(world, replace(log, columns={**log.columns, **exact}), friction)
        hidden = [b.name for b in shown.estimate.bodies if not _is_shown(b)]
        result = _identify(world, log, friction)
        error, moved = _error(world, reference, result.theta), _moved(result.estimate, hidden)
        most = WORSE * described if noise_free < described else WORSE_AT_BEST * described
        faults = ["error"] * (error > most) + ["moved"] * (max(moved.values(), default=0.0) > MOVED)
        if (arm, world.seed, kind, friction) == ("demo_arm", 7, "mid", "all") and error > DEMO.get(moving, np.inf):
            faults.append("target")
        out.append(
            {
                "arm": arm,
                "seed": world.seed,
                "friction": friction,
                "moving": moving,
                "sensors": kind,
                "described": described,
                "noise_free": noise_free,
                "exact_motion": _error(world, reference, shown.theta),
                "error": error,
                "hidden": moved,
                "moved": max(moved.values(), default=0.0),
                "faults": faults,
            }
        )
    return out


def _identify(world: World, log: Log, friction: str) -> Identification:
    return identify(world.robot.description, [log], Options(friction=friction))


def _error(world: World, reference: Subspace, theta: np.ndarray) -> float:
    exact = np.concatenate([world.truth[b.name] for b in world.robot.bodies])
    return base_error(reference, theta[: len(exact)], exact)


def _is_shown(body: BodyEstimate) -> bool:
    """Whether data narrow a parameter of a body, or move it."""
    moved = np.abs(body.parameters - body.prior) > STAYS * body.prior_std
    return bool(np.any(moved | (body.std < SHOWN * body.prior_std)))


def _moved(estimate: Estimate, names: Sequence[str]) -> dict[str, float]:
    """Body → prior standard deviations by which its parameters moved, at most."""
    bodies = [b for b in estimate.bodies if b.name in names]
    return {b.name: float(np.max(np.abs(b.parameters - b.prior) / b.prior_std)) for b in bodies}
