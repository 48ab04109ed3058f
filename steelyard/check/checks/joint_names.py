"""Joints of the description that the log does not measure: misspelt in the log, or assumed to be locked.

A joint without columns is locked at neutral. That is an assumption, and wrong where the log has the joint's columns
under another spelling: ``q.elbow`` for ``q.elbow_joint``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding
from steelyard.log.log import Log

KINDS = ("q", "v", "a", "tau", "current")
ALIKE = 0.75  # least similarity (difflib) of two words of a name; pitch and roll, left and right are far below
LETTERS = 4  # of a word that may be misspelt: fl and fr, or j1 and j2, are different words


def misspelt(joints: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Logged name → joint whose name it nearly is; only where neither has another candidate."""
    joints, names = list(joints), list(names)
    near = [(name, joint) for name in names for joint in joints if _is_near(_words(name), _words(joint))]
    first, second = [n for n, _ in near], [j for _, j in near]
    return {n: j for n, j in near if first.count(n) == 1 and second.count(j) == 1}


def _words(name: str) -> list[str]:
    """Words of a name in lower case: ``LeftElbow-joint1`` → left, elbow, joint, 1."""
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _is_near(one: list[str], two: list[str]) -> bool:
    """Whether names differ in spelling alone, or one has a prefix or a suffix more."""
    if not one or not two:
        return False
    if "".join(one) == "".join(two):
        return True
    if len(one) == len(two):
        return all(_is_misspelt(a, b) for a, b in zip(one, two, strict=True))
    short, long = sorted((one, two), key=len)
    if not any(len(word) >= LETTERS for word in short):
        return False
    return long[: len(short)] == short or long[-len(short) :] == short


def _is_misspelt(one: str, two: str) -> bool:
    if one == two:
        return True
    return min(len(one), len(two)) >= LETTERS and difflib.SequenceMatcher(None, one, two).ratio() >= ALIKE


class JointNames(Check):
    """Joints without columns."""

    rank = 5

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        setup, log = subject.setup, subject.log
        locked = [j for j in setup.without_columns if j in setup.robot.locked]
        logged = [name for name in _logged(log) if name not in setup.robot.description.joints]
        renamed = misspelt(locked, logged)
        findings = []
        for name, joint in renamed.items():
            columns = {f"{kind}.{name}": f"{kind}.{joint}" for kind in KINDS if log.has(f"{kind}.{name}")}
            what = f"is not a joint, and {joint} has no columns: it would be locked"
            fix = f"Rename the columns of {name!r} to {joint!r}, or lock {joint} (lock={{{joint!r}: 0.0}})"
            findings.append(
                Finding("joint-misspelt", f"{log.source}, {next(iter(columns))}", what, fix, {"rename": columns})
            )
        if assumed := [j for j in locked if j not in renamed.values()]:
            what = f"has no columns for {', '.join(assumed)}: assumed not to move, at neutral"
            fix = "Log them if they move, or give their positions (lock={joint: q})"
            remedy = {"lock": dict.fromkeys(assumed, 0.0)}
            findings.append(Finding("joint-locked", log.source, what, fix, remedy, "note"))
        return findings


def _logged(log: Log) -> list[str]:
    return list(dict.fromkeys(name for kind in KINDS for name in log.names(kind)))
