"""What a robot-hour costs: bytes of its log and of what is left of it, processor time by stage; and what a fleet costs.

Each case is one log, written as Parquet as a user would and worked on as a worker works on it. ``hash``, ``read`` and
``sums`` are its stages, timed apart, in processor seconds an hour of robot; ``memory`` is the part of ``sums`` that
products of rows with later rows take. ``merge`` is what adding one log's sums to another's takes, ``task`` what a task
costs that does nothing, on two local workers: of the driver with its scheduler, and by the clock. The least of some
repeats counts.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.simulate_quadruped import simulate_quadruped
from steelyard.fleet.gathering import make_summariser
from steelyard.fleet.locations import fetch_log
from steelyard.fleet.log_stream import stream_pieces
from steelyard.fleet.summarise import merge, summarise
from steelyard.fleet.workers import Workers
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.pieces import read_pieces
from steelyard.log.table import write_log
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot

HOUR = 3600.0
ROBOTS, HOURS = 10_000, 8.0  # of a fleet, and of each a day
TASKS = 400
DISK = "parquet of 64-bit floats, zstd"


def arm(name: str, seconds: float, rate: float) -> tuple[Log, Options]:
    """Joint rows with friction."""
    robot = Robot.load(name, base="fixed")
    truth = {b.name: b.parameters for b in robot.bodies}
    friction = Friction.random(robot, np.random.default_rng(1))
    return simulate_arm(robot, truth, seed=1, seconds=seconds, rate=rate, friction=friction), Options(friction="all")


def trot(name: str, seconds: float, rate: float) -> tuple[Log, Options]:
    """Joints and IMU of a trotting quadruped: rows without contact forces. One stretch, over and over."""
    stretch = min(seconds, 20.0)
    log = simulate_quadruped(
        Robot.load(name), "trot", recording=Recording(rate=rate, noise="mid"), seconds=stretch, seed=1
    )
    feet = tuple(log.metadata["simulation"]["feet"])
    times = max(round(seconds / stretch), 1)
    step = float(log.time[-1] - log.time[0]) + 1 / rate
    rng = np.random.default_rng(1)
    columns = {k: np.tile(v, times) for k, v in log.columns.items()}
    columns = {k: v + 1e-9 * rng.normal(size=v.shape) for k, v in columns.items()}  # or they compress as repeats do
    time = np.concatenate([log.time + k * step for k in range(times)])
    return replace(log, time=time, columns=columns), Options(feet=feet, friction="armature")


def humanoid(name: str, seconds: float, rate: float) -> tuple[Log, Options]:
    """Joints, IMU and the wrench under the foot that it stands on: all rows."""
    robot = Robot.load(name, base="floating", repair=True)
    rng, J = np.random.default_rng(1), len(robot.joints)
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi * np.array([0.3, 0.7, 1.1])
    angle = (t[:, None] * w)[:, :, None] + rng.uniform(0, 2 * np.pi, (3, J))
    size = 0.1 * rng.normal(size=(3, J))
    q, v, a = (
        np.sum(size * np.sin(angle), axis=1),
        np.sum(size * w[:, None] * np.cos(angle), axis=1),
        np.sum(-size * (w**2)[:, None] * np.sin(angle), axis=1),
    )
    sole = next(f for f in ("left_sole_link", "leg_left_6_link", "left_ankle_roll_link") if f in robot.frames)
    frame, model = robot.frame(sole), robot.model.copy()
    data, still = model.createData(), np.zeros(6)
    q, v, a = (
        robot.positions(q),
        robot.motion(np.hstack([np.zeros((len(t), 6)), v])),
        robot.motion(np.hstack([np.zeros((len(t), 6)), a])),
    )
    tau, wrench = np.zeros((len(t), J)), np.zeros((len(t), 6))
    for k in range(len(t)):
        force = pin.rnea(model, data, q[k], v[k], a[k])
        pin.computeJointJacobians(model, data, q[k])
        X = pin.SE3(frame.placement).toActionMatrixInverse()
        jacobian = X @ pin.getJointJacobian(model, data, frame.joint, pin.LOCAL)
        wrench[k] = np.linalg.solve(jacobian[:, :6].T, force[:6])
        rest = force - jacobian.T @ wrench[k]
        tau[k] = (rest if robot.coupling is None else robot.coupling.T @ rest)[6:]
    noisy = lambda x, s: x + s * rng.normal(size=x.shape)  # noqa: E731
    joints = q[:, 7:] if robot.coupling is None else q[:, 7 : 7 + J]
    columns = {f"q.{j}": noisy(joints[:, k], 1e-4) for k, j in enumerate(robot.joints)}
    columns |= {f"tau.{j}": noisy(tau[:, k], 0.1) for k, j in enumerate(robot.joints)}
    for k, c in enumerate("xyz"):
        columns |= {
            f"imu.gyro.{c}": noisy(still[k] + 0 * t, 1e-3),
            f"imu.acc.{c}": noisy(9.81 * (k == 2) + 0 * t, 1e-2),
        }
    columns |= {
        f"wrench.{sole}.{c}": noisy(wrench[:, k], 0.5) for k, c in enumerate(("fx", "fy", "fz", "mx", "my", "mz"))
    }
    return Log.from_columns({"time": t, **columns}, {}, name), Options(friction="viscous", repair_prior=True)


CASES: Mapping[str, tuple[Callable[[str, float, float], tuple[Log, Options]], str, float]] = {
    "ur10 500 Hz": (arm, "ur10", 500.0),
    "a1 200 Hz": (trot, "a1", 200.0),
    "a1 500 Hz": (trot, "a1", 500.0),
    "g1 200 Hz": (humanoid, "g1", 200.0),
    "talos 200 Hz": (humanoid, "talos", 200.0),
}


def scale(
    seconds: float = 60.0, cases: Mapping[str, Any] = CASES, repeats: int = 2, tasks: int = TASKS
) -> dict[str, Any]:
    """All cases by robot-hour, the cost of a task, and a fleet of each."""
    result: dict[str, Any] = {"cases": {name: _case(*case, seconds, repeats) for name, case in cases.items()}}
    result["task"] = overhead(tasks)
    result["fleet"] = {name: fleet(case, result["task"]) for name, case in result["cases"].items()}
    packages = ("numpy", "pyarrow", "dask", "distributed")
    result["versions"] = {p: version(p) for p in packages}
    result["machine"] = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "disk": DISK}
    return result


def _case(
    make: Callable[..., tuple[Log, Options]], robot: str, rate: float, seconds: float, repeats: int
) -> dict[str, Any]:
    log, options = make(robot, seconds, rate)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "log.parquet")
        write_log(path, log)
        task, _ = make_summariser(read_description(robot), [path], options)
        part = summarise(path, task)  # and kernels are loaded
        if part.failures:
            raise SystemExit(str([str(f) for f in part.failures[path]]))
        assert part.sums is not None
        hours = seconds / HOUR

        def least(call: Callable[[], object]) -> float:
            return min(_processor(call) for _ in range(repeats))

        hashed = least(lambda: _hash(path))
        read = least(lambda: [p.share for p in read_pieces(path)])
        whole = least(lambda: summarise(path, task))
        plain = least(lambda: stream_pieces(task.setup, task.free, read_pieces(path), lagged=False))
        merged = least(lambda: merge([part] * 8)) / 8
        return {
            "robot": robot,
            "rate": rate,
            "equations": task.setup.equations,
            "parameters": task.setup.columns.n,
            "columns": 1 + len(log.columns),
            "seconds": seconds,
            "log_MB": Path(path).stat().st_size / 1e6 / hours,
            "sums_MB": len(part.sums.to_bytes()) / 1e6,
            "sent_MB": len(pickle.dumps(part)) / 1e6,
            "triangles_MB": sum(R.size + len(R) for R in part.sums.triangles[False]) / 2 * 8 / 1e6,
            "cpu_s": {
                "whole": whole / hours,
                "hash": hashed / hours,
                "read": read / hours,
                "sums": (whole - hashed - read) / hours,
                "memory": (whole - hashed - plain) / hours,
            },
            "merge_s": merged,
        }


def _processor(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _hash(path: str) -> None:
    with fetch_log(path):
        pass


def overhead(tasks: int) -> dict[str, float]:
    """Of a task that does nothing, s: processor time of the driver and its scheduler, and by the clock."""
    with Workers.local(2) as workers:
        workers.map(_nothing, range(20), None)
        start, clock = time.process_time(), time.monotonic()
        workers.reduce(_nothing, _added, range(tasks), None)
        return {"cpu_s": (time.process_time() - start) / tasks, "clock_s": (time.monotonic() - clock) / tasks}


def _nothing(item: int, _: None) -> int:
    return 1


def _added(parts: list[int]) -> int:
    return sum(parts)


def fleet(
    case: Mapping[str, Any], task: Mapping[str, float], robots: int = ROBOTS, hours: float = HOURS
) -> dict[str, Any]:
    """A day of so many robots at so many hours each, a log an hour."""
    day = robots * hours  # robot-hours, and logs
    cpu = day * case["cpu_s"]["whole"] / HOUR
    merging = day * case["merge_s"] / HOUR
    return {
        "robot_hours": day,
        "cpu_hours": cpu,
        "cores": cpu / 24,  # that work all day
        "merge_cpu_hours": merging,
        "read_TB": day * case["log_MB"] / 1e6,
        "read_MB_s": day * case["log_MB"] / (24 * HOUR),
        "checkpoint_TB": day * case["sums_MB"] / 1e6,
        "moved_TB": day * case["sent_MB"] / 1e6,  # at most: every sum to a worker that did not make it
        "scheduler_hours": day * task["cpu_s"] / HOUR,
        "most_cores": case["cpu_s"]["whole"] / max(task["clock_s"], 1e-9),  # that one scheduler keeps busy
    }


def table(result: Mapping[str, Any]) -> str:
    """As Markdown."""
    lines = [
        "| | log, MB/h | sums, MB | processor, s/h | of it reading | memory | merge, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, c in result["cases"].items():
        cpu = c["cpu_s"]
        lines.append(
            f"| {name}, {c['equations']} | {c['log_MB']:.0f} | {c['sums_MB']:.2f} | {cpu['whole']:.1f} | "
            f"{cpu['hash'] + cpu['read']:.1f} | {cpu['memory']:.1f} | {1e3 * c['merge_s']:.1f} |"
        )
    lines += [
        "",
        "| fleet of 10,000, 8 h a day | processor-hours a day | cores | read, TB | checkpoint, TB | scheduler, h |",
        "|---|---|---|---|---|---|",
    ]
    for name, f in result["fleet"].items():
        lines.append(
            f"| {name} | {f['cpu_hours']:.0f} | {f['cores']:.1f} | {f['read_TB']:.1f} | {f['checkpoint_TB']:.2f} | "
            f"{f['scheduler_hours']:.2f} |"
        )
    return "\n".join(lines)
