"""A humanoid on its two soles: its legs, a home posture with bent knees, inverse kinematics of the legs.

A leg has six revolute joints between base and sole, so the poses of base and sole determine its joints
(``kernels/reach.py``). World axes at home: x and y of the base, z up; the origin is on the ground midway between the
soles.
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

LEAN, TIGHT = 0.12, 0.35  # rad: roll of the trunk over one foot, where ankles roll less than that
CROUCH = 0.93  # height of the hips over the soles at home, over that with straight legs
REACHED = 1e-6  # m and rad, largest error of the inverse kinematics


@dataclass(frozen=True)
class Leg:
    """Six joints from the base to a sole."""

    sole: Sole
    joints: Array  # (6,) indices of robot.joints, from the base down
    chain: Array  # (7, 15) placement (R by rows, p) and axis of each joint, then of the sole


@dataclass(frozen=True)
class HumanoidStance:
    """A standing humanoid: legs, limits, home posture."""

    robot: Robot
    legs: tuple[Leg, Leg]  # left, right

    @classmethod
    def of(cls, robot: Robot, feet: Sequence[str] = ()) -> HumanoidStance:
        """Find the legs in the description.

        Args:
            robot: Its base floats.
            feet: Links of the soles, left and right; found from the geometry where not given.

        Raises:
            UsageError: The base is fixed, joints are coupled, or legs are not a humanoid's.
        """
        findings = []
        if not robot.floating:
            fix = 'Load it with base="floating"'
            findings.append(Finding("base-fixed", robot.name, "has a fixed base", fix, {"base": "floating"}))
        if robot.coupling is not None:
            what = "has mimic joints, or sensors between its bodies"
            fix = "Lock those joints (fingers often): lock={JOINT: 0}"
            findings.append(Finding("joints-coupled", robot.name, what, fix, {"lock": None}))
        if findings:
            raise UsageError(findings)
        return cls(robot, tuple(_find_leg(robot, sole) for sole in find_soles(robot, feet)))  # type: ignore[arg-type]

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Position limits, (J,) each; half a turn to both sides where a joint has none."""
        described = [self.robot.description.joints[j] for j in self.robot.joints]
        lower, upper = np.array([j.lower for j in described]), np.array([j.upper for j in described])
        return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)

    @cached_property
    def speeds(self) -> Array:
        """Velocity limits (J,), rad/s or m/s; inf where a joint has none."""
        return np.array([self.robot.description.joints[j].velocity or np.inf for j in self.robot.joints])

    @cached_property
    def efforts(self) -> Array:
        """Effort limits (J,), N·m or N; inf where a joint has none."""
        return np.array([self.robot.description.joints[j].effort or np.inf for j in self.robot.joints])

    @cached_property
    def upper(self) -> Array:
        """Joints that are in no leg, as indices of robot.joints."""
        return np.setdiff1d(np.arange(len(self.robot.joints)), np.concatenate([leg.joints for leg in self.legs]))

    @cached_property
    def straight(self) -> Array:
        """Positions (2, 3) of the soles in the base frame in the neutral posture, m."""
        model, data = self.robot.model, self.robot.model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        return np.array([data.oMi[leg.sole.joint].act(leg.sole.placement[:3, 3]) for leg in self.legs])

    @cached_property
    def soles(self) -> Array:
        """Positions (2, 3) of the soles in the world at home, m."""
        flat = self.straight.copy()
        flat[:, 2] = 0.0
        return np.asarray(flat - flat.mean(axis=0))

    @cached_property
    def height(self) -> float:
        """Height of the base over the ground at home, m."""
        hips = np.mean([leg.chain[:3, 9:12].sum(axis=0)[2] for leg in self.legs])  # of the neutral posture
        length = hips - float(self.straight[:, 2].mean())
        return float(CROUCH * length - hips)

    @property
    def home(self) -> Array:
        """Posture (J,) at which motions start and end: knees bent, the rest as near to neutral as limits allow."""
        return self._standing[1]

    @property
    def base(self) -> Array:
        """Position (3,) of the base in the world at home, m: the centre of mass is midway between the soles."""
        return self._standing[0]

    @cached_property
    def _standing(self) -> tuple[Array, Array]:
        model, data = self.robot.model, self.robot.model.createData()
        base = np.array([*-self.straight[:, :2].mean(axis=0), self.height])
        lower, upper = self.limits
        q = np.clip(np.zeros(len(lower)), lower + 0.1 * (upper - lower), upper - 0.1 * (upper - lower))
        for _ in range(50):
            q = self._bend_knees(base, q)
            off = pin.centerOfMass(model, data, self.robot.positions(q[None])[0])[:2] + base[:2]
            if np.abs(off).max() < 1e-13:
                break
            base = base - [*off, 0.0]
        return base, self._bend_knees(base, q)

    def _bend_knees(self, base: Array, q: Array) -> Array:
        """Posture (J,) with both soles on the ground below a base at a position (3,)."""
        q, (lower, upper) = q.copy(), self.limits
        for leg, place in zip(self.legs, self.soles, strict=True):
            low, high = lower[leg.joints], upper[leg.joints]
            solutions = []
            for start in (s * np.array(x) for s in (1, -1) for x in _BENT_KNEES):
                x = np.clip(start, low, high)[None]
                error = solve_leg(leg, flat_poses(np.eye(3)[None], (place - base)[None]), x)
                inside = np.minimum(x[0] - low, high - x[0]).min()
                solutions.append((error[0] < REACHED, inside, x[0]))
            reached, inside, angles = max(solutions, key=lambda s: s[:2])  # knees bend where their limits allow it
            if not reached or inside < 0:
                where = f"leg {leg.sole.name} of {self.robot.name}"
                what, fix = "does not reach the ground with a bent knee", "Give a robot whose legs bend under its base"
                raise UsageError(Finding("leg-unsuitable", where, what, fix))
            q[leg.joints] = angles
        return q

    def below(self, joints: Sequence[int]) -> list[int]:
        """These joints and all below them, as indices of robot.joints."""
        names = {self.robot.joints[j] for j in joints}
        model = self.robot.model
        return [k for k, j in enumerate(self.robot.joints) if names & set(self.robot.joints_above(model.getJointId(j)))]

    @cached_property
    def lean(self) -> float:
        """Roll of the trunk over a single standing foot, rad; 0 where ankles roll far enough."""
        aside = []
        for leg in self.legs:  # the roll joint nearest to the foot
            rolls = [j for j in leg.joints if abs(self.robot.description.joints[self.robot.joints[j]].axis[0]) > 0.9]
            aside.append(min(abs(limit[rolls[-1]]) for limit in self.limits) if rolls else np.inf)
        return LEAN if min(aside) < TIGHT else 0.0

    @cached_property
    def mass(self) -> float:
        """Total mass of the description, kg."""
        return float(sum(b.parameters[0] for b in self.robot.bodies))

    @cached_property
    def com_height(self) -> float:
        """Height of the centre of mass over the ground at home by the description, m."""
        data = self.robot.model.createData()
        pin.centerOfMass(self.robot.model, data, self.robot.positions(self.home[None])[0])
        return float(data.com[0][2] + self.height)


