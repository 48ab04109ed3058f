"""Candidates of a humanoid: drawn, made feasible, and cached.

A candidate is its kind, its seed and the scale that made it feasible: a few numbers, from which the motion is rebuilt
in a moment. So an interrupted run resumes from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.experiment.excite.build_motion import MotionScale, WholeBodyMotion, build_motion
from steelyard.experiment.excite.candidate import KINDS, SHARES, draw_candidate
from steelyard.experiment.excite.candidate_cache import CandidateCache
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.collision_pairs import geometry_files
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.make_feasible import make_feasible
from steelyard.experiment.excite.posture_checker import PostureChecker
from steelyard.fleet.remote_handle import RemoteHandle
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot

CandidateSpec = tuple[str, int, tuple[str, ...]]  # kind, seed, focus


@dataclass(frozen=True)
class ScreenedCandidate:
    """Result of screening one candidate, as it is cached."""

    kind: str
    seed: int
    focus: tuple[str, ...]
    scale: Mapping[str, Any] | None  # fields of its ``MotionScale``; None where it is infeasible
    tries: int
    raw: bool  # whether it was feasible as drawn
    amplitude: float  # share of the drawn amplitude that was retained
    reasons: tuple[str, ...]  # constraints that were violated, over all tries

    def as_json(self) -> dict[str, Any]:
        """For the cache."""
        return vars(self) | {"focus": list(self.focus), "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ScreenedCandidate:
        """Inverse of ``as_json``."""
        return cls(**{**content, "focus": tuple(content["focus"]), "reasons": tuple(content["reasons"])})


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """Draws and screens candidates of one humanoid."""

    checker: PostureChecker
    feet: tuple[str, ...] = ()  # links of the soles, where given
    srdf: str | Path | None = None

    @classmethod
    def of(cls, robot: Robot, feet: Sequence[str] = (), srdf: str | Path | None = None) -> CandidatePool:
        """The pool of a humanoid.

        Args:
            robot: Its base floats.
            feet: Links of its soles, left and right; found from the geometry where not given.
            srdf: Pairs of links that may touch; found beside the description where not given.
        """
        stance = HumanoidStance.of(robot, feet)
        return cls(PostureChecker(stance, Collisions.of(robot, srdf)), tuple(feet), srdf)

    @cached_property
    def handle(self) -> RemoteHandle[CandidatePool]:
        """The pool as workers receive it."""
        robot = self.stance.robot
        files = partial(geometry_files, robot, self.srdf)
        return RemoteHandle(self, CandidatePool.of, robot, self.feet, self.srdf, files=files)

    @property
    def stance(self) -> HumanoidStance:
        """The humanoid on its feet."""
        return self.checker.stance

    def attempt(
        self, kind: str, seed: int, focus: Sequence[str] = ()
    ) -> tuple[ScreenedCandidate, WholeBodyMotion | None]:
        """Draw a candidate and make it feasible; the motion is None where that fails."""
        outcome = make_feasible(self.checker, draw_candidate(self.checker, kind, seed, focus))
        motion = outcome.motion
        screened = ScreenedCandidate(
            kind,
            seed,
            tuple(focus),
            None if motion is None else {k: np.asarray(x).tolist() for k, x in vars(motion.scale).items()},
            outcome.tries,
            outcome.raw,
            outcome.amplitude,
            outcome.reasons,
        )
        return screened, motion

    def rebuild(self, screened: ScreenedCandidate) -> WholeBodyMotion:
        """The motion of a feasible candidate."""
        assert screened.scale is not None
        scale = MotionScale(**{**screened.scale, "upper": np.array(screened.scale["upper"])})
        candidate = draw_candidate(self.checker, screened.kind, screened.seed, screened.focus)
        return build_motion(self.stance, candidate, scale)

    def screen(
        self,
        specs: Sequence[CandidateSpec],
        cache: CandidateCache[ScreenedCandidate],
        progress: Callable[[int], None] = lambda _: None,
        workers: Workers | None = None,
    ) -> list[ScreenedCandidate]:
        """Screen candidates of these kinds, seeds and focuses; those in the cache are not screened again."""
        keys = [f"{kind} {seed} {' '.join(focus)}".strip() for kind, seed, focus in specs]
        missing = {key: spec for key, spec in zip(keys, specs, strict=True) if key not in cache.entries}
        cached, new = len(keys) - len(missing), list(missing)
        results = (workers or Workers()).each(_screen_one, list(missing.values()), self.handle, name="candidate")
        for done, (k, screened) in enumerate(results, 1):
            cache.add(new[k], screened)
            progress(cached + done)
        cache.write()
        return [cache.entries[key] for key in keys]


def _screen_one(spec: CandidateSpec, pool: RemoteHandle[CandidatePool]) -> ScreenedCandidate:
    return pool.local.attempt(*spec)[0]


def draw_kinds(count: int, seed: int) -> list[str]:
    """Kinds of ``count`` candidates, drawn in proportion to ``SHARES``."""
    return [str(k) for k in np.random.default_rng(seed).choice(KINDS, count, p=SHARES)]
