"""Exciting motions of arms: ours beside random feasible ones and beside FIGAROH's, by one criterion.

All keep the same limits (``Limits.of``), last as long, and are judged by ``Task.information``: rows weighted by a
hundredth of the effort limits, base parameters in natural units; the best is the largest log det, and the condition
number stands beside it. ``own condition`` is that of FIGAROH's base regressor, rows and columns as they are, at 20 Hz:
what it minimises. Limits are looked at at 1 kHz, and contacts between samples by ``collision.scan``.

FIGAROH's way is its own: ``BaseOptimalTrajectory`` with ``BaseTrajectoryIPOPTProblem`` by cyipopt, cubic splines that
stop at every waypoint, seven of them two seconds apart, a regressor at 20 Hz, 100 iterations, as in its UR10 example.
Its limits are set to ours (``soft_lim`` is then 0). It is run without looking for contacts; in cases ``ur10+contacts``
and ``panda+contacts`` it does, with our clearance, which takes many times as long. ``ours, FIGAROH's condition``
minimises what it does, by our way.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.arm_task import ArmTask, Limits
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.collision_pairs import find_srdf
from steelyard.experiment.excite.excite_arm import ArmSearch, excite_arm
from steelyard.robot.model import Robot
from steelyard.spatial import Array

LOCKED: dict[str, dict[str, float]] = {"ur10": {}, "panda": {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}}
CASES = ("ur10", "panda", "talos", "g1")
WAYPOINTS, APART = 7, 2.0  # s
SECONDS = (WAYPOINTS - 1) * APART
RANDOM = 50
FINE = 1000.0  # Hz
CONFIG = """robot:
  name: "{name}"
  properties:
    joints: {{active_joints: [{joints}]}}
tasks:
  identification:
    enabled: true
    problem:
      include_external_forces: false
      use_joint_torques: true
      model_components: {{friction: false, joint_offset: false, actuator_inertia: false}}
    signal_processing: {{sampling_frequency: 100.0, cutoff_frequency: 10.0}}
  optimal_trajectory:
    enabled: true
    problem: {{soft_lim: 0, max_attempts: 1000, max_iterations: 100, segment_attempts: 3, collision_margin: 0.01,
               collision_checks_per_interval: 4, collision_screen: 0.05, srdf: {srdf}}}
    trajectory: {{waypoints: {waypoints}, frequency: 20, segment_duration: {apart}}}
"""


def excite(robots: tuple[str, ...] = CASES, seeds: int = 1, quick: bool = False) -> dict[str, Any]:
    """What each way reaches, medians of ``seeds``; of robots on legs how long a scan for contacts takes."""
    result = {}
    for case in robots:
        name, _, contacts = case.partition("+")
        arm = name in LOCKED
        result[case] = _arm(name, seeds, quick, bool(contacts)) if arm else _scans(name, 10 if quick else 40)
    return result


def _scans(name: str, motions: int) -> dict[str, Any]:
    """CPU seconds for five seconds at 100 Hz: sines of random amplitude about a posture that is clear."""
    robot = Robot.load(name)
    began = time.process_time()
    collisions = Collisions.of(robot)
    setup = time.process_time() - began
    joints = [robot.description.joints[j] for j in robot.joints]
    low, high = (np.clip([getattr(j, side) for j in joints], -np.pi, np.pi) for side in ("lower", "upper"))
    rng, t = np.random.default_rng(0), np.arange(500) / 100
    drawn = (0.1 * (low + high) + 0.3 * k / 1000 * (high - low) * rng.normal(size=len(low)) for k in range(1000))
    rest = next(q for q in drawn if collisions.first_collision(robot.positions(np.clip(q, low, high)[None])) is None)
    spent, clear = [], 0
    for k in range(motions):
        a = rng.normal(size=(3, len(low))) * 0.1 * k / motions * (high - low)
        phase, w = rng.uniform(0, 2 * np.pi, (3, len(low))), 2 * np.pi * np.arange(1, 4) / 5
        q = rest + sum(a[i] * (np.sin(w[i] * t[:, None] + phase[i]) - np.sin(phase[i])) for i in range(3))
        Q = robot.positions(np.clip(q, low, high))
        began = time.process_time()
        clear += collisions.is_collision_free(t, Q)
        spent.append(time.process_time() - began)
    return {"bodies": len(robot.bodies), "pieces": len(collisions.pieces), "pairs": len(collisions.pairs),
            "made": setup, "motions": motions, "clear": clear, "cpu": float(np.median(spent)),
            "cpu worst": max(spent)}  # fmt: skip


def _arm(name: str, seeds: int, quick: bool, contacts: bool) -> dict[str, Any]:
    random = 10 if quick else RANDOM
    robot = Robot.load(name, lock=LOCKED.get(name, {}))
    task = ArmTask.of(robot, Limits.of(robot))
    collisions = Collisions.of(robot)
    peer = None if quick else _Figaroh.of(name, task)
    seeds = 1 if quick else seeds
    search = ArmSearch(task, collisions, period=SECONDS, seconds=SECONDS)
    search.draw_feasible(np.random.default_rng(0))  # kernels are compiled, and what is worked out once is
    result: dict[str, Any] = {"base parameters": task.identifiable.rank, "seconds": SECONDS}
    began = time.process_time()
    drawn = [c for k in range(random) if (c := search.draw_feasible(np.random.default_rng([9, k]))) is not None]
    each = (time.process_time() - began) / random
    judged = [_judged(task, collisions, c.motion.at, peer) for c in drawn]
    result["random"] = {"motions": len(drawn), **_middle(judged), "cpu": each,
                        "best log_det": max(c.log_det for c in drawn)}  # fmt: skip
    for title, criterion in (("ours", "determinant"), ("ours, condition", "condition")):
        way = replace(search, criterion=criterion, rounds=2 if quick else search.rounds)  # type: ignore[arg-type]
        runs = []
        for seed in range(seeds):
            began = time.process_time()
            best, _ = excite_arm(way, seed, candidates=3 if quick else 30, restarts=1 if quick else 4)
            cpu = time.process_time() - began
            runs.append({**_judged(task, collisions, best.motion.at, peer), "cpu": cpu, "gradients": best.gradients})
        result[title] = _middle(runs) | {"runs": runs}
    if peer is not None:
        plain = _Plain(robot, task.limits, task.columns, np.ones_like(task.noise), tuple(peer.columns))
        same = replace(search, task=plain, criterion="condition")
        began = time.process_time()
        best, _ = excite_arm(same, 0)
        run = {"cpu": time.process_time() - began, **_judged(task, collisions, best.motion.at, peer)}
        result["ours, FIGAROH's condition"] = run | {"runs": [run]}
        tried = [peer.run(seed, collisions, contacts) for seed in range(seeds)]
        runs = [run for run in tried if "log_det" in run]
        result["figaroh"] = {"contacts looked for": contacts, "cpu": float(np.median([run["cpu"] for run in tried])),
                             **(_middle(runs) if runs else {}), "tried": seeds, "runs": tried}  # fmt: skip
    return result


@dataclass(frozen=True, eq=False)
class _Plain(ArmTask):
    """A task whose base parameters are some of the columns as they are."""

    chosen: tuple[int, ...]

    @cached_property
    def basis(self) -> Array:
        return np.eye(self.columns.n)[:, list(self.chosen)]


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of what is a number."""
    return {k: float(np.median([r[k] for r in runs])) for k, x in runs[0].items() if isinstance(x, float)}


