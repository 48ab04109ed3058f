"""Self-collisions are detected at and between samples, and only those."""

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import DescriptionError
from steelyard.experiment.excite.collision import Collisions
from steelyard.experiment.excite.collision_pairs import find_srdf, read_srdf
from steelyard.experiment.excite.convex_pieces import segment_distance
from steelyard.robot.model import Robot
from tests.motions import installed, load

LINK = """<link name="{0}"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>{1}</link>"""
JOINT = """<joint name="{0}" type="{4}"><parent link="{1}"/><child link="{2}"/><origin xyz="{3}"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="10" velocity="9"/></joint>"""
BAR = '<collision><origin xyz="0 0 0.25"/><geometry><box size="0.02 0.02 0.5"/></geometry></collision>'
BALL = '<collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.05"/></geometry></collision>'


@pytest.fixture
def scissors(tmp_path):
    """A bar that turns about y, and a ball that slides along y through the bar's plane."""
    text = '<robot name="scissors"><link name="base"/>' + LINK.format("bar", BAR) + LINK.format("ball", BALL)
    text += JOINT.format("turn", "base", "bar", "0 0 0", "revolute")
    text += JOINT.format("slide", "base", "ball", "0 0 0.1", "prismatic")
    path = tmp_path / "scissors.urdf"
    path.write_text(text + "</robot>")
    return path


def limits(robot):
    joints = [robot.description.joints[j] for j in robot.joints]
    return [np.clip([getattr(j, side) for j in joints], -np.pi, np.pi) for side in ("lower", "upper")]


def random_motion(robot, rng, samples=60, share=0.5):
    low, high = limits(robot)
    t = np.linspace(0, 3, samples)
    a, phase = rng.normal(size=(2, len(low))) * share * (high - low) / 4, rng.uniform(0, 6, (2, len(low)))
    w = np.array([2.0, 5.0])[:, None]
    q = sum(a[k] * np.sin(w[k] * t[:, None] + phase[k]) for k in range(2)) + rng.uniform(low, high)
    v = sum(a[k] * w[k] * np.cos(w[k] * t[:, None] + phase[k]) for k in range(2))
    return t, q, v


def test_a_contact_between_two_free_samples_is_detected(scissors):
    robot = Robot.load(scissors)
    collisions = Collisions.of(robot)
    assert len(collisions.pairs) == 1
    times, q = np.array([0.0, 1.0]), robot.positions(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert collisions.first_collision(q) is None
    contact = collisions.find_contact(times, q)
    assert contact is not None
    assert {contact.first, contact.second} == {"bar", "ball"}
    assert 0.2 < contact.time < 0.8
    assert contact.distance < contact.clearance
    still = np.array([[-1.0, 0.2], [1.0, 0.2]])
    assert collisions.find_contact(times, robot.positions(still)) is None  # the ball is beside the bar's way
    assert collisions.find_contact(times[:1], q[:1]) is None
    assert collisions.find_contact(times[:1], robot.positions(np.zeros((1, 2)))) is not None


def test_a_motion_is_interpolated_by_its_velocities_where_they_are_given(scissors):
    robot = Robot.load(scissors)
    collisions = Collisions.of(robot)
    times, q = np.array([0.0, 1.0]), robot.positions(np.array([[-0.5, 0.0], [-0.5, 0.0]]))
    assert collisions.find_contact(times, q) is None
    assert collisions.find_contact(times, q, np.array([[4.0, 0], [-4.0, 0]])) is not None  # swings by 1 rad and back


@pytest.mark.slow
@installed
@pytest.mark.parametrize(("name", "share"), [("ur10", 0.3), ("talos", 0.04)])
def test_the_first_contact_is_that_of_very_dense_samples(name, share):
    robot = load(name)
    collisions = Collisions.of(robot)
    rng, clear = np.random.default_rng(3), 0
    rest = 0.2 * np.mean(limits(robot), axis=0)  # at zero Talos has its hands in its thighs
    for k in range(8):
        t, q, _ = random_motion(robot, rng, share=share * k / 4)
        Q = robot.positions(q - q[0] + rest)
        dense = np.linspace(0, 3, 600)
        P = np.column_stack([np.interp(dense, t, column) for column in Q.T])
        hit, first = collisions.find_contact(t, Q), collisions.first_collision(P)
        assert (hit is None) == (first is None) == collisions.is_collision_free(t, Q)
        clear += hit is None
        if hit is not None:
            assert abs(dense[first] - hit.time) < 0.06  # a sample
    assert 1 < clear < 8


@installed
def test_poses_are_pinocchios_and_capsules_never_overstate_a_distance():
    robot = load("talos")
    collisions = Collisions.of(robot)
    q = robot.positions(random_motion(robot, np.random.default_rng(0), 5)[1])
    poses = collisions.piece_poses.joints(q)
    data = robot.model.createData()
    for k in range(len(q)):
        pin.forwardKinematics(robot.model, data, q[k])
        for j in range(1, robot.model.njoints):
            np.testing.assert_allclose(poses[k, j], data.oMi[j].homogeneous, atol=1e-12)
    exact = collisions.distances(q, collisions.pairs, np.inf)
    ends, r = collisions.piece_poses.capsules(poses), collisions.piece_poses.radius
    for (a, b), distance in zip(collisions.pairs, exact.T, strict=True):
        assert np.all(segment_distance(ends[:, a], ends[:, b]) - r[a] - r[b] <= distance + 1e-6)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ["panda", "talos"])
