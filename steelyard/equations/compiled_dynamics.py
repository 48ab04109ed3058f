"""Dynamics of a segment by compiled kernels: the interface of ``dynamics.Dynamics``, the same results to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from steelyard.equations.dynamics import Dynamics
from steelyard.equations.missing import Missing
from steelyard.equations.segment import Segment
from steelyard.equations.unknown_forces import Foot, FreeRows, point_feet
from steelyard.kernels import dense
from steelyard.kernels.forces import Kinematics, generalised
from steelyard.kernels.tree import FlatTree
from steelyard.robot.model import Robot
from steelyard.spatial import Array, translation


class CompiledDynamics(Dynamics):
    """Dynamics by kernels; partly measured wrenches, which they do not cover, are left to Pinocchio."""

    def __init__(self, robot: Robot, segment: Segment, tree: FlatTree):
        super().__init__(robot, segment)
        self.tree = tree
        self.tiles = tree.states(segment, dense.BATCH)

    def fill(self, Y: Array, bodies: Sequence[str]) -> None:
        """Write the regressor of these bodies to the first columns of Y (T, nv, n), which are zero."""
        dense.regressor(self.tree, self.tiles, bodies, Y)

    def needed(self, bodies: Sequence[str], theta: Array) -> Array:
        """(T, 6) wrench on a floating base that the motion of these bodies requires, with parameters θ."""
        parameters = np.zeros((self.tree.bodies, 10))
        for name, own in zip(bodies, theta.reshape(-1, 10), strict=True):
            parameters[self.tree.nodes[name] - 1] += own
        return generalised(self.tree, self.tiles, parameters)[: len(self.segment.time), :6]

    def regressor(self, bodies: Sequence[str]) -> Array:
        """(T, nv, 10·bodies) regressor of the inertial parameters."""
        Y = np.zeros((len(self.segment.time), self.nv, 10 * len(bodies)))
        self.fill(Y, bodies)
        return Y

    @cached_property
    def places(self) -> Kinematics:
        """Poses and Jacobians of all joints."""
        return Kinematics(self.tree, self.tiles, len(self.segment.time))

    def pushed(self) -> Array:
        """(T, nv) generalised forces of the measured wrenches."""
        out = np.zeros((len(self.segment.time), self.nv))
        for name, wrench in self.segment.wrench.items():
            frame = self.robot.frame(name)
            R, p = self.places.pose(frame.joint, frame.placement)
            force, moment = (np.einsum("tij,tj->ti", R, x) for x in (wrench[:, :3], wrench[:, 3:]))
            about = np.hstack([force, moment + np.cross(p, force)])
            out += np.einsum("tij,ti->tj", self.places.jacobian(frame.joint), about)
        return out

    def contact_jacobian(self, feet: Sequence[Foot | Missing]) -> Array:
        """(T, Σ forces, nv) Jacobian of the unknown forces."""
        if any(isinstance(f, Missing) for f in feet):
            return super().contact_jacobian(feet)
        up = self.tree.upright if self.segment.up is None else self.segment.up
        blocks = []
        for f in feet:
            assert isinstance(f, Foot)
            J = self.places.jacobian(f.frame.joint)
            if not f.surface:
                point = self.places.pose(f.frame.joint, translation(f.centre))[1] - f.radius * up
                J = J[:, :3] + np.cross(J[:, 3:], point[:, :, None], axis=1)  # velocity of the contact point
            blocks.append(J)
        return np.concatenate(blocks, axis=1)

    def free_basis(
        self, free: FreeRows, feet: Sequence[Foot | Missing], take: slice | list[int], before: Array | None
    ) -> tuple[Array, int]:
        """``FreeRows.basis`` of the equations in ``take``."""
        points = point_feet(self.tree, feet) if take == slice(self.nv) and before is None else None
        if points is None or not points.leaves(free.coordinates, free.rank):
            return super().free_basis(free, feet, take, before)
        N, turned = points.basis(points.eliminate(self.tiles), len(self.segment.time))
        if turned < len(self.segment.time):  # a straight knee
            rest = self.contact_jacobian(feet)[turned:]
            N = np.concatenate([N, free.basis(rest, N[-1] if turned else None)[0]])
        return N, turned
