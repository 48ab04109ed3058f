"""Bags → a checked :class:`~steelyard.log.log.Log`: rosbag2 (SQLite, MCAP) and MCAP without ROS.

Which topics are read and what they become is decided here; ``file.py`` has the bytes, ``messages.py`` the
messages, ``clock.py`` the clock. Needs the extra ``bags``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import Finding, LogError, UsageError
from steelyard.files import digest
from steelyard.log.log import QUATERNION, Log

if TYPE_CHECKING:
    from steelyard.log.bag.clock import Channel
    from steelyard.log.bag.messages import Collector

SUFFIXES = (".db3", ".mcap")
MESSAGES = "sensor_msgs/JointState, sensor_msgs/Imu, nav_msgs/Odometry and geometry_msgs/WrenchStamped"
MOST_NAMES = 12  # of topics that a refusal lists
PLAIN = ("joints", "imu", "odometry", "wrench")
NAMED = ("imu", "wrench", "sensor", "plate")  # kinds that may carry a frame or name of their own: wrench.left_foot


@dataclass(frozen=True)
class Topic:
    """A topic of a bag."""

    name: str
    type: str
    count: int  # messages
    rate: float  # messages a second as received; 0 where fewer than two came


def read_bag(path: str | Path, topics: Mapping[str, str] | None = None) -> Log:
    """Read a bag on the clock of its joint states; every reason against it is in the LogError.

    ``topics`` says which topic is to be used for what, where the bag leaves it open: ``{"imu": "/imu/data"}``. Several
    are separated by commas, none is an empty string. ``imu.FRAME`` and ``wrench.FRAME`` also name the frame, in place
    of the messages; ``sensor.S`` and ``plate.P`` make a WrenchStamped a sensor inside the robot, or a force plate.
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
    found = list(collectors.values())
    findings = [*choice.findings(str(path), types, found), *(c.finding for c in found if c.finding)]
    if not findings and not any(c.kind == "joints" for c in found):
        shown = ", ".join(f"{n} ({t or 'no type'})" for n, t in list(types.items())[:MOST_NAMES]) or "nothing"
        what = f"has no sensor_msgs/JointState message to read; it has {shown}"
        findings = [Finding("todo", str(path), what, f"Record the joint states; what is read: {MESSAGES}")]
    if findings:
        raise LogError(findings)
    return _log(path, found)


def bag_topics(path: str | Path) -> list[Topic]:
    """All topics of a bag by name, those that are not read too."""
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
    """The path, if there is something that could be read with what is installed."""
    path = Path(path)
    if path.suffix.lower() == ".bag":
        fix = f"Convert it: rosbags-convert --src {path} --dst {path.with_suffix('')}"
        raise LogError(Finding("todo", str(path), "is a bag of ROS 1", fix))
    if not path.exists():
        raise LogError(
            Finding("todo", str(path), "does not exist", f"Give a rosbag2 folder or a file {' or '.join(SUFFIXES)}")
        )
    if missing := [name for name in ("rosbags", "mcap") if find_spec(name) is None]:
        what = f"is a bag, and {' and '.join(missing)} is not installed"
        raise LogError(Finding("todo", str(path), what, 'Install what reads it: pip install "steelyard[bags]"'))
    return path


class _Choice:
    """Which topics the user wants for what."""

    def __init__(self, topics: Mapping[str, str]):
        self.chosen: dict[str, list[str]] = {}  # kind → the only topics of that kind to read
        self.named: dict[str, tuple[str, str]] = {}  # topic → its kind, and how to call what it measures
        findings = []
        for key, value in topics.items():
            kind, dot, name = key.partition(".")
            if (key not in PLAIN and not (kind in NAMED and name)) or (dot and not value):
                kinds = ", ".join((*PLAIN, "imu.FRAME", "wrench.FRAME", "sensor.NAME", "plate.NAME"))
                findings.append(
                    Finding("todo", f"topics, {key!r}", f"cannot be {value!r}", f"Give a topic for one of {kinds}")
                )
            some = [part.strip() for part in value.split(",") if part.strip()]
            if dot:
                self.named |= dict.fromkeys(some, ("imu", name) if kind == "imu" else ("wrench", key))
            if key in PLAIN or kind == "imu":
                self.chosen.setdefault(kind, []).extend(some)
        if findings:
            raise UsageError(findings)

    def wants(self, kind: str, topic: str) -> bool:
        """Whether a topic of a kind is to be read."""
        return kind not in self.chosen or topic in self.chosen[kind] or topic in self.named

    def name(self, topic: str) -> str:
        """How the user calls what a topic measures; "" where the messages say it."""
        return self.named.get(topic, ("", ""))[1]

    def findings(self, source: str, types: Mapping[str, str], found: Sequence[Collector]) -> Iterator[Finding]:
        """Chosen topics that are not there, and kinds of which there must be one and are several."""
        read = {c.topic: c.kind for c in found}
        asked = {topic: kind for kind, some in self.chosen.items() for topic in some}
        for topic, kind in (asked | {topic: kind for topic, (kind, _) in self.named.items()}).items():
            if topic not in types:
                near = difflib.get_close_matches(topic, types, n=3) or list(types)[:MOST_NAMES]
                yield Finding(
                    "todo", f"{source}, {topic}", "is not in the bag", f"Choose from {', '.join(near) or 'nothing'}"
                )
            elif read.get(topic) != kind:
                what = f"is of the type {types[topic] or 'unknown'} or has no messages, and cannot be {kind}"
                yield Finding("todo", f"{source}, {topic}", what, f"What is read: {MESSAGES}")
        for kind in ("imu", "odometry"):
            some = [c for c in found if c.kind == kind]
            if len(some) > 1:
                shown = ", ".join(c.topic for c in some)
                what, fix = f"are {len(some)} topics of the type {some[0].type}", _choose(kind, some[0].topic)
                yield Finding("todo", f"{source}, {shown}", what, fix)
        for c in found:
            frames = sorted({frame for frame, _ in c.groups})
            if len(frames) > 1 and (c.kind in ("imu", "odometry") or c.name):
                what = f"speaks of several frames: {', '.join(map(repr, frames))}"
                yield Finding("todo", f"{source}, {c.topic}", what, "Record each in a topic of its own")


