"""From logs to a robot that predicts them, and what prediction cannot see."""

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
from steelyard.experiment.search.observability import Sight, base_distance, sight
from steelyard.experiment.search.prediction_engine import engine_of
from steelyard.experiment.search.run import Found, run
from steelyard.experiment.search.search_options import SearchOptions
from steelyard.experiment.search.search_problem import (
    NAMES,
    SearchProblem,
    Space,
    parameter_error,
    problem_of,
    spread,
    values_of,
)
from steelyard.experiment.search.windows import Windows
from steelyard.fleet.workers import Workers
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

SAYS = {"identified": "data", "partly": "data, partly", "prior": "start"}


@dataclass(frozen=True)
class Searched:
    """A search and what it is worth."""

    robot: Robot
    problem: SearchProblem
    found: Found
    sight: Sight
    logs: tuple[Log, ...]
    held_out: dict[str, tuple[float, float]]  # log → GC error a window at the start, and with what was found

    @property
    def values(self) -> Array:
        """(bodies, 10) mass, centre of mass, inertia about it."""
        return np.array([values_of(p) for p in self.found.parameters])

    @property
    def truth(self) -> Array | None:
        """(bodies, 10) parameters, where every log knows the same."""
        told = [log.metadata.get("truth", {}).get("parameters") for log in self.logs]
        if not told[0] or any(t != told[0] for t in told) or not {b.name for b in self.robot.bodies} <= set(told[0]):
            return None
        return np.array([told[0][b.name] for b in self.robot.bodies])

    def rows(self) -> list[list[str]]:
        """Link, parameter, start, found, who says so: what is searched."""
        verdicts, rows = self.sight.verdicts, []
        for i, k in self.problem.space.free:
            body = self.problem.space.bodies[i]
            said = verdicts[body]
            who = SAYS[said.mass if k == 0 else said.com if k < 4 else said.inertia]
            start, found = self.problem.space.values[i, k], self.values[i, k]
            rows.append([body, NAMES[k], f"{start:.5g}", f"{found:.5g}", who])
        return rows

    def sentence(self) -> str:
        """Trusted or not, why, and what would help."""
        space, f = self.sight.space, self.found
        told = f"{space.rank} of {len(self.sight.names)} directions of the parameters are seen by prediction"
        data = [b for b, v in self.sight.verdicts.items() if v.mass == "identified"]
        alone = f"; masses that the data tell: {', '.join(data)}" if data else "; no single mass is"
        if not f.error < f.start:
            return f"Not trusted: nothing predicts better than the start; {told}."
        return (
            f"The robot found predicts {f.reduction:.3g} times better. Trust its predictions, and of parameters only "
            f"what the data tell: {told}{alone}. `steelyard identify` weighs what the data say against a prior."
        )

    def as_json(self) -> dict[str, Any]:
        """``search.json``, schema 1."""
        space, f, see = self.problem.space, self.found, self.sight
        windows = [e.windows for e in self.problem.engines]
        links = {}
        for i, (name, p) in enumerate(zip(space.bodies, f.parameters, strict=True)):
            mass, com, I = inertia.unpack(p)
            said = see.verdicts.get(name)
            links[name] = {
                "mass": mass,
                "com": com.tolist(),
                "inertia": inertia.six(I).tolist(),
                "parameters": p.tolist(),
                "start": space.values[i].tolist(),
                "consistent": inertia.is_consistent(p, float(space.sizes[i])),
                "verdicts": None if said is None else {k: getattr(said, k) for k in ("mass", "com", "inertia")},
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
                "seen": see.seen,
                "noise": see.noise,
            },
            "held_out": {k: {"start": a, "found": b} for k, (a, b) in self.held_out.items()},
            "logs": [log.source for log in self.logs],
            "verdict": self.sentence(),
        }
        if (truth := self.truth) is not None:
            true = np.array([values_of(p) for p in truth])
            first = space.parameters(np.zeros((1, space.n)))[0]
            result["truth"] = {
                "parameter_error": {
                    "start": parameter_error(space, space.values, true),
                    "found": parameter_error(space, self.values, true),
                },
                "base_error": {
                    "start": base_distance(self.robot, first, truth),
                    "found": base_distance(self.robot, f.parameters, truth),
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
) -> Searched:
    """Search one robot in one or several logs, all at once; by ``workers``, or by the threads of this process.

    Args:
        source: URDF or MJCF file, or a short name of ``steelyard robots``.
        logs: Files or ``Log`` objects with positions and torques.
        options: What is searched, and how; the defaults suit an arm.
        validate: Logs of other motions that are predicted.
        checkpoint: File that the state of the search is kept in.
        resume: Whether to resume from that file.
        progress: Called with a line of text now and then.
        workers: Who simulates candidates.

    Returns:
        The parameters found, and what prediction can see of them.
    """
    o = options or SearchOptions()
    findings = []
    if o.evaluations < 1:
        findings.append(Finding("todo", "--evaluations", f"is {o.evaluations}", "Give a number of at least 1"))
    if resume and checkpoint is None:
        findings.append(
            Finding("todo", "--resume", "needs the folder that the checkpoint is in", "Give -o DIR as before")
        )
    if findings:
        raise UsageError(findings)
    robot = Robot.load(source, lock=o.lock, repair=o.repair_prior)
    read = [log if isinstance(log, Log) else read_log(log) for log in logs]
    seen_in = tuple(Windows.of(robot, read, horizon=h, count=o.windows) for h in o.horizons)
    space = Space.of(robot, o.model, links=o.links, total=o.total_mass)
    given = robot, space, seen_in, o.engine, o.feet
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problem = problem_of(*given)
        if workers is None or workers.here:
            problem = replace(problem, mapper=pool.map)
        else:
            problem = spread(workers, problem, *given)
        progress(f"{space.n} parameters, {sum(map(len, seen_in))} windows")
        found = run(
            problem,
            o.algorithm,
            seed=o.seed,
            evaluations=o.evaluations,
            checkpoint=checkpoint,
            resume=resume,
            progress=progress,
        )
        progress("looking at what prediction shows")
        seen = sight(problem, robot, found.parameters)
    first, others = space.parameters(np.zeros((1, space.n)))[0], {}
    for log in [log if isinstance(log, Log) else read_log(log) for log in validate]:
        other = engine_of(robot, Windows.of(robot, [log], horizon=o.horizons[0], count=o.windows), o.engine, o.feet)
        errors = np.sum(other.residuals(np.array([first, found.parameters])) ** 2, axis=(1, 2)) / len(other.windows)
        others[log.source] = (float(errors[0]), float(errors[1]))
    return Searched(robot, problem, found, seen, tuple(read), others)