def _judged(task: ArmTask, collisions: Collisions, at: Any, peer: _Figaroh | None) -> dict[str, Any]:
    """By the common criterion; ``at`` gives q, v, a at times."""
    M = criteria.base_root(task.information(*at(np.arange(0, SECONDS, 0.01)), SECONDS), task.identifiable)
    t = np.arange(0, SECONDS + 0.5 / FINE, 1 / FINE)
    q, v, a = at(t)
    limits = task.limits
    tau = task.rows(q, v, a) @ task.prior_parameters
    middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
    contact = collisions.find_contact(t[::10], task.robot.positions(q[::10]), task.robot.motion(v[::10]))
    scores = {
        "log_det": criteria.log_det(M),
        "condition": criteria.condition(M),
        "position": float(np.max(np.abs(q - middle) / half)),
        "speed": float(np.max(np.abs(v) / limits.speed)),
        "torque": float(np.max(np.abs(tau) / limits.effort)),
        "clear": contact is None,
        "jump": float(np.max(np.abs(np.diff(a, axis=0)))),  # rad/s² in a millisecond
    }
    return scores | ({"own condition": peer.own(at)} if peer is not None else {})


def table(result: Mapping[str, Any]) -> str:
    """Lines of Markdown."""
    lines = ["| arm | motion | log det | condition | FIGAROH's condition | position | speed | torque | clear | CPU |"]
    lines.append("|---" * 10 + "|")
    for arm, ways in result.items():
        for way, e in ways.items():
            if isinstance(e, dict) and "log_det" in e:
                used = " | ".join(f"{100 * e[k]:.1f} %" for k in ("position", "speed", "torque"))
                clear = [r["clear"] for r in e.get("runs", []) if "clear" in r]
                shown = f"{sum(clear)} of {len(clear)}" if clear else "all"
                own = f"{e['own condition']:.0f}" if "own condition" in e else "—"
                start = f"| {arm} | {way} | {e['log_det']:.1f} | {e['condition']:.0f} | {own}"
                lines.append(f"{start} | {used} | {shown} | {e['cpu']:.2f} s |")
    scans = {name: e for name, e in result.items() if "pairs" in e}
    if scans:
        lines += ["", "| robot | bodies | pieces | pairs | 5 s, CPU median | worst | clear |", "|---" * 7 + "|"]
    for name, e in scans.items():
        counts = " | ".join(str(e[k]) for k in ("bodies", "pieces", "pairs"))
        took = " | ".join(f"{1e3 * e[k]:.0f} ms" for k in ("cpu", "cpu worst"))
        lines.append(f"| {name} | {counts} | {took} | {e['clear']} of {e['motions']} |")
    return "\n".join(lines)


