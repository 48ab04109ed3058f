"""An MJCF source that is edited keeps all but the inertial values, and MuJoCo reads those back as asked."""

import re
import struct

import numpy as np
import pytest

from steelyard.errors import DescriptionError
from steelyard.output.mjcf_edit import edit_mjcf
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.spatial import rotation_from_wxyz
from tests.refusals import refuses

mujoco = pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")

ARM = """<mujoco model="arm">
  <!-- the shop's arm -->
  <compiler angle="degree"/>
  <option timestep="0.001"/>
  <default><joint damping="0.5"/><default class="pad"><geom friction="1.5"/></default></default>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="table" pos="1 0 0"><geom type="box" size=".5 .5 .1"/></body>
    <body name="base" pos="0 .1 .2" euler="10 20 30">
      <inertial pos="0.01 0.02 0.03" quat="1 .2 .3 .4" mass="3" diaginertia=".03 .02 .025"/>
      <body name="upper" pos="0 0 .3" quat="1 .1 .2 .3"> <!-- joint away from the body's origin -->
        <joint name="roll" axis="1 0 0" pos="0 0 -.1" ref="20" range="-90 90"/>
        <joint name="pitch" axis="0 1 0.5" pos=".05 0 .02"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .1 .1 .3" density="700" class="pad"/>
        <body pos=".2 0 0">
          <joint name="wrist" axis="0 0 1"/>
          <geom name="grip" type="sphere" size=".03" mass="0.2"/>
          <body name="tip" pos="0 0 .1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="roll" gear="50"/></actuator>
  <sensor><jointpos joint="roll"/></sensor>
  <contact><exclude body1="base" body2="upper"/></contact>
</mujoco>
"""

INERTIA = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]])
VALUES = (1.25, np.array([0.01, -0.02, 0.123456789012345678]), INERTIA)
GEOM = '<geom size=".1"/>'


def read(tmp_path, text, name="m.xml"):
    path = tmp_path / "source" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return read_description(path)


def again(tmp_path, text):
    """The written text, read from another folder."""
    path = tmp_path / "elsewhere" / "m.xml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return read_description(path, [tmp_path / "source"])


def body(inside, **compiler):
    settings = " ".join(f'{key}="{value}"' for key, value in compiler.items())
    return f"<mujoco><compiler {settings}/><worldbody>{inside}</worldbody></mujoco>"


def same(link, values):
    mass, com, inertia = values
    assert link.mass == pytest.approx(mass, abs=1e-12, rel=1e-12)
    np.testing.assert_allclose(link.com, com, atol=1e-12)
    np.testing.assert_allclose(link.inertia, inertia, atol=1e-12)


def own(link):
    return link.mass, link.com, link.inertia


@pytest.mark.parametrize("name", ["base", "upper", "body_4"])
def test_mujoco_reads_back_the_values_as_asked_and_the_others_as_they_were(tmp_path, name):
    first = read(tmp_path, ARM)
    second = again(tmp_path, edit_mjcf(first, {name: VALUES}, "c"))
    assert list(second.links) == list(first.links)
    for other, link in first.links.items():
        same(second.links[other], VALUES if other == name else own(link))
    for joint, one in first.joints.items():
        np.testing.assert_array_equal(second.joints[joint].placement, one.placement)


def test_only_the_inertial_elements_of_the_listed_bodies_change(tmp_path):
    text = edit_mjcf(read(tmp_path, ARM), {"base": VALUES, "upper": VALUES}, "weighed")
    without = re.sub(r"\n *<inertial [^>]*/>", "", text.replace("\n  <!-- weighed -->", ""))
    assert without == re.sub(r"\n *<inertial [^>]*/>", "", ARM)
    assert text.count("<inertial") == 2
    assert "quat=" not in "".join(re.findall(r"<inertial[^>]*>", text))


def test_values_at_a_joint_anchor_are_written_in_mujocos_body_frame(tmp_path):
    text = edit_mjcf(read(tmp_path, ARM), {"upper": VALUES}, "c")
    model = mujoco.MjModel.from_xml_string(text)
    np.testing.assert_allclose(model.body("upper").ipos, VALUES[1] + [0.05, 0, 0.02], atol=1e-15)
    R = rotation_from_wxyz(model.body("upper").iquat)
    np.testing.assert_allclose(R @ np.diag(model.body("upper").inertia) @ R.T, INERTIA, atol=1e-12)


def test_an_export_of_what_was_read_is_the_same_robot(tmp_path):
    first = read(tmp_path, ARM)
    robot = build(first, base="fixed")
    shares = robot.inertials({b.name: b.parameters for b in robot.bodies})
    second = again(tmp_path, edit_mjcf(first, shares, "c"))
    for name, link in first.links.items():
        same(second.links[name], own(link))


def test_a_body_without_content_gets_one(tmp_path):
    first = read(tmp_path, ARM)
    second = again(tmp_path, edit_mjcf(first, {"tip": VALUES}, "c"))
    same(second.links["tip"], VALUES)


