"""Which column may be which: by words in its name, by numbers in it, or by its place and what it is the rate of."""

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
UNKNOWN = "KIND"  # what a proposal says where only the joint is known
SHORTEST = 20  # rows that can tell a rate from chance
SAME = 0.9  # the least correlation between a rate and what it is the rate of


class Proposal(NamedTuple):
    """A column that may be a joint's."""

    kind: str  # q, v, a, tau, current, or UNKNOWN
    joint: str
    name: str  # in the table
    why: str


def proposals_by_name(columns: Mapping[str, Array | None], joints: Sequence[str]) -> list[Proposal]:
    """Columns whose names hold a joint's name, or a number where there are as many numbers as joints."""
    found = {}
    for name in columns:
        words = _words(name)
        kind = _kind(words)
        joint = _joint(words, joints)
        if joint is not None and not ASKED & set(words):
            found[name] = Proposal(kind or UNKNOWN, joint, name, "By the joints' names:")
        elif not joints and kind is not None and not ASKED & set(words):
            found[name] = Proposal(kind, "JOINT", name, "By their names, for joints that you must tell:")
    for names in _families([name for name in columns if name not in found]):
        words = _words(names[0])
        if len(names) == len(joints) and (kind := _kind(words)) and not ASKED & set(words):
            why = "By their numbers, in the order of the description's joints (check the order):"
            found |= {name: Proposal(kind, joint, name, why) for joint, name in zip(joints, names, strict=True)}
    return sorted(found.values(), key=lambda p: p.why)


def groups_by_place(columns: Mapping[str, Array | None], joints: Sequence[str]) -> list[Proposal]:
    """Runs of as many columns as there are joints; a run that is the rate of the one before is called so."""
    names, n = list(columns), len(joints)
    if n == 0 or len(names) % n:
        return []
    groups = [names[k : k + n] for k in range(0, len(names), n)]
    kinds = [UNKNOWN] * len(groups)
    for k, (low, high) in enumerate(pairwise(groups)):
        if kinds[k] != "a" and _is_rate([columns[x] for x in low], [columns[x] for x in high]):
            kinds[k : k + 2] = ("v", "a") if kinds[k] == "v" else ("q", "v")
    told = {UNKNOWN: f"say what {UNKNOWN} is", "q": "the group after is its rate of change"}
    proposed = []
    for k, (kind, group) in enumerate(zip(kinds, groups, strict=True), 1):
        because = told.get(kind, "the rate of change of the group before")
        why = f"Group {k} of {len(groups)}, as many columns as joints ({because}; check the order):"
        proposed += [Proposal(kind, joint, name, why) for joint, name in zip(joints, group, strict=True)]
    return proposed


def _words(name: str) -> list[str]:
    """Words and numbers of a name, in lower case: ``actual_q_0``, ``joint1Pos``."""
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _kind(words: Sequence[str]) -> str | None:
    hits = [kind for kind, known in KINDS.items() if known & set(words)]
    return hits[0] if len(hits) == 1 else None


def _joint(words: Sequence[str], joints: Sequence[str]) -> str | None:
    """The joint with most words in a name, all of them in a row; the word "joint" need not be there."""
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
    """Names that differ in their last number only, in its order."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if numbers := list(re.finditer(r"\d+", name)):
            last = numbers[-1]
            families.setdefault(f"{name[: last.start()]}#{name[last.end() :]}", []).append((int(last[0]), name))
    for members in families.values():
        yield [name for _, name in sorted(members)]


def _is_rate(low: Sequence[Array | None], high: Sequence[Array | None]) -> bool:
    """Whether most of the second columns go with the change of the first."""
    hits = tests = 0
    for x, dx in zip(low, high, strict=True):
        if x is None or dx is None or x.ndim != 1 or not np.all(np.isfinite(x)) or not np.all(np.isfinite(dx)):
            return False
        w = max(1, len(x) // 2000)
        if len(x) < SHORTEST:
            return False
        seen, said = x[2 * w :] - x[: -2 * w], dx[w:-w]
        if np.std(seen) > 0 and np.std(said) > 0:
            tests += 1
            hits += float(np.corrcoef(seen, said)[0, 1]) > SAME
    return tests > 0 and hits > tests / 2
