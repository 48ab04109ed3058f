"""Identification while the robot moves: recursive information with forgetting, or windows and Xu's filter (17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.compose import shapes
from steelyard.compose.primitives import Primitive
from steelyard.compose.shape_file import ShapeFile
from steelyard.errors import Finding, UsageError
from steelyard.identify.method import Answer
from steelyard.identify.methods.points import Points
from steelyard.identify.methods.shapes import Shapes
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.online.engine import CAUTION, RECENT, Engine
from steelyard.online.legged import fast
from steelyard.robot.description import Description

Array = np.ndarray

WARM = True  # a window starts from the shapes that carried mass in the last: saves some 3 % (bench online)
MEMORY = 1.0  # s after which a sample weighs 1/e


class OnlineIdentifier(Engine):
    """Parameters of some bodies, or all, from samples as they come; the answer is physical at every step.

    ``like`` is a log of the same sensors, a few seconds of motion: it tells which columns a sample has, how the filters
    are set and how noisy the rows are. With the same causal filter, the same noise and ``memory=inf`` the answer is the
    one that ``identify`` gives. ``average`` is α of Xu (17): each window is solved alone and the answers are averaged.
    """

    def __init__(
        self,
        source: str | Path | Description,
        like: Log,
        options: Options | None = None,
        *,
        window: int = 10,
        memory: float = MEMORY,
        average: float | None = None,
        alarm_every: float = 3600.0,
        known: Mapping[str, Array] | None = None,
        compiled: bool = True,
    ):
        """``window``: samples. ``memory``: s. ``alarm_every``: s from one false alarm to the next, at least.

        ``known``: body → (10,) parameters of bodies that are not free, where not as described. ``compiled``: whether
        the base of a legged robot takes the fast path.
        """
        options = options or Options(method="shapes")
        if average is not None and not 0 < average <= 1:
            raise UsageError(Finding(f"average {average}", "is no share", "Give more than 0, at most 1 (Xu: 0.5)"))
        super().__init__(source, like, options, window=window, memory=memory, alarm_every=alarm_every, known=known)
        self.average = average
        self._mean = np.zeros(0)
        self.shapes: dict[str, tuple[Primitive, ...]] = {}
        if isinstance(options.method, Shapes):
            given = options.method.shapes(self.setup)
            self.shapes = {b.name: tuple(given.get(b.name) or shapes.complete(b).parts) for b in self.bodies}
        if compiled and options.prior_space == "all" and len(self.bodies) == 1:
            self._use_fast()

    def _use_fast(self) -> None:
        """Steps are compiled from now on, where that covers what is asked."""
        (body,), belief, method = self.bodies, self.prior.about(self.free), self.options.method
        if len(self.free) != 10 or not isinstance(method, Shapes | Points):
            return
        if isinstance(method, Shapes):
            made = shapes.initial(body, self.shapes[body.name]).composition
        else:
            made = method.composition(body, belief)
        self.fast = fast(self.setup, self.stream, self.window, belief, made)
        if self.fast is not None:
            self.fast.set(self._whitener, self._thresholds, (self.factor, self.average or 0.0, RECENT, CAUTION), WARM)
            self._test, self._clock = self.fast.memory["test"], self.fast.counts[2:4]
            self._stamp, self._last = self.fast.memory["stamp"], self.fast.memory["last"]
            self._stamp[0] = -np.inf
            self._whole = self.fast.whole(self._buffer)

    @property
    def shape_file(self) -> ShapeFile:
        """The shapes in use, for ``Shapes(start=…, divisions=0)``: the same problem offline."""
        return ShapeFile("online", self.shapes)

    def absorb(self, Y: Array, z: Array) -> None:
        """One window of whitened rows."""
        changes = len(self.changes)
        super().absorb(Y, z)
        if self.average is None or self.fast is not None or not len(z):
            return
        if len(self.changes) > changes:
            self._mean = np.zeros(0)
            return
        answer = self._answer(Information.of(Y, z))
        fresh = not self._mean.size
        self._mean = answer.theta if fresh else self.average * answer.theta + (1 - self.average) * self._mean
        self.theta[self.free], self.certificate = self._mean, answer.certificate
        self._stale = False

    def _before(self) -> Array:
        if self.average is None:
            return super()._before()
        return np.array(self.theta[self.free] if self.fast is None else self.fast.memory["theta"])

    def _answer(self, data: Information) -> Answer:
        method = self.options.solver
        if isinstance(method, Shapes):
            method = replace(method, start=self.shape_file, divisions=0)
        return self._posed(data, method)

    def _extra(self) -> dict[str, Array]:
        return {"mean": self._mean}

    def _take_extra(self, saved: Mapping[str, Array]) -> None:
        self._mean = np.array(saved["mean"])
