"""Streaming: information of rows that were never made is that of the rows, however samples are cut and shared."""

import gzip
import json
import tracemalloc
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.stream import PROMISED, bench_stream, figure, kept
from steelyard import Filter, Job, Log, LogError, Options, UsageError, identify
from steelyard.equations import rows as regressor
from steelyard.equations.columns import FRICTION, Columns
from steelyard.equations.coupled_motors import Motor
from steelyard.equations.holdout import HoldOut, Training
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.equations.stream import stream
from steelyard.equations.stream.structure import Structure
from steelyard.equations.stream.worker import Worker
from steelyard.equations.unknown_forces import foot
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.fleet.log_stream import stream_log
from steelyard.inference.noise import Noise, weight_rows
from steelyard.information import Information
from steelyard.kernels import blas, gram
from steelyard.kernels.grouping import Grouping
from steelyard.log import pieces
from steelyard.log.pieces import read_pieces
from steelyard.log.table import read_log, write_log
from steelyard.robot.flat_tree import flat_tree
from steelyard.robot.model import Robot
from tests.floating import floating_log
from tests.motions import ROBOTS, SENSORS, installed, load, segment, smooth
from tests.refusals import refuses

pytestmark = pytest.mark.numerical

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(autouse=True)
def _dense_rows_by_pinocchio(monkeypatch):
    monkeypatch.setattr(regressor, "COMPILED_FROM", 10**9)


def noisy(robot, seed=3, samples=700, **options):
    """A smooth motion with torques of noise."""
    part = smooth(robot, seed, samples=samples, **options)
    return replace(part, tau=np.random.default_rng(seed).normal(size=part.tau.shape))


def every_column(robot, equations):
    laws = FRICTION["all"] if equations != "base" else ()
    offsets = tuple((s.name, component) for s in robot.sensors for component in s.components)
    return Columns(tuple(b.name for b in robot.bodies), tuple((j, law) for j in robot.joints for law in laws), offsets)


def dense(blocks, names, weights):
    return weight_rows(blocks, Noise.unit(1 / weights), names)


def same(a, b, tolerance=1e-13):
    """Whether two pieces of information are equal: the same cost for all θ."""
    G, H = a.triangle.T @ a.triangle, b.triangle.T @ b.triangle
    scale = np.sqrt(np.outer(np.diag(H), np.diag(H))) + 1e-300
    assert a.names == b.names
    assert a.rows == b.rows
    assert np.abs(G - H).max() <= tolerance * np.abs(H).max()
    small = np.abs((G - H) / np.maximum(scale, 1e-9 * scale.max())).max()  # small parameters count as well
    assert small < max(1e-6, tolerance)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("filter", [None, Filter(cutoff=10.0, rate=200.0)], ids=["raw", "filtered"])
@pytest.mark.parametrize("equations", ["joint", "base", "full"])
@pytest.mark.parametrize("name", [*ROBOTS, "talos_full"])
def test_streamed_information_is_that_of_dense_rows_for_any_weights(name, equations, filter):
    robot = load(name)
    if not robot.floating and equations != "joint":
        equations = "joint"
    columns = every_column(robot, equations)
    rows = Setup(robot, equations, columns, filter=filter).rows([noisy(robot), noisy(robot, seed=4, samples=300)])
    weights = np.random.default_rng(0).uniform(0.3, 3.0, len(rows.names))
    expected = dense(rows, columns.names, weights)
    for way in ("triangle", "gram"):
        same(stream(rows, way=way).information(weights), expected)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", SENSORS)
def test_rows_and_offsets_of_sensors_are_streamed(name):
    robot = Robot.load(name, sensors=SENSORS[name], repair=True)
    rng = np.random.default_rng(2)
    part = noisy(robot)
    part = replace(part, sensor={s.name: rng.normal(size=(len(part.time), len(s.components))) for s in robot.sensors})
    for equations in ("joint", "base", "full"):
        columns = every_column(robot, equations)
        rows = Setup(robot, equations, columns).rows([part])
        weights = rng.uniform(0.3, 3.0, len(rows.names))
        same(stream(rows).information(weights), dense(rows, columns.names, weights))