_BENT_KNEES = (
    [0, 0, -0.4, 0.8, -0.4, 0],
    [-0.4, 0, 0, 0.8, -0.4, 0],
    [0, -0.4, 0, 0.8, -0.4, 0],
    [-0.4, 0, 0, 0.8, 0, -0.4],
)


def _find_leg(robot: Robot, sole: Sole) -> Leg:
    names = robot.joints_above(sole.joint)[::-1]
    kinds = {robot.description.joints[j].kind for j in names}
    if len(names) != LEG or not kinds <= {"revolute", "continuous"}:
        what = f"has {len(names)} joints ({', '.join(sorted(kinds))}) between base and sole, not {LEG} revolute ones"
        fix = f"Lock all but {LEG} revolute joints: lock={{JOINT: 0}}"
        raise UsageError(Finding("leg-unsuitable", f"leg {sole.name} of {robot.name}", what, fix, {"lock": None}))
    chain = np.zeros((LEG + 1, 15))
    for k, name in enumerate(names):
        at = robot.model.jointPlacements[robot.model.getJointId(name)]
        chain[k] = [*at.rotation.ravel(), *at.translation, *robot.description.joints[name].axis]
    chain[LEG, :12] = [*sole.placement[:3, :3].ravel(), *sole.placement[:3, 3]]
    return Leg(sole, np.array([robot.joints.index(j) for j in names]), chain)


def flat_poses(R: Array, p: Array) -> Array:
    """Rotations (T, 3, 3) and positions (T, 3) as rows (T, 12), as ``kernels.reach`` takes them."""
    return np.ascontiguousarray(np.hstack([R.reshape(len(R), 9), p]))


def solve_leg(leg: Leg, poses: Array, q: Array) -> Array:
    """Solve a leg's joints q (T, 6) for poses of its sole, in place, from their values; errors (T,), m or rad."""
    from steelyard.kernels.reach import reach

    error = np.empty(len(q))
    reach(leg.chain, poses, q, error)
    return error
