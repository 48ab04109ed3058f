"""The fast path: a legged robot whose base alone is unknown, made of shapes or points, in compiled steps.

It covers floating robots whose joints all belong to legs of three with a point foot, windows of up to 16 samples and
rows that no further filter passes. What is known is kept as a Gram matrix, whose condition ten parameters of one body
do not strain. A leg too straight to be eliminated is left to the way that all robots take.
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
from steelyard.equations.unknown_forces import Foot
from steelyard.information import Information
from steelyard.kernels.tree import LANES, FlatTree, aligned
from steelyard.online.row_stream import Stream

Array = np.ndarray


class Gram:
    """What is known so far as Gram matrices of [Y z], in the kernels' memory; the interface is that of ``Running``."""

    def __init__(self, memory: dict[str, Array], counts: Array, prior: Array):
        self._old, self._recent, self._counts, self._prior = memory["old"], memory["recent"], counts, prior

    def reset(self) -> None:
        """Nothing was ever seen."""
        self._old[:] = self._recent[:] = 0.0
        self._counts[2:6] = 0

    @property
    def old(self) -> Information:
        """All before the last windows."""
        return _information(self._old, int(self._counts[4]))

    @property
    def data(self) -> Information:
        """All that was seen and not forgotten."""
        return _information(self._old + self._recent, int(self._counts[4:6].sum()))


