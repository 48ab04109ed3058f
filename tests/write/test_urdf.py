"""What is written as URDF reads back as the same numbers, and nothing else of the file changes."""

import re

import numpy as np
import pytest

from steelyard.errors import DescriptionError
from steelyard.output.urdf_writer import to_urdf
from steelyard.output.xml_text import xml_comment
from steelyard.robot import index
from steelyard.robot.description import read_description
from tests.refusals import refuses

NAMES = ["a1", "panda", "talos", "g1", "ur10", "icub"]
installed = pytest.mark.skipif(not index._example_robot_data(), reason="example-robot-data is not installed")


def random_inertials(description, seed=0):
    rng = np.random.default_rng(seed)
    values = {}
    for name in description.links:
        A = rng.normal(size=(3, 3))
        values[name] = rng.uniform(0.1, 9), rng.normal(size=3), A @ A.T * 1e-3
    return values


def assert_same(description, inertials):
    for name, (mass, com, inertia) in inertials.items():
        link = description.links[name]
        assert link.mass == mass
        np.testing.assert_array_equal(link.com, com)
        np.testing.assert_array_equal(link.inertia, inertia)


@installed
@pytest.mark.parametrize("name", NAMES)
def test_written_values_read_back_bit_for_bit(tmp_path, name):
    description = read_description(name)
    inertials = random_inertials(description)
    (tmp_path / "out.urdf").write_text(to_urdf(description, inertials, "new values"))
    again = read_description(tmp_path / "out.urdf")
    assert_same(again, inertials)
    assert again.joints.keys() == description.joints.keys()
    for key, joint in description.joints.items():
        np.testing.assert_array_equal(again.joints[key].placement, joint.placement)


@installed
@pytest.mark.parametrize("name", NAMES)
def test_writing_the_descriptions_own_values_changes_no_number(tmp_path, name):
    description = read_description(name)
    own = {k: (v.mass, v.com, v.inertia) for k, v in description.links.items() if v.inertial}
    (tmp_path / "out.urdf").write_text(to_urdf(description, own, ""))
    assert_same(read_description(tmp_path / "out.urdf"), own)


@installed
def test_pinocchio_reads_the_same_masses(tmp_path):
    pin = pytest.importorskip("pinocchio")
    description = read_description("a1")
    inertials = random_inertials(description)
    (tmp_path / "out.urdf").write_text(to_urdf(description, inertials, ""))
    model = pin.buildModelFromUrdf(str(tmp_path / "out.urdf"), pin.JointModelFreeFlyer())
    assert pin.computeTotalMass(model) == pytest.approx(sum(m for m, _, _ in inertials.values()))


SOURCE = """<?xml version='1.0'?>
<!-- head é -->
<robot name="r" >
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="a"/>
  <link name="b">
    <visual><geometry><mesh scale="1 1 1" filename='../meshes/b.stl'/></geometry></visual>
  </link>
  <link name="c &amp; d"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="e"><inertial><mass value="1.50"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="1" type="fixed"><parent link="a"/><child link="b"/></joint>
  <joint name="2" type="fixed"><parent link="a"/><child link="c &amp; d"/></joint>
  <joint name="3" type="fixed"><parent link="a"/><child link="e"/></joint>
  <gazebo reference="a"><!-- kept --><mu1>1</mu1></gazebo>
</robot>
<!-- tail -->
"""


def read_source(tmp_path):
    (tmp_path / "pkg/urdf").mkdir(parents=True)
    (tmp_path / "pkg/urdf/r.urdf").write_text(SOURCE)
    return read_description(tmp_path / "pkg/urdf/r.urdf")


def test_only_inertials_of_listed_links_change(tmp_path):
    description = read_source(tmp_path)
    inertials = random_inertials(description)
    del inertials["e"]
    text = to_urdf(description, inertials, "made -- by --- us-")
    stripped = re.sub(r"\s*<inertial>.*?</inertial>", "", text, flags=re.DOTALL)
    stripped = stripped.replace("\n  <!-- made - - by - - - us- -->", "", 1)
    original = re.sub(r"\s*<inertial>.*?</inertial>", "", SOURCE, flags=re.DOTALL)
    original = original.replace("'../meshes/b.stl'", '"package://pkg/meshes/b.stl"')
    assert stripped == original.replace('<link name="a"/>', '<link name="a">\n  </link>')
    assert '<mass value="1.50"/>' in text
    (tmp_path / "out.urdf").write_text(text)
    assert_same(read_description(tmp_path / "out.urdf"), inertials)


