"""What is written as MJCF is, to MuJoCo, the robot that was described."""

import numpy as np
import pytest

from steelyard.errors import DescriptionError
from steelyard.output.mjcf_writer import to_mjcf
from steelyard.robot import index
from steelyard.robot.description import read_description
from steelyard.spatial import rotation_from_wxyz
from tests.refusals import refuses

mujoco = pytest.importorskip("mujoco", reason="written models are compiled by MuJoCo")

installed = pytest.mark.skipif(not index._example_robot_data(), reason="example-robot-data is not installed")
NAMES = ["a1", "panda", "talos", "g1", "ur10"]


def compiled(description, base, inertials=None):
    return mujoco.MjModel.from_xml_string(to_mjcf(description, inertials or {}, base=base, comment="a -- b"))


def motion(joint, q):
    T = np.eye(4)
    if joint.kind in ("revolute", "continuous"):
        T[:3, :3] = rotation_from_wxyz([np.cos(q / 2), *(np.sin(q / 2) * joint.axis)])
    elif joint.kind == "prismatic":
        T[:3, 3] = joint.axis * q
    return T


def poses(description, q):
    poses = {description.root: np.eye(4)}
    left = list(description.joints.values())
    while left:
        for joint in [j for j in left if j.parent in poses]:
            poses[joint.child] = poses[joint.parent] @ joint.placement @ motion(joint, q.get(joint.name, 0.0))
            left.remove(joint)
    return poses


def group_roots(description):
    """Link → the link its welded group is named after."""
    above = {j.child: j for j in description.joints.values()}

    def top(link):
        return top(above[link].parent) if link in above and above[link].kind == "fixed" else link

    return {link: top(link) for link in description.links}


def pseudo(mass, com, inertia, T):
    """4×4 pseudo-inertia in the frame that T places it in: sums and frame changes in one."""
    second = np.trace(inertia) / 2 * np.eye(3) - inertia + mass * np.outer(com, com)
    P = np.block([[second, mass * com[:, None]], [mass * com[None, :], np.full((1, 1), mass)]])
    return T @ P @ T.T


@installed
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", NAMES)
def test_masses_inertias_and_positions_are_those_of_the_description(name, base):
    description = read_description(name)
    model = compiled(description, base)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q = {}
    for joint in description.joints.values():
        if joint.kind != "fixed":
            q[joint.name] = rng.uniform(-1, 1)
            data.qpos[model.joint(joint.name).qposadr[0]] = q[joint.name]
    mujoco.mj_kinematics(model, data)
    expected, roots = poses(description, q), group_roots(description)
    ours, theirs = {}, {}
    for link in description.links.values():
        group = roots[link.name]
        ours[group] = ours.get(group, 0) + pseudo(link.mass, link.com, link.inertia, expected[link.name])
        if link.name == "world" and base == "fixed":
            continue
        body = model.body("world_link" if link.name == "world" else link.name).id
        np.testing.assert_allclose(data.xpos[body], expected[link.name][:3, 3], atol=1e-9)
        np.testing.assert_allclose(data.xmat[body].reshape(3, 3), expected[link.name][:3, :3], atol=1e-9)
        R = rotation_from_wxyz(model.body_iquat[body])
        inertia = R @ np.diag(model.body_inertia[body]) @ R.T
        own = pseudo(model.body_mass[body], model.body_ipos[body], inertia, expected[link.name])
        theirs[group] = theirs.get(group, 0) + own
    for group, P in theirs.items():
        np.testing.assert_allclose(P, ours[group], atol=1e-8, err_msg=group)
    total = sum(link.mass for link in description.links.values())
    assert model.body_mass.sum() == pytest.approx(total, abs=1e-6)
    assert model.nv == sum(j.kind != "fixed" for j in description.joints.values()) + 6 * (base == "floating")


@installed
@pytest.mark.parametrize("entry", index.robots(), ids=lambda e: e.name)
def test_every_named_robot_compiles_with_its_mass(entry):
    description = read_description(entry.path)
    model = compiled(description, entry.base)
    total = sum(link.mass for link in description.links.values())
    assert model.body_mass.sum() == pytest.approx(total, abs=1e-6)


@installed
def test_limits_and_mimics_survive():
    description = read_description("panda")
    model = compiled(description, "fixed")
    joint = description.joints["panda_joint4"]
    np.testing.assert_allclose(model.joint("panda_joint4").range, [joint.lower, joint.upper])
    assert model.neq == 1


def urdf(tmp_path, body):
    (tmp_path / "r.urdf").write_text(f'<robot name="a &amp; b">{body}</robot>')
    return read_description(tmp_path / "r.urdf")


HEAVY = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
CHAIN = """<link name="a">{a}</link><link name="b">{b}</link>
<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>
<origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>"""


def test_new_values_replace_the_descriptions(tmp_path):
    description = urdf(tmp_path, CHAIN.format(a=HEAVY, b=HEAVY, kind="revolute"))
    values = {"b": (0.3, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))}
    model = compiled(description, "fixed", values)
    assert model.body("b").mass[0] == 0.3
    np.testing.assert_array_equal(model.body("b").ipos, [0.1, 0.2, 0.3])
    assert sorted(model.body("b").inertia) == pytest.approx([0.1, 0.2, 0.25])


