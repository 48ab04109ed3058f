"""Bags → a checked :class:`~steelyard.log.log.Log`: rosbag2 (SQLite, MCAP) and MCAP without ROS.

This module chooses the topics; ``file.py`` reads the bytes, ``messages.py`` decodes messages, ``clock.py`` merges
topics. Needs the extra ``bags``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import Finding, LogError, UsageError, note, unknown_name
from steelyard.files import digest
from steelyard.log.log import QUATERNION, Log

if TYPE_CHECKING:
    from steelyard.log.bag.clock import Channel
    from steelyard.log.bag.messages import Collector

SUFFIXES = (".db3", ".mcap")
MESSAGES = "sensor_msgs/JointState, sensor_msgs/Imu, nav_msgs/Odometry and geometry_msgs/WrenchStamped"
MOST_NAMES = 12  # topics that a refusal lists
PLAIN = ("joints", "imu", "odometry", "wrench")
NAMED = ("imu", "wrench", "sensor", "plate")  # kinds that may have a frame or name: wrench.left_foot


@dataclass(frozen=True)
class Topic:
    """A topic of a bag."""

    name: str
    type: str
    count: int  # messages
    rate: float  # Hz, as received; 0 for fewer than two messages


def read_bag(path: str | Path, topics: Mapping[str, str] | None = None) -> Log:
    """Read a bag at the stamps of its joint states.

    Args:
        path: Folder of a rosbag2, or a .db3 or .mcap file.
        topics: Kind → topic, where the bag has several: ``{"imu": "/imu/data"}``. Several topics are separated by
            commas; an empty string reads none. ``imu.FRAME`` and ``wrench.FRAME`` also set the frame, in place of the
            messages'; ``sensor.S`` and ``plate.P`` make a WrenchStamped a sensor inside the robot or a force plate.

    Raises:
        LogError: With every reason against the bag.
        UsageError: ``topics`` has unknown kinds.
    """
    path = _present(path)
    choice = _Choice(topics or {})
    from steelyard.log.bag.file import raw_messages
    from steelyard.log.bag.messages import KINDS, Collector, public_type

    types: dict[str, str] = {}
    collectors: dict[tuple[str, str, str], Collector] = {}
    for raw in raw_messages(path):
        types[raw.topic] = raw.type
        known = public_type(raw.type, raw.encoding)
        if known is None or raw.data is None or not choice.wants(KINDS[known], raw.topic):
            continue
        key = raw.topic, known, raw.encoding
        if key not in collectors:
            collectors[key] = Collector(raw.topic, known, raw.encoding, str(path), choice.name(raw.topic))
        collectors[key].add(raw)
    read = list(collectors.values())
    findings = [*choice.findings(str(path), types, read), *(c.finding for c in read if c.finding)]
    if not findings and not any(c.kind == "joints" for c in read):
        shown = ", ".join(f"{n} ({t or 'no type'})" for n, t in list(types.items())[:MOST_NAMES]) or "nothing"
        what = f"has no sensor_msgs/JointState message to read; it has {shown}"
        fix = f"Record the joint states; messages that are read: {MESSAGES}"
        findings = [Finding("joint-states-missing", str(path), what, fix)]
    if findings:
        raise LogError(findings)
    return _log(path, read)


def bag_topics(path: str | Path) -> list[Topic]:
    """List all topics of a bag by name, including those that are not read."""
    path = _present(path)
    from steelyard.log.bag.file import raw_messages

    seen: dict[tuple[str, str], tuple[int, int, int]] = {}
    for raw in raw_messages(path):
        count, first, last = seen.get((raw.topic, raw.type), (0, raw.time, raw.time))
        if raw.data is None:
            seen.setdefault((raw.topic, raw.type), (0, 2**64, 0))
        else:
            seen[raw.topic, raw.type] = count + 1, min(first, raw.time), max(last, raw.time)
    return [
        Topic(name, kind, count, (count - 1) / (last - first) * 1e9 if count > 1 and last > first else 0.0)
        for (name, kind), (count, first, last) in sorted(seen.items())
    ]


def _present(path: str | Path) -> Path:
    """The path of a bag that exists and whose reader is installed."""
    path = Path(path)
    if path.suffix.lower() == ".bag":
        fix = f"Convert it: rosbags-convert --src {path} --dst {path.with_suffix('')}"
        raise LogError(Finding("bag-of-ros1", str(path), "is a bag of ROS 1", fix))
    if not path.exists():
        fix = f"Give a rosbag2 folder or a file {' or '.join(SUFFIXES)}"
        raise LogError(Finding("file-missing", str(path), "does not exist", fix))
    if missing := [name for name in ("rosbags", "mcap") if find_spec(name) is None]:
        what = f"is a bag, and needs {' and '.join(missing)} to be read"
        fix, remedy = 'Run pip install "steelyard[bags]"', {"install": "steelyard[bags]"}
        raise LogError(Finding("package-missing", str(path), what, fix, remedy))
    return path


class _Choice:
    """The user's choice of topics."""

    def __init__(self, topics: Mapping[str, str]):
        self.chosen: dict[str, list[str]] = {}  # kind → the only topics of that kind to read
        self.named: dict[str, tuple[str, str]] = {}  # topic → its kind, and the name of its frame or columns
        findings = []
        for key, value in topics.items():
            kind, dot, name = key.partition(".")
            if (key not in PLAIN and not (kind in NAMED and name)) or (dot and not value):
                kinds = ", ".join((*PLAIN, "imu.FRAME", "wrench.FRAME", "sensor.NAME", "plate.NAME"))
                where, fix = f"topics={key}={value}", f"Give a topic for one of {kinds}"
                findings.append(Finding("option-value", where, "is not a kind and its topic", fix))
            some = [part.strip() for part in value.split(",") if part.strip()]
            if dot:
                self.named |= dict.fromkeys(some, ("imu", name) if kind == "imu" else ("wrench", key))
            if key in PLAIN or kind == "imu":
                self.chosen.setdefault(kind, []).extend(some)
        if findings:
            raise UsageError(findings)

    def wants(self, kind: str, topic: str) -> bool:
        """Whether to read a topic of a kind."""
        return kind not in self.chosen or topic in self.chosen[kind] or topic in self.named

    def name(self, topic: str) -> str:
        """Name that the user gives to a topic's frame or columns; "" to take the messages'."""
        return self.named.get(topic, ("", ""))[1]

    def findings(self, source: str, types: Mapping[str, str], read: Sequence[Collector]) -> Iterator[Finding]:
        """Chosen topics that do not exist, and several topics of a kind that allows one."""
        kinds = {c.topic: c.kind for c in read}
        asked = {topic: kind for kind, some in self.chosen.items() for topic in some}
        for topic, kind in (asked | {topic: kind for topic, (kind, _) in self.named.items()}).items():
            if topic not in types:
                fix = f"Choose from {', '.join(list(types)[:MOST_NAMES]) or 'nothing'}"
                yield unknown_name(f"{source}, {topic}", "is not in the bag", topic, types, fix, most=3)
            elif kinds.get(topic) != kind:
                what = f"is of the type {types[topic] or 'unknown'} or has no messages, and cannot be {kind}"
                yield Finding("topic-type-mismatch", f"{source}, {topic}", what, f"Messages that are read: {MESSAGES}")
        for kind in ("imu", "odometry"):
            some = [c for c in read if c.kind == kind]
            if len(some) > 1:
                what = f"are {len(some)} topics of the type {some[0].type}"
                yield _ambiguous(f"{source}, {', '.join(c.topic for c in some)}", what, kind, some[0].topic)
        for c in read:
            frames = sorted({frame for frame, _ in c.groups})
            if len(frames) > 1 and (c.kind in ("imu", "odometry") or c.name):
                what = f"has messages of several frames: {', '.join(map(repr, frames))}"
                yield Finding("frames-several", f"{source}, {c.topic}", what, "Record each in a topic of its own")