@installed
def test_wrenches_motors_and_currents_are_streamed(a1_robot):
    part, rng = noisy(a1_robot), np.random.default_rng(1)
    part = replace(
        part,
        wrench={f: 20 * rng.normal(size=(len(part.time), 6)) for f in FEET},
        current={a1_robot.joints[2]: rng.normal(size=len(part.time))},
    )
    ratios = {a1_robot.joints[0]: 2.0, a1_robot.joints[1]: -3.0}
    motor = Motor("drive", ratios)
    terms = (("drive", "motor.viscous"), ("drive", "motor.coulomb"), (a1_robot.joints[2], "gain"))
    columns = Columns(tuple(b.name for b in a1_robot.bodies), terms, (), (motor,))
    rows = Setup(a1_robot, "full", columns).rows([part])
    weights = rng.uniform(0.3, 3.0, len(rows.names))
    same(stream(rows).information(weights), dense(rows, columns.names, weights))


def test_a_load_counts_in_the_logs_that_carried_it(arm):
    carrier = arm.robot.bodies[-1].name
    robot = arm.robot.with_load(carrier)
    columns = Columns(tuple(b.name for b in robot.bodies))
    segments = [noisy(robot), replace(noisy(robot, seed=5), loaded=True)]
    rows = Setup(robot, "joint", columns).rows(segments)
    weights = np.linspace(1, 2, len(rows.names))
    same(stream(rows).information(weights), dense(rows, columns.names, weights))


def test_what_is_held_out_is_not_streamed(arm):
    part = noisy(arm.robot, samples=3000)
    columns = Columns(tuple(b.name for b in arm.robot.bodies))
    rows = Setup(arm.robot, "joint", columns, filter=Filter(cutoff=20.0, rate=200.0)).rows([part])
    hold = HoldOut("log", float(part.time[0]), 2.0)
    ones = np.ones(len(rows.names))
    left = stream(rows, kept=[lambda time: hold.clear(time, rows.reach)]).information()
    same(left, dense(list(hold.kept(rows)), columns.names, ones))
    assert left.rows < stream(rows).information().rows


def test_several_logs_are_one_stream(arm):
    columns = Columns(tuple(b.name for b in arm.robot.bodies))
    logs = [Setup(arm.robot, "joint", columns).rows([noisy(arm.robot, seed=seed)]) for seed in (1, 2, 3)]
    apart = [stream(rows) for rows in logs]
    same(stream(*logs).information(), (apart[0] + apart[1] + apart[2]).information())


def test_squared_residuals_of_every_equation_are_known_for_every_parameter(arm):
    columns = every_column(arm.robot, "joint")
    rows = Setup(arm.robot, "joint", columns).rows([noisy(arm.robot)])
    theta = np.random.default_rng(0).normal(size=columns.n)
    expected = sum(np.sum((b.target - b.Y @ theta) ** 2, axis=0) for b in rows)
    for way in ("triangle", "gram"):
        np.testing.assert_allclose(stream(rows, way=way).squares(theta), expected, rtol=1e-10)


