"""Many candidates: drawn, made possible, looked at, and kept in a file so that nothing is done twice.

A candidate is its kind and seed, and what was left of it is its scale: both are a few numbers, and the motion is built
from them again in a moment. So a run that was broken off goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.experiment.excite.build_motion import Built, MotionScale, build
from steelyard.experiment.excite.candidates import KINDS, SHARES, draw
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.kept import Kept
from steelyard.experiment.excite.pairs import files_of
from steelyard.experiment.excite.postures import Postures
from steelyard.experiment.excite.rescue import attempt
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

Wanted = tuple[str, int, tuple[str, ...]]  # kind, seed, focus


@dataclass(frozen=True)
class Tried:
    """What became of one candidate, as it is kept."""

    kind: str
    seed: int
    focus: tuple[str, ...]
    scale: Mapping[str, Any] | None  # None where nothing could be done
    tries: int
    raw: bool
    amplitude: float
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return vars(self) | {"focus": list(self.focus), "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Tried:
        """From what ``as_json`` gave."""
        return cls(**{**found, "focus": tuple(found["focus"]), "reasons": tuple(found["reasons"])})


@dataclass(frozen=True, eq=False)
class Pool:
    """Where candidates of one robot come from."""

    postures: Postures
    feet: tuple[str, ...] = ()  # as asked for
    srdf: str | Path | None = None

    @classmethod
    def of(cls, robot: Robot, feet: Sequence[str] = (), srdf: str | Path | None = None) -> Pool:
        """Of a humanoid: its stance and what must not touch."""
        stance = HumanoidStance.of(robot, feet)
        return cls(Postures(stance, Collisions.of(robot, srdf)), tuple(feet), srdf)

    @cached_property
    def sent(self) -> Sent[Pool]:
        """For workers."""
        robot = self.stance.robot
        return Sent(self, Pool.of, robot, self.feet, self.srdf, files=partial(files_of, robot, self.srdf))

    @property
    def stance(self) -> HumanoidStance:
        """The robot on its feet."""
        return self.postures.stance

    def attempt(self, kind: str, seed: int, focus: Sequence[str] = ()) -> tuple[Tried, Built | None]:
        """Draw one and make it possible."""
        outcome = attempt(self.postures, draw(self.postures, kind, seed, focus))
        built = outcome.built
        scale = None if built is None else {k: np.asarray(x).tolist() for k, x in vars(built.scale).items()}
        tried = Tried(kind, seed, tuple(focus), scale, outcome.tries, outcome.raw, outcome.amplitude, outcome.reasons)
        return tried, built

    def built(self, tried: Tried) -> Built:
        """The motion of one that was made possible before."""
        assert tried.scale is not None
        scale = MotionScale(**{**tried.scale, "upper": np.array(tried.scale["upper"])})
        return build(self.stance, draw(self.postures, tried.kind, tried.seed, tried.focus), scale)

    def screen(
        self,
        wanted: Sequence[Wanted],
        kept: Kept[Tried],
        progress: Callable[[int], None] = lambda _: None,
        workers: Workers | None = None,
    ) -> list[Tried]:
        """All of these kinds, seeds and focuses; what ``kept`` has is not tried again."""
        keys = [f"{kind} {seed} {' '.join(focus)}".strip() for kind, seed, focus in wanted]
        left = {key: one for key, one in zip(keys, wanted, strict=True) if key not in kept.done}
        before, new = len(keys) - len(left), list(left)
        found = (workers or Workers()).each(_tried, list(left.values()), self.sent, name="candidate")
        for done, (k, tried) in enumerate(found, 1):
            kept.add(new[k], tried)
            progress(before + done)
        kept.write()
        return [kept.done[key] for key in keys]


def _tried(wanted: Wanted, pool: Sent[Pool]) -> Tried:
    return pool.here.attempt(*wanted)[0]


def kinds(count: int, seed: int) -> list[str]:
    """Kinds of so many candidates, each with its share."""
    return [str(k) for k in np.random.default_rng(seed).choice(KINDS, count, p=SHARES)]
