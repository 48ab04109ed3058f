"""Samples on an even grid, ready for the equations of motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.equations.still import Standing
from steelyard.log.force_plate import Plate
from steelyard.spatial import Array


@dataclass(frozen=True)
class Segment:
    """Evenly spaced samples without a gap; vectors of a floating base in base axes."""

    time: Array  # (T,) s
    rate: float  # Hz
    q: Array  # (T, J) rad or m, filtered; joints in the robot's order
    v: Array  # (T, J)
    a: Array  # (T, J)
    tau: Array | None  # (T, J) N·m or N, raw; 0 where only a current is known
    current: Mapping[str, Array]  # joint → (T,) A, of joints whose drive gain is unknown
    gyro: Array | None  # (T, 3) rad/s
    alpha: Array | None  # (T, 3) rad/s², angular acceleration
    acc: Array | None  # (T, 3) m/s², proper acceleration of the base origin
    up: Array | None  # (T, 3) unit vector against gravity
    wrench: Mapping[str, Array]  # frame → (T, 6) of the world on the robot, in the frame's axes; 0 where not measured
    plates: Mapping[str, Plate] = field(default_factory=dict)
    sensor: Mapping[str, Array] = field(default_factory=dict)  # sensor → (T, k) its measured components, raw
    loaded: bool = False  # whether the robot carries the unknown load
    slide: Array | None = None  # (T, J) velocity of friction, other than v where a joint creeps; None: v
    standing: Standing = field(default_factory=Standing)  # joints that stand still

    @property
    def sliding(self) -> Array:
        """(T, J) velocity of friction."""
        return self.v if self.slide is None else self.slide

    def part(self, keep: slice) -> Segment:
        """The samples of a slice."""
        changed: dict[str, Any] = {k: x[keep] for k, x in vars(self).items() if isinstance(x, np.ndarray)}
        changed["current"] = {j: c[keep] for j, c in self.current.items()}
        changed["wrench"] = {f: w[keep] for f, w in self.wrench.items()}
        changed["plates"] = {name: plate.part(keep) for name, plate in self.plates.items()}
        changed["sensor"] = {s: w[keep] for s, w in self.sensor.items()}
        return replace(self, **changed)

    def then(self, other: Segment) -> Segment:
        """These samples followed by others."""
        mine, its = vars(self), vars(other)
        changed: dict[str, Any] = {k: np.concatenate([x, its[k]]) for k, x in mine.items() if isinstance(x, np.ndarray)}
        for name in ("current", "wrench", "sensor"):
            changed[name] = {k: np.concatenate([x, its[name][k]]) for k, x in mine[name].items()}
        changed["plates"] = {name: plate.then(other.plates[name]) for name, plate in self.plates.items()}
        changed["standing"] = Standing(self.standing.joints & other.standing.joints, other.standing.levels)
        return replace(self, **changed)
