"""An MJCF model means to us what it means to MuJoCo."""

import struct

import numpy as np
import pytest

from steelyard.robot.description import read_description
from steelyard.spatial import rotation_from_wxyz
from tests.refusals import noted

mujoco = pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")

ARM = """<mujoco model="arm">
  <compiler angle="degree"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="table" pos="1 0 0"><geom type="box" size=".5 .5 .1"/></body>
    <body name="base" pos="0 .1 .2" euler="10 20 30">
      <inertial pos="0.01 0.02 0.03" quat="1 .2 .3 .4" mass="3" diaginertia=".03 .02 .025"/>
      <body name="universal" pos="0 0 .3" quat="1 .1 .2 .3">
        <joint name="roll" axis="1 0 0" pos="0 0 -.1" ref="20" range="-90 90"/>
        <joint name="lift" type="slide" axis="0 1 1" pos="5 5 5" ref=".1" range="-1 1"/>
        <joint name="pitch" axis="0 1 0.5" pos=".05 0 .02"/>
        <geom name="pad" type="capsule" size=".05" fromto="0 0 0 .1 .1 .3" density="700"/>
        <geom type="ellipsoid" size=".1 .2 .3" contype="0" conaffinity="0" mass="0"/>
        <site name="tool" pos=".1 .2 .3" euler="40 50 60"/>
        <body pos=".2 0 0">
          <geom type="sphere" size=".03" mass="0.2"/>
          <body name="cup" pos=".1 0 0" euler="0 0 45">
            <joint name="swing" type="ball" pos="0 .1 0"/>
            <geom type="cylinder" size=".02 .1" pos="0 0 .1" mass="0.4"/>
            <body name="tip"><joint axis="1 1 1"/><geom type="box" size=".1 .2 .3"/></body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint joint1="pitch" joint2="roll" polycoef="0.1 -2 0 0 0"/>
    <joint joint1="lift" polycoef="0 0 0 0 0"/>
    <joint joint1="lift" joint2="roll" polycoef="0 1 1 0 0" active="false"/>
  </equality>
</mujoco>
"""

DOG = """<mujoco><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint/><geom size=".2" mass="5"/>
    <site name="imu" pos="0 0 .1"/>
    <body name="leg" pos=".2 0 0"><joint name="hip" axis="0 1 0"/><geom name="leg" size=".1" mass="1"/></body>
  </body>
  <body name="ball"><freejoint/><geom size=".1"/></body>
  <body name="wall"><geom type="box" size="1 1 1"/></body>
</worldbody></mujoco>"""


def load(tmp_path, text, name="m.xml"):
    path = tmp_path / name
    path.write_text(text)
    return read_description(path), mujoco.MjModel.from_xml_path(str(path))


def motion(joint, q):
    """``q`` is MuJoCo's: an angle, a length, or a quaternion w, x, y, z."""
    T = np.eye(4)
    if joint.kind in ("revolute", "continuous"):
        T[:3, :3] = rotation_from_wxyz([np.cos(q / 2), *(np.sin(q / 2) * joint.axis)])
    elif joint.kind == "prismatic":
        T[:3, 3] = joint.axis * q
    elif joint.kind == "ball":
        T[:3, :3] = rotation_from_wxyz(q)
    return T


def poses(description, q):
    frames = {description.root: np.eye(4)}
    for joint in description.joints.values():  # parents come first
        frames[joint.child] = frames[joint.parent] @ joint.placement @ motion(joint, q.get(joint.name, 0.0))
    return frames


def test_body_poses_and_centres_of_mass_agree_with_mujoco_at_random_positions(tmp_path):
    description, model = load(tmp_path, ARM)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for _ in range(5):
        data.qpos[:] = rng.normal(size=model.nq)
        names = ["roll", "lift", "pitch", "swing", "joint_4"]
        q = dict(zip(names, [*data.qpos[:3], data.qpos[3:7], data.qpos[7]], strict=True))
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_kinematics(model, data)
        frames = poses(description, q)
        for name, link in description.links.items():
            if name == "world" or link.virtual:
                continue
            b = 4 if name == "body_4" else model.body(name).id
            origin = description.frames.get(f"{name}.origin", (name, np.eye(4)))[1]
            np.testing.assert_allclose((frames[name] @ origin)[:3, 3], data.xpos[b], atol=1e-12)
            np.testing.assert_allclose(frames[name][:3, :3].ravel(), data.xmat[b], atol=1e-12)
            np.testing.assert_allclose((frames[name] @ [*link.com, 1])[:3], data.xipos[b], atol=1e-12)
            R, world = frames[name][:3, :3], data.ximat[b].reshape(3, 3)
            expected = world @ np.diag(model.body_inertia[b]) @ world.T
            np.testing.assert_allclose(R @ link.inertia @ R.T, expected, atol=1e-12)
        link, T = description.frames["tool"]
        np.testing.assert_allclose((frames[link] @ T)[:3, 3], data.site_xpos[0], atol=1e-12)
        np.testing.assert_allclose((frames[link] @ T)[:3, :3].ravel(), data.site_xmat[0], atol=1e-12)


