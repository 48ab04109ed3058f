"""Exciting motions of a humanoid on its own feet, as logs to play.

Random candidates are drawn and made feasible (``candidate_pool``), their information is computed (``informativeness``),
the best are chosen, further candidates move the joints of the most poorly excited base parameters, and the chosen
motions are improved (``improve_motion``). All screened candidates are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import WholeBodyMotion
from steelyard.experiment.excite.candidate_cache import NAME, CandidateCache
from steelyard.experiment.excite.candidate_pool import CandidatePool, CandidateSpec, ScreenedCandidate, draw_kinds
from steelyard.experiment.excite.improve_motion import improve_motion
from steelyard.experiment.excite.informativeness import (
    LITTLE,
    Informativeness,
    MotionInformation,
    WeakParameter,
    best_link_conditions,
    find_focus,
    find_weakest,
    select_by_link,
    select_d_optimal,
)
from steelyard.experiment.excite.make_feasible import retained_amplitude
from steelyard.experiment.excite.motion_request import HumanoidRequest
from steelyard.fleet.remote_handle import RemoteHandle
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

CUTOFF = 4.5  # Hz, low-pass of the rows by which motions are improved: about that of their logs
FOCUSED = 4  # joints that a candidate of a later round moves
STRONG = 0.1  # standard deviation, as a share of its natural size, of a well excited base parameter


@dataclass(frozen=True, eq=False)
class HumanoidMotions:
    """The chosen motions and their information."""

    robot: Robot
    request: HumanoidRequest
    screened: tuple[ScreenedCandidate, ...]
    motions: tuple[WholeBodyMotion, ...]
    informativeness: Informativeness
    root: Array  # (r, r) of the chosen motions' information
    candidates_root: Array  # the same of all feasible candidates
    links: Mapping[str, float]  # body → condition number of its ten columns in the best motion for it
    gains: tuple[float, ...]  # nats by which improving raised log det, of the first motions
    guessed: tuple[str, ...]  # bodies without shapes, replaced by boxes of their inertia

    @property
    def seconds(self) -> float:
        """Duration of all motions, s."""
        return sum(m.trajectory.duration for m in self.motions)

    @property
    def weakest(self) -> list[WeakParameter]:
        """The five most poorly excited base parameters."""
        return find_weakest(self.informativeness, self.root)[:5]

    @property
    def survivors(self) -> float:
        """Share of the candidates that are feasible."""
        return sum(c.scale is not None for c in self.screened) / len(self.screened)

    @property
    def amplitude(self) -> float:
        """Median share of the drawn amplitude that feasible candidates retain."""
        amplitudes = [c.amplitude for c in self.screened if c.scale is not None]
        return float(np.median(amplitudes)) if amplitudes else 0.0

    def as_json(self) -> dict[str, Any]:
        """``excite.json``."""
        kinds = {kind: [c for c in self.screened if c.kind == kind] for kind in sorted({c.kind for c in self.screened})}
        return {
            "schema": 1,
            "robot": self.robot.name,
            "asked": self.request.as_json() | {"locked": dict(self.robot.locked)},
            "candidates": {
                kind: {
                    "drawn": len(some),
                    "as_drawn": sum(c.raw for c in some),
                    "possible": sum(c.scale is not None for c in some),
                }
                for kind, some in kinds.items()
            },
            "survivors": self.survivors,
            "amplitude": self.amplitude,
            "motions": [_motion_json(m, k) for k, m in enumerate(self.motions, 1)],
            "seconds": self.seconds,
            "base_parameters": {"count": self.informativeness.identifiable.rank, **_criteria_json(self.root)},
            "all_candidates": _criteria_json(self.candidates_root),
            "links": {name: {"condition": criteria.finite(x)} for name, x in self.links.items()},
            "weakest": [
                {"parameter": w.name, "std": criteria.finite(w.deviation), "move": list(w.joints)} for w in self.weakest
            ],
            "improved": list(self.gains),
            "guessed_shapes": list(self.guessed),
            "provenance": {"description": self.robot.description.sha256, "seed": self.request.seed},
        }

    def sentence(self) -> str:
        """Summary in one sentence."""
        deviations = criteria.deviations(self.root, self.informativeness.identifiable)
        strong = int(np.sum(deviations < STRONG))
        worst = self.weakest[0]
        return (
            f"Ready to play: {len(self.motions)} motions, {self.seconds:.0f} s, excite {strong} of {len(deviations)} "
            f"base parameters to a tenth of their size; the weakest is led by {worst.name}, and moving "
            f"{', '.join(worst.joints) or 'the base'} more would help."
        )


def excite_humanoid(
    robot: Robot,
    request: HumanoidRequest,
    out: Path | None,
    progress: Callable[[float, str], None] = lambda *_: None,
    workers: Workers | None = None,
) -> HumanoidMotions:
    """Find exciting motions of a humanoid.

    Args:
        robot: A humanoid with a floating base.
        request: Number of candidates and motions, criterion, feet.
        out: Folder with the cache of an earlier run for the same robot, whose candidates are reused.
        progress: Called with the share of the work that is done, and a description.
        workers: Processes or machines that screen candidates; the result does not depend on them.

    Raises:
        UsageError: The robot is no humanoid, or no candidate is feasible.
    """
    workers = workers or Workers()
    pool = CandidatePool.of(robot, request.feet, request.srdf)
    informativeness = Informativeness(pool.stance)
    question = {"robot": robot.description.sha256, "feet": list(request.feet), "locked": dict(robot.locked)}
    cache = CandidateCache(None if out is None else out / NAME, question, ScreenedCandidate, every=20)
    screened, feasible = list[ScreenedCandidate](), list[ScreenedCandidate]()
    informations, chosen = list[MotionInformation](), list[int]()
    for k in range(request.rounds):
        count = request.candidates if k == 0 else max(1, request.candidates // (2 * (request.rounds - 1)))
        if k == 0:
            specs = _first_round(count, request.seed)
        else:
            specs = _later_round(pool, informativeness, [informations[i] for i in chosen], count, request.seed + k)
        share = 0.8 / request.rounds
        new = pool.screen(specs, cache, partial(_report, progress, share * k, share / count), workers)
        screened += new
        new_feasible = [c for c in new if c.scale is not None]
        feasible += new_feasible
        triangles = workers.map(_triangle, new_feasible, pool.handle, name="motion")
        informations += [MotionInformation.of(informativeness, R) for R in triangles]
        by_link = request.choice == "links"
        chosen = select_by_link(informations) if by_link else select_d_optimal(informations, request.motions)
    if not chosen:
        violated = sorted({r for c in screened for r in c.reasons})
        what = f"none of {len(screened)} candidates is feasible: {', '.join(violated)}"
        fix = f"Check its limits and soles, or draw more: candidates={2 * request.candidates}"
        raise UsageError(Finding("motion-infeasible", robot.name, what, fix, {"candidates": 2 * request.candidates}))
    motions, gains = improve_motions(
        pool,
        informativeness,
        [pool.rebuild(feasible[k]) for k in chosen],
        request.improve,
        lambda k: progress(0.8 + 0.2 * k / request.improve, "improving"),
    )
    return HumanoidMotions(
        robot,
        request,
        tuple(screened),
        tuple(motions),
        informativeness,
        criteria.combine(*[informativeness.root(m.trajectory) for m in motions]),
        criteria.combine(*[i.root for i in informations]),
        best_link_conditions(informations, chosen),
        tuple(gains),
        pool.checker.collisions.guessed,
    )


def improve_motions(
    pool: CandidatePool,
    informativeness: Informativeness,
    motions: Sequence[WholeBodyMotion],
    count: int,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[list[WholeBodyMotion], list[float]]:
    """The motions, the first ``count`` of them improved one after the other, and the nats that each gained."""
    filtered, better, gains = replace(informativeness, cutoff=CUTOFF), list(motions), list[float]()
    roots = [filtered.root(m.trajectory) for m in motions]
    for k in range(min(count, len(motions))):
        others = [r for i, r in enumerate(roots) if i != k]
        rest = criteria.combine(criteria.natural_prior(informativeness.identifiable.rank, LITTLE), *others)
        improved = improve_motion(pool.checker, filtered, better[k], rest)
        better[k], roots[k] = improved.motion, filtered.root(improved.motion.trajectory)
        gains.append(improved.gain)
        progress(k + 1)
    return better, gains


def _triangle(candidate: ScreenedCandidate, pool: RemoteHandle[CandidatePool]) -> Array:
    """Triangle of a motion's rows, computed on a worker; the driver reduces it to base parameters."""
    return Informativeness(pool.local.stance).triangle(pool.local.rebuild(candidate).trajectory)