def test_distances_change_no_faster_than_the_levers_allow(name):
    robot = load(name)
    collisions = Collisions.of(robot)
    rng = np.random.default_rng(1)
    q = random_motion(robot, rng, 15)[1]
    moved = q + 0.05 * rng.normal(size=q.shape) * (rng.random(q.shape) < 0.2)
    q, moved = robot.positions(q), robot.positions(moved)
    change = np.abs(
        collisions.distances(moved, collisions.pairs, np.inf) - collisions.distances(q, collisions.pairs, np.inf)
    )
    assert np.all(change <= np.abs(moved - q) @ collisions.levers.T + 1e-5)


@installed
def test_gradients_of_distances_are_their_finite_differences():
    robot = load("ur10")
    collisions = Collisions.of(robot)
    q = random_motion(robot, np.random.default_rng(2), 30)[1]
    near, checked = collisions.near_pairs(q, 0.1), 0
    for n in near:
        if n.distance < 1e-3:
            continue  # a face on a face: the normal jumps
        for j in range(6):
            step = np.zeros(6)
            step[j] = 1e-5
            ends = [collisions.distances((q[n.pose] + s * step)[None], collisions.pairs[[n.pair]], np.inf)[0, 0]
                    for s in (1, -1)]  # fmt: skip
            checked += abs((ends[0] - ends[1]) / 2e-5 - n.gradient[j]) < 2e-3
    total = 6 * sum(n.distance >= 1e-3 for n in near)
    assert total > 60
    assert checked > 0.97 * total  # corners of hulls have no gradient


@installed
def test_neighbours_and_pairs_that_always_overlap_are_excluded():
    collisions = Collisions.of(load("talos"))
    why = {frozenset((e.first, e.second)): e.why for e in collisions.excluded}
    assert why[frozenset(("leg_left_1_link", "leg_left_3_link"))] in ("always", "srdf")
    assert why[frozenset(("leg_left_3_link", "leg_left_4_link"))] == "neighbours"
    named = {frozenset(collisions.links(p)) for p in range(len(collisions.pairs))}
    assert frozenset(("leg_left_4_link", "leg_right_4_link")) in named
    assert not named & set(why)
    assert np.all(collisions.clearances > 0)
    assert np.all(collisions.clearances <= 0.01)


def test_an_srdf_excludes_pairs_and_is_selected_by_the_robots_name(scissors):
    folder = scissors.parent / "srdf"
    folder.mkdir()
    off = '<robot name="{}"><disable_collisions link1="bar" link2="ball" reason="Never"/></robot>'
    (folder / "a.srdf").write_text(off.format("another"))
    (folder / "broken.srdf").write_text("<robot")
    robot = Robot.load(scissors)
    assert find_srdf(robot.description) is None
    assert len(Collisions.of(robot).pairs) == 1
    (folder / "mine.srdf").write_text(off.format("scissors"))
    assert find_srdf(robot.description) == folder / "mine.srdf"
    collisions = Collisions.of(robot)
    assert len(collisions.pairs) == 0
    assert [e.why for e in collisions.excluded] == ["srdf"]
    assert collisions.find_contact(np.array([0.0, 1.0]), robot.positions(np.zeros((2, 2)))) is None


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (None, "file-missing", None),
        ("<mujoco/>", "srdf-root", 1),
        ('<robot name="x">\n<disable_collisions link1="a"/></robot>', "srdf-link-missing", 2),
    ],
)
def test_a_file_that_is_no_valid_srdf_is_refused(tmp_path, text, code, line):
    path = tmp_path / "x.srdf"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DescriptionError) as refused:
        read_srdf(path)
    where = str(path) if line is None else f"x.srdf:{line}"
    assert [(f.code, f.where) for f in refused.value.findings] == [(code, where)]


def test_a_body_without_shapes_is_the_middle_of_its_inertias_box_and_listed_as_guessed(scissors):
    assert Collisions.of(Robot.load(scissors)).guessed == ()
    scissors.write_text(scissors.read_text().replace(BAR, ""))
    robot = Robot.load(scissors)
    collisions = Collisions.of(robot)
    assert [p.link for p in collisions.pieces] == ["ball", "bar"]
    assert collisions.guessed == ("bar",)
    low, high = robot.body("bar").box
    reach = np.max(np.linalg.norm([low - (low + high) / 2, high - (low + high) / 2], axis=1))
    piece = collisions.pieces[1]
    assert np.linalg.norm(piece.ends[1] - piece.ends[0]) / 2 + piece.radius < reach
