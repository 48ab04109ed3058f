"""From samples, as they arrive, to rows: the same causal filter, rows and low-pass as for a log (``equations/``).

Rows pass the symmetric low-pass of ``equations/rows.py`` once its last sample has arrived, which adds a delay of half
its length. The state between samples is in a few arrays, which can be saved.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.equations.causal_filter import Inputs, Lowpass
from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.spatial import Array


class RowStream:
    """Samples in, whitened rows about the free parameters out."""

    def __init__(self, rows: Rows, inputs: Inputs, free: Array, theta: Array, whitener: Array, *, loaded: bool = False):
        """``rows``: how rows are computed; ``theta`` (n,): values of all parameters that are not ``free``."""
        assert rows.filter is not None and rows.filter.rate is not None and rows.filter.kinematics is not None
        self.inputs, self.rate, self.whitener = inputs, rows.filter.rate, whitener
        self.low = Lowpass(rows.filter.rate, rows.filter.kinematics)
        self.step = rows.stride(self.rate)
        self.taps = rows.taps(rows.segments[0])
        self._rows, self._loaded, self.free = rows, loaded, free
        self._known = np.setdiff1d(np.arange(rows.columns.n), free)
        self._theta = theta[self._known]
        self.filter = np.zeros((4, len(inputs.columns)))
        self.up = np.zeros(3)
        self.ring = np.zeros((len(self.taps), len(rows.names), len(free) + 1))  # the last raw rows [Y target]
        self.turned = False  # whether the next rows continue a basis
        self.basis = np.zeros((0, 0))  # of the last contact-free rows, where the next have to continue it
        self.counts = np.zeros(2, np.int64)  # samples, raw rows since the start

    @property
    def base_alone(self) -> bool:
        """Whether the ten parameters of the first body, and nothing else, are free."""
        return np.array_equal(self.free, np.arange(10))

    @property
    def ready(self) -> bool:
        """Whether the filter has settled, and no basis has to be continued."""
        return bool(self.counts[0] >= self.low.settling) and not self.turned

    def parameters(self, body: str) -> Array:
        """(10,) parameters of a body that is held."""
        at = self._rows.columns.body(body)
        return np.asarray(self._theta[np.searchsorted(self._known, np.arange(at.start, at.stop))])

    def share(self, filter: Array, up: Array, counts: Array) -> None:
        """Use these arrays for the state from now on."""
        self.filter, self.up, self.counts = filter, up, counts

    @property
    def delay(self) -> float:
        """s by which a row is later than the motion it belongs to."""
        return self.low.delay + (len(self.taps) // 2) / self.rate

    @property
    def state(self) -> dict[str, Array]:
        """All arrays that are saved."""
        return {name: getattr(self, name) for name in ("filter", "up", "ring", "counts", "basis")}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name in ("filter", "up", "ring", "counts"):
            getattr(self, name)[:] = saved[name]
        self._continue(np.array(saved["basis"]))

    def restart(self) -> None:
        """Forget the past samples: the next one follows a gap."""
        self.counts[:] = 0
        self.up[:] = 0.0
        self._continue(np.zeros((0, 0)))

    def _continue(self, basis: Array) -> None:
        self.basis, self.turned = basis, bool(basis.size)

    def restart_rows(self) -> None:
        """Use no row before the filter, which keeps running, has forgotten the forces before a change."""
        self.counts[:] = 1, 0

    def push(self, values: Array) -> tuple[Array, Array]:
        """Rows (m, n) and right-hand sides (m,) that evenly spaced samples (k, columns) complete."""
        first = self.counts[0] == 0
        self.inputs.oriented(values, None if first else self.filter[3])
        if first:
            self.filter[:] = self.low.at_rest(values[0])
        fields = self.inputs.motion(self.low.run(self.filter, values), self.up, self.rate)
        skip = max(self.low.settling - int(self.counts[0]), 0)
        self.counts[0] += len(values)
        whitened = list[Array]()
        if skip < len(values):
            time = np.arange(len(values)) / self.rate
            segment = Segment(time=time, rate=self.rate, loaded=self._loaded, **fields).part(slice(skip, None))
            Y, target, turned = self._rows.raw(segment, self.basis if self.turned else None)
            self._continue(turned.get(len(target) - 1, np.zeros((0, 0))))
            target = target - Y[:, :, self._known] @ self._theta
            whitened = [self.whitener @ row for row in self._smooth(np.dstack([Y[:, :, self.free], target]))]
        rows = np.concatenate(whitened) if whitened else np.zeros((0, self.ring.shape[2]))
        return rows[:, :-1], rows[:, -1]

    def _smooth(self, raw: Array) -> Iterator[Array]:
        """Low-passed rows [Y target] (equations, n + 1)."""
        L = len(self.taps)
        for row in raw:
            k = int(self.counts[1])
            self.ring[k % L] = row
            self.counts[1] = k + 1
            if k >= L - 1 and (k - (L - 1)) % self.step == 0:
                yield np.tensordot(np.roll(self.taps, (k + 1) % L), self.ring, 1)
