"""Kinematics of a quadruped on the ground: positions of its feet, motion of its trunk, support lines.

Everything is in base axes: with ``up`` known from the accelerometer, neither the base's position nor its heading
matters. Contact forces of two feet have no moment about the line through their contact points. So about that line,
with t its direction, L the angular momentum and c the centre of mass,

    dL/dt = M g s,    s = n · (c − p),    n = t × up,

and s, the lever arm of the weight, is observable while the robot stands on two diagonal feet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard import inertia
from steelyard.equations.unknown_forces import Foot, foot
from steelyard.errors import Finding, UsageError
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import Array

CLOSE = 1e-9  # m, tolerance of inverse kinematics
STEPS = 60  # iterations of inverse kinematics


@dataclass(frozen=True)
class QuadrupedStance:
    """A robot on four feet with believed parameters: legs as described, a trunk of some mass and centre of mass."""

    robot: Robot
    feet: tuple[Foot, ...]
    nominal: Array  # (J,) rad, the posture in which the centre of mass is reported
    model: Any  # pinocchio.Model with the believed trunk

    @classmethod
    def of(cls, robot: Robot, feet: Sequence[str], posture: Mapping[str, float]) -> QuadrupedStance:
        """Check that these are four point feet of a floating robot on legs of three joints.

        Raises:
            UsageError: They are not, or a joint lacks a position.
        """
        findings = []
        if not robot.floating or robot.coupling is not None:
            code, what = ("joints-coupled", "has coupled joints or sensors inside")
            if not robot.floating:
                code, what = ("base-fixed", "has a fixed base")
            fix = "Calibrate a quadruped on a floating base with independent joints"
            findings.append(Finding(code, robot.name, what, fix))
        if len(set(feet)) != 4:
            findings.append(
                Finding("feet-not-four", f"feet={','.join(feet)}", f"are {len(set(feet))}", "Name four", {"feet": None})
            )
        if findings:
            raise UsageError(findings)
        if missing := [j for j in robot.joints if j not in posture]:
            raise UsageError(
                Finding(
                    "posture-incomplete",
                    f"posture of {robot.name}",
                    f"lacks {', '.join(missing)}",
                    "Give every joint a position",
                    {"posture": dict.fromkeys(missing)},
                )
            )
        parsed = [foot(robot, text) for text in feet]
        for f in parsed:
            legs = robot.joints_above(f.frame.joint)
            if len(legs) != 3 or f.surface:
                raise UsageError(
                    Finding(
                        "leg-unsuitable",
                        f"foot {f.frame.name}",
                        f"is {'a surface' if f.surface else 'a point'} on a leg of {len(legs)} joints",
                        "Name feet that are points on legs of three joints",
                    )
                )
        return cls(robot, tuple(parsed), np.array([posture[j] for j in robot.joints]), robot.model.copy())

    @property
    def mass(self) -> float:
        """kg, of the whole robot as believed."""
        return float(sum(i.mass for i in self.model.inertias))

    def with_mass_and_com(self, mass: float, com: Array) -> QuadrupedStance:
        """The same with another trunk, so that the whole robot has this mass (kg) and centre of mass (m)."""
        legs_mass, legs = self.legs(self.nominal)
        own = mass - legs_mass
        if own <= 0:
            raise UsageError(
                Finding(
                    "mass-below-legs",
                    f"mass={mass:.3g}",
                    f"is below that of the legs, {legs_mass:.3g} kg",
                    "Give the mass of the whole robot",
                    {"mass": None},
                )
            )
        model = self.model.copy()
        spread = self.robot.model.inertias[1].inertia * own / self.robot.model.inertias[1].mass
        model.inertias[1] = pin.Inertia(own, (mass * com - legs) / own, spread)
        return replace(self, model=model)

    def with_trunk(self, trunk: Array) -> QuadrupedStance:
        """The same with these parameters (10,) of the trunk and its payload."""
        model = self.model.copy()
        model.inertias[1] = pin.Inertia.FromDynamicParameters(trunk)
        return replace(self, model=model)

    @cached_property
    def legs_of(self) -> tuple[tuple[int, ...], ...]:
        """Joints of each foot's leg, as indices into ``robot.joints``."""
        joints = self.robot.joints
        return tuple(tuple(joints.index(j) for j in self.robot.joints_above(f.frame.joint)) for f in self.feet)

    @cached_property
    def diagonals(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Indices of opposite feet: front left and rear right, then front right and rear left."""
        at = self.centres(self.nominal)[:, :2]
        away = at - at.mean(axis=0)
        round_ = [int(k) for k in np.argsort(np.arctan2(away[:, 1], away[:, 0]))]  # rear right first, counter-clockwise
        rear_right, front_right, front_left, rear_left = round_
        return (front_left, rear_right), (front_right, rear_left)

    def name(self, diagonal: tuple[int, int]) -> str:
        """Names of the two feet of a diagonal."""
        return " and ".join(self.feet[k].frame.name for k in diagonal)

    def placed(self, q: Array) -> Any:
        """Pinocchio's data with poses, Jacobians and first moments in this posture (J,), the base at the identity."""
        data = self.model.createData()
        pin.computeJointJacobians(self.model, data, self.robot.positions(q[None])[0])
        return data

    def foot_at(self, data: Any, k: int, up: Array | float = 0.0) -> tuple[Array, Array]:
        """(3,) m, centre of a foot, or with ``up`` its contact point; and its Jacobian (3, 6 + J)."""
        f = self.feet[k]
        at = data.oMi[f.frame.joint].act(f.centre) - f.radius * up
        J = pin.getJointJacobian(self.model, data, f.frame.joint, pin.ReferenceFrame.WORLD)
        return at, J[:3] - pin.skew(at) @ J[3:]

    def centres(self, q: Array) -> Array:
        """(4, 3) m, centres of the feet."""
        data = self.placed(q)
        return np.array([data.oMi[f.frame.joint].act(f.centre) for f in self.feet])

    def touching(self, q: Array, up: Array) -> Array:
        """(4, 3) m, contact points of the feet."""
        return np.asarray(self.centres(q) - np.array([[f.radius] for f in self.feet]) * up)

    def legs(self, q: Array) -> tuple[float, Array]:
        """Mass (kg) and first moment (3,) kg·m about the base's origin of all but the trunk."""
        data = self.placed(q)
        parts = [
            inertia.transform(self.model.inertias[k].toDynamicParameters(), data.oMi[k].homogeneous)
            for k in range(2, self.model.njoints)
        ]
        total = np.sum(parts, axis=0)
        return float(total[0]), total[1:4]

    def com(self, q: Array) -> Array:
        """(3,) m, believed centre of mass of the whole robot in this posture."""
        return np.array(pin.centerOfMass(self.model, self.model.createData(), self.robot.positions(q[None])[0]))

    def reach(self, wanted: Array, start: Array | None = None) -> Array:
        """(J,) posture with the feet's centres at ``wanted`` (4, 3): inverse kinematics by Newton's method, leg by leg.

        Raises:
            UsageError: The legs do not reach, or not within their joint limits.
        """
        q = np.array(self.nominal if start is None else start)
        for _ in range(STEPS):
            data = self.placed(q)
            worst = 0.0
            for k, (leg, goal) in enumerate(zip(self.legs_of, wanted, strict=True)):
                at, J = self.foot_at(data, k)
                miss = goal - at
                worst = max(worst, float(np.linalg.norm(miss)))
                A = J[:, [6 + j for j in leg]]
                step = np.linalg.solve(A.T @ A + 1e-12 * np.eye(3), A.T @ miss)
                q[list(leg)] += step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-12))
            if worst < CLOSE:
                break
        lower = np.array([self.robot.description.joints[j].lower for j in self.robot.joints])
        upper = np.array([self.robot.description.joints[j].upper for j in self.robot.joints])
        if worst > 1e-6 or np.any(q < lower) or np.any(q > upper):
            raise UsageError(
                Finding(
                    "posture-unreachable",
                    f"posture of {self.robot.name}",
                    "is beyond the legs' reach or joint limits",
                    "Stand lower, or search a narrower range",
                )
            )
        return q

    def moved(self, shift: Array, turn: Array | None = None, start: Array | None = None) -> Array:
        """(J,) posture of a trunk moved by ``shift`` (m) and turned (3, 3) about its origin, feet in place."""
        R = np.eye(3) if turn is None else turn
        return self.reach((self.centres(self.nominal) - shift) @ R, start)

    def line(self, q: Array, up: Array, diagonal: tuple[int, int]) -> tuple[Array, Array]:
        """A point of the line through two feet's contact points, and its horizontal normal n."""
        p, other = self.touching(q, up)[list(diagonal)]
        t = (other - p) / np.linalg.norm(other - p)
        return p, np.cross(t, up)

    def lever(self, q: Array, up: Array, diagonal: tuple[int, int]) -> float:
        """m, believed lever arm of the weight about the line through two feet."""
        p, n = self.line(q, up, diagonal)
        return float(n @ (self.com(q) - p))

    def tipping(self, q: Array, v: Array, gyro: Array, up: Array, diagonal: tuple[int, int]) -> tuple[Array, Array]:
        """(T,) believed lever arm (m) and momentum (kg·m²/s) about the line, of samples (T, …).

        Feet roll on their contact points; the line runs through these, and the first of them is at rest.
        """
        data = self.model.createData()
        lever, momentum = np.empty(len(q)), np.empty(len(q))
        for k, x in enumerate(self.robot.positions(q)):
            pin.computeJointJacobians(self.model, data, x)
            (p, J), (other, _) = (self.foot_at(data, foot, up[k]) for foot in diagonal)
            t = (other - p) / np.linalg.norm(other - p)
            motion = np.concatenate([np.zeros(3), gyro[k], v[k]])
            motion[:3] = -J @ motion
            h = pin.computeCentroidalMomentum(self.model, data, x, motion)
            lever[k] = np.cross(t, up[k]) @ (data.com[0] - p)
            momentum[k] = t @ (h.angular + np.cross(data.com[0] - p, h.linear))
        return lever, momentum

    def forces(self, q: Array, tau: Array, up: Array) -> Array:
        """(4, 3) N, base axes: force of the ground on each foot of a robot at rest, from its joint torques (J,)."""
        model = self.model.copy()
        model.gravity.linear = -GRAVITY * up
        x, data = self.robot.positions(q[None])[0], self.placed(q)
        weight = pin.computeGeneralizedGravity(model, model.createData(), x)[6:]
        forces = np.empty((4, 3))
        for k, leg in enumerate(self.legs_of):
            A = self.foot_at(data, k, up)[1][:, [6 + j for j in leg]]
            forces[k] = np.linalg.solve(A.T, (weight - tau)[list(leg)])
        return forces
