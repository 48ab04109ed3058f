"""Whether an estimate can be trusted: nine questions, each with its figure and its limit.

``trusted`` means that no question fails. A question is unknown where the logs cannot answer it (``docs/trust.md``
lists when). Limits were chosen on other robots than those that ``docs/trust.md`` reports (``python -m bench trust``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from steelyard.errors import Finding
from steelyard.identify.estimate import Estimate

Answer = Literal["pass", "fail", "unknown"]

EXPLAINED = 0.25  # of an equation's filtered torque or force: a larger residual is not noise
STRUCTURE = 0.05  # of the same: a larger predictable part of the residual is a wrong model
STABLE = 2.0  # standard deviations, rms: a larger spread between blocks is no noise
WORSE = 0.02  # probability of chance below which held-out blocks are predicted worse than by the description
SCALE = 1.6  # ratio of the bodies' torques to the described ones: beyond, a unit or a gain is wrong
MASS = 10.0  # ratio of a body's mass to the described one; single masses are hardly ever determined by data
OUTSIDE = 0.5  # of a body's size: a centre of mass further outside its box is not in the body
AWAY = 1.0  # m: a load further from the link that carries it is not on it


# Doubts that the described robot, or one payload, is what was measured; others are about sampling, and the remaining
# questions show whether they hurt.
WRONG_MODEL = frozenset(
    (
        "accelerometer-scale",
        "gravity-direction",
        "imu-tilted",
        "joint-reversed",
        "joints-swapped",
        "payload-changes",
        "time-scale",
        "weight-not-carried",
    )
)


@dataclass(frozen=True)
class Question:
    """One question about an estimate, and its answer.

    Attributes:
        code: Stable name.
        question: In words.
        result: ``pass``, ``fail`` or ``unknown``.
        figure: What was measured, or None.
        limit: What it is compared with, or None.
        where: Bodies, equations or findings for which it fails.

    Examples:
        Names as in ``help(steelyard)``.

        >>> {q.code: q.result for q in result.verdict.checks}["physical"]
        'pass'
    """

    code: str
    question: str
    result: Answer
    figure: float | None = None
    limit: float | None = None
    where: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunVerdict:
    """The conclusion of one run."""

    trusted: bool
    sentence: str  # the reasons, and which motion would help
    checks: tuple[Question, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The entry ``verdict``."""
        checks = [{**asdict(q), "where": list(q.where)} for q in self.checks]
        return {"trusted": self.trusted, "sentence": self.sentence, "checks": checks}


def answer_questions(estimate: Estimate) -> tuple[Question, ...]:
    """The nine questions, in the order in which a reader would ask them."""
    return tuple(ask(estimate) for ask in QUESTIONS)


def failed_checks(estimate: Estimate) -> tuple[Question, ...]:
    """The questions that fail."""
    return tuple(q for q in answer_questions(estimate) if q.result == "fail")


def is_trusted(estimate: Estimate) -> bool:
    """Whether no question fails."""
    return not failed_checks(estimate)


def exit_code(estimate: Estimate) -> int:
    """0, or 4 exactly where the estimate is not trusted."""
    return 0 if is_trusted(estimate) else 4


def _physical(estimate: Estimate) -> Question:
    bad = tuple(b.name for b in (*estimate.bodies, *estimate.loads) if not b.consistent)
    return _question("physical", "Is every body physically consistent?", len(bad), 0, bad)


def _proved(estimate: Estimate) -> Question:
    proof = estimate.certificate
    figure = proof.excess if np.isfinite(proof.excess) else None
    return Question("proved", "Is the optimum proved?", "pass" if proof.holds else "fail", figure, 1.0)


def _log(estimate: Estimate) -> Question:
    """An error that was overruled fails, and a doubt about the model; a doubt about the sampling leaves it open."""
    question = "Does the log raise no error and no doubt?"
    if estimate.findings is None:
        return Question("log", question, "unknown", None, 0)
    left = [f for f in estimate.findings if f.severity != "note"]
    result: Answer = "fail" if any(_contradicts(f) for f in left) else "unknown" if left else "pass"
    return Question("log", question, result, len(left), 0, tuple(f"{f.where}: {f.code}" for f in left))


