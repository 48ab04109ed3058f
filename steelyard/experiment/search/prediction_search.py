"""Prediction-error search: from logs to parameters whose simulation reproduces them, with their observability."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.observability import Observability, base_parameter_error, compute_observability
from steelyard.experiment.search.prediction_engine import make_engine
from steelyard.experiment.search.run_search import Optimum, run_search
from steelyard.experiment.search.search_options import SearchOptions
from steelyard.experiment.search.search_problem import (
    NAMES,
    SearchProblem,
    SearchSpace,
    distribute,
    make_problem,
    parameter_error,
    values_about_com,
)
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

SOURCES = {"data": "data", "narrowed": "narrowed", "prior": "start"}


@dataclass(frozen=True)
class PredictionSearch:
    """Result of a search, with its observability and validation."""

    robot: Robot
    problem: SearchProblem
    optimum: Optimum
    observability: Observability
    logs: tuple[Log, ...]
    held_out: dict[str, tuple[float, float]]  # log → GC error per window, at the start and at the optimum

    @property
    def values(self) -> Array:
        """Mass, centre of mass and inertia about it at the optimum, (bodies, 10)."""
        return np.array([values_about_com(p) for p in self.optimum.parameters])

    @property
    def truth(self) -> Array | None:
        """True parameters (bodies, 10), where all logs hold the same ones."""
        known = [log.metadata.get("truth", {}).get("parameters") for log in self.logs]
        if (
            not known[0]
            or any(k != known[0] for k in known)
            or not {b.name for b in self.robot.bodies} <= set(known[0])
        ):
            return None
        return np.array([known[0][b.name] for b in self.robot.bodies])

    def rows(self) -> list[list[str]]:
        """Link, parameter, start, estimate and source of each searched parameter."""
        sources, rows = self.observability.sources, []
        for i, k in self.problem.space.free:
            body = self.problem.space.bodies[i]
            of = sources[body]
            source = SOURCES[of.mass if k == 0 else of.com if k < 4 else of.inertia]
            start, estimate = self.problem.space.values[i, k], self.values[i, k]
            rows.append([body, NAMES[k], f"{start:.5g}", f"{estimate:.5g}", source])
        return rows

    def sentence(self) -> str:
        """Whether the result can be trusted, and why."""
        space, f = self.observability.space, self.optimum
        observed = f"the prediction depends on {space.rank} of {len(self.observability.names)} directions of parameters"
        data = [b for b, v in self.observability.sources.items() if v.mass == "data"]
        masses = f"; masses identified by the data: {', '.join(data)}" if data else "; no single mass is identified"
        if not f.error < f.start:
            return f"Not trusted: no candidate predicts better than the start; {observed}."
        return (
            f"The GC error is {f.reduction:.3g} times smaller than at the start. Trust the predictions, and parameters "
            f"only where their source is data: {observed}{masses}. `steelyard identify` combines data and prior."
        )

    def as_json(self) -> dict[str, Any]:
        """``search.json``, schema 1."""
        space, f, see = self.problem.space, self.optimum, self.observability
        windows = [e.windows for e in self.problem.engines]
        links = {}
        for i, (name, p) in enumerate(zip(space.bodies, f.parameters, strict=True)):
            mass, com, I = inertia.unpack(p)
            source = see.sources.get(name)
            links[name] = {
                "mass": mass,
                "com": com.tolist(),
                "inertia": inertia.six(I).tolist(),
                "parameters": p.tolist(),
                "start": space.values[i].tolist(),
                "consistent": inertia.is_consistent(p, float(space.sizes[i])),
                "sources": None if source is None else {k: getattr(source, k) for k in ("mass", "com", "inertia")},
            }
        result: dict[str, Any] = {
            "schema": 1,
            "robot": self.robot.name,
            "algorithm": f.algorithm,
            "links": links,
            "gc_error": {"start": f.start, "found": f.error, "reduction": f.reduction},
            "evaluations": f.evaluations,
            "history": f.history,
            "searched": list(space.names),
            "held_at_zero": list(space.held),
            "windows": [{"horizon": w.horizon, "count": len(w), "steps": w.steps} for w in windows],
            "sight": {
                "rank": see.space.rank,
                "parameters": len(see.names),
                "condition": see.space.condition,
                "seen": see.dependence,
                "noise": see.noise,
            },
            "held_out": {k: {"start": a, "found": b} for k, (a, b) in self.held_out.items()},
            "logs": [log.source for log in self.logs],
            "verdict": self.sentence(),
        }
        if (truth := self.truth) is not None:
            true = np.array([values_about_com(p) for p in truth])
            first = space.parameters(np.zeros((1, space.n)))[0]
            result["truth"] = {
                "parameter_error": {
                    "start": parameter_error(space, space.values, true),
                    "found": parameter_error(space, self.values, true),
                },
                "base_error": {
                    "start": base_parameter_error(self.robot, first, truth),
                    "found": base_parameter_error(self.robot, f.parameters, truth),
                },
            }
        return result


def search(
    source: str,
    logs: Sequence[Path | Log],
    options: SearchOptions | None = None,
    *,
    validate: Sequence[Path | Log] = (),
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    workers: Workers | None = None,
) -> PredictionSearch:
    """Search for the parameters of one robot that predict one or several logs.

    Args:
        source: URDF or MJCF file, or a short name of ``steelyard robots``.
        logs: Files or ``Log`` objects with positions and torques.
        options: Algorithm, horizons, parameters; the defaults suit an arm.
        validate: Held-out logs to predict.
        checkpoint: File in which the state of the search is saved.
        resume: Whether to resume from that file.
        progress: Called with lines of text.
        workers: Processes or machines that simulate candidates; the threads of this process where not given.

    Returns:
        The optimum, its observability, and its errors on held-out logs.

    Raises:
        UsageError: Options do not fit the robot or each other, or the checkpoint is of another search.
        LogError: A log lacks columns, or has no gap-free stretch as long as the horizon.
    """
    o = options or SearchOptions()
    findings = []
    if o.evaluations < 1:
        findings.append(Finding("option-value", f"evaluations={o.evaluations}", "must be ≥ 1", "Give 1 or more"))
    if resume and checkpoint is None:
        what, fix = "needs the checkpoint of the earlier search", "Give the checkpoint, or the folder that it is in"
        findings.append(Finding("option-conflict", "resume=True", what, fix, {"checkpoint": None}))
    if findings:
        raise UsageError(findings)
    robot = Robot.load(source, lock=o.lock, repair=o.repair_prior)
    read = [log if isinstance(log, Log) else read_log(log) for log in logs]
    windows = tuple(Windows.of(robot, read, horizon=h, count=o.windows) for h in o.horizons)
    space = SearchSpace.of(robot, o.model, links=o.links, total=o.total_mass)
    given = robot, space, windows, o.engine, o.feet
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problem = make_problem(*given)
        if workers is None or workers.is_local:
            problem = replace(problem, mapper=pool.map)
        else:
            problem = distribute(workers, problem, *given)
        progress(f"{space.n} parameters, {sum(map(len, windows))} windows")
        optimum = run_search(
            problem,
            o.algorithm,
            seed=o.seed,
            evaluations=o.evaluations,
            checkpoint=checkpoint,
            resume=resume,
            progress=progress,
        )
        progress("computing observability")
        observability = compute_observability(problem, robot, optimum.parameters)
    first, held_out = space.parameters(np.zeros((1, space.n)))[0], dict[str, tuple[float, float]]()
    for log in [log if isinstance(log, Log) else read_log(log) for log in validate]:
        other = make_engine(robot, Windows.of(robot, [log], horizon=o.horizons[0], count=o.windows), o.engine, o.feet)
        errors = np.sum(other.residuals(np.array([first, optimum.parameters])) ** 2, axis=(1, 2)) / len(other.windows)
        held_out[log.source] = (float(errors[0]), float(errors[1]))
    return PredictionSearch(robot, problem, optimum, observability, tuple(read), held_out)