def _choose(kind: str, topic: str) -> str:
    return f'Choose one: topics={{"{kind}": "{topic}"}} (--topic {kind}={topic})'


def _log(path: Path, found: Sequence[Collector]) -> Log:
    """All topics on the clock of the joint states that came most often."""
    from steelyard.log.bag.clock import channels, merge, ordered

    metadata: dict[str, Any] = {"topics": {c.topic: c.kind for c in found}}
    notices = [_unstamped(c) for c in found if c.unstamped]
    series = [ordered(s, notices) for collector in found for s in collector.series()]
    frames = {kind: {s.topic: s.frame for s in series if metadata["topics"][s.topic] == kind} for kind in PLAIN}
    for kind, key in (("imu", "imu_frame"), ("odometry", "base_frame")):
        if frame := "".join(frames[kind].values()):  # of one topic at most
            metadata[key] = frame
    some = _orientation(_twist(channels(series), notices), frames["imu"], notices, metadata)
    findings = list(_twice(some))
    joints = {c.topic for c in found if c.kind == "joints"}
    clocks = [s for s in series if s.topic in joints]
    if not clocks:
        findings.append(
            Finding("todo", ", ".join(sorted(joints)), "names no joint", "Correct what publishes the joint states")
        )
    if not findings:
        merged = merge(some, max(clocks, key=len).stamps)
        findings = merged.findings
    if findings:
        raise LogError([f.at(f"{path}, {f.where}") for f in findings])
    metadata["epoch_ns"] = int(merged.stamps[0])
    time = (merged.stamps - merged.stamps[0]) / 1e9
    log = Log.from_columns({"time": time, **merged.columns}, metadata, str(path))
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    said = dict.fromkeys([*notices, *merged.notices])
    return replace(log, notices=tuple(f"{path}, {notice}" for notice in said), files={str(f): digest(f) for f in files})


def _unstamped(c: Collector) -> str:
    return f"{c.topic}: {c.unstamped} of {c.count} messages have no stamp; the time they were received is taken"


def _twist(some: list[Channel], notices: list[str]) -> list[Channel]:
    """Without the velocities that an odometry leaves at zero because it knows none."""
    from steelyard.log.bag.messages import TWIST

    told = {c.topic for c in some if c.columns[0] in TWIST}
    for topic in told - {c.topic for c in some if c.columns[0] in TWIST and np.any(c.values)}:
        notices.append(f"{topic}: every velocity is exactly zero; velocities are left out")
        some = [c for c in some if c.topic != topic or c.columns[0] not in TWIST]
    return some


def _orientation(
    some: list[Channel], imus: Mapping[str, str], notices: list[str], metadata: dict[str, Any]
) -> list[Channel]:
    """One orientation: the odometry's; else that of the IMU, in whose frame it then is, unless it never changes."""
    told = [c for c in some if c.columns == QUATERNION]
    better = any(c.topic not in imus for c in told)
    for c in told:
        if c.topic not in imus:
            continue
        if better or not np.any(np.ptp(c.values, axis=0)):
            some = [x for x in some if x is not c]
            if not better:
                notices.append(f"{c.topic}: its orientation never changes and is left out")
            continue
        notices.append(f"{c.topic}: its orientation is taken for that of the base, for want of odometry")
        if frame := imus[c.topic]:
            metadata["quaternion_frame"] = frame
    return some


def _twice(some: Sequence[Channel]) -> Iterator[Finding]:
    """Columns that several topics give."""
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
        yield Finding("todo", ", ".join(names), f"all give {shown}", _choose(kind, names[0]))
