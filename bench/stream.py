"""Samples to information: streamed, against Pinocchio's regressor in a Python loop with dense dsyrk or dense QR.

``gram`` and ``triangle`` are ours on base-parameter columns, ``gram_all`` and ``triangle_all`` on all columns; each
time is what a sample adds, in µs, on top of what a stream costs once; ``ours`` and ``pinocchio`` are the Gram matrix of
all columns and its peer. ``dgemm`` is this machine's rate in Gflop/s on matrices of 1000, ``products`` what the Gram
matrices reach of it: useful flops of the blocks, m(m + 1) a row, over the time of their products. Everything is
measured in turns in one run, and only ratios mean anything on a shared machine.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.linalg.blas import dgemm, dsyrk

from bench.figure import Line, Panel, chart
from bench.windows import a1_information, cuboids, nonnegative
from steelyard.equations.columns import Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.rows import Rows
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.equations.stream import stream
from steelyard.equations.stream.structure import Structure
from steelyard.equations.stream.worker import Way, Worker
from steelyard.kernels import active_set
from steelyard.robot.model import Robot
from steelyard.spatial import Array

Call = Callable[[], object]
Times = dict[str, dict[str, float]]

ROBOTS = ("ur10", "panda", "a1", "g1", "talos", "talos_full")
DENSE, OURS = 512, 4096  # samples a call
PROMISED = {"gram_all": 6.0, "gram": 10.0, "triangle": 9.0}  # times faster, on TALOS
SHARE = 0.75  # of dgemm's rate
SHAPES = (3, 5, 11, 22, 44, 88)


def bench_stream(repeats: int = 7, robots: Sequence[str] = ROBOTS, samples: int = 100_000) -> dict[str, Any]:
    """All robots, then TALOS alone: how time and memory grow, and what a second thread brings."""
    result: dict[str, Any] = {name: _robot(name, repeats) for name in robots}
    result["samples"] = {name: _growth(name, samples, repeats) for name in ("a1", "talos")}
    result["memory_MB"] = _memory(samples)
    result["threads"] = _threads(samples, max(repeats // 2, 2))
    result["shapes"] = _shapes(5 * repeats)
    result["machine"] = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "blas": os.environ.get("OPENBLAS_NUM_THREADS"),
    }
    return result


def kept(result: Mapping[str, Any]) -> bool:
    """Whether TALOS is as fast as promised, in as little memory, and time grows with samples alone."""
    talos, grown = result["talos"], result["samples"]["talos"]
    wrong = [
        f"{k}: {talos['ratio'][k]:.1f}×, promised {least}×"
        for k, least in PROMISED.items()
        if talos["ratio"][k] < least
    ]
    if result["memory_MB"]["arrays"] > 10:
        wrong.append(f"memory: {result['memory_MB']['arrays']:.1f} MB, promised 10")
    for way, ratio in grown["per_sample_ratio"].items():
        if not 0.9 < ratio < 1.1:
            wrong.append(f"samples: {ratio:.3f} times as long a sample ({way}), promised within 10 %")
    for key in ("products", "products_all"):
        if talos[f"{key}_share"] < SHARE:
            wrong.append(f"{key}: {talos[f'{key}_share']:.2f} of dgemm's rate, promised {SHARE}")
    if result["threads"]["gram"] < 1.6 or result["threads"]["triangle"] < 1.6:
        wrong.append(f"threads: {result['threads']['gram']:.2f} and {result['threads']['triangle']:.2f}×, promised 1.6")
    for line in wrong:
        print(line, file=sys.stderr)
    return not wrong


def _robot(name: str, repeats: int) -> dict[str, Any]:
    robot = Robot.load(name)
    rows = _rows(robot, _motion(robot, OURS))
    few = _motion(robot, DENSE)
    calls: dict[str, Call] = {
        "pinocchio_rows": lambda: _pinocchio(robot, few),
        "pinocchio_dsyrk": lambda: _dense(robot, few, gram=True),
        "pinocchio_qr": lambda: _dense(robot, few, gram=False),
    }
    ways: dict[str, tuple[Way, bool]] = {
        "gram": ("gram", True),
        "gram_all": ("gram", False),
        "triangle": ("triangle", True),
        "triangle_all": ("triangle", False),
    }
    for key, (way, grouped) in ways.items():
        calls[key] = _running(rows, way, grouped)
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(1000, 1000)))
    rates: dict[str, Call] = {"dgemm": lambda: dgemm(1.0, A, A)}
    factoring = {key: _factoring(rows, grouped) for key, grouped in (("products", True), ("products_all", False))}
    rates |= {key: call for key, (call, _) in factoring.items()}
    t = _measure(calls, repeats) | _measure(rates, 10 * repeats)  # the latter are short
    for key in t:
        count = {"dgemm": 1, "products": 1, "products_all": 1}.get(key, DENSE if key.startswith("pinocchio") else OURS)
        t[key] = {k: v / count for k, v in t[key].items()}
    dense = {
        "gram": "pinocchio_dsyrk",
        "gram_all": "pinocchio_dsyrk",
        "triangle": "pinocchio_qr",
        "triangle_all": "pinocchio_qr",
    }
    rate = {k: 2e9 / v / 1e3 for k, v in t["dgemm"].items()}
    case: dict[str, Any] = {"bodies": len(robot.bodies), "equations": len(rows.names), "columns": rows.columns.n}
    case |= {key: times for key, times in t.items() if key not in ("dgemm", *factoring)}
    case |= {"ours": t["gram_all"], "pinocchio": t["pinocchio_dsyrk"]}
    case["ratio"] = {key: t[peer]["min"] / t[key]["min"] for key, peer in dense.items()}
    case["ratio"]["pinocchio"] = case["ratio"]["gram_all"]
    case["ratio_median"] = {key: t[peer]["median"] / t[key]["median"] for key, peer in dense.items()}
    case["dgemm_Gflops"] = rate["min"]
    for key, (_, flops) in factoring.items():
        case[f"{key}_Gflops"] = flops / t[key]["min"] / 1e3
        case[f"{key}_share"] = case[f"{key}_Gflops"] / rate["min"]
    case["disagreement"] = _disagreement(robot)
    return case


def _motion(robot: Robot, samples: int, seed: int = 0) -> Segment:
    """Joints and base on a few sines each, torques of noise: what is computed does not depend on it."""
    rng = np.random.default_rng(seed)
    t, J = np.arange(samples) / 200.0, len(robot.joints)
    w, phase = rng.uniform(1, 6, J + 6), rng.uniform(0, 2 * np.pi, J + 6)
    angle = w * t[:, None] + phase
    x, v, a = 0.3 * np.sin(angle), 0.3 * w * np.cos(angle), -0.3 * w**2 * np.sin(angle)
    base = (v[:, :3], a[:, :3], a[:, 3:6] + np.array([0, 0, 9.81])) if robot.floating else (None, None, None)
    up = np.broadcast_to([0.0, 0.0, 1.0], (samples, 3)) if robot.floating else None
    return Segment(t, 200.0, x[:, 6:], v[:, 6:], a[:, 6:], rng.normal(size=(samples, J)), {}, *base, up, {})


def _rows(robot: Robot, segment: Segment) -> Rows:
    columns = Columns(tuple(b.name for b in robot.bodies))
    return Setup(robot, "full" if robot.floating else "joint", columns).rows([segment])


def _structure(rows: Rows, grouped: bool) -> Structure:
    tree = rows.robot.tree
    assert tree is not None
    return Structure(rows.robot, tree, rows.columns, rows.equations, grouped=grouped)


def _running(rows: Rows, way: Way, grouped: bool) -> Call:
    worker, (segment,) = Worker(_structure(rows, grouped), way), rows.segments
    centres, taps = np.arange(len(segment.time)), np.ones(1)
    return lambda: worker.run(segment, centres, taps)


def _factoring(rows: Rows, grouped: bool) -> tuple[Call, float]:
    """The products of full operands alone, eight in a row as they are warm in a stream; and their useful flops."""
    worker = Worker(_structure(rows, grouped), "gram")
    worker.filled = worker.rows
    worker.operand[:] = np.random.default_rng(0).normal(size=worker.operand.shape)

    def call() -> None:
        for _ in range(8):
            worker.filled = worker.rows
            worker.factor()

    return call, float(8 * worker.rows * sum(len(c) * (len(c) + 1) for c in worker.structure.blocks))


def _pinocchio(robot: Robot, segment: Segment) -> Array:
    """(samples·equations, columns + 1) dense rows and target."""
    dynamics = Dynamics(robot, segment)
    index = np.concatenate([10 * (b.joint - 1) + np.arange(10) for b in robot.bodies])
    Y = np.empty((len(segment.time), dynamics.nv, len(index) + 1))
    for t, (q, v, a) in enumerate(zip(*dynamics.states, strict=True)):
        y = np.atleast_2d(pin.computeJointTorqueRegressor(dynamics.model, dynamics.data, q, v, a))[:, index]
        Y[t, :, :-1] = y if robot.coupling is None else robot.coupling.T @ y
    assert segment.tau is not None
    Y[:, :, -1] = np.hstack([np.zeros((len(Y), dynamics.nv - segment.tau.shape[1])), segment.tau])
    return Y.reshape(-1, len(index) + 1)


def _dense(robot: Robot, segment: Segment, *, gram: bool) -> Array:
    Y = _pinocchio(robot, segment)
    return np.asarray(dsyrk(1.0, Y.T) if gram else np.linalg.qr(Y, mode="r"))


def _disagreement(robot: Robot) -> float:
    """Largest difference of YᵀY from that of dense QR of Pinocchio's rows, relative to its largest entry."""
    segment = _motion(robot, 200)
    channels = stream(_rows(robot, segment))
    assert channels is not None
    R, dense = channels.information().triangle, np.linalg.qr(_pinocchio(robot, segment), mode="r")
    G = dense.T @ dense
    return float(np.abs(R.T @ R - G).max() / np.abs(G).max())