def _contradicts(finding: Finding) -> bool:
    return finding.severity == "error" or finding.code in WRONG_MODEL


def _informative(estimate: Estimate) -> Question:
    """At least one body parameter of what was asked is determined by the data."""
    question = "Do the data determine a parameter of the bodies?"
    names = {b.name for b in estimate.loads} or {b.name for b in estimate.bodies}
    own = [p for p in estimate.base if p.kind == "body" and any(t.rsplit(".", 1)[0] in names for t in p.terms)]
    count = sum(p.source == "data" for p in own)
    unseen = any(load.carrier and not load.seen for load in estimate.loads)  # "no load" is an answer
    return Question("informative", question, "pass" if count or unseen else "fail", count, 1)


def _explained(estimate: Estimate) -> Question:
    question = "Is what was measured explained, in every equation?"
    figures: dict[str, float] = {}
    for score in (estimate.fit, *estimate.validation.values()):
        for name, value in score.unexplained.items():
            figures[name] = max(figures.get(name, 0.0), value)
    return _worst("explained", question, figures, EXPLAINED)


def _structure(estimate: Estimate) -> Question:
    evidence = estimate.evidence
    figures = {name: evidence.predictable(name) for name in evidence.structure}
    where = {name: f"{name} ({s.cause})" if s.cause else name for name, s in evidence.structure.items()}
    named = {where[name]: value for name, value in figures.items()}
    return _worst("structure", "Are the residuals without structure?", named, STRUCTURE)


def _stable(estimate: Estimate) -> Question:
    question = "Do parts of the logs agree within their intervals?"
    spread = estimate.evidence.spread
    if spread is None:
        return Question("stable", question, "unknown", None, STABLE)
    return _question("stable", question, spread, STABLE)


def _plausible(estimate: Estimate) -> Question:
    """The largest of several ratios, each over its own limit."""
    ratios: dict[str, float] = {}
    if (scale := estimate.evidence.scale) is not None:
        ratios["scale"] = _factor(scale) / SCALE
    for b in estimate.bodies:
        if b.free:
            ratios[f"{b.name} mass"] = _factor(b.mass / max(float(b.prior[0]), 1e-12)) / MASS
            ratios[f"{b.name} com"] = b.outside / (OUTSIDE * b.size)
    for load in estimate.loads:
        if load.seen:
            ratios["load com"] = load.outside / AWAY
    return _worst("plausible", "Is nothing absurd beside the description?", ratios, 1.0)


def _better(estimate: Estimate) -> Question:
    question = "Are held-out blocks predicted no worse than by the description?"
    evidence = estimate.evidence
    if evidence.pooled is None or evidence.worse is None:
        return Question("better", question, "unknown", None, 1.0)
    ratio = evidence.pooled.identified / max(evidence.pooled.description, 1e-300)
    fails = ratio > 1 and evidence.worse < WORSE
    return Question("better", question, "fail" if fails else "pass", ratio, 1.0)


QUESTIONS: tuple[Callable[[Estimate], Question], ...] = (
    _physical,
    _proved,
    _log,
    _informative,
    _explained,
    _structure,
    _stable,
    _plausible,
    _better,
)


def _question(code: str, question: str, figure: float, limit: float, where: Sequence[str] = ()) -> Question:
    return Question(code, question, "fail" if figure > limit else "pass", figure, limit, tuple(where))


def _worst(code: str, question: str, figures: dict[str, float], limit: float) -> Question:
    """By the largest figure; ``where`` names those beyond the limit, the largest first."""
    if not figures:
        return Question(code, question, "unknown", None, limit)
    beyond = sorted((name for name, x in figures.items() if not x <= limit), key=lambda name: -figures[name])
    figure = max(figures.values(), key=lambda x: np.inf if np.isnan(x) else x)
    shown = float(figure) if np.isfinite(figure) else None
    return Question(code, question, "fail" if beyond else "pass", shown, limit, tuple(beyond))


def _factor(ratio: float) -> float:
    """How many times larger or smaller."""
    return max(ratio, 1 / ratio) if ratio > 0 else float("inf")
