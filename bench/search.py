"""Short simulations: our compiled forward dynamics beside ``mujoco.rollout``, one thread each, the same windows.

Times are of the calling thread's processor: both work on it alone, and what else a machine does is no part of either.
``equal`` is the largest difference of a state at the end, rad and rad/s.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from steelyard.experiment.search.prediction_engine import CompiledEngine, MujocoEngine
from steelyard.experiment.search.windows import Integrator, Windows
from steelyard.robot.model import Robot

CASES: tuple[tuple[str, Integrator, int], ...] = (
    ("puma560", "euler", 10), ("puma560", "euler", 30), ("puma560", "rk4", 10), ("demo_arm", "euler", 10)
)  # fmt: skip
WINDOWS, CANDIDATES = 64, 16
PROMISED, EQUAL = 2.0, 1e-10


def bench_search(repeats: int) -> dict[str, Any]:
    """µs for ``WINDOWS`` simulations of one candidate, and how far apart their ends are."""
    from mujoco import MjData, mjtState, rollout

    result = {}
    for name, integrator, steps in CASES:
        robot = Robot.load(name)
        windows = _windows(robot, integrator, steps)
        ours, theirs = CompiledEngine(robot, windows), MujocoEngine(robot, windows)
        p = np.array([[b.parameters for b in robot.bodies]])
        equal = float(np.abs(ours.residuals(p) - theirs.residuals(p)).max())
        batch = np.repeat(p, CANDIDATES, axis=0)
        model = theirs.model(p[0])
        data, force = MjData(model), theirs._force
        first = np.hstack([np.zeros((WINDOWS, 1)), theirs._start])
        spec = mjtState.mjSTATE_QFRC_APPLIED.value
        times: dict[str, list[float]] = {"ours": [], "mujoco.rollout": []}
        with rollout.Rollout(nthread=0) as pool:
            for _ in range(max(repeats, 1)):
                begun = time.thread_time()
                ours.final_states(batch)
                middle = time.thread_time()
                for _ in range(CANDIDATES):
                    pool.rollout(model, data, first, force, control_spec=spec)
                times["ours"].append((middle - begun) / CANDIDATES)
                times["mujoco.rollout"].append((time.thread_time() - middle) / CANDIDATES)
        case: dict[str, Any] = {
            k: {"min": 1e6 * min(v), "median": 1e6 * float(np.median(v)), "per_second": WINDOWS / min(v)}
            for k, v in times.items()
        }
        case["ratio"] = {"mujoco.rollout": case["mujoco.rollout"]["min"] / case["ours"]["min"]}
        result[f"{name}, {integrator}, {steps} steps"] = case | {"equal": equal}
    return result


def kept(result: dict[str, Any]) -> bool:
    """Twice as fast at least, and the same."""
    return all(c["ratio"]["mujoco.rollout"] >= PROMISED and c["equal"] <= EQUAL for c in result.values())


def _windows(robot: Robot, integrator: Integrator, steps: int) -> Windows:
    rng, J = np.random.default_rng(0), len(robot.joints)
    q, v = rng.uniform(-1, 1, (WINDOWS, J)), rng.normal(size=(WINDOWS, J))
    torques = rng.normal(size=(WINDOWS, steps + 1, J)) * np.geomspace(20, 0.05, J)
    return Windows(q, v, torques, 0 * q, 0 * v, 1e-3, False, integrator, np.zeros(WINDOWS))
