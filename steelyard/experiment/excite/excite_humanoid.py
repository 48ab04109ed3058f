"""Motions of a humanoid on its own feet that tell most, as logs to play.

Candidates are drawn and made possible (``pool``), looked at (``informativeness``), chosen, the weakest base parameters
asked for more, and the chosen ones improved (``improve``). Everything that was tried is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import Built
from steelyard.experiment.excite.improve import improve
from steelyard.experiment.excite.informativeness import (
    LITTLE,
    Telling,
    Told,
    Weak,
    best_for_links,
    by_link,
    focus,
    most_telling,
    weakest,
)
from steelyard.experiment.excite.kept import NAME, Kept
from steelyard.experiment.excite.motion_request import HumanoidRequest
from steelyard.experiment.excite.pool import Pool, Tried, Wanted, kinds
from steelyard.experiment.excite.rescue import retained
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

CUTOFF = 4.5  # Hz, of the rows that improved motions are judged by: about what their logs are filtered at
FOCUSED = 4  # joints that a candidate of a later round moves


@dataclass(frozen=True, eq=False)
class HumanoidMotions:
    """Motions that were chosen, and what they tell."""

    robot: Robot
    asked: HumanoidRequest
    tried: tuple[Tried, ...]
    motions: tuple[Built, ...]
    telling: Telling
    root: Array  # (r, r) of the chosen ones together
    everything: Array  # the same of all candidates that can be done
    links: Mapping[str, float]  # body → condition number of its ten columns, of the best motion for it
    gains: tuple[float, ...]  # nats that improving brought, of the first motions
    guessed: tuple[str, ...]  # bodies whose shapes nothing tells

    @property
    def seconds(self) -> float:
        """That the motions last."""
        return sum(b.course.duration for b in self.motions)

    @property
    def weakest(self) -> list[Weak]:
        """Base parameters that are known worst."""
        return weakest(self.telling, self.root)[:5]

    @property
    def survivors(self) -> float:
        """Share of the candidates that can be done."""
        return sum(t.scale is not None for t in self.tried) / len(self.tried)

    @property
    def amplitude(self) -> float:
        """Median share of their ways that is left of those."""
        left = [t.amplitude for t in self.tried if t.scale is not None]
        return float(np.median(left)) if left else 0.0

    def as_json(self) -> dict[str, Any]:
        """``excite.json``."""
        known = {kind: [t for t in self.tried if t.kind == kind] for kind in sorted({t.kind for t in self.tried})}
        return {
            "schema": 1,
            "robot": self.robot.name,
            "asked": asdict(self.asked) | {"locked": dict(self.robot.locked)},
            "candidates": {
                kind: {
                    "drawn": len(ts),
                    "as_drawn": sum(t.raw for t in ts),
                    "possible": sum(t.scale is not None for t in ts),
                }
                for kind, ts in known.items()
            },
            "survivors": self.survivors,
            "amplitude": self.amplitude,
            "motions": [_motion(b, k) for k, b in enumerate(self.motions, 1)],
            "seconds": self.seconds,
            "base_parameters": {"count": self.telling.possible.rank, **_judged(self.root)},
            "all_candidates": _judged(self.everything),
            "links": {name: {"condition": criteria.finite(x)} for name, x in self.links.items()},
            "weakest": [
                {"parameter": w.name, "std": criteria.finite(w.deviation), "move": list(w.joints)} for w in self.weakest
            ],
            "improved": list(self.gains),
            "guessed_shapes": list(self.guessed),
            "provenance": {"description": self.robot.description.sha256, "seed": self.asked.seed},
        }

    def sentence(self) -> str:
        """What one wants to know."""
        told = criteria.deviations(self.root, self.telling.possible)
        strong = int(np.sum(told < 0.1))
        worst = self.weakest[0]
        return (
            f"Ready to play: {len(self.motions)} motions, {self.seconds:.0f} s, tell {strong} of {len(told)} base "
            f"parameters to a tenth of their size; the weakest is led by {worst.name}, and moving "
            f"{', '.join(worst.joints) or 'the base'} more would help."
        )


def excite_humanoid(
    robot: Robot,
    asked: HumanoidRequest,
    out: Path | None,
    progress: Callable[[float, str], None] = lambda *_: None,
    workers: Workers | None = None,
) -> HumanoidMotions:
    """Find motions; with a folder, what was tried there for the same question before is not tried again.

    ``workers`` try candidates and look at what those tell; who they are makes no difference to what is found.
    """
    workers = workers or Workers()
    pool = Pool.of(robot, asked.feet, asked.srdf)
    telling = Telling(pool.stance)
    question = {"robot": robot.description.sha256, "feet": list(asked.feet), "locked": dict(robot.locked)}
    kept = Kept(None if out is None else out / NAME, question, Tried, every=20)
    tried, done, told, chosen = list[Tried](), list[Tried](), list[Told](), list[int]()
    for k in range(asked.rounds):
        count = asked.candidates if k == 0 else max(1, asked.candidates // (2 * (asked.rounds - 1)))
        wanted = _first(count, asked.seed) if k == 0 else _more(pool, telling, told, chosen, count, asked.seed + k)
        share = 0.8 / asked.rounds
        new = pool.screen(wanted, kept, partial(_part, progress, share * k, share / count), workers)
        tried += new
        able = [t for t in new if t.scale is not None]
        done += able
        told += [Told.of(telling, R) for R in workers.map(_triangle, able, pool.sent, name="motion")]
        chosen = best_for_links(told) if asked.choice == "links" else most_telling(told, asked.motions)
    if not chosen:
        what = f"can do none of {len(tried)} candidates: {', '.join(sorted({r for t in tried for r in t.reasons}))}"
        raise UsageError(
            Finding("todo", robot.name, what, "Look at its limits and soles, or ask for more --candidates")
        )
    motions, gains = improved(
        pool,
        telling,
        [pool.built(done[k]) for k in chosen],
        asked.improved,
        lambda k: progress(0.8 + 0.2 * k / asked.improved, "improving"),
    )
    everything = criteria.together(*[t.root for t in told])
    together = criteria.together(*[telling.root(b.course) for b in motions])
    return HumanoidMotions(
        robot,
        asked,
        tuple(tried),
        tuple(motions),
        telling,
        together,
        everything,
        by_link(told, chosen),
        tuple(gains),
        pool.postures.collisions.guessed,
    )


def improved(
    pool: Pool, telling: Telling, motions: Sequence[Built], count: int, progress: Callable[[int], None] = lambda _: None
) -> tuple[list[Built], list[float]]:
    """The motions, the first ``count`` of them improved one after the other, and the nats that each gained."""
    filtered, better, gains = replace(telling, cutoff=CUTOFF), list(motions), list[float]()
    roots = [filtered.root(b.course) for b in motions]
    for k in range(min(count, len(motions))):
        others = [r for i, r in enumerate(roots) if i != k]
        rest = criteria.together(criteria.natural_prior(telling.possible.rank, LITTLE), *others)
        found = improve(pool.postures, filtered, better[k], rest)
        better[k], roots[k] = found.built, filtered.root(found.built.course)
        gains.append(found.gain)
        progress(k + 1)
    return better, gains


def _triangle(tried: Tried, pool: Sent[Pool]) -> Array:
    """What a motion tells, before it is said in terms of base parameters: those are the driver's."""
    return Telling(pool.here.stance).triangle(pool.here.built(tried).course)