@settings(max_examples=12)
@given(
    cuts=st.lists(st.integers(1, 499), max_size=3, unique=True),
    threads=st.integers(1, 3),
    batch=st.sampled_from([16, 32, 64]),
    rows=st.sampled_from([16, 48, 128]),
)
def test_any_cutting_any_batches_and_any_threads_give_the_same(cuts, threads, batch, rows):
    robot = load("demo_arm")
    part = noisy(robot, samples=500)
    columns = every_column(robot, "joint")
    whole = stream(Setup(robot, "joint", columns).rows([part])).information()
    edges = [0, *sorted(cuts), 500]
    parts = [part.part(slice(a, b)) for a, b in pairwise(edges)]
    same(stream(Setup(robot, "joint", columns).rows(parts), threads=threads).information(), whole)
    filtered = Setup(robot, "joint", columns, filter=Filter(cutoff=15.0, rate=200.0)).rows([part])
    same(stream(filtered, threads=threads).information(), stream(filtered).information())
    worker = Worker(
        Structure(robot, flat_tree(robot), columns, "joint"), "triangle", batch=batch, rows=max(rows, batch)
    )
    worker.run(part, np.arange(500), np.ones(1))
    for ours, theirs in zip(
        worker.finish(), stream(Setup(robot, "joint", columns).rows([part])).factors[False], strict=True
    ):
        np.testing.assert_allclose(ours.T @ ours, theirs.T @ theirs, rtol=1e-9, atol=1e-9)


def test_segments_that_need_no_filter_may_follow_those_that_do(arm):
    columns = Columns(tuple(b.name for b in arm.robot.bodies))
    segments = [noisy(arm.robot, seed=1), noisy(arm.robot, seed=2, samples=200, rate=15.0)] * 2
    rows = Setup(arm.robot, "joint", columns, filter=Filter(cutoff=10.0, rate=200.0)).rows(segments)
    same(stream(rows).information(), dense(rows, columns.names, np.ones(len(rows.names))))


def test_streams_add_up(arm):
    columns = Columns(tuple(b.name for b in arm.robot.bodies))
    a, b = (Setup(arm.robot, "joint", columns).rows([noisy(arm.robot, seed=k)]) for k in (1, 2))
    both = Setup(arm.robot, "joint", columns).rows([*a.segments, *b.segments])
    for way in ("triangle", "gram"):
        same((stream(a, way=way) + stream(b, way=way)).information(), stream(both, way=way).information())


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_seven_columns_a_revolute_joint_four_a_prismatic_and_ten_a_base_are_enough(name):
    robot = load(name)
    tree = flat_tree(robot)
    grouping = Grouping.of(tree)
    rows = Setup(robot, "full", every_column(robot, "base")).rows(
        [segment(robot, np.random.default_rng(0), samples=40)]
    )
    Y = np.concatenate([b.Y for b in rows])
    at = [10 * (tree.nodes[b.name] - 1) + k for b in robot.bodies for k in range(10)]
    wide = np.zeros((*Y.shape[:2], 10 * tree.bodies))
    wide[:, :, at] = Y
    assert np.abs(wide - wide[:, :, grouping.kept] @ grouping.matrix).max() < 1e-13 * np.abs(wide).max()
    joints = [robot.model.joints[j].shortname() for j in range(1, robot.model.njoints)]
    slides, turns = (sum(j.startswith(f"JointModel{kind}") for j in joints) for kind in ("P", "R"))
    assert len(grouping.kept) == (10 if robot.floating else 0) + 7 * turns + 4 * slides
    if robot.floating:  # and no fewer
        assert np.linalg.matrix_rank(wide.reshape(-1, wide.shape[2])) == len(grouping.kept)


def digits(streamed, truth):
    return -np.log10(np.max(np.abs(streamed / truth - 1)))


def test_triangles_keep_the_digits_that_gram_matrices_lose():
    x = np.arange(21.0)
    powers = np.vander(x, 6, increasing=True)  # NIST's Wampler1: y = 1 + x + … + x⁵, all certified values are 1
    X = np.ascontiguousarray(np.column_stack([powers, powers.sum(axis=1)]).T)
    R, G = np.zeros((7, 7)), np.zeros((7, 7))
    blas.gram(X.copy(), G)()
    blas.triangle(X.copy(), R)()
    by_triangle = np.linalg.solve(R.T[:6, :6], R.T[:6, 6])
    by_gram = np.linalg.solve(G[:6, :6] + np.tril(G[:6, :6], -1).T, G[6, :6])
    assert digits(by_triangle, np.ones(6)) > 9
    assert digits(by_gram, np.ones(6)) < digits(by_triangle, np.ones(6)) - 1.5