def test_a_welded_point_mass_is_added_to_its_parent(tmp_path):
    point = HEAVY.replace('="1"', '="0"')
    model = compiled(urdf(tmp_path, CHAIN.format(a=HEAVY, b=point, kind="fixed")), "floating")
    assert model.body("a").mass[0] == 4
    assert model.body("b").mass[0] == 0
    np.testing.assert_allclose(model.body("a").ipos, [0.5, 0, 0])
    assert sorted(model.body("a").inertia) == pytest.approx([1, 2, 2])


def test_welded_parts_are_added_to_a_point_mass(tmp_path):
    point = HEAVY.replace('="1"', '="0"')
    text = to_mjcf(urdf(tmp_path, CHAIN.format(a=point, b=HEAVY, kind="fixed")), {}, base="floating", comment="")
    model = mujoco.MjModel.from_xml_string(text)
    assert "balanceinertia" not in text
    assert model.body("a").mass[0] == 4
    assert sorted(model.body("a").inertia) == pytest.approx([1, 2, 2])


def test_a_moving_link_without_mass_gets_a_negligible_one(tmp_path):
    model = compiled(urdf(tmp_path, CHAIN.format(a=HEAVY, b="", kind="continuous")), "fixed")
    assert model.body("b").mass[0] == 1e-9


def test_a_moving_body_that_breaks_the_triangle_is_balanced_by_mujoco(tmp_path):
    bad = HEAVY.replace('izz="1"', 'izz="5"')
    model = compiled(urdf(tmp_path, CHAIN.format(a=HEAVY, b=bad, kind="revolute")), "fixed")
    assert model.body("b").mass[0] == 2


def test_a_planar_joint_is_two_slides_and_a_hinge(tmp_path):
    model = compiled(urdf(tmp_path, CHAIN.format(a=HEAVY, b=HEAVY, kind="planar")), "fixed")
    assert [model.joint(i).name for i in range(3)] == ["j.x", "j.y", "j.turn"]
    np.testing.assert_allclose(np.abs(model.jnt_axis @ [0, 0, 1]), [0, 0, 1], atol=1e-15)


def test_a_floating_joint_inside_the_tree_is_refused(tmp_path):
    description = urdf(tmp_path, CHAIN.format(a=HEAVY, b=HEAVY, kind="floating"))
    with refuses(DescriptionError, "joint-kind-unsupported"):
        compiled(description, "fixed")


def test_shapes_are_drawn_and_never_collide(tmp_path):
    shapes = "".join(
        f"<{tag}><geometry><{g}/></geometry></{tag}>"
        for tag in ("visual", "collision")
        for g in (
            'box size="1 2 3"',
            'cylinder radius="1" length="4"',
            'sphere radius="1"',
            'box size="0 0 0"',
        )
    )
    model = compiled(urdf(tmp_path, CHAIN.format(a=HEAVY + shapes, b=HEAVY, kind="revolute")), "fixed")
    assert model.ngeom == 6
    assert not model.geom_contype.any()
    np.testing.assert_array_equal(model.geom_size[0], [0.5, 1, 1.5])
    np.testing.assert_array_equal(model.geom_size[1], [1, 2, 0])


MJCF = """<mujoco><worldbody><body name="one" pos=".1 .2 .3" quat="1 .2 .3 .4"><freejoint/>
  <geom type="capsule" size=".1 .2"/><site name="tip" pos="0 0 .4"/>
  <body name="two" pos="0 0 .4">
  <joint name="x" axis="1 0 0" ref="30"/><joint name="y" axis="0 1 0" pos=".1 0 0"/>
  <geom type="ellipsoid" size=".1 .2 .3"/>
  <body name="three"><joint name="z" type="ball" pos="0 .1 0"/><geom size=".1"/></body></body>
</body></worldbody></mujoco>"""


def test_mjcf_written_from_mjcf_reads_back_the_same(tmp_path):
    (tmp_path / "m.xml").write_text(MJCF)
    first = read_description(tmp_path / "m.xml")
    (tmp_path / "n.xml").write_text(to_mjcf(first, {}, base="floating", comment=""))
    second = read_description(tmp_path / "n.xml")
    assert second.joints.keys() == first.joints.keys()
    assert second.root == first.root == "one"
    for name, link in first.links.items():
        other = second.links[name]
        assert other.mass == pytest.approx(link.mass, abs=2e-9)
        np.testing.assert_allclose(other.com, link.com, atol=1e-12)
        np.testing.assert_allclose(other.inertia, link.inertia, atol=2e-9)
    for name, joint in first.joints.items():
        np.testing.assert_allclose(second.joints[name].placement, joint.placement, atol=1e-12)
    np.testing.assert_allclose(second.frames["tip"][1], first.frames["tip"][1], atol=1e-12)