def _part(progress: Callable[[float, str], None], before: float, each: float, done: int) -> None:
    progress(before + each * done, "candidates")


def _first(count: int, seed: int) -> list[Wanted]:
    return [(kind, 1000 * seed + i, ()) for i, kind in enumerate(kinds(count, seed))]


def _more(
    pool: Pool, telling: Telling, told: Sequence[Told], chosen: Sequence[int], count: int, seed: int
) -> list[Wanted]:
    """Candidates that move what the chosen ones tell worst; a leg is moved while the other one stands."""
    prior = criteria.natural_prior(telling.possible.rank, LITTLE)
    asked = focus(telling, criteria.together(prior, *[told[k].root for k in chosen]))
    legs = [{pool.stance.robot.joints[j] for j in leg.joints} for leg in pool.stance.legs]
    rng = np.random.default_rng([seed, 7])
    wanted = []
    for i in range(count):
        joints = tuple(asked[int(k)] for k in sorted(rng.permutation(min(len(asked), 3 * FOCUSED))[:FOCUSED]))
        sides = [side for side, leg in zip(("right", "left"), legs, strict=True) if leg & set(joints)]
        wanted.append((str(rng.choice(sides)) if sides else "double", 1000 * seed + i, joints))
    return wanted


def as_log(built: Built, number: int) -> Log:
    """One motion as a log to play."""
    standing = built.standing(built.course.sampled().time)
    feet = {leg.sole.name: standing[:, k] for k, leg in enumerate(built.stance.legs)}
    home = {j: float(x) for j, x in zip(built.stance.robot.joints, built.stance.home, strict=True)}
    metadata = {"motion": _motion(built, number) | {"home": home, "robot": built.stance.robot.name}}
    return built.course.log(feet, metadata, f"motion {number}")


def _motion(built: Built, number: int) -> dict[str, Any]:
    c = built.candidate
    return {
        "number": number,
        "kind": c.kind,
        "seed": c.seed,
        "amplitude": retained(built),
        "stretch": built.scale.stretch,
        "seconds": built.course.duration,
    }


def _judged(root: Array) -> dict[str, float | None]:
    return {"condition": criteria.finite(criteria.condition(root)), "log_det": criteria.finite(criteria.log_det(root))}
