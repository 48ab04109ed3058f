"""Raw messages → rows of numbers: JointState, Imu, WrenchStamped and Odometry, as CDR (ROS 2), ROS 1 or JSON.

Every message becomes a stamp, the names of its columns and one number for each, NaN for absent ones. The layout of CDR
messages is that of the public definitions, which are the same in all ROS 2 releases; the definitions inside a bag are
never used, so nothing in a bag decides what code runs.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from steelyard.errors import Finding
from steelyard.log.bag.clock import TopicSeries
from steelyard.log.bag.file import RawMessage
from steelyard.log.format import first_line
from steelyard.log.log import QUATERNION
from steelyard.spatial import WRENCH, XYZ, Array

KINDS = {
    "sensor_msgs/JointState": "joints",
    "sensor_msgs/Imu": "imu",
    "nav_msgs/Odometry": "odometry",
    "geometry_msgs/WrenchStamped": "wrench",
}
ENCODINGS = ("cdr", "ros1", "json")
LATEST = 2**63  # ns since 1970; no stamp is later
ERRORS = (
    *(SerdeError, ValueError, TypeError, OverflowError, RecursionError),
    *(struct.error, IndexError, KeyError, AssertionError),  # of older releases of rosbags
)  # known exceptions of damaged messages

IMU = (*(f"imu.gyro.{c}" for c in XYZ), *(f"imu.acc.{c}" for c in XYZ), *QUATERNION)
TWIST = tuple(f"base.{what}.{c}" for what in ("velocity", "angular_velocity") for c in XYZ)
ODOMETRY = (*(f"base.position.{c}" for c in XYZ), *QUATERNION, *TWIST)


class Row(NamedTuple):
    """The numbers of one message."""

    frame: str  # of the message; "" if it has none
    columns: tuple[str, ...]
    values: Array  # (k,), NaN where absent


def public_type(name: str, encoding: str) -> str | None:
    """Return ``package/Name`` if such messages are read, else None; JSON may have any package name."""
    *package, last = re.split(r"[/.:]+", name)
    for known in KINDS:
        home, _, message = known.partition("/")
        if message == last and (encoding not in ("cdr", "ros1") or package in ([home], [home, "msg"])):
            return known
    return None


@dataclass
class Collector:
    """Collects the messages of one topic."""

    topic: str
    type: str  # package/Name
    encoding: str
    source: str  # name of the bag in findings
    name: str = ""  # given by the user: the frame of an IMU, the first part of wrench columns
    groups: dict[tuple[str, tuple[str, ...]], tuple[list[int], list[Array]]] = field(default_factory=dict)
    count: int = 0
    unstamped: int = 0
    finding: Finding | None = None  # the first reason why the topic cannot be read

    @property
    def kind(self) -> str:
        """Kind of measurement."""
        return KINDS[self.type]

    def add(self, raw: RawMessage) -> None:
        """Add one message, unless an earlier one could not be decoded."""
        if self.finding or raw.data is None:
            return
        try:
            message = _decode(raw.data, self.type, self.encoding)
            stamp = _stamp(message)
            self.unstamped += not stamp
            row = _ROWS[self.kind](message, self.name)
            if not 0 <= (stamp or raw.time) < LATEST:
                raise ValueError(f"has the stamp {stamp or raw.time} ns")
        except AttributeError as error:
            self._refuse(f"lacks the field {error.name!r}" if error.name else str(error))
        except ERRORS as error:
            self._refuse(first_line(error, 160))
        else:
            stamps, rows = self.groups.setdefault((row.frame, row.columns), ([], []))
            stamps.append(stamp or raw.time)
            rows.append(row.values)
        self.count += 1

    def series(self) -> list[TopicSeries]:
        """Return one series for each frame and set of columns, in the order received."""
        return [
            TopicSeries(self.topic, columns, np.array(stamps, np.int64), np.array(rows), frame)
            for (frame, columns), (stamps, rows) in self.groups.items()
            if columns
        ]

    def _refuse(self, what: str) -> None:
        skip = f'do not read the topic: topics={{"{self.kind}": ""}}'
        if self.encoding not in ENCODINGS:
            code, where = "encoding-unsupported", f"{self.source}, {self.topic}"
            fix = f"Write it as {' or '.join(ENCODINGS)}; or {skip}"
        else:
            code, where = "message-invalid", f"{self.source}, {self.topic}, message {self.count}"
            fix = f"Correct the publisher of this {self.type}; or {skip}"
        self.finding = Finding(code, where, what, fix, {"topics": {self.kind: ""}})


@cache
def _store(name: str) -> Any:
    return get_typestore(Stores[name])


def _decode(data: bytes, type: str, encoding: str) -> Any:
    if encoding == "cdr":
        if data[:2] not in (b"\0\0", b"\0\1"):  # big- or little-endian
            raise ValueError("is not plain CDR")
        return _store("ROS2_HUMBLE").deserialize_cdr(data, type.replace("/", "/msg/"))
    if encoding == "ros1":
        return _store("ROS1_NOETIC").deserialize_ros1(data, type.replace("/", "/msg/"))
    if encoding == "json":
        return json.loads(data, object_hook=lambda members: SimpleNamespace(**members))
    raise ValueError(f"has the encoding {encoding!r}")


def _stamp(message: Any) -> int:
    """Header stamp in ns since 1970; 0 if there is none."""
    stamp = getattr(getattr(message, "header", None), "stamp", 0)
    if isinstance(stamp, int | float):  # seconds: JSON only
        return round(stamp * 1e9)
    names = ("sec", "secs"), ("nanosec", "nsec", "nsecs", "nanosecs")
    seconds, rest = (next((getattr(stamp, n) for n in some if hasattr(stamp, n)), None) for some in names)
    if not isinstance(seconds, int) or not isinstance(rest, int):
        raise ValueError("has a stamp that is not whole seconds and nanoseconds")
    return seconds * 10**9 + rest


def _joints(message: Any, _: str) -> Row:
    names = tuple(_text(name, "a joint's name") for name in message.name)
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"names a joint twice or not at all: {', '.join(names[:12])}")
    parts = []
    for what in ("position", "velocity", "effort"):
        values = _numbers(getattr(message, what, ()))
        if values.size not in (0, len(names)):
            raise ValueError(f"has {values.size} values of {what} for {len(names)} joints")
        parts.append(values if values.size else np.full(len(names), np.nan))
    order = sorted(range(len(names)), key=names.__getitem__)
    columns = tuple(f"{kind}.{names[i]}" for kind in ("q", "v", "tau") for i in order)
    return Row("", columns, np.concatenate([part[order] for part in parts]))


def _imu(message: Any, frame: str) -> Row:
    values = [
        _measured(message, "angular_velocity", XYZ),
        _measured(message, "linear_acceleration", XYZ),
        _measured(message, "orientation", "xyzw") if hasattr(message, "orientation") else np.full(4, np.nan),
    ]
    return Row(frame or _frame(message), IMU, np.concatenate(values))


def _wrench(message: Any, name: str) -> Row:
    frame = _frame(message)
    if not name and not frame:
        raise ValueError('has no header.frame_id; name the frame, topics={"wrench.FRAME": "TOPIC"}')
    columns = tuple(f"{name or f'wrench.{frame}'}.{c}" for c in WRENCH)
    force, moment = (_vector(getattr(message.wrench, part), XYZ) for part in ("force", "torque"))
    return Row(frame, columns, np.concatenate([force, moment]))


def _odometry(message: Any, _: str) -> Row:
    pose, twist = message.pose.pose, message.twist.twist
    place = [_vector(pose.position, XYZ), _quaternion(pose.orientation)]
    rates = [_vector(twist.linear, XYZ), _vector(twist.angular, XYZ)]
    frame = _text(getattr(message, "child_frame_id", ""), "child_frame_id").lstrip("/")
    return Row(frame, ODOMETRY, np.concatenate([*place, *rates]))


_ROWS: dict[str, Callable[[Any, str], Row]] = {
    "joints": _joints,
    "imu": _imu,
    "wrench": _wrench,
    "odometry": _odometry,
}


def _measured(message: Any, name: str, components: Sequence[str]) -> Array:
    """A vector of an Imu message; NaN if its covariance begins with −1, which marks it as absent."""
    covariance = _numbers(getattr(message, f"{name}_covariance", ()))
    if covariance.size and covariance[0] == -1:
        return np.full(len(components), np.nan)
    value = getattr(message, name)
    return _quaternion(value) if name == "orientation" else _vector(value, components)


def _quaternion(value: Any) -> Array:
    """Quaternion x, y, z, w; NaN if all are zero, as in messages without an orientation."""
    xyzw = _vector(value, "xyzw")
    return xyzw if np.any(xyzw) else np.full(4, np.nan)


def _frame(message: Any) -> str:
    return _text(getattr(getattr(message, "header", None), "frame_id", ""), "header.frame_id").lstrip("/")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"has {value!r:.40} for {what}")
    return value


def _vector(value: Any, components: Sequence[str]) -> Array:
    return _numbers([getattr(value, c) for c in components])


def _numbers(values: Any) -> Array:
    """Doubles; ``null`` of JSON, which has no NaN, is NaN."""
    if isinstance(values, np.ndarray):
        return values.astype(float)
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"has {values!r:.40} where a list of numbers is expected")
    if wrong := [v for v in values if v is not None and (isinstance(v, bool) or not isinstance(v, int | float))]:
        raise ValueError(f"has {wrong[0]!r:.40} where a number is expected")
    return np.array([math.nan if v is None else float(v) for v in values])