def _ambiguous(where: str, what: str, kind: str, topic: str) -> Finding:
    remedy = {"topics": {kind: topic}}
    return Finding("topics-ambiguous", where, what, f"Choose one, such as topics={remedy['topics']}", remedy)


def _log(path: Path, read: Sequence[Collector]) -> Log:
    """Merge all topics at the stamps of the most frequent joint states."""
    from steelyard.log.bag.clock import channels, merge, ordered

    metadata: dict[str, Any] = {"topics": {c.topic: c.kind for c in read}}
    notices = [_unstamped(c) for c in read if c.unstamped]
    series = [ordered(s, notices) for collector in read for s in collector.series()]
    frames = {kind: {s.topic: s.frame for s in series if metadata["topics"][s.topic] == kind} for kind in PLAIN}
    for kind, key in (("imu", "imu_frame"), ("odometry", "base_frame")):
        if frame := "".join(frames[kind].values()):  # of one topic at most
            metadata[key] = frame
    some = _orientation(_twist(channels(series), notices), frames["imu"], notices, metadata)
    findings = list(_twice(some))
    joints = {c.topic for c in read if c.kind == "joints"}
    clocks = [s for s in series if s.topic in joints]
    if not clocks:
        fix = "Correct the publisher of the joint states"
        findings.append(Finding("joints-unnamed", ", ".join(sorted(joints)), "names no joint", fix))
    if not findings:
        merged = merge(some, max(clocks, key=len).stamps)
        findings = merged.findings
    if findings:
        raise LogError([f.at(f"{path}, {f.where}") for f in findings])
    metadata["epoch_ns"] = int(merged.stamps[0])
    time = (merged.stamps - merged.stamps[0]) / 1e9
    log = Log.from_columns({"time": time, **merged.columns}, metadata, str(path))
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    remarks = tuple(
        replace(n, where=f"{path}, {n.where}", what=f"{path}, {n.what}")
        for n in dict.fromkeys([*notices, *merged.notices])
    )
    return replace(log, notices=remarks, files={str(f): digest(f) for f in files})