def _growth(name: str, samples: int, repeats: int) -> dict[str, Any]:
    """s of whole streams, from segment to information, of growing numbers of samples."""
    robot = Robot.load(name)
    counts = [samples // 100, samples // 10, samples]
    rows = [_rows(robot, _motion(robot, count)) for count in counts]
    calls: dict[str, Call] = {
        f"{way} {count}": lambda r=r, way=way: _informed(r, way)
        for way in ("gram", "triangle")
        for count, r in zip(counts, rows, strict=True)
    }
    t = _measure(calls, repeats)
    result: dict[str, Any] = {"samples": counts}
    for way in ("gram", "triangle"):
        result[way] = [t[f"{way} {count}"]["min"] / 1e6 for count in counts]
    result["per_sample_ratio"] = {
        way: result[way][2] / counts[2] / (result[way][1] / counts[1]) for way in ("gram", "triangle")
    }
    return result


def _informed(rows: Rows, way: Way, threads: int = 1) -> object:
    channels = stream(rows, way=way, threads=threads)
    assert channels is not None
    return channels.information()


def _memory(samples: int) -> dict[str, float]:
    """MB beyond the samples themselves: peak of all arrays (tracemalloc), and growth of the process (RSS, sampled)."""
    robot = Robot.load("talos")
    rows = _rows(robot, _motion(robot, samples))
    _informed(_rows(robot, _motion(robot, 1000)), "triangle")  # what is loaded and compiled once
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    _informed(rows, "triangle")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stop, seen, start = threading.Event(), list[float](), _resident()

    def look() -> None:
        while not stop.wait(0.005):
            seen.append(_resident())

    looking = threading.Thread(target=look)
    looking.start()
    _informed(rows, "triangle")
    stop.set()
    looking.join()
    dense = samples * len(rows.names) * (rows.columns.n + 1) * 8
    return {"arrays": (peak - before) / 1e6, "resident": (max(seen) - start) / 1e6, "dense_rows": dense / 1e6}


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _threads(samples: int, repeats: int) -> dict[str, float]:
    """How many times as fast two threads are; ``dgemm``: of nothing but products, what the machine can give."""
    robot = Robot.load("talos")
    rows = _rows(robot, _motion(robot, samples))
    calls: dict[str, Call] = {
        f"{way} {n}": lambda way=way, n=n: _informed(rows, way, n) for way in ("gram", "triangle") for n in (1, 2)
    }
    A, products = np.random.default_rng(0).normal(size=(900, 900)), 20 if samples > 10_000 else 1

    def multiply(count: int) -> None:
        for _ in range(count):
            A @ A

    def both() -> None:
        with ThreadPoolExecutor(2) as pool:
            for job in [pool.submit(multiply, products) for _ in range(2)]:
                job.result()

    calls |= {"dgemm 1": lambda: multiply(2 * products), "dgemm 2": both}
    t = _measure(calls, repeats)
    return {way: t[f"{way} 1"]["min"] / t[f"{way} 2"]["min"] for way in ("gram", "triangle", "dgemm")}


def _shapes(repeats: int) -> dict[str, Any]:
    """µs to solve for the base of an A1 as so many cuboids: one window, Gram matrix ready."""
    active_set.warm_up()
    box, windows = a1_information(10)
    times = []
    for count in SHAPES:
        P = cuboids(box, count)
        ready = [nonnegative(w, P).information for w in windows]
        data = [(np.ascontiguousarray(i.R.T @ i.R), i.R.T @ i.z) for i in ready]
        call: Call = lambda data=data: [active_set.solve(G, c) for G, c in data]  # noqa: E731
        times.append(_measure({"nnls": call}, repeats)["nnls"]["min"] / len(data))
    return {"shapes": list(SHAPES), "nnls": times}


def _measure(calls: Mapping[str, Call], repeats: int) -> Times:
    """µs of each call, in turns, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(1e6 * (time.perf_counter() - start))
    return {name: {"min": float(np.min(t[1:])), "median": float(np.median(t[1:]))} for name, t in times.items()}


def figure(result: Mapping[str, Any], caption: str) -> str:
    """Cost against samples, bodies and shapes."""
    grown = result["samples"]["talos"]
    robots = sorted((result[name] for name in ROBOTS if name in result), key=lambda case: case["bodies"])
    bodies = [case["bodies"] for case in robots]
    drawn = {"Pinocchio, QR": "pinocchio_qr", "Pinocchio, dsyrk": "pinocchio_dsyrk", "R": "triangle", "Gram": "gram"}
    grows = [Line(name, grown["samples"], grown[key]) for name, key in (("R", "triangle"), ("Gram", "gram"))]
    panels = [
        Panel("s a stream, TALOS", grows, "samples"),
        Panel(
            "µs a sample",
            [Line(name, bodies, [c[key]["min"] for c in robots]) for name, key in drawn.items()],
            "bodies",
        ),
        Panel(
            "µs a solution, A1's base", [Line("NNLS", result["shapes"]["shapes"], result["shapes"]["nnls"])], "shapes"
        ),
    ]
    return chart(panels, "", caption)