def test_a_site_called_like_a_moved_frame_is_not_taken_for_one(tmp_path):
    text = body(f'<body name="b"><joint/>{GEOM}<site name="b.origin" pos="1 2 3"/></body>')
    first = read(tmp_path, text)
    same(again(tmp_path, edit_mjcf(first, {"b": VALUES}, "c")).links["b"], VALUES)


def test_an_inertial_in_a_frame_element_gives_way_to_one_in_the_body(tmp_path):
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = body(f'<body name="b"><joint/><frame pos="1 0 0">{inertial}</frame></body>')
    same(again(tmp_path, edit_mjcf(read(tmp_path, text), {"b": VALUES}, "c")).links["b"], VALUES)


def test_masses_from_geoms_give_way_to_explicit_ones_and_ignored_inertials_stay_without_effect(tmp_path):
    inertial = '<inertial pos="0 0 9" mass="99" diaginertia="9 9 9"/>'
    inside = f'<body name="a"><joint/>{GEOM}{inertial}<body name="b"><joint/>{GEOM}{inertial}</body></body>'
    first = read(tmp_path, body(inside, inertiafromgeom="true"))
    text = edit_mjcf(first, {"b": VALUES}, "weighed.")
    second = again(tmp_path, text)
    same(second.links["a"], own(first.links["a"]))
    same(second.links["b"], VALUES)
    assert re.search(r'<!--.*<compiler inertiafromgeom="true">.*"auto".*-->', text)  # the change is noted
    assert re.search(r"<!-- weighed\. .*: a\. -->", text)


SETTINGS = 'boundmass="0.01" boundinertia="0.001" balanceinertia="true" inertiafromgeom="auto"'


def test_settings_that_leave_these_values_alone_stay(tmp_path):
    source = body(f'<body name="a"><joint/>{GEOM}</body>').replace("<compiler ", f"<compiler {SETTINGS}")
    text = edit_mjcf(read(tmp_path, source), {"a": VALUES}, "c")
    assert SETTINGS in text
    assert re.sub(r"\n  <!-- c -->|\n  <inertial[^>]*>", "", text) == source


@pytest.mark.parametrize(("setting", "value"), [("boundmass", "2.5"), ("boundinertia", "0.3"), ("settotalmass", "17")])
def test_a_setting_that_would_alter_values_is_removed_and_its_effect_on_others_kept(tmp_path, setting, value):
    inside = '<body name="a"><joint/><geom size=".05"/><body name="b"><joint/><geom size=".1"/></body></body>'
    first = read(tmp_path, body(inside, angle="radian", **{setting: value}, autolimits="true"))
    text = edit_mjcf(first, {"b": VALUES}, "c")
    second = again(tmp_path, text)
    same(second.links["b"], VALUES)
    same(second.links["a"], own(first.links["a"]))
    assert f'<compiler {setting}="{value}"> was removed' in text
    assert re.search(rf"<!--.*<compiler {setting}=.*: a\. -->", text)  # both changes are noted
    assert re.search(r'<compiler angle="radian"\s+autolimits="true"/>', text)


def test_balancing_of_other_bodies_stays_and_values_that_it_would_change_are_not_written(tmp_path):
    odd = '<inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .5"/>'
    inside = f'<body name="a"><joint/>{odd}<body name="b"><joint/>{GEOM}</body></body>'
    first = read(tmp_path, body(inside, balanceinertia="true"))
    second = again(tmp_path, edit_mjcf(first, {"b": VALUES}, "c"))
    same(second.links["b"], VALUES)
    same(second.links["a"], own(first.links["a"]))
    assert edit_mjcf(first, {"b": (1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]))}, "c") is None


PART = f'<mujocoinclude><body name="b"><joint/>{GEOM}</body></mujocoinclude>'


def test_a_body_of_an_included_file_cannot_be_edited_in_place(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "part.xml").write_text(PART)
    first = read(tmp_path, body(f'<body name="a"><joint/>{GEOM}<include file="part.xml"/></body>'))
    assert edit_mjcf(first, {"b": VALUES}, "c") is None
    second = again(tmp_path, edit_mjcf(first, {"a": VALUES}, "c"))
    same(second.links["a"], VALUES)
    same(second.links["b"], own(first.links["b"]))


def test_an_inertial_of_an_included_file_cannot_be_edited_in_place(tmp_path):
    (tmp_path / "source").mkdir()
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    (tmp_path / "source" / "part.xml").write_text(f"<mujocoinclude>{inertial}</mujocoinclude>")
    first = read(tmp_path, body('<body name="a"><joint/><include file="part.xml"/></body>'))
    assert edit_mjcf(first, {"a": VALUES}, "c") is None


