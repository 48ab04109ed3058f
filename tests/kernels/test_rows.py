"""Rows by compiled kernels are those by Pinocchio, for every robot, every kind of equation and every kind of column."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.equations import rows as regressor
from steelyard.equations.columns import FRICTION, Columns
from steelyard.equations.coupled_motors import Motor
from steelyard.equations.filters import Filter
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.errors import DescriptionError
from steelyard.robot import index
from steelyard.robot.flat_tree import flat_tree
from steelyard.robot.model import Robot
from tests.motions import SENSORS, installed, load, segment, smooth

pytestmark = pytest.mark.numerical

NAMES = [entry.name for entry in index.robots()]


def both(monkeypatch, robot, segments, columns, equations, unknown=(), filter=None):
    """Names, Y and target of the same rows, compiled and by Pinocchio."""
    ways = []
    for least in (0, 10**9):
        monkeypatch.setattr(regressor, "COMPILED_FROM", least)
        rows = Setup(robot, equations, columns, tuple(unknown), filter).rows(segments)
        assert (rows.tree is None) == (least > 0)
        blocks = list(rows)
        ways.append((rows.names, np.concatenate([b.Y for b in blocks]), np.concatenate([b.target for b in blocks])))
    return ways


def agree(ways, tolerance=1e-10):
    """To a share of the largest entry of each row of equations."""
    (names, Y, target), (expected, Z, goal) = ways
    assert names == expected
    assert np.abs(Z).max() > 0
    for ours, theirs in ((Y, Z), (target, goal)):
        scale = np.abs(theirs).max(axis=tuple(range(2, theirs.ndim)), keepdims=True)
        scale = np.maximum(scale, 1e-3 * np.abs(theirs).max())
        assert np.abs(ours - theirs).max(initial=0) <= tolerance * scale.max()
        assert np.all(np.abs(ours - theirs) <= tolerance * scale)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_every_robot_of_the_index_are_pinocchios(monkeypatch, name):
    try:
        robot = Robot.load(name, repair=True)
    except DescriptionError as refused:
        pytest.skip(f"does not load: {refused}")
    assert flat_tree(robot) is not None
    part = segment(robot, np.random.default_rng(0), samples=37)
    columns = Columns(tuple(b.name for b in robot.bodies))
    agree(both(monkeypatch, robot, [part], columns, "full" if robot.floating else "joint"))


@installed
@pytest.mark.parametrize("name", ["a1", "panda"])
@pytest.mark.parametrize("equations", ["joint", "base", "full"])
def test_each_kind_of_equations_and_of_column_is_pinocchios(monkeypatch, name, equations):
    robot = load(name)
    if equations != "joint" and not robot.floating:
        pytest.skip("has no base equations")
    part = segment(robot, np.random.default_rng(1), samples=70)
    wrench = {robot.bodies[-1].name: np.random.default_rng(2).normal(size=(70, 6))}
    current = {robot.joints[0]: np.random.default_rng(3).normal(size=70)}
    terms = [(j, t) for j in robot.joints for t in FRICTION["all"]] + [(robot.joints[0], "gain")]
    motors = (Motor(robot.joints[0], {robot.joints[0]: 2.0, robot.joints[1]: -1.0}),)
    terms += [(robot.joints[0], "motor.viscous")]
    columns = Columns(tuple(b.name for b in reversed(robot.bodies)), tuple(terms), (), motors)
    agree(both(monkeypatch, robot, [replace(part, wrench=wrench, current=current)], columns, equations))


@installed
@pytest.mark.parametrize("name", SENSORS)
def test_readings_of_sensors_inside_a_robot_are_pinocchios(monkeypatch, name):
    robot = Robot.load(name, sensors=SENSORS[name], repair=True)
    rng = np.random.default_rng(4)
    part = segment(robot, rng, samples=20)
    readings = {s.name: rng.normal(size=(20, len(s.rows))) for s in robot.sensors}
    below = robot.sensors[0].link
    part = replace(part, sensor=readings, wrench={below: rng.normal(size=(20, 6))})
    offsets = tuple((s.name, c) for s in robot.sensors for c in s.components)
    columns = Columns(tuple(b.name for b in robot.bodies), (), offsets)
    agree(both(monkeypatch, robot, [part], columns, "full" if robot.floating else "joint"))


@installed
@pytest.mark.parametrize("loaded", [True, False])
def test_a_load_on_a_link_is_pinocchios(monkeypatch, loaded):
    robot = load("a1").with_load("trunk")
    part = replace(segment(robot, np.random.default_rng(5), samples=20), loaded=loaded)
    agree(both(monkeypatch, robot, [part], Columns(tuple(b.name for b in robot.bodies)), "full"))


@installed
@pytest.mark.parametrize(
    ("name", "feet"),
    [
        ("a1", ("FR_foot:point:0.02", "FL_foot", "RR_foot", "RL_foot")),  # eliminated leg by leg
        ("b1_z1", ("FR_foot", "FL_foot", "RR_foot", "RL_foot")),  # and an arm that touches nothing
        ("talos", ("left_sole_link:surface", "right_sole_link:point")),  # by the whole Jacobian
        ("pr2", ("r_gripper_palm_link:point",)),  # joints that follow others
    ],
)
def test_contact_free_rows_are_those_of_pinocchio_and_the_whole_projection(monkeypatch, name, feet):
    robot = load(name)
    part = smooth(robot, 6, samples=150, around=0.5)
    columns = Columns(tuple(b.name for b in robot.bodies))
    feet = [foot(robot, f) for f in feet]
    agree(both(monkeypatch, robot, [part], columns, "contact-free", feet, Filter(10.0)))


@installed
@pytest.mark.parametrize("chunk", [48e6, 2e5])
def test_contact_free_rows_through_a_straight_knee_are_the_same(monkeypatch, chunk):
    monkeypatch.setattr(regressor, "CHUNK_BYTES", chunk)
    robot = load("a1")
    part = smooth(robot, 7, samples=300, around=0.5)
    q = part.q.copy()
    q[:, robot.joints.index("FR_calf_joint")] = -0.4 + 0.8 * np.sin(np.pi * part.time)
    q[:, robot.joints.index("FR_thigh_joint")] = 0.3
    feet = [foot(robot, f"{f}_foot:point") for f in ("FR", "FL", "RR", "RL")]
    columns = Columns(tuple(b.name for b in robot.bodies))
    agree(both(monkeypatch, robot, [replace(part, q=q)], columns, "contact-free", feet), 1e-9)


@installed
def test_gravity_of_the_model_is_what_a_fixed_base_feels(monkeypatch):
    robot = load("ur10")
    model = robot.model.copy()
    model.gravity.linear = np.array([1.0, -2.0, 3.0])
    part = segment(robot, np.random.default_rng(8), samples=20)
    columns = Columns(tuple(b.name for b in robot.bodies))
    agree(both(monkeypatch, replace(robot, model=model), [part], columns, "joint"))


def test_a_robot_with_a_joint_that_kernels_do_not_cover_keeps_to_pinocchio(monkeypatch):
    monkeypatch.setattr(regressor, "COMPILED_FROM", 0)
    robot = load("demo_arm")
    model = pin.Model()
    model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    assert flat_tree(replace(robot, model=model)) is None


def test_the_number_of_samples_alone_decides_whether_rows_are_compiled():
    robot, rng = load("demo_arm"), np.random.default_rng(9)
    columns = Columns(tuple(b.name for b in robot.bodies))
    half = segment(robot, rng, samples=12_500)
    assert Setup(robot, "joint", columns).rows([half]).tree is None
    assert Setup(robot, "joint", columns).rows([half, half]).tree is not None


def test_short_logs_load_no_numba():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np; from tests.motions import load, segment;"
        "from steelyard.equations.columns import Columns; from steelyard.equations.setup import Setup;"
        "r = load('demo_arm'); s = Setup(r, 'joint', Columns(tuple(b.name for b in r.bodies)));"
        "list(s.rows([segment(r, np.random.default_rng(0), samples=500)])); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
