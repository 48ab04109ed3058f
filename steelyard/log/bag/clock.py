"""Topics with stamps of their own → one clock.

The rows of the result are the stamps of one series, whose values are unchanged. All others are interpolated to them:
linearly, quaternions normalised afterwards. Nothing is extrapolated, nor interpolated across a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from steelyard.errors import Finding, note
from steelyard.log.log import QUATERNION
from steelyard.log.timing import GAP
from steelyard.spatial import Array, unwrap_quaternions


@dataclass(frozen=True)
class TopicSeries:
    """Samples of some columns from one topic."""

    topic: str
    columns: tuple[str, ...]
    stamps: Array  # (n,) int64, ns since 1970
    values: Array  # (n, k), NaN where absent
    frame: str = ""  # of the messages

    def __len__(self) -> int:
        return len(self.stamps)


class Channel(NamedTuple):
    """Columns with the same stamps: one, or the four of a quaternion."""

    topic: str
    columns: tuple[str, ...]
    stamps: Array  # (n,) int64, increasing
    values: Array  # (n, k), no NaN


class Merged(NamedTuple):
    """All columns on one clock."""

    stamps: Array  # (T,) int64
    columns: dict[str, Array]  # (T,) each
    notices: list[Finding]
    findings: list[Finding]


def ordered(series: TopicSeries, notices: list[Finding]) -> TopicSeries:
    """Sort a series by stamp and drop repeated stamps (the first received is kept); adds notices."""
    late = int(np.sum(series.stamps < np.maximum.accumulate(series.stamps))) if len(series) else 0
    if late:
        text = f"{series.topic}: {late} messages out of order, sorted by stamp"
        notices.append(note("stamps-out-of-order", series.topic, text, messages=late))
    order = np.argsort(series.stamps, kind="stable")
    order = order[np.diff(series.stamps[order], prepend=-1) > 0]
    if repeats := len(series) - len(order):
        text = f"{series.topic}: {repeats} messages repeat a stamp and were dropped"
        notices.append(note("stamps-repeated", series.topic, text, messages=repeats))
    return replace(series, stamps=series.stamps[order], values=series.values[order])


def channels(series: Sequence[TopicSeries]) -> list[Channel]:
    """Split series into channels, each without the stamps at which it is NaN; columns of NaN only are dropped."""
    parts: dict[tuple[str, tuple[str, ...]], list[Channel]] = {}
    for s in series:
        whole = [k for k, name in enumerate(s.columns) if name in QUATERNION]
        single = [[k] for k in range(len(s.columns)) if k not in whole]
        for block in (*single, whole) if whole else single:
            keep = ~np.isnan(s.values[:, block]).any(axis=1)
            if keep.any():
                names = tuple(s.columns[k] for k in block)
                part = Channel(s.topic, names, s.stamps[keep], s.values[np.ix_(keep, np.array(block))])
                parts.setdefault((s.topic, names), []).append(part)
    return [_joined(some) for some in parts.values()]


def _joined(parts: list[Channel]) -> Channel:
    """One channel from several of the same topic and columns."""
    if len(parts) == 1:
        return parts[0]
    stamps, first = np.unique(np.concatenate([p.stamps for p in parts]), return_index=True)
    return parts[0]._replace(stamps=stamps, values=np.concatenate([p.values for p in parts])[first])


def merge(some: Sequence[Channel], clock: Array) -> Merged:
    """Interpolate all channels to those stamps of the clock that every channel covers."""
    findings = list(_lone(some))
    if findings:
        return Merged(clock[:0], {}, [], findings)
    start, stop = max(c.stamps[0] for c in some), min(c.stamps[-1] for c in some)
    stamps = clock[(clock >= start) & (clock <= stop)]
    if len(stamps) < 2:
        return Merged(stamps, {}, [], _apart(some))
    notices = list(_cut(some, clock, stamps))
    covered = np.ones(len(stamps), bool)
    for topic in dict.fromkeys(c.topic for c in some):
        inside = np.any([_in_hole(c.stamps, stamps) for c in some if c.topic == topic], axis=0)
        if lost := int(inside.sum()):
            text = f"{topic}: {lost} rows are in gaps of more than {GAP:g} median steps and were dropped"
            notices.append(note("rows-in-gaps", topic, text, rows=lost))
        covered &= ~inside
    stamps = stamps[covered]
    if len(stamps) < 2:
        what = f"leave {len(stamps) or 'no'} row between the gaps of the topics"
        shown = ", ".join(dict.fromkeys(c.topic for c in some))
        finding = Finding("rows-too-few", shown, what, "Record without dropped messages")
        return Merged(stamps, {}, notices, [finding])
    columns: dict[str, Array] = {}
    for c in some:
        columns |= zip(c.columns, _at(c, stamps).T, strict=True)
    return Merged(stamps, columns, notices, [])


def _at(channel: Channel, stamps: Array) -> Array:
    """Values (T, k) interpolated at stamps within the channel's range."""
    seconds, known = ((x - stamps[0]) / 1e9 for x in (stamps, channel.stamps))
    values = channel.values
    if channel.columns != QUATERNION:
        return np.column_stack([np.interp(seconds, known, x) for x in values.T])
    # The norm is interpolated too, so that a check still sees the recorded one.
    length = np.linalg.norm(values, axis=1)
    chord = np.column_stack([np.interp(seconds, known, x) for x in unwrap_quaternions(values / length[:, None]).T])
    return np.asarray(chord * (np.interp(seconds, known, length) / np.linalg.norm(chord, axis=1))[:, None])