def _unstamped(c: Collector) -> Finding:
    text = f"{c.topic}: {c.unstamped} of {c.count} messages have no stamp; their time of reception is used"
    return note("stamps-missing", c.topic, text, messages=c.unstamped, of=c.count)


def _twist(some: list[Channel], notices: list[Finding]) -> list[Channel]:
    """Drop the velocities of an odometry that never measures any: all zero."""
    from steelyard.log.bag.messages import TWIST

    topics = {c.topic for c in some if c.columns[0] in TWIST}
    for topic in topics - {c.topic for c in some if c.columns[0] in TWIST and np.any(c.values)}:
        text = f"{topic}: every velocity is exactly zero; velocities are not read"
        notices.append(note("velocity-all-zero", topic, text))
        some = [c for c in some if c.topic != topic or c.columns[0] not in TWIST]
    return some


def _orientation(
    some: list[Channel], imus: Mapping[str, str], notices: list[Finding], metadata: dict[str, Any]
) -> list[Channel]:
    """Keep one orientation: the odometry's, else the IMU's (in the IMU's frame) unless it is constant."""
    orientations = [c for c in some if c.columns == QUATERNION]
    better = any(c.topic not in imus for c in orientations)
    for c in orientations:
        if c.topic not in imus:
            continue
        if better or not np.any(np.ptp(c.values, axis=0)):
            some = [x for x in some if x is not c]
            if not better:
                text = f"{c.topic}: its orientation never changes and is not read"
                notices.append(note("orientation-constant", c.topic, text))
            continue
        text = f"{c.topic}: without odometry, its orientation is used as that of the base"
        notices.append(note("orientation-from-imu", c.topic, text))
        if frame := imus[c.topic]:
            metadata["quaternion_frame"] = frame
    return some


def _twice(some: Sequence[Channel]) -> Iterator[Finding]:
    """Columns that several topics have."""
    givers: dict[str, list[str]] = {}
    for c in some:
        givers.setdefault(c.columns[0], []).append(c.topic)
    shared: dict[tuple[str, ...], list[str]] = {}
    for column, topics in givers.items():
        if len(topics) > 1:
            shared.setdefault(tuple(topics), []).append(column)
    for names, columns in shared.items():
        kind = "joints" if columns[0].partition(".")[0] in ("q", "v", "tau") else "wrench"
        shown = ", ".join(columns[:6]) + (" …" if len(columns) > 6 else "")
        yield _ambiguous(", ".join(names), f"all have {shown}", kind, names[0])