def test_the_null_space_is_zero_to_rounding_in_triangles_and_to_its_root_in_gram_matrices(arm):
    part = noisy(arm.robot)
    still = replace(part, q=0 * part.q + 0.3, v=0 * part.v, a=0 * part.a)
    columns = Columns(tuple(b.name for b in arm.robot.bodies))
    rows = Setup(arm.robot, "joint", columns).rows([still])
    rank = np.linalg.matrix_rank(np.concatenate([b.Y for b in rows]).reshape(-1, columns.n))
    unseen = {}
    for way in ("triangle", "gram"):
        values = np.linalg.svd(stream(rows, way=way).information().R, compute_uv=False)
        unseen[way] = values[rank] / values[0]
    assert unseen["triangle"] < 1e-14
    assert unseen["gram"] > 30 * unseen["triangle"]


@installed
def test_rows_without_contact_forces_have_no_blocks(a1_robot):
    columns = Columns(tuple(b.name for b in a1_robot.bodies))
    rows = Setup(a1_robot, "contact-free", columns, tuple([foot(a1_robot, f) for f in FEET])).rows([noisy(a1_robot)])
    assert stream(rows) is None


@installed
@pytest.mark.parametrize("widest", [0, 20, None])
def test_gram_matrices_are_the_same_by_tiles_and_by_dsyrk(monkeypatch, a1_robot, widest):
    columns = every_column(a1_robot, "full")
    rows = Setup(a1_robot, "full", columns).rows([noisy(a1_robot)])
    weights = np.ones(len(rows.names))
    monkeypatch.setattr(gram, "widest", lambda: widest)
    same(stream(rows, way="gram").information(weights), dense(rows, columns.names, weights))


@pytest.mark.parametrize("hold_out", [None, 2.0])
def test_identification_from_streamed_rows_and_from_rows_in_memory_agree(monkeypatch, arm, hold_out):
    monkeypatch.setattr(regressor, "COMPILED_FROM", 0)
    options = Options(method="least-squares", friction="all", hold_out=hold_out)
    streams, own = [], Training.channels
    monkeypatch.setattr(Training, "channels", lambda self: streams.append(own(self)) or streams[-1])
    ours = identify("demo_arm", [arm.train], options)
    assert streams[0].count * len(arm.robot.joints) == ours.estimate.rows
    monkeypatch.setattr(Training, "channels", lambda self: None)
    theirs = identify("demo_arm", [arm.train], options)
    # One direction of this log is seen 10⁻¹¹ as well as the others: the first solution, without a prior, has it from
    # rounding, and weighing stops at 1 %. Rows by Pinocchio differ from compiled ones by as much.
    assert np.abs(ours.theta - theirs.theta).max() < 1e-7 * np.abs(theirs.theta).max()
    G, H = (x.information.R.T @ x.information.R for x in (ours, theirs))
    assert np.abs(G - H).max() < 1e-6 * np.abs(H).max()


def variants(log):
    """The same log with even stamps, with jittered ones, and with holes."""
    rng, t = np.random.default_rng(1), log.time
    yield "even", log
    jittered = t + rng.uniform(-0.2, 0.2, len(t)) * (t[1] - t[0])
    yield "jittered", replace(log, time=jittered)
    keep = np.ones(len(t), bool)
    keep[len(t) // 3 : len(t) // 3 + 40] = keep[len(t) // 2 : len(t) // 2 + 200] = False
    yield "holes", replace(log, time=t[keep], columns={k: x[keep] for k, x in log.columns.items()})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".npz"])
