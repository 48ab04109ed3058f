"""The fast path: a legged robot of which only the base is unknown, composed of shapes or points, in compiled steps.

It covers floating robots whose joints all belong to legs of three with a point foot, windows of up to 16 samples and
rows without a further filter. Information is kept as a Gram matrix, which is well enough conditioned for the ten
parameters of one body. A window in which a leg is too straight to be eliminated takes the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from steelyard.compose.composition import Composition
from steelyard.compose.prior import Prior
from steelyard.equations.causal_filter import TILT_SECONDS
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import point_feet
from steelyard.information import Information
from steelyard.kernels import online
from steelyard.kernels.change_test import NOT_HANDLED
from steelyard.kernels.state_layout import PERSISTENT, StateLayout
from steelyard.kernels.tree import LANES
from steelyard.online.change import ChangeTest
from steelyard.online.row_stream import RowStream
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

WARM = True  # a window starts from the active set of the last: saves some 3 % (bench online)
STEP_LIMITS = 0.5, 1.5  # of the sample period: allowed steps between two samples of a window


class CompiledStep:
    """Arrays of the compiled step, and the step; its information is read as from ``Running``."""

    def __init__(
        self,
        setup: Setup,
        stream: RowStream,
        rule: ChangeTest,
        prior: Prior,
        composition: Composition,
        average: float | None,
    ):
        """``prior`` and ``composition`` are of the base alone; ``average`` is α of Xu (17)."""
        tree, inputs, k = setup.robot.tree, stream.inputs, composition.size
        assert tree is not None
        feet = point_feet(tree, setup.unknown)
        assert feet is not None
        layout = StateLayout(
            columns=len(inputs.columns),
            feet=len(setup.unknown),
            nodes=tree.bodies,
            joints=len(tree.rows),
            shapes=k,
            tree_integers=len(tree.integers),
            tree_reals=len(tree.reals),
        )
        self._integers, self._reals, self.fields = layout.allocate()
        at, joints = inputs.places, [setup.robot.joints[i] for i in tree.independent]
        lower = composition.lower if composition.lower.size else np.zeros(k)
        known = np.zeros((tree.bodies, 10))
        for body in setup.robot.bodies[1:]:
            known[tree.nodes[body.name] - 1] += stream.parameters(body.name)
        K = np.column_stack([prior.K, prior.K @ prior.mean])
        constants: dict[str, Any] = {
            "quaternion": -1 if inputs.quaternion is None else inputs.quaternion.start,
            "gyro": at["imu.gyro.x"],
            "acc": at["imu.acc.x"],
            "q": [at[f"q.{j}"] for j in joints],
            "tau": [at.get(f"tau.{j}", at.get(f"current.{j}", 0)) for j in joints],
            "legs": feet.integers[len(tree.integers) :].reshape(len(setup.unknown), -1),
            "tree": tree.integers,
            "span": rule.span,
            "settling": stream.low.settling,
            "warm": WARM,
            "low_pass": stream.low.step,
            "rate": stream.rate,
            "step_limits": STEP_LIMITS,
            "gravity": GRAVITY,
            "tilt_gain": 1 / (TILT_SECONDS * stream.rate),
            "rotation": inputs.mount[:3, :3],
            "lever": inputs.mount[:3, 3],
            "turned": inputs.turned,
            "factors": inputs.factors,
            "tree_reals": tree.reals,
            "bodies": known,
            "balls": feet.reals[len(tree.reals) :].reshape(len(setup.unknown), -1),
            "whitener": stream.whitener,
            "prior": K.T @ K,
            "mass_variance": np.sum(np.linalg.inv(prior.K)[0] ** 2),
            "floor": composition.map @ lower,
            "forgetting": rule.forgetting,
            "average": average or 0.0,
            "thresholds": rule.thresholds,
            "caution": rule.caution,
            "outlying": rule.outlying,
        }
        for name, value in constants.items():
            self.fields[name][...] = value
        self.fields["map"][:, :k] = composition.map
        if composition.ridge.size:
            reference = composition.reference if composition.reference.size else np.zeros(k)
            self.fields["ridge"][:] = composition.ridge**2, composition.ridge**2 * (reference - lower)
        self.fields["test"][0], self.fields["stamp"][0] = 1.0, -np.inf
        online.solve(self._integers, self._reals, self.fields["total"].ravel())  # the prior's optimum, before any data
        self.theta, self.proof = self.fields["theta"], self.fields["proof"]
        self.theta[:], self.proof[:] = self.fields["answer"], self.fields["answer_proof"]
        self.test, self.clock = self.fields["test"], self.fields["clock"]
        stream.share(self.fields["filter"], self.fields["up"], self.fields["received"])

    def reset(self) -> None:
        """Forget everything."""
        for name in ("old", "recent", "clock", "row_counts"):
            self.fields[name][...] = 0

    @property
    def old(self) -> Information:
        """Information of all windows before the last few."""
        return _information(self.fields["old"], int(self.fields["row_counts"][0]))

    @property
    def data(self) -> Information:
        """Information of all windows, with forgetting."""
        return _information(self.fields["old"] + self.fields["recent"], int(self.fields["row_counts"].sum()))

    def step(self, values: Array) -> int:
        """Take in one window of samples (k, C); signs of quaternions may change in place (``kernels/online.py``)."""
        return online.step(self._integers, self._reals, values)

    def whole(self, buffer: Array) -> Callable[[Array, Array], int]:
        """A call that takes in times (k,) and samples (k, C) as measured, if all are valid; buffer (k, C).

        TypeError for anything but contiguous arrays of floats: nothing is compiled inside the control loop.
        """
        kernel = online.window
        call = partial(kernel, self._integers, self._reals, buffer)
        call(np.zeros(0), np.zeros((0, buffer.shape[1])))
        if hasattr(kernel, "disable_compile"):  # not where compiling is switched off altogether
            kernel.disable_compile()
        return call

    def learn(self, Y: Array, z: Array) -> int:
        """Take in one window of whitened rows (m, 10)."""
        if not len(z):
            return NOT_HANDLED
        rows = np.column_stack([Y, z])
        self.fields["gram"][:] = rows.T @ rows
        return online.learn(self._integers, self._reals, len(z))

    @property
    def state(self) -> dict[str, Array]:
        """All arrays that are saved."""
        return {name: self.fields[name] for name in PERSISTENT}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name, array in self.state.items():
            array[:] = saved[name]


def is_covered(setup: Setup, stream: RowStream, window: int) -> bool:
    """Whether compiled steps cover this robot, its equations and the window."""
    robot, feet = setup.robot, setup.unknown
    return (
        setup.equations == "contact-free"
        and robot.floating
        and not robot.sensors
        and robot.coupling is None
        and stream.base_alone
        and len(stream.taps) == 1
        and window <= LANES
        and 3 * len(feet) == len(robot.joints)
        and not any(c.startswith(("v.", "a.", "wrench.", "sensor.")) for c in stream.inputs.columns)
        and robot.tree is not None
        and point_feet(robot.tree, feet) is not None
    )


def _information(G: Array, rows: int) -> Information:
    """Square root of a Gram matrix of [Y z]."""
    D = np.sqrt(np.maximum(np.diag(G), 1e-300))
    w, V = np.linalg.eigh(G / np.outer(D, D))
    R: Any = np.linalg.qr(np.sqrt(np.maximum(w, 0.0))[:, None] * V.T * D, mode="r")
    return Information(R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None], rows)