def _in_hole(known: Array, stamps: Array) -> Array:
    """Whether each stamp is strictly inside a gap between two known ones."""
    steps = np.diff(known)
    after = np.searchsorted(known, stamps)
    hole = np.append(steps > GAP * np.median(steps), False)[np.maximum(after - 1, 0)]
    return np.asarray(hole & (known[np.minimum(after, len(known) - 1)] != stamps))


def _lone(some: Sequence[Channel]) -> Iterator[Finding]:
    """Topics with fewer than two stamps."""
    few: dict[str, str] = {}
    for c in some:
        if len(c.stamps) < 2:
            few.setdefault(c.topic, c.columns[0])
    for topic, column in few.items():
        fix = "Record longer, correct its header stamps, or do not read the topic"
        yield Finding("rows-too-few", f"{topic}, {column}", "has only one stamp with a value", fix)


def _apart(some: Sequence[Channel]) -> list[Finding]:
    """Topics without common time."""
    spans: dict[str, tuple[float, float]] = {}
    for c in some:
        first, last = spans.get(c.topic, (-np.inf, np.inf))
        spans[c.topic] = max(first, c.stamps[0] / 1e9), min(last, c.stamps[-1] / 1e9)
    fix = "Stamp all topics with the same clock, or do not read those with another"
    what = "has too little time in common with the other topics: its stamps are from {:.3f} to {:.3f} s"
    return [Finding("clocks-disjoint", topic, what.format(*span), fix) for topic, span in spans.items()]


def _cut(some: Sequence[Channel], clock: Array, stamps: Array) -> Iterator[Finding]:
    """Notices of rows cut at either end because a topic starts late or ends early."""
    if lost := int(np.sum(clock < stamps[0])):
        topic = max(some, key=lambda c: int(c.stamps[0])).topic
        seconds = (stamps[0] - clock[0]) / 1e9
        text = f"the first {seconds:.3g} s ({lost} rows) are cut: {topic} starts later"
        yield note("topic-starts-late", topic, text, seconds=seconds, rows=lost)
    if lost := int(np.sum(clock > stamps[-1])):
        topic = min(some, key=lambda c: int(c.stamps[-1])).topic
        seconds = (clock[-1] - stamps[-1]) / 1e9
        text = f"the last {seconds:.3g} s ({lost} rows) are cut: {topic} ends earlier"
        yield note("topic-ends-early", topic, text, seconds=seconds, rows=lost)