def test_a_file_read_in_pieces_gives_the_information_of_the_whole(tmp_path, arm, suffix):
    log = simulate_arm(arm.robot, arm.truth, seed=3, seconds=25.0, friction=arm.friction)
    options = Options(friction="all", filter=Filter(delay=0.002).for_logs([log]))
    for kind, variant in variants(log):
        path = tmp_path / f"{kind}{suffix}"
        write_log(path, variant)
        setup = Setup.of(arm.robot.description, [variant], options)
        segments, _ = prepare(setup.robot, read_log(path), options.filter, torques=True)
        rows = Setup(setup.robot, setup.equations, setup.columns, filter=options.filter).rows(segments)
        weights = np.linspace(0.5, 2.0, len(rows.names))
        seen = []
        streamed = stream_log(arm.robot.description, [path], options, piece_bytes=60_000, progress=seen.append)
        same(streamed.channels.information(weights), dense(rows, setup.columns.names, weights), 1e-11)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0
        assert len(seen) == 1 if suffix == ".npz" else len(seen) > 5


@pytest.mark.slow
@installed
@pytest.mark.parametrize("equations", ["full", "base", "joint"])
def test_a_floating_robot_is_streamed_from_its_file(tmp_path, a1_robot, equations):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=6.0, wrenches=True)
    write_log(tmp_path / "a1.parquet", log)
    options = Options(equations=equations, filter=Filter().for_logs([log]))
    setup = Setup.of(a1_robot.description, [log], options)
    segments, _ = prepare(setup.robot, log, options.filter, torques=equations != "base")
    rows = Setup(setup.robot, equations, setup.columns, filter=options.filter).rows(segments)
    weights = np.linspace(0.5, 2.0, len(rows.names))
    streamed = stream_log("a1", [tmp_path / "a1.parquet"], options, piece_bytes=300_000, threads=2)
    same(streamed.channels.information(weights), dense(rows, setup.columns.names, weights), 1e-11)


@pytest.mark.slow
@installed
@pytest.mark.parametrize(("tilt", "tolerance"), [(False, 1e-9), (True, 1e-4)])
def test_a_legged_robot_without_force_sensors_is_streamed_from_its_file(tmp_path, a1_robot, tilt, tolerance):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=30.0 if tilt else 8.0, rate=200.0, noise=(1e-4, 5e-3, 0.05, 0.2))
    if tilt:  # up follows from the inertial sensor alone
        columns = {k: x for k, x in log.columns.items() if not k.startswith("base.quaternion")}
        log = replace(log, columns=columns)
    write_log(tmp_path / "a1.parquet", log)
    options = Options(feet=FEET, links=("base",), filter=Filter().for_logs([log]))
    setup = Setup.of(a1_robot.description, [log], options)
    segments, _ = prepare(setup.robot, log, options.filter, torques=True)
    rows = Setup(setup.robot, setup.equations, setup.columns, tuple(setup.unknown), options.filter).rows(segments)
    assert setup.equations == "contact-free"
    weights = np.linspace(0.5, 2.0, len(rows.names))
    streamed = stream_log("a1", [tmp_path / "a1.parquet"], options, piece_bytes=200_000, threads=2)
    assert streamed.channels.names == rows.names
    same(streamed.channels.information(weights), dense(rows, setup.columns.names, weights), tolerance)