def test_a_relative_mesh_becomes_a_package_path_that_a_package_folder_resolves(tmp_path):
    description = read_source(tmp_path)
    (tmp_path / "pkg/meshes").mkdir()
    (tmp_path / "pkg/meshes/b.stl").write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/r.urdf").write_text(to_urdf(description, {}, ""))
    again = read_description(tmp_path / "out/r.urdf", [tmp_path / "pkg"])
    assert again.links["b"].visual[0].mesh == tmp_path / "pkg/meshes/b.stl"


def test_an_unknown_link_is_refused(tmp_path):
    description = read_source(tmp_path)
    with refuses(DescriptionError, "name-unknown"):
        to_urdf(description, {"nose": (1.0, np.zeros(3), np.eye(3))}, "")


@pytest.mark.parametrize("text", ["--", "a--->b", "-", "x\0y\x1b", "é ✓", "---", "<a b='c'>&"])
def test_any_text_makes_a_comment_that_parses(text):
    from xml.etree import ElementTree

    assert ElementTree.fromstring(f"<r>{xml_comment(text)}<a/></r>")[0].tag == "a"


MJCF = """<mujoco model="m &lt; n"><worldbody><body name="one" pos=".1 .2 .3" euler="10 20 30">
  <joint name="x" axis="1 0 0" ref="30" range="-90 90"/><joint name="y" axis="0 1 0" pos=".1 0 0"/>
  <geom type="capsule" size=".1 .2"/><geom type="ellipsoid" size=".1 .2 .3"/>
  <geom type="box" size=".1 .1 .1"/><geom type="cylinder" size=".1 .1"/><site name="tip" pos="0 0 .4"/>
  <body name="two" pos="0 0 .4" euler="0 90 0">
  <joint name="z" type="slide"/><geom type="sphere" size=".1"/></body>
</body></worldbody><equality><joint joint1="z" joint2="x" polycoef="0 .5 0 0 0"/></equality></mujoco>"""


def test_mjcf_is_written_as_urdf_with_the_same_tree(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "m.xml").write_text(MJCF)
    description = read_description(tmp_path / "m.xml")
    values = {"two": (1.5, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))}
    (tmp_path / "m.urdf").write_text(to_urdf(description, values, "c"))
    again = read_description(tmp_path / "m.urdf")
    assert again.name == "m < n"
    assert_same(again, values)
    assert set(again.links) == {*description.links, "tip", "one.origin"}
    for name, joint in description.joints.items():
        other = again.joints[name]
        assert (other.kind, other.parent, other.child, other.mimic) == (
            joint.kind,
            joint.parent,
            joint.child,
            joint.mimic,
        )
        np.testing.assert_allclose(other.placement, joint.placement, atol=1e-12)
        np.testing.assert_allclose(other.axis, joint.axis, atol=1e-12)
    np.testing.assert_allclose(again.links["one"].inertia, description.links["one"].inertia, atol=1e-15)
    kinds = [shape.kind for shape in again.links["one"].collision]
    assert kinds == ["cylinder", "sphere", "sphere", "box", "cylinder"]
    model = pin.buildModelFromUrdf(str(tmp_path / "m.urdf"))
    assert sum(i.mass for i in model.inertias) == pytest.approx(description.links["one"].mass + 1.5)


def test_a_ball_joint_cannot_be_urdf(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    (tmp_path / "m.xml").write_text(MJCF.replace('type="slide"', 'type="ball"').split("<equality>")[0] + "</mujoco>")
    with refuses(DescriptionError, "joint-kind-unsupported"):
        to_urdf(read_description(tmp_path / "m.xml"), {}, "")
