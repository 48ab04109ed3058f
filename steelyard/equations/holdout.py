"""Held-out blocks of a log: two blocks in three are for training, every third one is for validation.

Blocks are counted from the log's first stamp. A filtered row depends on a window of samples; it is a training row only
if that whole window lies outside the held-out blocks. So no torque measured inside them affects the fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from steelyard.equations.rows import Block, Rows
from steelyard.errors import Finding, UsageError
from steelyard.log.log import Log
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.equations.stream import Channels

EVERY = 3  # every third block is held out
ROUNDING = 1e-9  # of a block: stamps are not exact multiples of a step


@dataclass(frozen=True)
class HoldOut:
    """Which blocks of a log are held out of training."""

    source: str  # the log
    start: float  # s, its first stamp
    seconds: float  # length of a block

    @classmethod
    def of(cls, log: Log, seconds: float | None) -> HoldOut | None:
        """The blocks of a log, or None where nothing is held out."""
        return None if seconds is None else cls(log.source, float(log.time[0]), seconds)

    @property
    def name(self) -> str:
        """Name of the held-out part, among those of logs."""
        return f"{self.source}, every third {self.seconds:g} s"

    def held(self, time: Array) -> Array:
        """(T,) whether these times lie in a held-out block."""
        return np.asarray(self._blocks(time) % EVERY >= EVERY - 1)

    def training(self, time: Array) -> Array:
        """(T,) whether these times lie in no held-out block."""
        return ~self.held(time)

    def clear(self, time: Array, reach: float) -> Array:
        """(T,) whether a window of ``reach`` seconds to either side lies outside all held-out blocks."""
        at, margin = self._blocks(time), reach / self.seconds
        phase = at % EVERY
        after = (phase >= margin) | (at < EVERY)  # no block is held out before the first one
        return np.asarray(after & (phase + margin < EVERY - 1))

    def kept(self, rows: Rows) -> Iterator[Block]:
        """Training rows; the first after a held-out block begins a new run."""
        joined = False
        for block in rows:
            clear = self.clear(block.time, rows.reach)
            edges = np.flatnonzero(np.diff(np.concatenate([[0], clear.astype(int), [0]])))
            for low, high in zip(edges[::2], edges[1::2], strict=True):
                part = slice(int(low), int(high))
                first = block.first or low > 0 or not joined
                yield Block(block.time[part], block.Y[part], block.target[part], first)
            joined = bool(clear[-1])

    def _blocks(self, time: Array) -> Array:
        """(T,) time since the start in blocks, with fractions."""
        return np.asarray((time - self.start) / self.seconds + ROUNDING)


class Training:
    """The training rows of all logs; may be iterated again."""

    def __init__(self, parts: Sequence[tuple[Rows, HoldOut | None]]):
        """Rows of each log, and the blocks held out of it; refused where no row lies in such a block."""
        self.parts = list(parts)
        if findings := [_nothing_held(rows, hold) for rows, hold in self.parts if hold and not _predicted(rows, hold)]:
            raise UsageError(findings)

    @property
    def correlated(self) -> bool:
        """Whether noise is shared between equations."""
        return any(rows.correlated for rows, _ in self.parts)

    def channels(self) -> Channels | None:
        """The same rows streamed; None where no compiled kernel computes them anyway."""
        if any(rows.tree is None or rows.free is not None for rows, _ in self.parts):
            return None
        from steelyard.equations.stream import stream

        kept = [None if hold is None else partial(hold.clear, reach=rows.reach) for rows, hold in self.parts]
        return stream(*(rows for rows, _ in self.parts), kept=kept)

    def __iter__(self) -> Iterator[Block]:
        for k, (rows, hold) in enumerate(self.parts):
            if hold is None:
                yield from (replace(block, log=k) for block in rows)
                continue
            count = 0
            for block in hold.kept(rows):
                count += len(block.time)
                yield replace(block, log=k)
            if not count:
                what = f"leaves no training rows of {hold.source}: the filter spans {rows.reach:.2g} s to either side"
                fix = "Give longer blocks, or raise the cut-off frequency"
                raise UsageError(Finding("hold-out-leaves-no-training", f"hold_out={hold.seconds:g}", what, fix))


def _predicted(rows: Rows, hold: HoldOut) -> bool:
    """Whether some row lies in a held-out block."""
    inside = [s.time[(s.time >= s.time[0] + rows.reach) & (s.time <= s.time[-1] - rows.reach)] for s in rows.segments]
    return bool(hold.held(np.concatenate(inside)).any())


def _nothing_held(rows: Rows, hold: HoldOut) -> Finding:
    seconds = rows.segments[-1].time[-1] - rows.segments[0].time[0]
    what = f"leaves no third block of {hold.source} for validation: {seconds:.3g} s of it can be used"
    return Finding("hold-out-leaves-no-validation", f"hold_out={hold.seconds:g}", what, "Give shorter blocks")