def test_several_files_add_up_and_equations_are_weighted_by_their_own_noise(tmp_path, arm):
    sigma = np.linspace(0.1, 2.0, len(arm.robot.joints))
    rng, paths = np.random.default_rng(0), []
    for k in range(2):
        log = simulate_arm(arm.robot, arm.truth, seed=40 + k, seconds=20.0, noise="none")
        columns = dict(log.columns)
        for joint, s in zip(arm.robot.joints, sigma, strict=True):
            columns[f"tau.{joint}"] = columns[f"tau.{joint}"] + s * rng.normal(size=len(log))
        paths.append(tmp_path / f"{k}.parquet")
        write_log(paths[-1], replace(log, columns=columns))
    options = Options(filter=Filter(cutoff=30.0))
    streamed = stream_log("demo_arm", paths, options)
    ratio = streamed.weights() * sigma
    assert ratio.max() / ratio.min() < 1.2
    alone = [stream_log("demo_arm", [path], options).channels for path in paths]
    same((alone[0] + alone[1]).information(), streamed.channels.information(), 1e-11)
    assert streamed.information().rows == streamed.channels.count * len(sigma)
    assert 30.0 < streamed.seconds < 40.0


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, arm):
    log = simulate_arm(arm.robot, arm.truth, seed=3, seconds=20.0)
    peaks = []
    for times in (2, 8):
        steps = np.arange(times)[:, None] * (log.time[-1] + 0.005)
        longer = {k: np.tile(x, times) for k, x in log.columns.items()}
        path = tmp_path / f"{times}.csv"
        write_log(path, replace(log, time=(steps + log.time).ravel(), columns=longer))
        tracemalloc.start()
        stream_log("demo_arm", [path], piece_bytes=200_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".npz"])
def test_pieces_joined_are_the_log(tmp_path, arm, suffix):
    log = replace(read_log(arm.train).cut(0, 1001), metadata={"imu_frame": "x"})
    path = tmp_path / f"log{suffix}"
    write_log(path, log)
    whole = read_log(path)
    for size in (3_000, 50_000, 10**8):
        parts = [piece.log for piece in read_pieces(path, size)]
        assert all(len(part) >= 2 for part in parts)
        joined = parts[0]
        for part in parts[1:]:
            joined = joined.then(part)
        np.testing.assert_array_equal(joined.time, whole.time)
        assert joined.columns.keys() == whole.columns.keys()
        assert all(np.array_equal(joined.columns[c], whole.columns[c]) for c in whole.columns)
        assert joined.metadata == whole.metadata


def test_a_fault_in_the_middle_of_a_file_is_refused_with_its_place(tmp_path):
    t = np.arange(4000) / 100
    good = Log.from_columns({"time": t, "q.a": np.sin(t)})
    path = tmp_path / "log.csv"
    write_log(path, good)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3000], b"30.0,oops\n", *lines[3001:]]))
    with refuses(LogError, "cell-not-number", "line 3001, q.a"):
        list(read_pieces(path, 10_000))
    path.write_bytes(b"".join([*lines[:3000], *lines[1:]]))
    with refuses(LogError, "time-not-increasing", "time"):
        list(read_pieces(path, len(b"".join(lines[:3000]))))
    write_log(tmp_path / "back.parquet", replace(good, time=np.concatenate([t[:2000], t[:2000]])))
    with refuses(LogError, "time-not-increasing", "rows from 2000, time"):
        list(read_pieces(tmp_path / "back.parquet", 2000 * 16))
    path.write_bytes(lines[0])
    with refuses(LogError, "rows-too-few", "time"):
        list(read_pieces(path))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"".join(lines))[:-200])
    with refuses(LogError, "file-unreadable", "cut.csv.gz"):
        list(read_pieces(tmp_path / "cut.csv.gz"))
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and nothing else")
    with refuses(LogError, "file-unreadable", "no.parquet"):
        list(read_pieces(tmp_path / "no.parquet"))
    assert pieces.PIECE_BYTES > 10_000


def test_what_cannot_be_streamed_is_refused_with_a_way_out(tmp_path, arm):
    with refuses(UsageError, "logs-missing", "logs"):
        stream_log("demo_arm", [])
    short = tmp_path / "short.parquet"
    write_log(short, read_log(arm.train).cut(0, 40))
    with refuses(LogError, "log-too-short", str(short)):
        stream_log("demo_arm", [short])


def test_no_samples_are_no_information():
    robot = load("demo_arm")
    columns = Columns(tuple(b.name for b in robot.bodies))
    streamed = stream(Setup(robot, "joint", columns).rows([])).information()
    assert np.array_equal(streamed.triangle, Information.none(columns.n).triangle)