def test_a_repeated_body_cannot_be_edited_in_place_but_its_neighbour_can(tmp_path):
    leg = f'<replicate count="2" euler="0 0 90"><body name="leg"><joint/>{GEOM}</body></replicate>'
    first = read(tmp_path, body(f'<body name="a"><joint/>{GEOM}{leg}</body>'))
    assert edit_mjcf(first, {"leg0": VALUES}, "c") is None
    same(again(tmp_path, edit_mjcf(first, {"a": VALUES}, "c")).links["a"], VALUES)


def test_a_nameless_body_beside_repeated_ones_is_ambiguous(tmp_path):
    leg = f'<replicate count="2"><body name="leg"><joint/>{GEOM}</body></replicate>'
    first = read(tmp_path, body(f'<body name="a"><joint/>{GEOM}{leg}<body><joint/>{GEOM}</body></body>'))
    assert edit_mjcf(first, {"body_4": VALUES}, "c") is None


def test_an_attached_body_cannot_be_edited_in_place(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "hand.xml").write_text(body(f'<body name="b"><joint/>{GEOM}</body>'))
    text = f"""<mujoco><asset><model name="hand" file="hand.xml"/></asset><worldbody>
      <body name="a"><joint/>{GEOM}<attach model="hand" body="b" prefix="r_"/></body></worldbody></mujoco>"""
    first = read(tmp_path, text)
    assert edit_mjcf(first, {"r_b": VALUES}, "c") is None
    same(again(tmp_path, edit_mjcf(first, {"a": VALUES}, "c")).links["a"], VALUES)


def test_a_body_that_mujoco_fuses_or_realigns_cannot_be_edited_in_place(tmp_path):
    inside = f'<body name="a"><joint/>{GEOM}<body pos="1 0 0">{GEOM}</body></body>'
    assert edit_mjcf(read(tmp_path, body(inside, fusestatic="true")), {"a": VALUES}, "c") is None
    free = '<body name="a"><freejoint align="true"/><geom size=".1" pos="1 0 0"/></body>'
    assert edit_mjcf(read(tmp_path, body(free)), {"a": VALUES}, "c") is None


def test_values_that_mujoco_refuses_are_not_written(tmp_path):
    point = (1.0, np.zeros(3), np.zeros((3, 3)))
    assert edit_mjcf(read(tmp_path, ARM), {"upper": point}, "c") is None


def test_a_link_without_mass_that_stands_for_no_body_is_passed_over(tmp_path):
    nothing = (0.0, np.zeros(3), np.zeros((3, 3)))
    assert "<inertial" in edit_mjcf(read(tmp_path, ARM), {"world": nothing, "upper.roll": nothing}, "c")
    assert edit_mjcf(read(tmp_path, ARM), {"world": VALUES}, "c") is None


def test_a_urdf_source_is_not_edited_and_an_unknown_link_is_refused(tmp_path):
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    assert edit_mjcf(read_description(tmp_path / "r.urdf"), {}, "c") is None
    with refuses(DescriptionError, "name-unknown"):
        edit_mjcf(read(tmp_path, ARM), {"elbow": VALUES}, "c")


def stl(path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(f)].ravel(), 0) for f in faces)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b" " * 80 + struct.pack("<I", 4) + triangles)


@pytest.mark.parametrize(
    ("compiler", "place"),
    [
        ("", "t.stl"),
        ("<compiler angle='radian'/>", "t.stl"),
        ("<compiler meshdir = 'parts &amp; more'/>", "parts & more/t.stl"),
        ('<compiler assetdir="parts"/>', "parts/t.stl"),
        ('<compiler texturedir="parts"/>', "t.stl"),
    ],
)
def test_assets_are_read_from_any_other_folder(tmp_path, monkeypatch, compiler, place):
    stl(tmp_path / "source" / place)
    text = f"""<mujoco>{compiler}<asset><mesh file="t.stl"/></asset><worldbody>
      <body name="b"><joint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""
    first = read(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    second = again(tmp_path, edit_mjcf(first, {"b": VALUES}, "a -- b"))
    assert second.links["b"].collision[0].mesh == tmp_path / "source" / place
    same(second.links["b"], VALUES)


def test_a_relative_folder_set_in_an_included_file_stops_the_edit(tmp_path):
    stl(tmp_path / "source" / "parts" / "t.stl")
    (tmp_path / "source" / "common.xml").write_text('<mujoco><compiler meshdir="parts"/></mujoco>')
    text = """<mujoco><include file="common.xml"/><asset><mesh file="t.stl"/></asset><worldbody>
      <body name="b"><joint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""
    assert edit_mjcf(read(tmp_path, text), {"b": VALUES}, "c") is None


def test_a_warning_of_mujoco_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = read(tmp_path, body(f'<body name="b"><joint/>{GEOM}</body>', settotalmass="3"))
    assert edit_mjcf(first, {"b": VALUES}, "c") is not None
    assert [p.name for p in tmp_path.iterdir()] == ["source"]
