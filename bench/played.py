"""Exciting motions of humanoids, played in MuJoCo by robots that are not as described: how many fall.

Candidates are those of ``steelyard excite`` (the same kinds and seeds), checked there with the described robot. Each is
played on a true one of its own: every mass off by up to 30 %, 5 kg more on the torso. Contacts, controller and sensors
are the simulation's, nothing of the planner's: a second opinion.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from steelyard.experiment.excite.candidate_pool import CandidatePool, draw_kinds
from steelyard.experiment.excite.excite_humanoid import as_log
from steelyard.experiment.simulate.simulate_humanoid import simulate_humanoid
from steelyard.experiment.simulate.truth import Specimen, perturb_masses
from steelyard.robot.model import Robot

CASES = ("talos", "g1")
FALLS = 0.02  # of all that are played, at most


def played(robots: tuple[str, ...] = CASES, count: int = 300, seed: int = 0) -> dict[str, Any]:
    """How many of ``count`` candidates are possible, and how many of those fall."""
    return {name: _robot(Robot.load(name), count, seed) for name in robots}


def _robot(robot: Robot, count: int, seed: int) -> dict[str, Any]:
    pool = CandidatePool.of(robot)
    pool.attempt("double", 10**6)  # what is compiled and loaded once is not a candidate's
    plays, fallen = Counter[str](), Counter[str]()
    which, amplitudes, planning, playing, seconds = list[str](), list[float](), 0.0, 0.0, 0.0
    joints, bases = list[float](), list[float]()
    for k, kind in enumerate(draw_kinds(count, seed)):
        start = time.process_time()
        tried, built = pool.attempt(kind, 1000 * seed + k)
        planning += time.process_time() - start
        if built is None:
            continue
        truth, motion = perturb_masses(robot, np.random.default_rng([seed, k, 3])), as_log(built, k)
        start = time.process_time()
        simulation = simulate_humanoid(robot, motion, Specimen(truth), may_fall=True).metadata["simulation"]
        playing += time.process_time() - start
        seconds += float(motion.time[-1])
        plays[kind] += 1
        amplitudes.append(tried.amplitude)
        if simulation["fell"] is not None:
            fallen[kind] += 1
            which.append(f"{kind} {1000 * seed + k} at {simulation['fell']:.2f} of {motion.time[-1]:.2f} s")
        else:
            joints.append(simulation["worst"]["joint"])
            bases.append(simulation["worst"]["base"])
        print(
            f"{robot.name}: {k + 1} of {count}, {fallen.total()} of {plays.total()} fell", file=sys.stderr, flush=True
        )
    n = max(plays.total(), 1)
    return {
        "candidates": count, "possible": plays.total(), "amplitude": float(np.median(amplitudes)),
        "fell": fallen.total(), "share": fallen.total() / n,
        "kinds": {kind: {"played": plays[kind], "fell": fallen[kind]} for kind in sorted(plays)}, "which": which,
        "off": {"joint": float(np.median(joints)), "base": float(np.median(bases))},
        "seconds": {"candidate": planning / count, "play": playing / n, "motion": seconds / n},
    }  # fmt: skip


def kept(result: dict[str, Any]) -> bool:
    """Whether few enough fell."""
    return all(case["share"] <= FALLS for case in result.values())
