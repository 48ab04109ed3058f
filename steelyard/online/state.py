"""The state of an online identifier: its estimate at one moment, and the file from which another one resumes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.identify.estimate import BodyEstimate
from steelyard.identify.sentence import mass_interval
from steelyard.online.change import Change
from steelyard.solve.certify import Certificate
from steelyard.spatial import Array


@dataclass(frozen=True)
class OnlineEstimate:
    """The estimate at one moment."""

    time: float  # s, of the newest sample
    delay: float  # s by which the newest row is older than that
    bodies: tuple[BodyEstimate, ...]  # the free ones, with intervals and sources
    certificate: Certificate
    rows: int  # scalar equations seen since the last change
    changes: tuple[Change, ...]

    def body(self, name: str) -> BodyEstimate:
        """One body by name."""
        return next(b for b in self.bodies if b.name == name or name in b.links)

    def sentence(self) -> str:
        """Whether the estimate is certified, the mass of each body, and the delay, in one line."""
        masses = ", ".join(f"{b.name} {mass_interval(b, '.3f')} kg ({b.source.worst})" for b in self.bodies)
        head = "Certified and physically consistent" if self.is_certified else "Not certified"
        changed = f"; {len(self.changes)} changes of load detected" if self.changes else ""
        return f"{head}: {masses}; delay {1e3 * self.delay:.0f} ms{changed}."

    @property
    def is_certified(self) -> bool:
        """Whether the optimum is certified and every body physically consistent."""
        return self.certificate.holds and all(b.consistent for b in self.bodies)


def write_state(path: str | Path, fingerprint: str, arrays: Mapping[str, Array], changes: Sequence[Change]) -> None:
    """Write arrays and changes as ``.npz``; no pickle."""
    events = [vars(c) | {"before": {name: p.tolist() for name, p in c.before.items()}} for c in changes]
    content: dict[str, Any] = {**arrays, "fingerprint": fingerprint, "changes": json.dumps(events)}
    with open(path, "wb") as file:
        np.savez(file, **content)


def read_state(path: str | Path, fingerprint: str) -> tuple[dict[str, Array], list[Change]]:
    """Read what ``write_state`` wrote; the state of an identifier with another fingerprint is refused."""
    with np.load(path, allow_pickle=False) as file:
        saved = dict(file)
    if str(saved.pop("fingerprint")) != fingerprint:
        what = "was saved by an identifier of another robot, other sensors or other options, or by another version"
        fix = "Construct the identifier with the same arguments"
        raise UsageError(Finding("state-mismatch", str(path), what, fix))
    events = json.loads(str(saved.pop("changes")))
    return saved, [Change(**e | {"before": {name: np.array(p) for name, p in e["before"].items()}}) for e in events]
