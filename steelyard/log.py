"""A log: what the robot measured, on one clock, in SI units, everything by name.

Columns are found by joint or frame name and never by position: drivers, URDF and MJCF all order joints
differently. A bad log is refused once, with every reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError

Array = np.ndarray

XYZ, WRENCH = ("x", "y", "z"), ("fx", "fy", "fz", "mx", "my", "mz")
BASE_VECTORS = (
    "base.position", "base.velocity", "base.angular_velocity", "base.acceleration", "base.angular_acceleration",
    "imu.gyro", "imu.acc",
)  # fmt: skip
QUATERNION = tuple(f"base.quaternion.{c}" for c in "xyzw")

_FIXED = {f"{vector}.{c}" for vector in BASE_VECTORS for c in XYZ} | set(QUATERNION)
_JOINT = re.compile(r"(q|v|a|tau|current)\.(.+)")
_FRAME = re.compile(r"(wrench|sensor|plate)\.(.+)\.(fx|fy|fz|mx|my|mz)|contact\.(.+)")


@dataclass(frozen=True)
class Log:
    """Samples of one run; row k of every column was measured at ``time[k]``."""

    time: Array  # (T,) s, strictly increasing
    columns: Mapping[str, Array]  # contract name → (T,), SI
    metadata: Mapping[str, Any] = field(default_factory=dict)  # e.g. imu_frame; truth of a simulation
    source: str = "log"  # what messages and provenance call it
    ignored: tuple[str, ...] = ()  # columns of the table that are none of the contract's

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Array], metadata: Mapping[str, Any] | None = None, source: str = "log"
    ) -> Log:
        """Check a table whose columns follow the log contract, or raise LogError with every reason."""
        if findings := list(_findings(columns, source)):
            raise LogError(findings)
        known = {name: np.asarray(values, float) for name, values in columns.items() if is_column(name)}
        ignored = tuple(name for name in columns if not is_column(name))
        return cls(known.pop("time"), known, dict(metadata or {}), source, ignored)

    def __len__(self) -> int:
        return len(self.time)

    def names(self, kind: str) -> list[str]:
        """Joints, frames or sensors that have a column of this kind (``q``, ``tau``, ``wrench``…)."""
        found: dict[str, None] = {}
        for column in self.columns:
            match = _JOINT.fullmatch(column) or _FRAME.fullmatch(column)
            if match and column.startswith(kind + "."):
                found[next(g for g in match.groups()[1:] if g and g not in WRENCH)] = None
        return list(found)

    def has(self, *columns: str) -> bool:
        """Whether every one of these columns is there."""
        return all(column in self.columns for column in columns)

    def vector(self, name: str, components: Iterable[str] = XYZ) -> Array | None:
        """(T, k) columns ``name.x``…, or None where none of them is there; a part of them is refused."""
        wanted = [f"{name}.{c}" for c in components]
        missing = [w for w in wanted if w not in self.columns]
        if len(missing) == len(wanted):
            return None
        if missing:
            raise LogError(
                Finding(f"{self.source}, {name}", f"lacks {', '.join(missing)}", "Give all components or none")
            )
        return np.column_stack([self.columns[w] for w in wanted])

    def cut(self, start: int, stop: int) -> Log:
        """Rows start to stop (exclusive), counted from 0."""
        part = slice(start, stop)
        columns = {name: values[part] for name, values in self.columns.items()}
        return Log(self.time[part], columns, self.metadata, self.source, self.ignored)


def is_column(name: str) -> bool:
    """Whether the log contract has a column of this name."""
    return name == "time" or name in _FIXED or bool(_JOINT.fullmatch(name) or _FRAME.fullmatch(name))


def _findings(columns: Mapping[str, Array], source: str) -> Iterator[Finding]:
    if "time" not in columns:
        near = difflib.get_close_matches("time", columns, n=1) or [c for c in columns if c.lower() in ("t", "stamp")]
        hint = f"Rename {near[0]!r} to 'time'" if near else "Add a column 'time' in seconds"
        yield Finding(f"{source}, time", f"is missing; the log has: {_shown(columns)}", hint)
    rows = len(columns["time"]) if "time" in columns else None
    if rows is not None and rows < 2:
        yield Finding(f"{source}, time", f"has {rows} rows", "Record a motion of several seconds")
    for name, raw in columns.items():
        if not is_column(name):
            continue
        try:
            values = np.asarray(raw, float)
        except (TypeError, ValueError):
            yield Finding(f"{source}, {name}", "holds text where numbers are expected", "Correct the file")
            continue
        if values.ndim != 1:
            yield Finding(f"{source}, {name}", f"has shape {values.shape}", "Give one column per component")
            continue
        if rows is not None and len(values) != rows:
            yield Finding(
                f"{source}, {name}", f"has {len(values)} rows, time has {rows}", "Resample it to the rows of time"
            )
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            yield Finding(
                f"{source}, {name}, row {bad[0]}",
                f"{bad.size} of {len(values)} values are not finite",
                "Drop those rows (a hole in time is handled), or the column",
            )
        elif name == "time" and (back := np.flatnonzero(np.diff(values) <= 0)).size:
            k = back[0]
            yield Finding(
                f"{source}, time, row {k + 1}",
                f"does not increase ({values[k]:.9g} then {values[k + 1]:.9g}; {back.size} such rows)",
                "Sort by time and drop repeated stamps",
            )


def _shown(columns: Iterable[str], most: int = 12) -> str:
    names = list(columns)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
