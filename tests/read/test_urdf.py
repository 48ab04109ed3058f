"""A URDF means to us what it means to Pinocchio, on every robot of example-robot-data."""

from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import DescriptionError
from steelyard.robot import index
from steelyard.robot.description import read_description
from tests.refusals import noted

pin = pytest.importorskip("pinocchio")

DATA = index._example_robot_data()
REFUSED = {
    "ur3.urdf": "description-empty",
    "romeo_laas_small.urdf": "path-escapes-folder",
    "alex_psyonic_hands.urdf": "name-unknown",
}
FILES = sorted(DATA.rglob("*.urdf")) if DATA else []


def motion(joint, q):
    T = np.eye(4)
    if joint.kind in ("revolute", "continuous"):
        T[:3, :3] = pin.exp3(joint.axis * q)
    elif joint.kind == "prismatic":
        T[:3, 3] = joint.axis * q
    return T


def forward(description, q):
    """Pose of every link in the root's frame, as the classes' docstrings define it."""
    poses = {description.root: np.eye(4)}
    left = list(description.joints.values())
    while left:
        for joint in [j for j in left if j.parent in poses]:
            poses[joint.child] = poses[joint.parent] @ joint.placement @ motion(joint, q.get(joint.name, 0.0))
            left.remove(joint)
    return poses


