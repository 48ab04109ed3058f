"""Regressor rows of random motions, a sample: our panels against others who make the same rows.

``ours``: panels of all rows (six of the base, one a joint) of 64 samples at a time, q, v, a to finished panels.
``pinocchio``: ``computeJointTorqueRegressor`` in a Python loop, the result not even kept. ``figaroh``: its loop over
the joints of a sample with friction, inertia and offset, into one tall matrix; the library itself on a fixed base, and
the same loop with the columns of a free-flyer otherwise, since FIGAROH 1.0 takes as many bodies as velocities there.
``idyntree``: ``inverseDynamicsInertialParametersRegressor``. ``agreement``: the largest error of an entry (pinocchio),
or of a generalised force of the description (others), against the largest. ``index``: the worst agreement with
Pinocchio over all robots of the index that load, inconsistent bodies repaired.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.peers import installed, missing
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.segment import Segment
from steelyard.errors import DescriptionError
from steelyard.kernels import forces, leg_elimination, panels, sym6, warm_up
from steelyard.kernels import kinematics as lanes
from steelyard.kernels.tree import LANES, FlatTree
from steelyard.robot import index
from steelyard.robot.model import Robot
from steelyard.spatial import Array

Peer = tuple[Callable[[], object], Callable[[], float]]  # all samples once; agreement with ours

ROBOTS = ("a1", "g1", "talos", "ur10")
SAMPLES, BATCH = 256, 64
PROMISED = {"pinocchio": 12.0, "figaroh": 50.0, "idyntree": 60.0}
AGREE = 1e-10
LOOPS = (
    *(lanes._sincos, lanes._move, lanes._motion),
    *(panels.first_moments, panels.second_moments, panels.row),
    *(forces.wrench, leg_elimination.push, leg_elimination.add_square, sym6._invert, sym6._times),
)


def kernels(repeats: int = 7, robots: tuple[str, ...] = ROBOTS, everyone: bool = True) -> dict[str, Any]:
    """Some robots timed, all of the index compared (``everyone``), and how the loops were compiled."""
    warm_up()
    result: dict[str, Any] = {name: _case(name, max(repeats, 1)) for name in robots}
    if everyone:
        result["index"] = _index()
    return result | {"packed": packed(), "missing": missing("figaroh", "idyntree")}


def kept(result: dict[str, Any]) -> bool:
    """Whether every ratio is as promised with peers that agree, and every loop is packed."""
    good = True
    for name in ("a1", "g1", "talos"):
        for peer, least in PROMISED.items():
            ratio, apart = (result[name].get(key, {}).get(peer) for key in ("ratio", "agreement"))
            if ratio is None or ratio < least or apart > AGREE:
                print(f"{name}: {peer} ratio {ratio}, promised {least}, agreement {apart}", file=sys.stderr)
                good = False
    if result["index"]["agreement"] > AGREE:
        print(f"index: {result['index']}", file=sys.stderr)
        good = False
    for loop, counts in result["packed"].items():
        if not counts["packed"]:
            print(f"{loop} uses no packed vector instructions", file=sys.stderr)
            good = False
    return good


def table(result: dict[str, Any]) -> str:
    """µs a sample, and how many times that of ours."""
    lines = ["| robot | ours | Pinocchio | FIGAROH | iDynTree |", "|---|---|---|---|---|"]
    for name, case in result.items():
        if "ours" in case:
            cells = [f"{case[p]['min']:.1f} ({case['ratio'][p]:.0f}×)" if p in case else "–" for p in PROMISED]
            lines.append(f"| {name} | {case['ours']['min']:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def packed() -> dict[str, dict[str, int]]:
    """Packed and scalar double-precision arithmetic in the machine code of each loop, compiled anew."""
    from numba import float64

    counts = {}
    for loop in LOOPS:
        fresh: Any = type(loop)(loop.py_func, targetoptions=loop.targetoptions)  # type: ignore[attr-defined]
        fresh.compile((float64[::1],) * loop.py_func.__code__.co_argcount)  # type: ignore[attr-defined]
        code = fresh.inspect_asm(fresh.signatures[0])
        intel = {kind: len(re.findall(rf"\bv?(?:f[n]?m[a-z0-9]*|add|mul|sub){kind}\b", code)) for kind in ("pd", "sd")}
        arm = {"pd": len(re.findall(r"\bf(?:mla|mls|mul|add|sub)\S*\s+v\d+\.2d", code)), "sd": 0}
        use = intel if any(intel.values()) else arm
        name = f"{loop.__module__.split('.')[-1]}.{loop.__name__}"
        counts[name] = {"packed": use["pd"], "scalar": use["sd"], "bits": max(_widths(code))}
    return counts


def _widths(code: str) -> Iterator[int]:
    yield 0
    for register, bits in (("xmm", 128), ("ymm", 256), ("zmm", 512)):
        if re.search(rf"pd\b[^\n]*%{register}", code):
            yield bits


def _case(name: str, repeats: int) -> dict[str, Any]:
    robot = Robot.load(name)
    segment = _motion(robot)
    tree = robot.tree
    assert tree is not None
    states, ours = tree.states(segment, BATCH), panels.Panels(tree, BATCH)

    def fill() -> None:
        for first in range(0, len(states), BATCH // LANES):
            ours.fill(states, first)

    peers: dict[str, Peer] = {"pinocchio": _pinocchio(robot, segment, tree), "figaroh": _figaroh(robot, segment, tree)}
    if installed("idyntree"):
        peers["idyntree"] = _idyntree(robot, segment, tree)
    calls = {"ours": fill} | {peer: call for peer, (call, _) in peers.items()}
    times: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(repeats):
        for who, call in calls.items():
            rounds = 8 if who == "ours" else 1
            start = time.perf_counter()
            for _ in range(rounds):
                call()
            times[who].append(1e6 * (time.perf_counter() - start) / (rounds * SAMPLES))
    case: dict[str, Any] = {w: {"min": min(t), "median": statistics.median(t)} for w, t in times.items()}
    case["ratio"] = {peer: case[peer]["min"] / case["ours"]["min"] for peer in peers}
    case["agreement"] = {peer: agreement() for peer, (_, agreement) in peers.items()}
    return case | {"bodies": tree.bodies, "rows": len(tree.rows) + 6 * tree.floating}


def _index() -> dict[str, Any]:
    agreement = {}
    for entry in index.robots():
        try:
            robot = Robot.load(entry.name, repair=True)
        except DescriptionError:
            continue
        tree, segment = robot.tree, _motion(robot)
        assert tree is not None
        agreement[entry.name] = _pinocchio(robot, segment, tree)[1]()
    worst = max(agreement, key=lambda name: agreement[name])
    return {"robots": len(agreement), "agreement": agreement[worst], "worst": worst}


def _motion(robot: Robot) -> Segment:
    """Unrelated random states."""
    rng, T = np.random.default_rng(0), SAMPLES
    q, v, a = (k * rng.normal(size=(T, len(robot.joints))) for k in (1.0, 1.0, 3.0))
    base = [rng.normal(size=(T, 3)) * k for k in (1.0, 3.0, 5.0)] if robot.floating else [None] * 3
    up = np.tile([0.0, 0.0, 1.0], (T, 1)) if robot.floating else None
    return Segment(np.arange(T) / 100, 100.0, q, v, a, None, {}, *base, up, {})


def _forces(robot: Robot, tree: FlatTree, segment: Segment) -> Array:
    """(T, nv) what the description needs, by our kernel."""
    theta = np.zeros((tree.bodies, 10))
    for body in robot.bodies:
        theta[tree.nodes[body.name] - 1] = body.parameters
    return forces.generalised(tree, tree.states(segment), theta)[:SAMPLES, 0 if tree.floating else 6 :]


def _apart(ours: Array, theirs: Array) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _pinocchio(robot: Robot, segment: Segment, tree: FlatTree) -> Peer:
    import pinocchio as pin

    dynamics = Dynamics(robot, segment)
    states = list(zip(*dynamics.states, strict=True))
    model, data, regressor = dynamics.model, dynamics.data, pin.computeJointTorqueRegressor

    def call() -> None:
        for q, v, a in states:
            regressor(model, data, q, v, a)

    def agreement() -> float:
        from steelyard.kernels.dense import regressor as dense

        names = [b.name for b in robot.bodies]
        Y = np.zeros((SAMPLES, dynamics.nv, 10 * len(names)))
        dense(tree, tree.states(segment, BATCH), names, Y)
        return _apart(Y, dynamics.regressor(names))

    return call, agreement


def _figaroh(robot: Robot, segment: Segment, tree: FlatTree) -> Peer:
    import pinocchio as pin

    dynamics = Dynamics(robot, segment)
    Q, V, A = dynamics.states
    model, data, nv, n = dynamics.model, dynamics.data, dynamics.model.nv, 10 * (dynamics.model.njoints - 1)
    lead = 6 if robot.floating else 0
    driven = set(range(lead, nv))
    W = np.zeros((0, 0))

    def loop() -> None:
        nonlocal W
        W = np.zeros((SAMPLES * nv, n + 4 * nv))
        for i in range(SAMPLES):
            Y = pin.computeJointTorqueRegressor(model, data, Q[i], V[i], A[i])
            for j in range(nv):
                row = j * SAMPLES + i
                W[row, :n] = Y[j, :]
                if j in driven:
                    W[row, n + j] = V[i, j]
                    W[row, n + nv + j] = np.sign(V[i, j])
                    W[row, n + 2 * nv + j] = A[i, j]
                    W[row, n + 3 * nv + j] = 1.0

    def library() -> None:
        nonlocal W
        from figaroh.tools.regressor import RegressorBuilder, RegressorConfig

        config = RegressorConfig(has_friction=True, has_actuator_inertia=True, has_joint_offset=True)
        builder = RegressorBuilder(SimpleNamespace(model=model, data=data), config)
        W = builder.build_basic_regressor(Q, V, A, {"act_idxv": driven})

    call = library if installed("figaroh") and not robot.floating else loop

    def agreement() -> float:
        call()
        theta = np.concatenate([model.inertias[k].toDynamicParameters() for k in range(1, model.njoints)])
        return _apart(_forces(robot, tree, segment), (W[:, :n] @ theta).reshape(nv, SAMPLES).T)

    return call, agreement


def _idyntree(robot: Robot, segment: Segment, tree: FlatTree) -> Peer:
    import idyntree.bindings as library

    loader = library.ModelLoader()
    assert loader.loadReducedModelFromFile(str(robot.description.path), list(robot.joints))
    model = loader.model().copy()  # what the loader has goes with it
    computer = library.KinDynComputations()
    computer.loadRobotModel(model)
    computer.setFrameVelocityRepresentation(library.BODY_FIXED_REPRESENTATION)
    J, zero = len(robot.joints), np.zeros((SAMPLES, 3))
    order = [robot.joints.index(model.getJointName(k)) for k in range(J)]
    pose = np.eye(4)
    twist = np.hstack([zero, zero if segment.gyro is None else segment.gyro])
    proper = zero - robot.gravity if segment.acc is None else segment.acc
    acceleration = np.hstack([proper, zero if segment.alpha is None else segment.alpha])
    q, v, a = (np.ascontiguousarray(x[:, order]) for x in (segment.q, segment.v, segment.a))
    regressor, weightless = library.MatrixDynSize(6 + J, 10 * model.getNrOfLinks()), np.zeros(3)

    def step(t: int) -> None:
        computer.setRobotState(pose, q[t], twist[t], v[t], weightless)
        computer.inverseDynamicsInertialParametersRegressor(acceleration[t], a[t], regressor)

    def call() -> None:
        for t in range(SAMPLES):
            step(t)

    def agreement() -> float:
        parameters = library.VectorDynSize()
        model.getInertialParameters(parameters)
        theirs = []
        for t in range(SAMPLES):
            step(t)
            tau = regressor.toNumPy() @ parameters.toNumPy()
            joints = np.empty(J)
            joints[order] = tau[6:]
            theirs.append(np.concatenate([tau[:6] if robot.floating else [], joints]))
        return _apart(_forces(robot, tree, segment), np.array(theirs))

    return call, agreement