def test_total_mass_limits_and_kinds_survive(tmp_path):
    description, model = load(tmp_path, ARM)
    assert sum(link.mass for link in description.links.values()) == pytest.approx(model.body_mass.sum())
    kinds = {name: joint.kind for name, joint in description.joints.items()}
    assert kinds["roll"] == "revolute"
    assert kinds["lift"] == "prismatic"
    assert kinds["pitch"] == "continuous"
    assert kinds["swing"] == "ball"
    assert kinds["base.weld"] == "fixed"
    assert description.joints["roll"].upper == pytest.approx(np.pi / 2)
    assert description.root == "world"
    assert description.links["base"].line == 6


def test_joints_of_one_body_are_chained_by_massless_virtual_links(tmp_path):
    description, _ = load(tmp_path, ARM)
    virtual = [link for link in description.links.values() if link.virtual]
    assert [link.name for link in virtual] == ["universal.roll", "universal.lift"]
    assert not any(link.mass for link in virtual)


def test_a_moved_link_frame_has_a_notice_and_the_body_frame_is_kept(tmp_path):
    description, _ = load(tmp_path, ARM)
    assert ("frame-at-joint", "universal, cup") in noted(description.notices)
    np.testing.assert_array_equal(description.frames["universal.origin"][1][:3, 3], [-0.05, 0, -0.02])


def test_a_linear_coupling_is_a_mimic_and_other_constraints_have_a_notice(tmp_path):
    description, _ = load(tmp_path, ARM)
    mimic = description.joints["pitch"].mimic
    assert (mimic.joint, mimic.multiplier) == ("roll", -2)
    assert mimic.offset == pytest.approx(0.1 + 2 * np.deg2rad(20))
    assert {"constraints": 1} in [n.remedy for n in description.notices if n.code == "equality-ignored"]


def test_geoms_are_visual_or_collision_shapes_in_our_sizes(tmp_path):
    description, _ = load(tmp_path, ARM)
    (capsule,), (ellipsoid,) = description.links["universal"].collision, description.links["universal"].visual
    assert capsule.kind == "capsule"
    np.testing.assert_allclose(capsule.size, [0.05, np.sqrt(0.11)])
    assert (ellipsoid.kind, ellipsoid.size) == ("ellipsoid", (0.1, 0.2, 0.3))
    assert description.links["tip"].collision[0].size == (0.2, 0.4, 0.6)
    assert description.links["cup"].collision[0].size == (0.02, 0.2)
    assert description.frames["pad"][0] == "universal"


def test_a_free_root_is_the_root_link_and_the_rest_of_the_scene_is_ignored(tmp_path):
    description, _ = load(tmp_path, DOG)
    assert description.root == "trunk"
    assert list(description.links) == ["trunk", "leg"]
    assert list(description.joints) == ["hip"]
    assert description.frames["imu"][0] == "trunk"
    assert description.frames["leg.geom"][0] == "leg"
    assert ("body-ignored", "ball, wall") in noted(description.notices)
    assert description.name == "m"


def test_a_fixed_robot_is_chosen_over_free_objects(tmp_path):
    text = DOG.replace("<freejoint/>", "", 1)
    description, _ = load(tmp_path, text)
    assert description.root == "world"
    assert ("body-ignored", "ball") in noted(description.notices)


def test_a_generated_name_never_meets_a_given_one(tmp_path):
    body = '<body name="body_2"><joint/><geom size="1"/><body><geom size="1"/></body></body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    assert list(load(tmp_path, text)[0].links) == ["world", "body_2", "body_2_"]


def test_a_mesh_keeps_its_file_and_the_placement_of_the_files_vertices(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(f)].ravel(), 0) for f in faces)
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/t.stl").write_bytes(b" " * 80 + struct.pack("<I", 4) + triangles)
    text = """<mujoco><compiler meshdir="assets"/><asset><mesh file="t.stl" scale="2 1 1"/></asset><worldbody>
      <body name="b"><joint/><geom type="mesh" mesh="t" pos="1 2 3" quat="1 .1 .2 .3"/></body>
    </worldbody></mujoco>"""
    (shape,) = load(tmp_path, text)[0].links["b"].collision
    assert shape.mesh == tmp_path / "assets/t.stl"
    assert shape.size == (2, 1, 1)
    np.testing.assert_allclose(shape.placement[:3, 3], [1, 2, 3], atol=1e-6)  # MuJoCo keeps vertices as floats
    expected = rotation_from_wxyz([1, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(shape.placement[:3, :3], expected, atol=1e-6)


def test_a_warning_of_mujoco_is_a_notice_and_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joints = '<joint name="x" axis="1 0 0"/><joint name="y" axis="1 0 1e-9"/>'
    body = f'<body name="b">{joints}<geom size="1"/></body>'
    (tmp_path / "m.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    before = mujoco.get_mju_user_warning()
    (warning,) = (n for n in read_description(tmp_path / "m.xml").notices if n.code == "mujoco-warning")
    assert warning.where == "m.xml"
    assert warning.remedy["warning"].startswith("Inertia matrix is too close to singular"), "MuJoCo's own words"
    assert [p.name for p in tmp_path.iterdir()] == ["m.xml"]
    assert mujoco.get_mju_user_warning() is before


def test_an_included_file_is_read_and_checked(tmp_path):
    body = '<mujocoinclude><body name="b"><joint/><geom size="1"/></body></mujocoinclude>'
    (tmp_path / "part.xml").write_text(body)
    description, _ = load(tmp_path, '<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>')
    assert description.links["b"].line == 1
