"""Matching the columns of a log with the joints of a description."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steelyard.errors import Finding, LogError, note
from steelyard.log.csv_text import DRAFT
from steelyard.log.log import Log
from steelyard.robot.description import Description
from steelyard.robot.model import ONE_DOF


@dataclass(frozen=True)
class Match:
    """Joints of a description that a log measures."""

    joints: tuple[str, ...]  # movable and measured
    locked: tuple[str, ...]  # movable, without any column
    notices: tuple[Finding, ...]


def match(description: Description, log: Log, lock: dict[str, float], *, torques: bool) -> Match:
    """Which joints the log measures; refused where a joint has some but not all columns that are needed."""
    movable = [j.name for j in description.joints.values() if j.kind in ONE_DOF and j.mimic is None]
    measured = {kind: set(log.names(kind)) for kind in ("q", "v", "a", "tau", "current")}
    anything = set().union(*measured.values())
    joints = [j for j in movable if j not in lock and j in anything]
    locked = [j for j in movable if j not in lock and j not in anything]
    findings = []
    for joint in joints:
        present = " and ".join(f"{kind}.{joint}" for kind, names in measured.items() if joint in names)
        if joint not in measured["q"]:
            findings.append(
                Finding(
                    "column-missing",
                    f"{log.source}, q.{joint}",
                    f"is missing, though the log has {present}",
                    "Add the position, or drop all columns of the joint to lock it",
                )
            )
        if torques and joint not in measured["tau"] | measured["current"]:
            findings.append(
                Finding(
                    "column-missing",
                    f"{log.source}, tau.{joint}",
                    f"is missing, though the log has {present}",
                    "Add tau or current, lock the joint (lock={joint: q}), or use equations='base'",
                )
            )
    unmatched = sorted(anything - set(description.joints))
    if not joints and locked:
        hint = f"its joint columns are of {_some(unmatched, 6)}" if unmatched else "it has no joint columns"
        if not unmatched and log.ignored:
            hint += f", only {_some(log.ignored, 6)}"
        what = f"measures no joint of {description.name}: {hint}"
        mapped = any(file.endswith(".toml") for file in log.files)
        fix = f"Name the columns after the joints ({_some(movable, 12)})"
        remedy = {} if mapped else {"mapping": None}
        findings.append(Finding("joints-unmatched", log.source, what, fix if mapped else f"{fix}, {DRAFT}", remedy))
    if findings:
        raise LogError(findings)
    return Match(tuple(joints), tuple(locked), tuple(_notices(description, log, anything, unmatched, movable, locked)))


def _notices(
    description: Description, log: Log, anything: set[str], unmatched: list[str], movable: list[str], locked: list[str]
) -> Iterator[Finding]:
    for name in unmatched:
        near = difflib.get_close_matches(name, movable, n=1)
        asked = f" (did you mean {near[0]}?)" if near else ""
        text = f"{log.source}: no joint {name!r}, its columns are ignored{asked}"
        yield note("name-unknown", f"{log.source}, {name}", text, **({"name": near[0]} if near else {}))
    if led := [name for name in description.joints if name in anything and name not in movable]:
        text = f"{log.source}: columns of joints that are fixed, follow others or have no single value: {_some(led, 8)}"
        yield note("joint-not-independent", log.source, text, joints=led)
    if locked:
        text = f"{log.source}: no columns for {', '.join(locked)}: locked at neutral"
        yield note("joint-locked", log.source, text, lock=dict.fromkeys(locked, 0.0))
    if log.ignored:
        text = f"{log.source}: {len(log.ignored)} columns ignored: {_some(log.ignored, 8)}"
        yield note("columns-ignored", log.source, text, columns=log.ignored)


def _some(names: Iterable[str], most: int) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (" …" if len(listed) > most else "")
