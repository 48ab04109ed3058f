"""A log: measurements of a robot on one clock, in SI units, all by name.

Columns are identified by joint or frame name and never by position: drivers, URDF and MJCF all order joints
differently. A bad log is refused once, with every reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeGuard, Unpack

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import Finding, LogError
from steelyard.spatial import WRENCH, XYZ, Array

if TYPE_CHECKING:
    from steelyard.log.mapping import ColumnMap

BASE_VECTORS = (
    "base.position",
    "base.velocity",
    "base.angular_velocity",
    "base.acceleration",
    "base.angular_acceleration",
    "imu.gyro",
    "imu.acc",
)
QUATERNION = tuple(f"base.quaternion.{c}" for c in "xyzw")

_FIXED = {f"{vector}.{c}" for vector in BASE_VECTORS for c in XYZ} | set(QUATERNION)
_WHOLE = (*((vector, XYZ) for vector in BASE_VECTORS), ("base.quaternion", tuple("xyzw")))  # all components or none
_NAMED = (
    re.compile(r"(?:q|v|a|tau|current|contact)\.(?P<name>.+)"),
    re.compile(rf"(?:wrench|sensor|plate)\.(?P<name>.+)\.(?:{'|'.join(WRENCH)})"),
)


class SignalArrays(TypedDict, total=False):
    """Arrays of ``Log.from_arrays``: kind → name → values."""

    q: Mapping[str, ArrayLike]  # joint → (T,) rad or m
    v: Mapping[str, ArrayLike]  # joint → (T,) rad/s or m/s
    a: Mapping[str, ArrayLike]  # joint → (T,) rad/s² or m/s²
    tau: Mapping[str, ArrayLike]  # joint → (T,) N·m or N
    current: Mapping[str, ArrayLike]  # joint → (T,) A
    contact: Mapping[str, ArrayLike]  # frame → (T,) 0 or 1
    wrench: Mapping[str, ArrayLike]  # frame → (T, 6) N, N·m
    sensor: Mapping[str, ArrayLike]  # fixed joint or frame → (T, 6) N, N·m
    plate: Mapping[str, ArrayLike]  # plate → (T, 6) N, N·m
    base: Mapping[str, ArrayLike]  # quantity → (T, 3), or (T, 4) of the quaternion
    imu: Mapping[str, ArrayLike]  # "gyro" rad/s, "acc" m/s² → (T, 3)


class DataFrameLike(Protocol):
    """A table with named columns: a DataFrame of pandas or polars, a Table of pyarrow."""

    @property
    def columns(self) -> Any:
        """Names of the columns (of a pyarrow Table they are ``column_names``)."""

    def __getitem__(self, name: Any, /) -> Any:
        """One column."""


@dataclass(frozen=True, repr=False)
class Log:
    """Samples of one run; row k of every column was measured at ``time[k]``. Rows are counted from 0.

    Attributes:
        time: (T,) s, strictly increasing.
        columns: Name by the log contract (``docs/logs.md``) → (T,), in SI units.
        metadata: For example ``imu_frame``; of a simulation the true parameters.
        source: Name of the log in messages and provenance.
        ignored: Columns of the table that the log contract does not have.
        notices: Changes that reading made to the table.
        files: Files that it was read from → SHA-256 of the bytes.
        loaded: Whether the robot carried the unknown load.

    Examples:
        Names as in ``help(steelyard)``.

        >>> log
        <Log 'simulated arm': 2000 samples, 9.995 s, q and tau of 6 joints>
        >>> log.columns["tau.elbow_joint"].shape  # N·m
        (2000,)
        >>> log.cut(0, 200).names("q") == list(robot.joints)
        True
    """

    time: Array
    columns: Mapping[str, Array]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str = "log"
    ignored: tuple[str, ...] = ()
    notices: tuple[Finding, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    loaded: bool = False

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Array], metadata: Mapping[str, Any] | None = None, source: str = "log"
    ) -> Log:
        """Check a table whose columns follow the log contract.

        Args:
            columns: Column name → (T,) values, ``time`` included; unknown names are listed in ``ignored``.
            metadata: Frames, drive gains, transmission, poses of force plates.
            source: Name of the log in messages.

        Raises:
            LogError: With every reason against it.
        """
        if findings := [*_findings(columns, source), *_metadata_findings(metadata or {}, source)]:
            raise LogError(findings)
        known = {name: np.asarray(values, float) for name, values in columns.items() if is_column(name)}
        ignored = tuple(name for name in columns if not is_column(name))
        return cls(known.pop("time"), known, dict(metadata or {}), source, ignored)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        mapping: str | Path | ColumnMap | None = None,
        topics: Mapping[str, str] | None = None,
    ) -> Log:
        """Read a log from a file: Parquet, CSV (also gzipped), npz, MCAP, or a rosbag2 folder.

        Args:
            path: The file, or the folder of a bag.
            mapping: How a foreign table becomes a log (``docs/mapping.md``): a TOML file, or one that was read.
            topics: Topics of a bag by what they carry, where the bag has several candidates.

        Returns:
            The log in SI units, with the SHA-256 of every file that it was read from.

        Raises:
            LogError: With every reason against it.

        Examples:
            Names as in ``help(steelyard)``.

            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     np.savez(f"{folder}/run.npz", time=log.time, **log.columns)
            ...     read = sy.Log.read(f"{folder}/run.npz")
            >>> len(read)
            2000
        """
        from steelyard.log.table import read_log

        return read_log(path, mapping, topics)

    @classmethod
    def from_arrays(
        cls,
        time: ArrayLike,
        *,
        metadata: Mapping[str, Any] | None = None,
        source: str = "log",
        **signals: Unpack[SignalArrays],
    ) -> Log:
        """Make a log of arrays in memory.

        Args:
            time: (T,) stamps in s, strictly increasing.
            metadata: For example ``{"imu_frame": "imu_link"}`` or ``{"gains": {"elbow": 12.0}}`` (N·m/A).
            source: What messages and provenance call the log.
            **signals: Kind → name → array. Joint positions ``q``, velocities ``v``, accelerations ``a``, torques
                ``tau``, currents ``current``, contacts ``contact``: joint or frame → (T,). Wrenches ``wrench``,
                ``sensor``, ``plate``: frame → (T, 6) force in N, then moment in N·m. ``base``: "position", "velocity",
                "angular_velocity", "acceleration", "angular_acceleration" → (T, 3), "quaternion" → (T, 4), scalar last.
                ``imu``: "gyro" (rad/s), "acc" (m/s²) → (T, 3).

        Returns:
            The log.

        Raises:
            LogError: With every reason against it.

        Examples:
            >>> import numpy as np
            >>> import steelyard as sy
            >>> t = np.linspace(0.0, 1.0, 101)  # s
            >>> sy.Log.from_arrays(t, q={"elbow": np.sin(t)}, tau={"elbow": np.cos(t)})
            <Log 'log': 101 samples, 1 s, q and tau of 1 joint>
        """
        columns, findings = {"time": np.asarray(time)}, list[Finding]()
        for kind, named in signals.items():
            for name, values in _named_arrays(named):
                array, components = np.asarray(values), _components(kind, name)
                if components is None:
                    columns[f"{kind}.{name}"] = array
                elif array.ndim == 2 and array.shape[1] == len(components):
                    columns |= {f"{kind}.{name}.{c}": array[:, k] for k, c in enumerate(components)}
                else:
                    what = f"has shape {array.shape}, not (T, {len(components)})"
                    fix = f"Give columns {', '.join(components)}"
                    findings.append(Finding("array-shape", f"{source}, {kind} of {name!r}", what, fix))
        if findings:
            raise LogError(findings)
        return cls.from_columns(columns, metadata, source)

    @classmethod
    def from_frame(cls, frame: DataFrameLike, metadata: Mapping[str, Any] | None = None, source: str = "frame") -> Log:
        """Make a log of a pandas or polars DataFrame, or of a pyarrow Table, whose columns follow the log contract.

        Args:
            frame: One row a sample. The index of a pandas frame may be the column ``time``.
            metadata: As in ``from_arrays``.
            source: What messages and provenance call the log.

        Returns:
            The log; columns that the contract does not have are listed in ``ignored``.

        Raises:
            LogError: With every reason against it.

        Examples:
            Names as in ``help(steelyard)``.

            >>> import pyarrow
            >>> sy.Log.from_frame(pyarrow.table({"time": log.time, **log.columns}))
            <Log 'frame': 2000 samples, 9.995 s, q and tau of 6 joints>
        """
        names = getattr(frame, "column_names", None) or list(frame.columns)
        columns = {str(name): np.asarray(frame[name]) for name in names}
        index = getattr(frame, "index", None)
        if "time" not in columns and getattr(index, "name", None) == "time":
            columns = {"time": np.asarray(index), **columns}
        return cls.from_columns(columns, metadata, source)

    def __repr__(self) -> str:
        joints = self.names("q")
        kinds = [kind for kind in ("q", "v", "a", "tau", "current") if self.names(kind)]
        others = [k for k in ("base", "imu", "wrench", "sensor", "plate", "contact") if self._has_kind(k)]
        measured = f"{_and(kinds)} of {len(joints)} joint{'s' if len(joints) != 1 else ''}" if kinds else "no joints"
        seconds = float(self.time[-1] - self.time[0])
        return f"<Log {self.source!r}: {len(self)} samples, {seconds:.4g} s, {', '.join([measured, *others])}>"

    def _has_kind(self, kind: str) -> bool:
        return any(column.startswith(f"{kind}.") for column in self.columns)

    def __len__(self) -> int:
        return len(self.time)

    def names(self, kind: str) -> list[str]:
        """Return joints, frames or sensors that have a column of this kind (``q``, ``tau``, ``wrench``…)."""
        named = (_named(column) for column in self.columns if column.startswith(f"{kind}."))
        return list(dict.fromkeys(name for name in named if name is not None))

    def has(self, *columns: str) -> bool:
        """Whether the log has all these columns."""
        return all(column in self.columns for column in columns)

    def needs_gain(self, joint: str) -> bool:
        """Whether a joint has a current but neither a torque nor a known gain."""
        return not self.has(f"tau.{joint}") and joint not in self.metadata.get("gains", {})

    def with_gains(self, gains: Mapping[str, float]) -> Log:
        """Return the log with these drive gains (N·m/A) known."""
        return replace(self, metadata={**self.metadata, "gains": {**self.metadata.get("gains", {}), **gains}})

    def vector(self, name: str, components: Iterable[str] = XYZ) -> Array | None:
        """Return columns ``name.x``… as (T, k), or None if the log has none of them; LogError if only some."""
        wanted = [f"{name}.{c}" for c in components]
        missing = [w for w in wanted if w not in self.columns]
        if len(missing) == len(wanted):
            return None
        if missing:
            raise LogError(_partial(self.source, name, missing))
        return np.column_stack([self.columns[w] for w in wanted])

    def cut(self, start: int, stop: int) -> Log:
        """Return rows start to stop (exclusive), counted from 0."""
        part = slice(start, stop)
        columns = {name: values[part] for name, values in self.columns.items()}
        return replace(self, time=self.time[part], columns=columns)

    def then(self, other: Log) -> Log:
        """Return these rows followed by those of another log with the same columns."""
        columns = {name: np.concatenate([values, other.columns[name]]) for name, values in self.columns.items()}
        return replace(self, time=np.concatenate([self.time, other.time]), columns=columns)


def is_column(name: str) -> bool:
    """Whether the log contract has a column of this name."""
    return name == "time" or name in _FIXED or _named(name) is not None


def _named(column: str) -> str | None:
    """The joint, frame or sensor in the name of a column."""
    return next((match["name"] for pattern in _NAMED if (match := pattern.fullmatch(column))), None)


def _named_arrays(named: object) -> Iterable[tuple[str, ArrayLike]]:
    return named.items() if isinstance(named, Mapping) else ()


def _components(kind: str, name: str) -> tuple[str, ...] | None:
    """Of what has several, by its kind; None for one value a sample."""
    if kind in ("wrench", "sensor", "plate"):
        return tuple(WRENCH)
    if kind in ("base", "imu"):
        return tuple("xyzw") if name == "quaternion" else tuple(XYZ)
    return None


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _findings(columns: Mapping[str, Array], source: str) -> Iterator[Finding]:
    rows = np.size(columns["time"]) if "time" in columns else None
    if rows is None:
        near = difflib.get_close_matches("time", columns, n=1)
        near = near or [c for c in columns if c.lower() in ("t", "stamp", "seconds", "sec")]
        hint = f"Rename {near[0]!r} to 'time', in seconds" if near else "Add a column 'time' in seconds"
        remedy = {"column": near[0], "rename": "time"} if near else {}
        yield Finding("time-missing", f"{source}, time", f"is missing; the log has: {_shown(columns)}", hint, remedy)
    elif rows < 2:
        what = f"has {rows or 'no'} row{'s' if rows != 1 else ''}"
        yield Finding("rows-too-few", f"{source}, time", what, "Record a motion of several seconds")
    for name, raw in columns.items():
        if is_column(name):
            yield from _column_findings(f"{source}, {name}", np.asarray(raw), rows, name == "time")
    for vector, components in _WHOLE:
        missing = [f"{vector}.{c}" for c in components if f"{vector}.{c}" not in columns]
        if 0 < len(missing) < len(components):
            yield _partial(source, vector, missing)


def _column_findings(where: str, raw: Array, rows: int | None, is_time: bool) -> Iterator[Finding]:
    if raw.dtype.kind not in "biuf" and raw.size:
        kind = {"U": "text", "S": "text", "O": "objects", "c": "complex numbers", "M": "dates"}.get(raw.dtype.kind)
        what = f"holds {kind or raw.dtype} where numbers are expected"
        yield Finding("column-not-numeric", where, what, "Give plain numbers in SI units")
        return
    if raw.ndim != 1:
        what = f"has shape {raw.shape}, not one value a row"
        yield Finding("column-shape", where, what, "Give one column per component")
        return
    values = raw.astype(float)
    if rows is not None and len(values) != rows:
        what = f"has {len(values)} rows, time has {rows}"
        yield Finding("column-length", where, what, "Resample it to the rows of time")
    if (bad := np.flatnonzero(~np.isfinite(values))).size:
        yield Finding(
            "column-not-finite",
            f"{where}, row {bad[0]}",
            f"{bad.size} of {len(values)} values are not finite (the first is {values[bad[0]]})",
            "Drop those rows (a gap in time is handled), or the column",
        )
    elif is_time and (back := np.flatnonzero(np.diff(values) <= 0)).size:
        k, times = back[0], f"{back.size} such row{'s' if back.size != 1 else ''} in all"
        what = f"does not increase ({values[k]:.9g} then {values[k + 1]:.9g}; {times})"
        yield Finding("time-not-increasing", f"{where}, row {k + 1}", what, "Sort by time and drop repeated stamps")


def _metadata_findings(metadata: Mapping[str, Any], source: str) -> Iterator[Finding]:
    frame = metadata.get("imu_frame")
    if frame is not None and not isinstance(frame, str):
        where = f"{source}, metadata, imu_frame"
        yield Finding("metadata-invalid", where, f"is {frame!r}, not a name", "Name a frame of the robot")
    commanded = metadata.get("commanded", [])
    if not isinstance(commanded, list | tuple) or not all(isinstance(joint, str) for joint in commanded):
        where, what = f"{source}, metadata, commanded", f"is {commanded!r}, not a list of joints"
        yield Finding("metadata-invalid", where, what, "Name the joints whose torque was commanded, not measured")
    if "transmission" in metadata:
        yield from _transmission_findings(metadata["transmission"], f"{source}, metadata, transmission")
    yield from _plate_findings(metadata.get("plates", {}), f"{source}, metadata, plates")
    gains = metadata.get("gains", {})
    if not isinstance(gains, Mapping):
        where, what = f"{source}, metadata, gains", f"is {gains!r}, not a table"
        yield Finding("metadata-invalid", where, what, "Give joint names with N·m/A each")
        return
    for joint, gain in gains.items():
        number = isinstance(gain, int | float) and not isinstance(gain, bool)
        if not number or not np.isfinite(gain) or gain == 0:
            where = f"{source}, metadata, gains, {joint}"
            yield Finding("metadata-invalid", where, f"is {gain!r}", "Give a number other than 0, N·m/A")


def _transmission_findings(given: Any, where: str) -> Iterator[Finding]:
    joints, matrix = (given.get(key) if isinstance(given, Mapping) else None for key in ("joints", "matrix"))
    named = isinstance(joints, list | tuple) and all(isinstance(j, str) for j in joints)
    if joints is None or not named or len(set(joints)) < len(joints):
        what = f"has joints {joints!r}"
        yield Finding("metadata-invalid", f"{where}, joints", what, "List the names of joints, each once")
        return
    try:
        M = np.asarray(matrix, float)
    except (TypeError, ValueError):
        M = np.full(1, np.nan)
    if M.shape != (len(joints), len(joints)) or not np.isfinite(M).all() or not M.any(axis=1).all():
        what, fix = f"has matrix {matrix!r}", f"Give {len(joints)} × {len(joints)} numbers, no row of zeros"
        yield Finding("metadata-invalid", f"{where}, matrix", what, fix)


def _plate_findings(plates: Any, where: str) -> Iterator[Finding]:
    if not isinstance(plates, Mapping):
        fix = "Give plate names with position and quaternion each"
        yield Finding("metadata-invalid", where, f"is {plates!r}, not a table", fix)
        return
    for name, pose in plates.items():
        if not isinstance(pose, Mapping):
            what, fix = f"is {pose!r}, not a table", "Give its position and quaternion"
            yield Finding("metadata-invalid", f"{where}, {name}", what, fix)
            continue
        for key, components in (("position", "xyz"), ("quaternion", "xyzw")):
            value, fix = pose.get(key), f"Give [{', '.join(components)}] in the world"
            if not _numbers(value, len(components)):
                what = "is missing" if value is None else f"is {value!r}"
                yield Finding("metadata-invalid", f"{where}, {name}, {key}", what, fix)
            elif key == "quaternion" and abs((length := float(np.linalg.norm(list(value)))) - 1) > 0.05:
                what, fix = f"has norm {length:.3g}", "Give a unit quaternion, scalar last"
                yield Finding("quaternion-not-unit", f"{where}, {name}, {key}", what, fix)


def _numbers(value: Any, count: int) -> TypeGuard[list[float]]:
    if not isinstance(value, list | tuple) or len(value) != count:
        return False
    return all(isinstance(x, int | float) and not isinstance(x, bool) and np.isfinite(x) for x in value)


def _partial(source: str, vector: str, missing: Iterable[str]) -> Finding:
    names = list(missing)
    what, fix = f"lacks {', '.join(names)}", "Give all components or none"
    return Finding("components-missing", f"{source}, {vector}", what, fix, {"columns": names})


def _shown(columns: Iterable[str], most: int = 12) -> str:
    names = list(columns) or ["nothing"]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
