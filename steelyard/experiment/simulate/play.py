"""Tracking control of a humanoid: from its state and a reference motion to motor torques.

Desired accelerations of base, arms and soles are those of the reference plus feedback; those of the legs follow from
base and soles. The first six rows of the described robot's ``rnea(q, v, a) = Sᵀτ + Σ Jᵀf``, plus an observed
disturbance, determine the contact wrench; its forces are sums of edges of friction pyramids at the corners of the
soles, λ ≥ 0, by non-negative least squares. The other rows determine the motor torques. The controller does not know
the truth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.reference_motion import ReferenceMotion, with_soles
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.kernels import active_set
from steelyard.robot.model import Robot
from steelyard.robot.soles import Sole
from steelyard.spatial import Array, cross

BASE = (120.0, 22.0)  # 1/s², 1/s: stiffness and damping of the base's position
TILT = (400.0, 40.0)  # of its orientation
ARMS = (900.0, 60.0)  # of joints that belong to no leg
SOLE = (200.0, 28.0)  # of soles in swing
STAND = (50.0, 30.0)  # of soles in stance
CONE = 0.6  # assumed coefficient of friction along x and y; less between them
EDGES = np.array([[CONE, 0, 1], [-CONE, 0, 1], [0, CONE, 1], [0, -CONE, 1]]).T  # (3, 4) per N of normal force
INNER = 0.9  # of a sole's length and width, within which the centre of pressure stays
OBSERVER = 10.0  # Hz, bandwidth of the disturbance observer
COST = 1e-4  # of a force at a corner, relative to an error of the wrench, N²/N²
ARM = 0.35  # m: weight of forces relative to moments in that error
WEIGHT = np.array([1, 1, 1, 1 / ARM, 1 / ARM, 1 / ARM])[:, None]
REGULAR = 1e-8 * np.eye(6)


class Play:
    """Controller that tracks a reference motion on a robot that differs from its description."""

    def __init__(self, robot: Robot, soles: Sequence[Sole], score: ReferenceMotion) -> None:
        self.robot, self.soles, self.score = robot, tuple(soles), score
        self.model, self.frames = with_soles(robot, soles)
        self.data = self.model.createData()
        self.corners = [  # (3, 4) about its centre, in a sole's axes
            INNER * s.placement[:3, :3].T @ (s.corners - s.placement[:3, 3]).T for s in soles
        ]
        ids = {str(name): i for i, name in enumerate(self.model.names)}
        self.legs = [
            np.array([self.model.joints[ids[j]].idx_v for j in reversed(robot.joints_above(s.joint))]) for s in soles
        ]
        self.reach = [np.concatenate([np.arange(6), leg]) for leg in self.legs]
        self.missing = np.zeros(self.model.nv)  # N, N·m: estimated disturbance, base rows in base axes
        self.asked = np.zeros(self.model.nv)  # N, N·m: required of contacts and motors together
        self.nothing = np.zeros(self.model.nv)

    def torque(self, state: RobotState, felt: Array, k: int) -> Array:
        """(J,) for the next control period, at instant k of the reference; ``felt``: (2, 6) measured foot wrenches."""
        s, model, data = self.score, self.model, self.data
        q, v = state.configuration, state.motion
        needed = pin.rnea(model, data, q, v, state.accelerations)
        pin.forwardKinematics(model, data, q, v, self.nothing)
        pin.computeJointJacobians(model, data)
        self._observe(state.tau, felt, needed)
        a = self.nothing.copy()
        self._base(state, k, a)
        a[6:] = s.a[k, 6:] + ARMS[0] * (s.q[k, 7:] - state.q) + ARMS[1] * (s.v[k, 6:] - state.v)
        jacobians = [self._sole(i, k, v, a) for i in range(2)]
        self.asked = pin.rnea(model, data, q, v, a) + self.missing
        tau = self.asked[6:].copy()
        wrenches = self._ground(state.rotation, k)
        for leg, J, w in zip(self.legs, jacobians, wrenches, strict=True):
            tau[leg - 6] -= J.T @ w
        return np.asarray(tau)

    def _observe(self, tau: Array, felt: Array, needed: Array) -> None:
        """Update the disturbance: forces of motors and contacts minus those that the described robot needs (nv,)."""
        lacks = -needed
        lacks[6:] += tau
        for sole, reach, six in zip(self.soles, self.reach, felt, strict=True):
            pose, J = self.data.oMi[sole.joint], self.data.J[:, reach]  # of a point at the world's origin
            force = pose.rotation @ six[:3]
            moment = pose.rotation @ six[3:] + cross(pose.translation, force)
            lacks[reach] += force @ J[:3] + moment @ J[3:]
        self.missing += (1 - np.exp(-2 * np.pi * OBSERVER * self.score.period)) * (lacks - self.missing)

    def _base(self, state: RobotState, k: int, a: Array) -> None:
        s, R = self.score, state.rotation
        planned = s.turned[k]
        to = R.T @ planned
        v, w = s.v[k, :3], s.v[k, 3:6]
        linear = planned @ (s.a[k, :3] + cross(w, v))  # p̈, world axes
        linear += BASE[0] * (s.q[k, :3] - state.position) + BASE[1] * (planned @ v - R @ state.velocity)
        a[:3] = R.T @ linear - cross(state.angular_velocity, state.velocity)
        a[3:6] = to @ s.a[k, 3:6] + TILT[0] * pin.log3(to) + TILT[1] * (to @ w - state.angular_velocity)

    def _sole(self, i: int, k: int, v: Array, a: Array) -> Array:
        """Set the leg's accelerations from those of its sole; returns its Jacobian (6, leg), world axes."""
        s, data, leg, frame = self.score, self.data, self.legs[i], self.frames[i]
        pose = pin.updateFramePlacement(self.model, data, frame)
        p, R = pose.translation, pose.rotation
        J = data.J[:, self.reach[i]]
        J[:3] -= pin.skew(p) @ J[3:]  # of the sole's centre
        bias = pin.getFrameClassicalAcceleration(self.model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
        stiff, damped = STAND if s.standing[k, i] else SOLE
        rest = s.push[k, i] + damped * (s.speed[k, i] - J @ v[self.reach[i]]) - bias - J[:, :6] @ a[:6]
        rest[:3] += stiff * (s.place[k, i] - p)
        rest[3:] += stiff * (R @ pin.log3(R.T @ s.turn[k, i]))
        L: Array = J[:, 6:]
        a[leg] = L.T @ np.linalg.solve(L @ L.T + REGULAR, rest)  # a straight knee stays finite
        return L

    def _ground(self, R: Array, k: int) -> Array:
        """(2, 6) wrenches of the ground at the soles' centres, world axes, nearest to the base rows, then updated."""
        s, data = self.score, self.data
        used = np.flatnonzero(s.standing[k])
        base, centre = data.oMi[1].translation, pin.centerOfMass(self.model, data, pin.POSITION, False)
        middles = [data.oMf[self.frames[i]].translation - centre for i in used]
        A = _edges(
            np.hstack(
                [
                    data.oMf[self.frames[i]].rotation @ self.corners[i] + m[:, None]
                    for i, m in zip(used, middles, strict=True)
                ]
            )
        )
        B = A * WEIGHT
        G = B.T @ B
        G.flat[:: len(G) + 1] += COST / np.repeat(s.share[k, used], 16) ** 2
        force, lever = R @ self.asked[:3], centre - base
        wrench = np.concatenate([force, R @ self.asked[3:6] - cross(lever, force)])
        (x, _), _ = active_set.solve(G, B.T @ (WEIGHT[:, 0] * wrench))
        each = (A * x).reshape(6, len(used), 16).sum(axis=2).T  # (soles, 6) about the centre of mass
        got = each.sum(axis=0)
        self.asked[:3], self.asked[3:6] = R.T @ got[:3], R.T @ (got[3:] + cross(lever, got[:3]))
        out = np.zeros((2, 6))
        for i, m, w in zip(used, middles, each, strict=True):
            out[i, :3], out[i, 3:] = w[:3], w[3:] - cross(m, w[:3])
        return out


def _edges(r: Array) -> Array:
    """(6, 4 P) force and moment of unit edges of the pyramids at points (3, P)."""
    x, y, z = r[:, :, None]
    e, f, g = EDGES[:, None, :]
    out = np.empty((6, r.shape[1], 4))
    out[0], out[1], out[2] = e, f, g
    out[3], out[4], out[5] = y * g - z * f, z * e - x * g, x * f - y * e
    return out.reshape(6, -1)