class Fast:
    """Arrays of the compiled step, and the step."""

    def __init__(self, setup: Setup, tree: FlatTree, stream: Stream, window: int, prior: Prior, made: Composition):
        from steelyard.kernels import legged, online

        self._kernel, self._stream = online, stream
        inputs, feet, k = stream.inputs, [f for f in setup.unknown if isinstance(f, Foot)], made.size
        layout = online.Layout(len(inputs.columns), len(setup.robot.joints), len(feet), tree.bodies, k)
        places = layout.memory()
        kept = -(-places["end"][0] // 8) * 8
        room = legged.room(tree.bodies, len(tree.rows)) + (12 + 4 * len(tree.rows) + 3 * layout.C) * LANES
        self._all = aligned(kept + room + 4 * layout.C + 2000 + 40 * (k + 8) + 3 * k * k)
        self._memory = self._all[:kept]
        self._work = self._all[kept:]
        self.memory = _views(self._memory, places)
        self._counts = np.zeros(8 + 3 * k, np.int64)  # the passive set of the last solution behind them
        self.counts = self._counts[:7]
        stream.share(self.memory["filter"], self.memory["up"], self.counts[:2])
        at, joints = inputs.places, [setup.robot.joints[i] for i in tree.independent]
        legs = [(tree.joints[f.frame.joint], *_leg(tree, tree.joints[f.frame.joint])) for f in feet]
        quaternion = -1 if inputs.quaternion is None else inputs.quaternion.start
        head = [
            len(inputs.columns),
            len(joints),
            tree.bodies,
            len(feet),
            k,
            quaternion,
            at["imu.gyro.x"],
            at["imu.acc.x"],
        ]
        torques = [at.get(f"tau.{j}", at.get(f"current.{j}", 0)) for j in joints]
        constants = layout.constants()
        head += [constants["end"][0], kept]
        self._ints = np.array(
            [*head, *(at[f"q.{j}"] for j in joints), *torques, *np.ravel(legs), *tree.integers], np.int64
        )
        self._reals = aligned(constants["end"][0] + len(tree.reals))
        self._reals[constants["end"][0] :] = tree.reals
        self.constants = values = _views(self._reals, constants)
        values["step"][:] = stream.low.step.ravel()
        values["rates"][:] = stream.rate, 1 / (TILT_SECONDS * stream.rate)
        values["mount"][:] = *inputs.mount[:3, :3].ravel(), *inputs.mount[:3, 3]
        values["turned"][:] = inputs.turned.ravel()
        K = np.column_stack([prior.K, prior.K @ prior.mean])
        values["prior"][:] = K.T @ K
        lower = made.lower if made.lower.size else np.zeros(k)
        values["U"][:, :k] = made.map
        values["floor"][:] = made.map @ lower
        if made.ridge.size:
            reference = made.reference if made.reference.size else np.zeros(k)
            values["ridge"][:] = made.ridge**2, made.ridge**2 * (reference - lower)
        known = np.zeros((tree.bodies, 10))
        for body in setup.robot.bodies[1:]:
            known[tree.nodes[body.name] - 1] += stream.parameters(body.name)
        places4 = [(*f.centre, f.radius) for f in feet]
        values["factors"][:] = inputs.factors
        self._variance = float(np.sum(np.linalg.inv(prior.K)[0] ** 2))
        values["known"][:-36] = *known.ravel(), *np.ravel(places4)
        self.running = Gram(self.memory, self.counts, values["prior"])
        self._window = np.zeros((online.N1, online.N1))

    def set(self, whitener: Array, thresholds: Array, rules: tuple[float, float, int, float], warm: bool) -> None:
        """Weights of rows, limits of the test, and (forgetting, average, windows, caution)."""
        self.constants["known"][-36:] = whitener.ravel()
        self.constants["thresholds"][:] = thresholds
        self.constants["rules"][:] = *rules, self._variance, float(warm), self._stream.low.settling
        self.memory["test"][0] = 1.0
        self._window[:] = 0.0
        self._kernel.solve(
            self._ints, self._reals, self._window.ravel(), self._work, self._counts, self.memory["x"]
        )  # what is believed before any data
        self.memory["theta"][:], self.memory["proof"][:] = self._work[:10], self._work[10:13]

    def step(self, values: Array) -> int:
        """Learn from one window of samples (k, C), which may be turned to one sign; see ``kernels/online.py``."""
        return self._kernel.step(self._ints, self._reals, self._all, self._counts, values)

    def whole(self, buffer: Array) -> Callable[[Array, Array], int]:
        """A call that learns from times (k,) and samples (k, C) as measured, if nothing is amiss; buffer (k, C).

        TypeError for anything but contiguous arrays of floats: nothing is compiled while a robot waits.
        """
        kernel = self._kernel.window
        call = partial(kernel, self._ints, self._reals, self._all, self._counts, buffer)
        call(np.zeros(0), np.zeros((0, buffer.shape[1])))
        if hasattr(kernel, "disable_compile"):  # not where compiling is switched off altogether
            kernel.disable_compile()
        return call

    def learn(self, Y: Array, z: Array) -> int:
        """The same from whitened rows (m, 10)."""
        rows = np.column_stack([Y, z])
        self._window[:] = rows.T @ rows
        return self._kernel.learn(
            self._ints, self._reals, self._all, self._counts, self._window.ravel(), self._work, len(z)
        )

    @property
    def state(self) -> dict[str, Array]:
        """All that is remembered."""
        return {"memory": self._memory, "counts": self._counts}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name, array in self.state.items():
            array[:] = saved[name]


def fast(setup: Setup, stream: Stream, window: int, prior: Prior, made: Composition) -> Fast | None:
    """The compiled step, where it covers what is asked; ``prior`` and ``made`` are of the base alone."""
    robot, feet = setup.robot, setup.unknown
    covered = (
        setup.equations == "contact-free" and robot.floating and not robot.sensors and robot.coupling is None
        and stream.base_alone and len(stream.taps) == 1 and window <= LANES
        and all(isinstance(f, Foot) and not f.surface for f in feet)
        and 3 * len(feet) == len(robot.joints)
        and not any(c.startswith(("v.", "a.", "wrench.", "sensor.")) for c in stream.inputs.columns)
    )  # fmt: skip
    tree = robot.tree if covered else None
    if tree is None:
        return None
    chains = [_leg(tree, tree.joints[f.frame.joint]) for f in feet if isinstance(f, Foot)]
    rows = [row for chain in chains for row in chain]
    if sorted(rows) != list(range(len(robot.joints))):
        return None
    return Fast(setup, tree, stream, window, prior, made)


def _leg(tree: FlatTree, node: int) -> tuple[int, ...]:
    """Rows of the joints from a node up to the base."""
    found = []
    while node > 1:
        found.append(int(np.flatnonzero(tree.table[:, 0] == node)[0]))
        node = int(tree.integers[4 + 5 * (node - 1)])
    return tuple(reversed(found))


def _views(array: Array, places: dict[str, tuple[int, tuple[int, ...]]]) -> dict[str, Array]:
    return {
        name: array[at : at + int(np.prod(shape))].reshape(shape)
        for name, (at, shape) in places.items()
        if name != "end"
    }


def _information(G: Array, rows: int) -> Information:
    """Square root of a Gram matrix of [Y z]."""
    D = np.sqrt(np.maximum(np.diag(G), 1e-300))
    w, V = np.linalg.eigh(G / np.outer(D, D))
    R: Any = np.linalg.qr(np.sqrt(np.maximum(w, 0.0))[:, None] * V.T * D, mode="r")
    return Information(R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None], rows)
