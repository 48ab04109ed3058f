"""A humanoid on its two soles: its legs, a home posture with bent knees, and joints for any pose of base and feet.

Legs have six revolute joints between base and sole, so where base and soles are decides what their joints are
(``kernels/reach.py``). World axes at home: x and y of the base, z up, the ground at z = 0, the origin amid both soles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from steelyard.errors import Finding, UsageError
from steelyard.robot.model import Robot
from steelyard.robot.soles import LEG, Sole, find_soles
from steelyard.spatial import Array

LEAN, TIGHT = 0.12, 0.35  # rad
CROUCH = 0.93  # height of the base over the soles at home, of that with straight legs
WELL = 1e-6  # m and rad, how near a leg must come to where it should be


@dataclass(frozen=True)
class Leg:
    """Six joints from the base to a sole."""

    sole: Sole
    joints: Array  # (6,) into robot.joints, from the base down
    chain: Array  # (7, 15) placement (R by rows, p) and axis of each joint, then of the sole


@dataclass(frozen=True)
class HumanoidStance:
    """A robot that stands, and what it takes to move it there."""

    robot: Robot
    legs: tuple[Leg, Leg]  # left, right

    @classmethod
    def of(cls, robot: Robot, feet: Sequence[str] = ()) -> HumanoidStance:
        """Legs found from the description; refused where base, legs or joints are not a humanoid's."""
        findings = []
        if not robot.floating:
            findings.append(
                Finding("todo", robot.name, "has a fixed base", "Load it with a floating base: --base floating")
            )
        if robot.coupling is not None:
            what = "has joints that follow others, or sensors that cut it"
            findings.append(Finding("todo", robot.name, what, "Hold such joints, fingers often: --lock JOINT=0"))
        if findings:
            raise UsageError(findings)
        return cls(robot, tuple(_leg(robot, sole) for sole in find_soles(robot, feet)))  # type: ignore[arg-type]

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """(J,) lowest and highest position; a turn to both sides where a joint has none."""
        described = [self.robot.description.joints[j] for j in self.robot.joints]
        lower, upper = np.array([j.lower for j in described]), np.array([j.upper for j in described])
        return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)

    @cached_property
    def speeds(self) -> Array:
        """(J,) rad/s or m/s, greatest."""
        return np.array([self.robot.description.joints[j].velocity or np.inf for j in self.robot.joints])

    @cached_property
    def efforts(self) -> Array:
        """(J,) N·m or N, greatest."""
        return np.array([self.robot.description.joints[j].effort or np.inf for j in self.robot.joints])

    @cached_property
    def upper(self) -> Array:
        """Joints that are in no leg, into robot.joints."""
        return np.setdiff1d(np.arange(len(self.robot.joints)), np.concatenate([leg.joints for leg in self.legs]))

    @cached_property
    def straight(self) -> Array:
        """(2, 3) m, soles in the base's frame at the neutral posture."""
        model, data = self.robot.model, self.robot.model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        return np.array([data.oMi[leg.sole.joint].act(leg.sole.placement[:3, 3]) for leg in self.legs])

    @cached_property
    def soles(self) -> Array:
        """(2, 3) m, where the soles stand at home in the world."""
        flat = self.straight.copy()
        flat[:, 2] = 0.0
        return np.asarray(flat - flat.mean(axis=0))

    @cached_property
    def height(self) -> float:
        """Of the base over the ground at home, m."""
        hips = np.mean([leg.chain[:3, 9:12].sum(axis=0)[2] for leg in self.legs])  # of the neutral posture
        length = hips - float(self.straight[:, 2].mean())
        return float(CROUCH * length - hips)

    @property
    def home(self) -> Array:
        """(J,) the posture that motions start from and end in: knees bent, the rest as near neutral as limits allow."""
        return self._standing[1]

    @property
    def base(self) -> Array:
        """(3,) m, of the base at home in the world: the centre of mass is over the middle of the soles."""
        return self._standing[0]

    @cached_property
    def _standing(self) -> tuple[Array, Array]:
        model, data = self.robot.model, self.robot.model.createData()
        base = np.array([*-self.straight[:, :2].mean(axis=0), self.height])
        lower, upper = self.limits
        q = np.clip(np.zeros(len(lower)), lower + 0.1 * (upper - lower), upper - 0.1 * (upper - lower))
        for _ in range(50):
            q = self._bent(base, q)
            off = pin.centerOfMass(model, data, self.robot.positions(q[None])[0])[:2] + base[:2]
            if np.abs(off).max() < 1e-13:
                break
            base = base - [*off, 0.0]
        return base, self._bent(base, q)

    def _bent(self, base: Array, q: Array) -> Array:
        """The posture (J,) with both legs on the ground below a base."""
        q, (lower, upper) = q.copy(), self.limits
        for leg, place in zip(self.legs, self.soles, strict=True):
            low, high = lower[leg.joints], upper[leg.joints]
            found = []
            for start in (s * np.array(x) for s in (1, -1) for x in _BENT):
                x = np.clip(start, low, high)[None]
                left = solve(leg, poses(np.eye(3)[None], (place - base)[None]), x)
                inside = np.minimum(x[0] - low, high - x[0]).min()
                found.append((left[0] < WELL, inside, x[0]))
            good, inside, angles = max(found, key=lambda f: f[:2])  # knees bend where their limits let them
            if not good or inside < 0:
                raise UsageError(
                    Finding(
                        "todo",
                        f"leg {leg.sole.name} of {self.robot.name}",
                        "does not reach the ground with a bent knee",
                        "Take a robot whose legs bend under its base",
                    )
                )
            q[leg.joints] = angles
        return q

    def below(self, joints: Sequence[int]) -> list[int]:
        """These joints and all that they carry, into robot.joints."""
        names = {self.robot.joints[j] for j in joints}
        model = self.robot.model
        return [k for k, j in enumerate(self.robot.joints) if names & set(self.robot.joints_above(model.getJointId(j)))]

    @cached_property
    def lean(self) -> float:
        """rad that the trunk leans over a foot that stands alone: none where ankles bend far enough aside."""
        aside = []
        for leg in self.legs:  # the joint nearest to the foot that turns about the way ahead
            rolls = [j for j in leg.joints if abs(self.robot.description.joints[self.robot.joints[j]].axis[0]) > 0.9]
            aside.append(min(abs(limit[rolls[-1]]) for limit in self.limits) if rolls else np.inf)
        return LEAN if min(aside) < TIGHT else 0.0

    @cached_property
    def mass(self) -> float:
        """kg, as described."""
        return float(sum(b.parameters[0] for b in self.robot.bodies))

    @cached_property
    def com_height(self) -> float:
        """m, of the centre of mass over the ground at home, as described."""
        data = self.robot.model.createData()
        pin.centerOfMass(self.robot.model, data, self.robot.positions(self.home[None])[0])
        return float(data.com[0][2] + self.height)