def _report(progress: Callable[[float, str], None], before: float, each: float, done: int) -> None:
    progress(before + each * done, "candidates")


def _first_round(count: int, seed: int) -> list[CandidateSpec]:
    return [(kind, 1000 * seed + i, ()) for i, kind in enumerate(draw_kinds(count, seed))]


def _later_round(
    pool: CandidatePool, informativeness: Informativeness, chosen: Sequence[MotionInformation], count: int, seed: int
) -> list[CandidateSpec]:
    """Candidates that move joints of the most poorly excited parameters; a leg moves while the other one stands."""
    prior = criteria.natural_prior(informativeness.identifiable.rank, LITTLE)
    focus = find_focus(informativeness, criteria.combine(prior, *[c.root for c in chosen]))
    legs = [{pool.stance.robot.joints[j] for j in leg.joints} for leg in pool.stance.legs]
    rng = np.random.default_rng([seed, 7])
    specs = []
    for i in range(count):
        joints = tuple(focus[int(k)] for k in sorted(rng.permutation(min(len(focus), 3 * FOCUSED))[:FOCUSED]))
        sides = [side for side, leg in zip(("right", "left"), legs, strict=True) if leg & set(joints)]
        specs.append((str(rng.choice(sides)) if sides else "double", 1000 * seed + i, joints))
    return specs


def as_log(motion: WholeBodyMotion, number: int) -> Log:
    """One motion as a log to play."""
    contact = motion.in_contact(motion.trajectory.sampled().time)
    feet = {leg.sole.name: contact[:, k] for k, leg in enumerate(motion.stance.legs)}
    home = {j: float(x) for j, x in zip(motion.stance.robot.joints, motion.stance.home, strict=True)}
    metadata = {"motion": _motion_json(motion, number) | {"home": home, "robot": motion.stance.robot.name}}
    return motion.trajectory.log(feet, metadata, f"motion {number}")


def _motion_json(motion: WholeBodyMotion, number: int) -> dict[str, Any]:
    candidate = motion.candidate
    return {
        "number": number,
        "kind": candidate.kind,
        "seed": candidate.seed,
        "amplitude": retained_amplitude(motion),
        "stretch": motion.scale.stretch,
        "seconds": motion.trajectory.duration,
    }


def _criteria_json(root: Array) -> dict[str, float | None]:
    return {"condition": criteria.finite(criteria.condition(root)), "log_det": criteria.finite(criteria.log_det(root))}
