"""One case: a robot, a fault and its size; its log, the answer to it, and how far that is from the truth."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import steelyard
from bench.trust.faults import FAULTS
from bench.trust.robots import SUBJECTS, Scene, Subject, draw, exact_scene, measure
from steelyard.compose.prior import make
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.errors import SteelyardError
from steelyard.identify.options import Options
from steelyard.output.result import Result
from steelyard.robot.model import Robot
from steelyard.spatial import Array

UNHARMED = "none"
FAULTY_SPAN = {"arm": (0.0, 30.0), "quadruped": (5.0, 30.0), "humanoid": (0.0, 30.0)}  # s
FAULTY_RATE = 200.0  # Hz, of arms
RATES = (100.0, 200.0, 125.0)  # Hz, of unharmed logs of arms in turn
LENGTHS = (20.0, 30.0, 40.0, 60.0)  # s
STATES = 400  # of the random motion on which an answer with a locked joint is judged
SPANS = ((0, 20), (20, 40), (40, 60), (0, 30), (30, 60), (0, 40), (20, 60), (10, 40), (0, 60))  # s, of legged ones


@dataclass(frozen=True)
class Case:
    """A log of the study; ``number`` counts unharmed logs of a robot."""

    robot: str
    fault: str = UNHARMED
    size: float = 0.0
    number: int = 0
    seed: int = 0

    @property
    def key(self) -> str:
        """Distinct for every case."""
        return f"{self.robot}/{self.fault}/{self.size:.6g}/{self.number}/{self.seed}"

    def scene(self, work: Path) -> Scene:
        """The measured log with its fault; all sizes of a fault have one truth, motion and noise."""
        subject, rng = SUBJECTS[self.robot], draw(f"{self.robot}/{self.fault}", self.number, self.seed)
        noise = int(rng.integers(2**31))
        if self.fault == UNHARMED:
            k = self.number
            span = (0.0, LENGTHS[k % len(LENGTHS)]) if subject.kind == "arm" else SPANS[k % len(SPANS)]
            seed = 1000 * self.seed + (k if subject.kind == "arm" else k // len(SPANS))
            exact = exact_scene(subject, seed, span, RATES[k % len(RATES)], work)
            return measure(exact, noise, speeds=k % 3 == 2)
        fault = FAULTS[self.fault]
        scene = exact_scene(subject, noise, FAULTY_SPAN[subject.kind], FAULTY_RATE, work)
        if fault.stage == "exact":
            return measure(fault.plant(scene, self.size, rng), noise, speeds=fault.speeds)
        return fault.plant(measure(scene, noise, speeds=fault.speeds), self.size, rng)


def run(case: Case, work: Path) -> dict[str, Any]:
    """The record of a case: what ``identify`` made of it, and the errors of answer and description."""
    scene = case.scene(work)
    start = time.process_time()
    record: dict[str, Any] = {
        "key": case.key,
        **vars(case),
        "kind": scene.subject.kind,
        "half": scene.subject.half,
        "log_seconds": float(scene.log.time[-1] - scene.log.time[0]),
        "codes": [],
        "checks": {},
        "error": None,
        "description": None,
    }
    result: Result | None = None
    try:
        result = steelyard.identify(scene.description, scene.log, **scene.options)
        record |= _verdict(result)
    except SteelyardError as error:
        record |= {"outcome": "refused", "stage": _room(error), "codes": sorted({f.code for f in error.findings})}
        result, record["despite"] = _despite(scene, record["codes"])
    except Exception as error:
        record |= {"outcome": "crashed", "stage": _room(error), "codes": [f"{type(error).__name__}: {error}"[:200]]}
    record["seconds"] = time.process_time() - start
    if result is not None:
        record["error"], record["description"] = errors(scene, result)
    return record


def _verdict(result: Result) -> dict[str, Any]:
    verdict = result.verdict
    checks = {
        c.code: {"result": c.result, "figure": c.figure, "limit": c.limit, "where": list(c.where)}
        for c in getattr(verdict, "checks", ())
    }
    doubts = sorted({f.code for f in result.estimate.findings or () if f.severity != "note"})
    outcome = "trusted" if verdict.trusted else "doubted"
    return {"outcome": outcome, "stage": "verdict", "checks": checks, "codes": doubts}


def _despite(scene: Scene, codes: Sequence[str]) -> tuple[Result | None, dict[str, Any]]:
    """The answer to a refused log if its findings are overruled, and the verdict on it."""
    if "despite" not in {f.name for f in fields(Options)}:
        return None, {}
    try:
        keywords: dict[str, Any] = {**scene.options, "despite": tuple(codes)}
        result = steelyard.identify(scene.description, scene.log, **keywords)
    except Exception:
        return None, {}
    return result, _verdict(result)


def _room(error: BaseException) -> str:
    """The room of the package that raised an error: ``log``, ``check``, ``equations``…"""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        parts = Path(frame.filename).parts
        if "steelyard" in parts:
            after = parts[len(parts) - parts[::-1].index("steelyard") :]
            return after[0].removesuffix(".py")
    return "bench"


def errors(scene: Scene, result: Result) -> tuple[float, float]:
    """Base-parameter errors of answer and description over the bodies that were asked for."""
    robot, answered = scene.robot, result.columns
    bodies = [robot.body(link).name for link in scene.options.get("links", ())] or [b.name for b in robot.bodies]
    if any(robot.body(body).links != result.robot.body(body).links for body in bodies):
        return _errors_of_locked(scene, result)
    free = np.isin(np.repeat([b.name for b in robot.bodies], 10), bodies)
    R = _reference(scene.subject)[:, free]
    truth = np.concatenate([scene.truth[body] for body in bodies])
    answer = np.concatenate([result.theta[answered.body(body)] for body in bodies])
    described = np.concatenate([robot.body(body).parameters for body in bodies])
    size = float(np.linalg.norm(R @ truth))
    return float(np.linalg.norm(R @ (answer - truth))) / size, float(np.linalg.norm(R @ (described - truth))) / size


def _errors_of_locked(scene: Scene, result: Result) -> tuple[float, float]:
    """The same of an answer with a joint locked that moves: errors of forces on a random motion of the true robot.

    Like the base-parameter error it is relative to the true forces; that joint's own equation is left out.
    """
    robot, other, rng = scene.robot, result.robot, np.random.default_rng(1)
    lead = 6 if robot.floating else 0
    q = rng.uniform(-np.pi, np.pi, (STATES, len(robot.joints)))
    v, a = rng.normal(size=(STATES, lead + q.shape[1])), 3 * rng.normal(size=(STATES, lead + q.shape[1]))
    v[:, :3] *= lead == 0
    kept = [robot.joints.index(joint) for joint in other.joints]
    moving = [*range(lead), *(lead + k for k in kept)]
    rows = range(lead) if lead else kept
    thetas = scene.truth, {b.name: b.parameters for b in robot.bodies}
    truth, described = (_forces(robot, theta, q, v, a)[:, rows] for theta in thetas)
    theirs = {body: result.theta[result.columns.body(body)] for body in result.columns.bodies}
    answer = _forces(other, theirs, q[:, kept], v[:, moving], a[:, moving])[:, : len(rows)]
    size = float(np.linalg.norm(truth))
    return float(np.linalg.norm(answer - truth)) / size, float(np.linalg.norm(described - truth)) / size


def _forces(robot: Robot, theta: Mapping[str, Array], q: Array, v: Array, a: Array) -> Array:
    """(T, nv) by inverse dynamics; a floating base has its proper acceleration, and no gravity."""
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(np.asarray(theta[body.name]))
    if robot.floating:
        model.gravity.linear = np.zeros(3)
    data, states = model.createData(), (robot.positions(q), robot.motion(v), robot.motion(a))
    return np.array([pin.rnea(model, data, *state) for state in zip(*states, strict=True)])


@cache
def _reference(subject: Subject) -> Array:
    """(n, n) R of one fixed random motion of a robot: the metric of the errors."""
    robot = subject.robot
    bodies = Columns(tuple(b.name for b in robot.bodies))
    setup = Setup(robot, "base" if robot.floating else "joint", bodies)
    return setup.structure(make(robot, bodies).scale, seed=1).R


def severity(record: Mapping[str, Any]) -> str:
    """``unharmed``; or by the answer to a fault ``harmful``, ``mild``, ``between``, or ``no answer``."""
    if record["fault"] == UNHARMED:
        return "unharmed"
    if record["error"] is None:
        return "no answer"
    ratio = record["error"] / record["description"]
    return "harmful" if ratio > 1 else "mild" if ratio <= 1 / 3 else "between"
