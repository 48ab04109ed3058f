"""Online identification: recursive information with forgetting, or single windows averaged by Xu's filter (17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from steelyard.compose import shape_set
from steelyard.compose.primitives import Primitive
from steelyard.compose.shape_file import ShapeFile
from steelyard.errors import Finding, UsageError
from steelyard.identify.method import Answer
from steelyard.identify.methods.points import Points
from steelyard.identify.methods.shapes import Shapes
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.online.compiled_step import CompiledStep, is_covered
from steelyard.online.engine import OnlineEngine, OnlineOptions
from steelyard.robot.description import RobotSource
from steelyard.spatial import Array


class OnlineIdentifier(OnlineEngine):
    """Parameters of some bodies, or all, from samples as they arrive; every estimate is physically consistent.

    ``push`` takes one sample, ``push_window`` several; ``estimate()`` may be called at any time. With the same causal
    filter, the same noise and ``memory=inf`` the estimate equals that of ``identify``.

    Args:
        source: URDF or MJCF file, a short name, a ``Description`` or a ``pinocchio.Model``.
        like: A log of the same sensors, a few seconds of motion, from which columns, filters and noise are taken.
        options: As of ``identify``; ``links`` are the bodies to identify. None: all bodies, by method shapes.
        online: Window, forgetting, rate of false alarms.
        average: α of Xu (17): each window is solved alone and the estimates are averaged. None: recursive.
        known: Body → (10,) parameters in its frame, of bodies that are not free; in place of the description's.
        compiled: Whether the base of a legged robot takes the fast path.

    Examples:
        Names as in ``help(steelyard)``.

        >>> options = sy.Options(method="lmi", links=("wrist_3_link",))
        >>> online = sy.OnlineIdentifier("demo_arm", log, options, known=truth)
        >>> samples = np.column_stack([log.columns[name] for name in online.inputs])
        >>> online.push_window(log.time, samples)
        2000
        >>> [body.name for body in online.estimate().bodies], online.changes
        (['wrist_3_link'], [])
    """

    def __init__(
        self,
        source: RobotSource,
        like: Log,
        options: Options | None = None,
        online: OnlineOptions | None = None,
        *,
        average: float | None = None,
        known: Mapping[str, Array] | None = None,
        compiled: bool = True,
    ):
        if average is not None and not 0 < average <= 1:
            what, fix = "must be > 0 and ≤ 1", "Give α of Xu (17), 0.5 in the paper"
            raise UsageError(Finding("option-value", f"average={average}", what, fix))
        super().__init__(source, like, options or Options(method="shapes"), online, known)
        self.average = average
        self._mean = np.zeros(0)
        self.shapes: dict[str, tuple[Primitive, ...]] = {}
        if isinstance(method := self.options.method, Shapes):
            given = method.shapes(self.setup)
            self.shapes = {b.name: tuple(given.get(b.name) or shape_set.complete(b).parts) for b in self.bodies}
        if compiled and self.options.prior_space == "all" and is_covered(self.setup, self.stream, self.window):
            self._compile()

    def _compile(self) -> None:
        """Use the compiled step, where the method is shapes or points."""
        (body,), prior, method = self.bodies, self.prior.about(self.free), self.options.method
        if isinstance(method, Shapes):
            composition = shape_set.initial(body, self.shapes[body.name]).composition
        elif isinstance(method, Points):
            composition = method.composition(body, prior)
        else:
            return
        step = CompiledStep(self.setup, self.stream, self.rule, prior, composition, self.average)
        self.running, self._stamp, self._last = step, step.fields["stamp"], step.fields["last"]
        self._whole = step.whole(self._buffer)

    @property
    def shape_file(self) -> ShapeFile:
        """The shapes in use; ``Shapes(start=…, divisions=0)`` poses the same problem offline."""
        return ShapeFile("online", self.shapes)

    def absorb(self, Y: Array, z: Array) -> None:
        """Take in one window of whitened rows."""
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
        return np.array(self.theta[self.free] if self.fast is None else self.fast.theta)

    def _answer(self, data: Information) -> Answer:
        method = self.options.solver
        if isinstance(method, Shapes):
            method = replace(method, start=self.shape_file, divisions=0)
        return self._posed(data, method)

    def _state(self) -> dict[str, Array]:
        return super()._state() | {"mean": self._mean}

    def _set_state(self, saved: Mapping[str, Array]) -> None:
        super()._set_state(saved)
        self._mean = np.array(saved["mean"])