def parameters(link, T):
    """The ten parameters of a link about the origin of the frame that T places it in."""
    R, c = T[:3, :3], T[:3, :3] @ link.com + T[:3, 3]
    inertia = R @ link.inertia @ R.T + link.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([link.mass, *(link.mass * c), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES, ids=[f"{p.parts[-3]}/{p.stem}" for p in FILES])
def test_masses_inertias_and_kinematics_agree_with_pinocchio(path):
    if path.name in REFUSED:
        with pytest.raises(DescriptionError) as error:
            read_description(path)
        assert {f.code for f in error.value.findings} == {REFUSED[path.name]}
        return
    description = read_description(path)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(0)
    q, named = pin.neutral(model), {}
    for i, name in enumerate(model.names[1:], 1):
        named[name] = angle = rng.uniform(-1, 1)
        joint = model.joints[i]
        q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
    pin.framesForwardKinematics(model, data, q)
    poses = forward(description, named)
    groups = np.zeros((model.njoints, 10))
    for name, link in description.links.items():
        frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
        expected = data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous
        np.testing.assert_allclose(poses[name], expected, atol=1e-12)
        groups[frame.parentJoint] += parameters(link, frame.placement.homogeneous)
    root = model.frames[model.getFrameId(description.root, pin.FrameType.BODY)].parentJoint
    for i, body in enumerate(groups):
        if i != root:  # Pinocchio drops the root link's own inertia on a fixed base
            expected = model.inertias[i].toDynamicParameters()
            np.testing.assert_allclose(body, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_the_floating_root_agrees_with_pinocchio_too():
    path = index.find_description("talos")
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    total = sum(link.mass for link in read_description(path).links.values())
    assert total == pytest.approx(pin.computeTotalMass(model), abs=1e-12 * total)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_every_mesh_of_the_named_robots_exists():
    for entry in index.robots():
        description = read_description(entry.path)
        assert "mesh-missing" not in [n.code for n in description.notices], entry.name
        for link in description.links.values():
            for shape in link.collision + link.visual:
                assert shape.kind != "mesh" or shape.mesh.is_file()


URDF = """<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="1" ixy="0.1" ixz="0" iyy="2" iyz="0" izz="3"/>
    </inertial>
    <collision><origin xyz="0 0 1"/><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
    <visual><geometry><mesh filename="%s" scale="1 -1 1"/></geometry></visual>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" velocity="3" effort="inf"/>
  </joint>
</robot>
"""


def write(folder, text, name="two.urdf"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_inertia_is_turned_into_link_axes_and_axis_is_normalised(tmp_path):
    description = read_description(write(tmp_path, URDF % "a.stl"))
    arm, turn = description.links["arm"], description.joints["turn"]
    np.testing.assert_allclose(arm.inertia, [[2, -0.1, 0], [-0.1, 1, 0], [0, 0, 3]], atol=1e-15)
    assert (turn.axis == [0, 0, 1]).all()
    assert (turn.lower, turn.upper, turn.velocity, turn.effort) == (-1, 2, 3, np.inf)
    assert (arm.line, turn.line, description.root) == (3, 12, "base")
    assert arm.collision[0].kind == "cylinder"
    assert arm.collision[0].size == (0.1, 2.0)
    assert arm.visual[0].size == (1, -1, 1)
    assert not description.links["base"].inertial
    assert len(description.sha256) == 64


def test_missing_meshes_are_one_notice(tmp_path):
    description = read_description(write(tmp_path, URDF % "a.stl"))
    (notice,) = description.notices
    assert (notice.code, notice.where, notice.remedy) == ("mesh-missing", "a.stl", {"meshes": 1})
    assert description.links["arm"].visual[0].mesh is None


@pytest.mark.parametrize(
    "name",
    [
        "package://pkg/meshes/a.stl",
        "package:///pkg/meshes/a.stl",
        "model://pkg/meshes/a.stl",
        "../meshes/a.stl",
        "{pkg}/meshes/a.stl",
        "file://{pkg}/meshes/a.stl",
        "package://beside/a.stl",
        "package://given/a.stl",
    ],
)
def test_meshes_are_resolved_in_the_package_beside_it_and_in_given_folders(tmp_path, name):
    pkg = tmp_path / "src/pkg"
    for file in (pkg / "meshes/a.stl", tmp_path / "src/beside/a.stl", tmp_path / "other/given/a.stl"):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    path = write(pkg / "urdf", URDF % name.format(pkg=pkg))
    for folder in (tmp_path / "other", tmp_path / "other/given"):
        mesh = read_description(path, [folder]).links["arm"].visual[0].mesh
        assert mesh is not None
        assert mesh.is_file()


def test_an_address_on_the_net_is_never_fetched_and_is_a_notice(tmp_path):
    description = read_description(write(tmp_path, URDF % "https://example.org/a.stl"))
    assert noted(description.notices) == [("mesh-missing", "https://example.org/a.stl")]


@pytest.mark.parametrize("name", ["x" * 5000, "ring/a.stl"])
def test_a_mesh_name_that_the_file_system_refuses_is_a_notice(tmp_path, name):
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    description = read_description(write(tmp_path, URDF % name))
    assert noted(description.notices) == [("mesh-missing", name)]


def test_a_robot_without_a_name_takes_that_of_its_file(tmp_path):
    description = read_description(write(tmp_path, '<robot><link name="a"/></robot>', "ur.urdf"))
    assert description.name == "ur"
    assert noted(description.notices) == [("robot-unnamed", "ur.urdf")]


def test_a_joint_without_limits_is_a_notice(tmp_path):
    text = (URDF % "a.stl").replace('<limit lower="-1" upper="2" velocity="3" effort="inf"/>', "")
    description = read_description(write(tmp_path, text))
    assert ("limits-missing", "turn") in noted(description.notices)
    assert description.joints["turn"].upper == np.inf


def test_limits_of_a_continuous_joint_do_not_bound_it(tmp_path):
    text = (URDF % "a.stl").replace('"revolute"', '"continuous"')
    turn = read_description(write(tmp_path, text)).joints["turn"]
    assert (turn.lower, turn.upper, turn.velocity) == (-np.inf, np.inf, 3)


def test_one_absent_bound_is_zero_as_urdf_defines(tmp_path):
    turn = read_description(write(tmp_path, (URDF % "a.stl").replace('lower="-1" ', ""))).joints["turn"]
    assert (turn.lower, turn.upper) == (0, 2)


def test_shapes_without_volume_and_of_unknown_kind_are_notices(tmp_path):
    shapes = '<geometry><cone/></geometry></collision><collision><geometry><box size="0 0 0"/></geometry>'
    text = (URDF % "a.stl").replace('<geometry><cylinder radius="0.1" length="2"/></geometry>', shapes)
    notices = read_description(write(tmp_path, text)).notices
    assert [n.remedy for n in notices if n.code == "shape-flat"] == [{"shapes": 1}]
    assert ("shape-unknown", "link 'arm'") in noted(notices)


def test_mimic_is_kept(tmp_path):
    text = (URDF % "a.stl").replace(
        "</robot>",
        '<link name="b"/><joint name="follow" type="prismatic"><parent link="arm"/><child link="b"/>'
        '<mimic joint="turn" multiplier="-2"/></joint></robot>',
    )
    mimic = read_description(write(tmp_path, text)).joints["follow"].mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("turn", -2, 0)


def test_rounding_below_zero_is_not_a_negative_inertia(tmp_path):
    text = (URDF % "a.stl").replace('ixx="1"', 'ixx="-5.42101e-20"')
    assert read_description(write(tmp_path, text)).links["arm"].mass == 2


def test_a_string_path_reads_as_a_path(tmp_path):
    path = write(tmp_path, URDF % "a.stl")
    assert read_description(str(path)).path == Path(path)