@pytest.mark.study
@installed
def test_the_study_of_streams_measures_ratios_in_one_run_and_draws_its_picture(capsys):
    result = bench_stream(repeats=1, robots=("a1", "talos"), samples=2000)
    talos = result["talos"]
    assert talos["disagreement"] < 1e-13
    assert talos["ratio"]["gram"] == talos["pinocchio_dsyrk"]["min"] / talos["gram"]["min"]
    assert talos["ratio"]["pinocchio"] == talos["pinocchio"]["min"] / talos["ours"]["min"]
    assert result["memory_MB"]["arrays"] < 10  # and the dense rows of as many samples:
    assert result["memory_MB"]["dense_rows"] > 10 * result["memory_MB"]["arrays"]
    drawing = ElementTree.fromstring(figure(result, "a caption"))
    words = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"samples", "bodies", "shapes", "a caption"} <= words
    good = {
        "talos": {"ratio": dict.fromkeys(PROMISED, 99.0), "products_share": 0.8, "products_all_share": 0.8},
        "samples": {"talos": {"per_sample_ratio": {"gram": 1.0, "triangle": 1.0}}},
        "memory_MB": {"arrays": 5.0},
        "threads": {"gram": 1.8, "triangle": 1.8},
    }
    assert kept(good)
    for path, bad in (
        (("talos", "ratio", "gram"), 1.0),
        (("talos", "products_all_share"), 0.5),
        (("threads", "gram"), 1.2),
        (("samples", "talos", "per_sample_ratio", "gram"), 0.85),
        (("memory_MB", "arrays"), 50.0),
    ):
        broken = deepcopy(good)
        at = broken
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = bad
        assert not kept(broken)
    assert capsys.readouterr().err.count("promised") == 5


@pytest.mark.slow
@installed
def test_gather_takes_a_walk_without_force_sensors_and_identify_resumes_from_it(steelyard, tmp_path, a1_robot):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=3.0, noise=(1e-4, 5e-3, 0.05, 0.2))
    write_log(tmp_path / "a1.parquet", log)
    done = steelyard("gather", "a1", tmp_path / "a1.parquet", "--feet", ",".join(FEET), "-o", tmp_path / "i.npz")
    assert done.code == 0
    kept = Information.load(tmp_path / "i.npz")
    again = identify("a1", [log], Options(feet=FEET), job=Job(earlier=kept))
    assert again.information.rows == 2 * kept.rows
    assert again.estimate.certificate.holds


def test_gather_writes_the_information_of_logs_and_shows_its_progress(steelyard, arm, tmp_path):
    file = tmp_path / "new" / "information.npz"
    done = steelyard("gather", "demo_arm", arm.train, arm.test, "--friction", "all", "-o", file)
    assert done.code == 0
    assert "reading, 100 %" in done.err
    expected = stream_log("demo_arm", [arm.train, arm.test], Options(friction="all")).information()
    same(Information.load(file), expected)
    assert f"{expected.rows} rows of " in done.out
    streamed = json.loads(steelyard("gather", "demo_arm", arm.train, "-o", file, "--json", "--threads", 2).out)
    assert list(streamed["noise"]) == list(arm.robot.joints)
    assert streamed["rows"] < expected.rows
    for place in (tmp_path / "information.txt", arm.train):
        refused = steelyard("gather", "demo_arm", arm.train, "-o", place)
        assert refused.code == 2
        assert f"  -o {place}: " in refused.err
        assert "[option-value]" in refused.err


def test_what_was_gathered_helps_an_identification(arm):
    options = Options(friction="all", filter=Filter(10.0, 20.0, 200.0))
    gathered = stream_log("demo_arm", [arm.test], options).information()
    alone = identify("demo_arm", [arm.train], options).estimate
    further = identify("demo_arm", [arm.train], options, job=Job(earlier=gathered)).estimate
    assert further.rows > alone.rows
    spread = [np.median([b.std[0] for b in e.bodies]) for e in (alone, further)]
    assert spread[1] < spread[0]
