"""Proposes what columns measure: from words or numbers in their names, or from position and rates of change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from steelyard.spatial import Array

KINDS = {
    "q": {"q", "pos", "position", "positions", "angle", "theta"},
    "v": {"v", "vel", "velocity", "velocities", "dq", "qd", "qdot", "speed"},
    "a": {"acc", "acceleration", "ddq", "qdd", "qddot"},
    "tau": {"tau", "torque", "torques", "effort", "trq"},
    "current": {"i", "cur", "curr", "current", "currents", "amps"},
}
ASKED = {"desired", "des", "target", "command", "cmd", "commanded", "ref", "reference", "setpoint", "goal"}
UNKNOWN = "KIND"  # placeholder of a proposal for which only the joint is known
SHORTEST = 20  # rows, at least, to recognise a rate of change
SAME = 0.9  # least correlation between a column and the rate of change of another


class Proposal(NamedTuple):
    """A column that is probably a joint's."""

    kind: str  # q, v, a, tau, current, or UNKNOWN
    joint: str
    name: str  # in the table
    why: str


def proposals_by_name(columns: Mapping[str, Array | None], joints: Sequence[str]) -> list[Proposal]:
    """Propose columns whose names contain a joint's name, or a number if there are as many numbers as joints."""
    proposed = {}
    for name in columns:
        words = _words(name)
        kind = _kind(words)
        joint = _joint(words, joints)
        if joint is not None and not ASKED & set(words):
            proposed[name] = Proposal(kind or UNKNOWN, joint, name, "By the joints' names:")
        elif not joints and kind is not None and not ASKED & set(words):
            proposed[name] = Proposal(kind, "JOINT", name, "By their names, of joints to be filled in:")
    for names in _families([name for name in columns if name not in proposed]):
        words = _words(names[0])
        if len(names) == len(joints) and (kind := _kind(words)) and not ASKED & set(words):
            why = "By their numbers, in the order of the description's joints (check the order):"
            proposed |= {name: Proposal(kind, joint, name, why) for joint, name in zip(joints, names, strict=True)}
    return sorted(proposed.values(), key=lambda p: p.why)


def groups_by_position(columns: Mapping[str, Array | None], joints: Sequence[str]) -> list[Proposal]:
    """Propose groups of as many consecutive columns as joints; a group may be the rate of change of the one before."""
    names, n = list(columns), len(joints)
    if n == 0 or len(names) % n:
        return []
    groups = [names[k : k + n] for k in range(0, len(names), n)]
    kinds = [UNKNOWN] * len(groups)
    for k, (low, high) in enumerate(pairwise(groups)):
        if kinds[k] != "a" and _is_rate([columns[x] for x in low], [columns[x] for x in high]):
            kinds[k : k + 2] = ("v", "a") if kinds[k] == "v" else ("q", "v")
    reasons = {UNKNOWN: f"fill in {UNKNOWN}", "q": "the next group is its rate of change"}
    proposed = []
    for k, (kind, group) in enumerate(zip(kinds, groups, strict=True), 1):
        reason = reasons.get(kind, "the rate of change of the previous group")
        why = f"Group {k} of {len(groups)}, as many columns as joints ({reason}; check the order):"
        proposed += [Proposal(kind, joint, name, why) for joint, name in zip(joints, group, strict=True)]
    return proposed


def _words(name: str) -> list[str]:
    """Words and numbers of a name, in lower case: ``actual_q_0``, ``joint1Pos``."""
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _kind(words: Sequence[str]) -> str | None:
    hits = [kind for kind, known in KINDS.items() if known & set(words)]
    return hits[0] if len(hits) == 1 else None


def _joint(words: Sequence[str], joints: Sequence[str]) -> str | None:
    """The joint with most consecutive words in a name; the word "joint" is optional."""
    best: tuple[int, str] | None = None
    for joint in joints:
        whole = _words(joint)
        core = [w for w in whole if w != "joint"]
        for part in (whole, core):
            if any(w.isalpha() for w in part) and _holds(words, part) and (best is None or len(part) > best[0]):
                best = len(part), joint
    return best[1] if best else None


def _holds(words: Sequence[str], part: Sequence[str]) -> bool:
    return any(list(words[k : k + len(part)]) == list(part) for k in range(len(words) - len(part) + 1))


def _families(names: Sequence[str]) -> Iterator[list[str]]:
    """Groups of names that differ in their last number only, sorted by it."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if numbers := list(re.finditer(r"\d+", name)):
            last = numbers[-1]
            families.setdefault(f"{name[: last.start()]}#{name[last.end() :]}", []).append((int(last[0]), name))
    for members in families.values():
        yield [name for _, name in sorted(members)]


def _is_rate(low: Sequence[Array | None], high: Sequence[Array | None]) -> bool:
    """Whether most of the second columns correlate with the rate of change of the first."""
    hits = tests = 0
    for x, dx in zip(low, high, strict=True):
        if x is None or dx is None or x.ndim != 1 or not np.all(np.isfinite(x)) or not np.all(np.isfinite(dx)):
            return False
        w = max(1, len(x) // 2000)
        if len(x) < SHORTEST:
            return False
        change, rate = x[2 * w :] - x[: -2 * w], dx[w:-w]
        if np.std(change) > 0 and np.std(rate) > 0:
            tests += 1
            hits += float(np.corrcoef(change, rate)[0, 1]) > SAME
    return tests > 0 and hits > tests / 2
