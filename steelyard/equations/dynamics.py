"""The equations of motion of a segment's samples, by Pinocchio or by compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.equations.missing import Missing
from steelyard.equations.segment import Segment
from steelyard.equations.unknown_forces import Foot, FreeRows, jacobian
from steelyard.kernels.tree import FlatTree
from steelyard.robot.model import Robot
from steelyard.spatial import Array


class Dynamics:
    """Dynamics of a segment by Pinocchio: one model state a sample."""

    def __init__(self, robot: Robot, segment: Segment):
        self.robot, self.segment = robot, segment
        T, v, a = len(segment.time), segment.v, segment.a
        if robot.floating:
            assert segment.gyro is not None and segment.alpha is not None and segment.acc is not None
            v = np.hstack([np.zeros((T, 3)), segment.gyro, v])
            a = np.hstack([segment.acc, segment.alpha, a])
        self.nv = v.shape[1] + len(robot.readings)
        self.states = robot.positions(segment.q), robot.motion(v), robot.motion(a)
        self.model = robot.model
        if robot.floating:
            self.model = robot.model.copy()
            self.model.gravity.linear = np.zeros(3)
        self.data = self.model.createData()

    @staticmethod
    def of(robot: Robot, segment: Segment, tree: FlatTree | None) -> Dynamics:
        """By compiled kernels where ``tree`` is given."""
        if tree is None:
            return Dynamics(robot, segment)
        from steelyard.equations.compiled_dynamics import CompiledDynamics

        return CompiledDynamics(robot, segment, tree)

    def fill(self, Y: Array, bodies: Sequence[str]) -> None:
        """Write the regressor of these bodies to the first columns of Y (T, nv, n), which are zero."""
        Y[:, :, : 10 * len(bodies)] = self.regressor(bodies)

    def free_basis(
        self, free: FreeRows, feet: Sequence[Foot | Missing], take: slice | list[int], before: Array | None
    ) -> tuple[Array, int]:
        """``FreeRows.basis`` of the equations in ``take``."""
        return free.basis(self.contact_jacobian(feet)[:, :, take], before)

    def needed(self, bodies: Sequence[str], theta: Array) -> Array:
        """(T, 6) wrench on a floating base that the motion of these bodies requires, with parameters θ."""
        return np.asarray(self.regressor(bodies)[:, :6] @ theta)

    def regressor(self, bodies: Sequence[str]) -> Array:
        """(T, nv, 10·bodies) regressor of the inertial parameters."""
        import pinocchio as pin

        index = np.concatenate([10 * (self.robot.body(b).joint - 1) + np.arange(10) for b in bodies])
        out = np.empty((len(self.segment.time), self.model.nv, len(index)))
        for t, (q, v, a) in enumerate(zip(*self.states, strict=True)):
            out[t] = np.atleast_2d(pin.computeJointTorqueRegressor(self.model, self.data, q, v, a))[:, index]
        return out if self.robot.coupling is None else self.robot.coupling.T @ out

    def applied(self) -> Array:
        """(T, nv) measured generalised forces: joint torques, sensor readings and contact wrenches."""
        import pinocchio as pin

        T, J, readings = len(self.segment.time), len(self.robot.joints), len(self.robot.readings)
        target = np.zeros((T, self.nv))
        if self.segment.tau is not None:
            target[:, self.nv - readings - J : self.nv - readings] = self.segment.tau
        if self.segment.sensor:
            target[:, self.nv - readings :] = np.hstack([self.segment.sensor[s.name] for s in self.robot.sensors])
        for plate in self.segment.plates.values():  # on the base's equations alone
            for t in range(T):
                target[t, :6] += pin.SE3(plate.pose[t]).act(pin.Force(plate.wrench[t])).vector
        return target + self.pushed() if self.segment.wrench else target

    def pushed(self) -> Array:
        """(T, nv) generalised forces of the measured wrenches."""
        import pinocchio as pin

        out = np.zeros((len(self.segment.time), self.model.nv))
        frames = {name: self.robot.frame(name) for name in self.segment.wrench}
        for t in range(len(out)):
            pin.computeJointJacobians(self.model, self.data, self.states[0][t])
            for name, frame in frames.items():
                at = self.data.oMi[frame.joint] * pin.SE3(frame.placement)
                wrench = at.act(pin.Force(self.segment.wrench[name][t])).vector  # about the origin, base axes
                J = pin.getJointJacobian(self.model, self.data, frame.joint, pin.ReferenceFrame.WORLD)
                out[t] += J.T @ wrench
        return out if self.robot.coupling is None else np.asarray(out @ self.robot.coupling)

    def contact_jacobian(self, feet: Sequence[Foot | Missing]) -> Array:
        """(T, Σ forces, nv) Jacobian of the unknown forces."""
        import pinocchio as pin

        up = self.segment.up
        if up is None:  # fixed base: the world's axes are the base's
            g = self.robot.gravity
            up = np.broadcast_to(-g / max(float(np.linalg.norm(g)), 1e-12), (len(self.segment.time), 3))
        jacobians = []
        for t, q in enumerate(self.states[0]):
            pin.computeJointJacobians(self.model, self.data, q)
            plates = {f"plate.{name}": plate.pose[t] for name, plate in self.segment.plates.items()}
            jacobians.append(jacobian(self.robot, self.data, feet, up[t], plates))
        return np.stack(jacobians)