def kept(result: Mapping[str, Any]) -> bool:
    """Better than random and than FIGAROH in log det, and within every limit."""
    for ways in result.values():
        if "ours" not in ways:
            continue
        ours = ways["ours"]
        others = [e["log_det"] for k, e in ways.items() if k.startswith(("random", "figaroh")) and "log_det" in e]
        if ours["log_det"] <= max(others) or not all(r["clear"] for r in ours["runs"]):
            return False
        if any(r[k] > 1 for r in ours["runs"] for k in ("position", "speed", "torque")):
            return False
    return True


@contextmanager
def _silent() -> Iterator[None]:
    """What compiled code prints goes to stderr: stdout is for the result."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


class _Figaroh:
    """FIGAROH's optimal trajectory of the same arm within the same limits."""

    @classmethod
    def of(cls, name: str, task: ArmTask) -> _Figaroh | None:
        try:
            import cyipopt  # noqa: F401
            import figaroh.optimal.base_optimal_trajectory as module
        except ImportError:
            return None
        return cls(name, task, module)

    def __init__(self, name: str, task: ArmTask, module: Any):
        import pinocchio as pin
        from figaroh.tools.robot import Robot as Wrapped

        description = task.robot.description
        roots = [str(p) for p in list(description.path.parents)[1:6]]
        robot = Wrapped(str(description.path), package_dirs=roots)
        locked = [robot.model.getJointId(j) for j in LOCKED.get(name, {})]
        if locked:
            model, geometry = pin.buildReducedModel(robot.model, robot.collision_model, locked, robot.q0)
            robot.model, robot.collision_model, robot.geom_model = model, geometry, geometry
            robot.rebuildData()
            robot.q0 = pin.neutral(model)
            robot.v0 = np.zeros(model.nv)
        limits = task.limits
        robot.model.lowerPositionLimit, robot.model.upperPositionLimit = limits.lower, limits.upper
        robot.model.velocityLimit, robot.model.effortLimit = limits.speed, limits.effort
        self.task, self.module, self.robot = task, module, robot
        srdf = find_srdf(description)
        self.config = CONFIG.format(
            name=name, joints=", ".join(f'"{j}"' for j in task.robot.joints), waypoints=WAYPOINTS, apart=APART,
            srdf=f'"{srdf}"' if srdf else "null",
        )  # fmt: skip
        self.geometry = robot.geom_model
        self.maker = self._maker(0, False)
        left = np.setdiff1d(np.arange(task.columns.n), self.maker.idx_e)
        self.columns = left[self.maker.idx_b]  # that its base regressor is made of

    def _maker(self, seed: int, looks: bool) -> Any:
        np.random.seed(seed)
        self.robot.geom_model = self.geometry if looks else None
        module = self.module

        class Problem(module.BaseTrajectoryIPOPTProblem):  # type: ignore[name-defined, misc]
            pass

        class Maker(module.BaseOptimalTrajectory):  # type: ignore[name-defined, misc]
            def create_ipopt_problem(self, *given: Any) -> Any:
                self.problem = Problem(self, *given)
                return self.problem

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.yaml"
            path.write_text(self.config, encoding="utf-8")
            maker = Maker(self.robot, list(self.task.robot.joints), str(path))
        maker.identif_config.setdefault("act_idxv", list(range(self.robot.model.nv)))
        maker.initialize()
        return maker

    def run(self, seed: int, collisions: Collisions, looks: bool) -> dict[str, Any]:
        """One optimal trajectory, or only how long it took to find none; ``looks``: whether for contacts."""
        maker = self._maker(seed, looks)
        began = time.process_time()
        with _silent():
            maker.solve(stack_reps=1)
        cpu = time.process_time() - began
        if not maker.results["P_F"]:
            return {"cpu": cpu}
        data, problem = maker.results["iteration_data"][-1], maker.problem
        curve = maker.CB.pc  # of the last trajectory made, the one that is kept

        def at(t: Array) -> tuple[Array, Array, Array]:
            inside = np.clip(t + curve.min(), curve.min(), curve.max())
            q = np.array([np.ravel(curve(x)) for x in inside])
            return q, *(np.array([np.ravel(curve.derivate(x, k)) for x in inside]) for k in (1, 2))  # type: ignore[return-value]

        scores = _judged(self.task, collisions, at, self)
        return {**scores, "cpu": cpu, "iterations": len(data["obj_values"]), "converged": bool(data["converged"]),
                "constraints": len(problem.get_constraint_bounds()[0])}  # fmt: skip

    def own(self, at: Any) -> float:
        """Condition number of its base regressor at 20 Hz."""
        W = self.maker._stack_base_regressors(*at(np.arange(0, SECONDS, 0.05)))
        return float(np.linalg.cond(W))