_BENT = ([0, 0, -0.4, 0.8, -0.4, 0], [-0.4, 0, 0, 0.8, -0.4, 0], [0, -0.4, 0, 0.8, -0.4, 0], [-0.4, 0, 0, 0.8, 0, -0.4])


def _leg(robot: Robot, sole: Sole) -> Leg:
    names = robot.joints_above(sole.joint)[::-1]
    kinds = {robot.description.joints[j].kind for j in names}
    if len(names) != LEG or not kinds <= {"revolute", "continuous"}:
        what = f"has {len(names)} joints ({', '.join(sorted(kinds))}) between base and sole"
        fix = f"Lock all but {LEG} that turn: --lock JOINT=0"
        raise UsageError(Finding("todo", f"leg {sole.name} of {robot.name}", what, fix))
    chain = np.zeros((LEG + 1, 15))
    for k, name in enumerate(names):
        at = robot.model.jointPlacements[robot.model.getJointId(name)]
        chain[k] = [*at.rotation.ravel(), *at.translation, *robot.description.joints[name].axis]
    chain[LEG, :12] = [*sole.placement[:3, :3].ravel(), *sole.placement[:3, 3]]
    return Leg(sole, np.array([robot.joints.index(j) for j in names]), chain)


def poses(R: Array, p: Array) -> Array:
    """(T, 12) as ``reach`` takes them."""
    return np.ascontiguousarray(np.hstack([R.reshape(len(R), 9), p]))


def solve(leg: Leg, poses: Array, q: Array) -> Array:
    """Angles q (T, 6), in place, from what they hold; how far off each stays (T,)."""
    from steelyard.kernels.reach import reach

    left = np.empty(len(q))
    reach(leg.chain, poses, q, left)
    return left
