"""Each fault of a description is refused with where it is, its values and a fix; all of them at once."""

import sys

import pytest

from steelyard.errors import DescriptionError
from steelyard.robot import mjcf_source
from steelyard.robot.description import read_description

LINKS = '<link name="a"/><link name="b"/>'
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def findings(tmp_path, text, name="bad.urdf", **options):
    (tmp_path / name).write_text(text)
    with pytest.raises(DescriptionError) as error:
        read_description(tmp_path / name, **options)
    for finding in error.value.findings:
        assert finding.where.startswith(name), "a finding starts with its file"
        assert finding.fix[0].isupper(), "a fix is an imperative"
        assert finding.fix[-1] != "."
    return error.value.findings


def urdf(tmp_path, body, **options):
    return findings(tmp_path, f'<robot name="r">\n{body}\n</robot>', **options)


def with_inertial(old, new):
    assert old in INERTIAL
    return f'<link name="a">{INERTIAL.replace(old, new)}</link>'


def joint(kind="revolute", inside='<parent link="a"/><child link="b"/>', name="j"):
    return f'<joint name="{name}" type="{kind}">{inside}</joint>'


ENDS = '<parent link="a"/><child link="b"/>'

ONE = [
    (
        with_inertial('value="1"', 'value="2,5"'),
        "bad.urdf:2 link 'a'",
        "<mass value> is '2,5': '2,5' is not a number",
    ),
    (with_inertial('value="1"', 'value=""'), "bad.urdf:2 link 'a'", "<mass value> is '': no numbers"),
    (with_inertial('value="1"', 'value="nan"'), "bad.urdf:2 link 'a'", "<mass value> is 'nan': not finite"),
    (with_inertial('value="1"', 'value="-2"'), "bad.urdf:2 link 'a'", "mass is -2 kg, negative"),
    (with_inertial('value="1"', ""), "bad.urdf:2 link 'a'", "<mass value> is missing"),
    (with_inertial('<mass value="1"/>', ""), "bad.urdf:2 link 'a'", "<inertial> has no <mass>"),
    (with_inertial('iyy="1"', 'iyy="-1"'), "bad.urdf:2 link 'a'", "iyy = -1 kg·m², negative"),
    (with_inertial('ixy="0"', 'ixy="inf"'), "bad.urdf:2 link 'a'", "<inertia ixy> is 'inf': not finite"),
    (with_inertial('ixz="0" ', ""), "bad.urdf:2 link 'a'", "<inertia ixz> is missing"),
    (
        '<link name="a"><inertial><mass value="1"/></inertial></link>',
        "bad.urdf:2 link 'a'",
        "<inertial> has no <inertia>",
    ),
    (f'<link name="a">{INERTIAL}{INERTIAL}</link>', "bad.urdf:2 link 'a'", "has 2 <inertial>"),
    (
        '<link name="a"><visual><origin rpy="0 0"/><geometry/></visual></link>',
        "bad.urdf:2 link 'a'",
        "<origin rpy> is '0 0': 2 numbers",
    ),
    (
        '<link name="a"><visual><geometry><mesh/></geometry></visual></link>',
        "bad.urdf:2 link 'a'",
        "<mesh> has no filename",
    ),
    (
        '<link name="a"><visual><geometry><box size="1"/></geometry></visual></link>',
        "bad.urdf:2 link 'a'",
        "<box size> is '1': one number",
    ),
    ("<link/>", "bad.urdf:2 link", "has no name"),
    ("", "bad.urdf:1", "has no <link>"),
    ('<link name="a"/>\n<link name="a"/>', "bad.urdf:3 link 'a'", "has the name of the link at line 2"),
    (LINKS + joint("hinge"), "bad.urdf:2 joint 'j'", "type 'hinge' is not known"),
    (
        LINKS + joint(inside='<parent link="a"/><child link="c"/>') + joint("fixed", name="k"),
        "bad.urdf:2 joint 'j'",
        "child 'c' is not a link",
    ),
    (LINKS + joint(inside='<child link="b"/>'), "bad.urdf:2 joint 'j'", "has no parent"),
    (LINKS, "bad.urdf:1", "has 2 root links: 'a', 'b'"),
    (
        LINKS + '<link name="c"/>' + joint() + joint(inside='<parent link="c"/><child link="b"/>', name="k"),
        "bad.urdf:1 link 'b'",
        "is the child of joints 'j', 'k'",
    ),
    (
        LINKS + joint() + joint(inside='<parent link="b"/><child link="a"/>', name="k"),
        "bad.urdf:1",
        "links form a cycle: b → a → b",
    ),
    (LINKS + joint(inside=ENDS + '<axis xyz="0 0 0"/>'), "bad.urdf:2 joint 'j'", "axis is 0 0 0"),
    (
        LINKS + joint(inside=ENDS + '<limit lower="1" upper="-1"/>'),
        "bad.urdf:2 joint 'j'",
        "lower limit 1 is above the upper, -1",
    ),
    (
        LINKS + joint(inside=ENDS + '<limit lower="nan" upper="1"/>'),
        "bad.urdf:2 joint 'j'",
        "<limit lower> is 'nan': not finite",
    ),
    (
        LINKS + joint(inside=ENDS + '<mimic joint="z"/>'),
        "bad.urdf:2 joint 'j'",
        "mimics 'z', which is not a joint",
    ),
    (LINKS + joint(inside=ENDS + '<mimic joint="j"/>'), "bad.urdf:2 joint 'j'", "mimics itself: j → j"),
    (
        LINKS + joint(inside=ENDS + '<mimic joint="j" offset="x"/>'),
        "bad.urdf:2 joint 'j'",
        "<mimic offset> is 'x': 'x' is not a number",
    ),
]


@pytest.mark.parametrize(("body", "where", "what"), ONE, ids=[what for _, _, what in ONE])
def test_a_fault_is_refused_with_its_place_and_values(tmp_path, body, where, what):
    found = {(f.where, f.what) for f in urdf(tmp_path, body)}
    assert (where, what) in found


def test_all_faults_of_a_file_come_at_once(tmp_path):
    body = with_inertial('value="1"', 'value="-1"') + '\n<link name="b"/>' + joint(inside=ENDS + '<axis xyz="0 0 0"/>')
    body += '\n<joint name="k" type="weld"/>'
    whats = [f.what for f in urdf(tmp_path, body)]
    expected = [
        "mass is -1 kg, negative",
        "axis is 0 0 0",
        "type 'weld' is not known",
        "has no parent",
        "has no child",
    ]
    assert whats == expected


@pytest.mark.parametrize(
    "text",
    [
        '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>',
        '<robot name="r"><link name="${prefix}a"/></robot>',
        '<robot name="r"><link name="$(arg prefix)a"/></robot>',
    ],
)
def test_a_xacro_file_is_told_to_be_run_first(tmp_path, text):
    (finding,) = findings(tmp_path, text)
    assert "is a xacro file" in finding.what
    assert finding.fix == "Run xacro first: xacro bad.urdf > robot.urdf"


def test_a_declared_xacro_namespace_alone_is_no_fault(tmp_path):
    (tmp_path / "ok.urdf").write_text('<robot name="r" xmlns:xacro="x"><link name="a"/></robot>')
    assert read_description(tmp_path / "ok.urdf").root == "a"


def test_another_kind_of_file_is_refused(tmp_path):
    (finding,) = findings(tmp_path, "<sdf/>")
    assert finding.what == "root element is <sdf>, neither <robot> (URDF) nor <mujoco> (MJCF)"


MESH = '<link name="a"><visual><geometry><mesh filename="%s"/></geometry></visual></link>'


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "file:///%65tc/passwd",
        "../../secret.stl",
        "package://pkg/../../secret.stl",
        "package://etc/../../secret.stl",
        "link.stl",
    ],
)
def test_a_mesh_path_that_leaves_the_declared_roots_is_refused(tmp_path, name):
    folder = tmp_path / "src/pkg/urdf"
    folder.mkdir(parents=True)
    (tmp_path / "src/secret.stl").write_text("")
    (folder / "link.stl").symlink_to(tmp_path / "src/secret.stl")
    (finding,) = urdf(folder, MESH % name)
    assert finding.where == "bad.urdf:2 link 'a'"
    assert finding.what == f"mesh path '{name}' leaves the description's folder and packages"


@pytest.mark.parametrize("name", ["package://../secret.stl", "package://home/secret.stl", "package://tmp/x.stl"])
def test_a_package_named_like_a_far_folder_is_not_followed(tmp_path, name):
    far = tmp_path / "home/me/work"
    far.mkdir(parents=True)
    (tmp_path / "home/secret.stl").write_text("")
    (far / "r.urdf").write_text(f'<robot name="r">{MESH % name}</robot>')
    assert read_description(far / "r.urdf").links["a"].visual[0].mesh is None


def mjcf(tmp_path, body, **options):
    return findings(tmp_path, f"<mujoco>\n{body}\n</mujoco>", "bad.xml", **options)


BODY = '<worldbody>\n<body name="b"><joint/>%s</body></worldbody>'

MJCF = [
    (BODY % '<inertial pos="0 0 0" mass="-1"/>', "bad.xml:3 <inertial>", "mass is '-1', negative"),
    (
        BODY % '<inertial pos="0 0 0" mass="nan"/>',
        "bad.xml:3 <inertial>",
        "<inertial mass> is 'nan': not finite",
    ),
    (
        BODY % '<inertial pos="0 0 0" mass="1" diaginertia="1 -1 1"/>',
        "bad.xml:3 <inertial>",
        "diaginertia is '1 -1 1', negative",
    ),
    (BODY % '<geom name="g" mass="-1"/>', "bad.xml:3 geom 'g'", "mass is '-1', negative"),
    ('<include file="../x.xml"/>', "bad.xml:2 <include>", "file='../x.xml' leaves the model's folder"),
    (
        '<asset><mesh name="m" file="/etc/passwd"/></asset>',
        "bad.xml:2 mesh 'm'",
        "file='/etc/passwd' leaves the model's folder",
    ),
    ('<compiler meshdir="../.."/>', "bad.xml:2 <compiler>", "meshdir='../..' leaves the model's folder"),
    (
        '<asset><texture type="cube" fileup="../x.png"/></asset>',
        "bad.xml:2 <texture>",
        "fileup='../x.png' leaves the model's folder",
    ),
]


@pytest.mark.parametrize(("body", "where", "what"), MJCF, ids=[what for _, _, what in MJCF])
def test_a_fault_of_mjcf_is_refused_before_mujoco_sees_it(tmp_path, body, where, what):
    assert (where, what) in {(f.where, f.what) for f in mjcf(tmp_path, body)}


def test_off_diagonal_inertia_may_be_negative(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    text = BODY % '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 -.1 -.1 -.1"/>'
    (tmp_path / "ok.xml").write_text(f"<mujoco>{text}</mujoco>")
    assert read_description(tmp_path / "ok.xml").links["b"].inertia[0, 1] == pytest.approx(-0.1)


def test_a_fault_in_an_included_file_is_found(tmp_path):
    (tmp_path / "bad.xml.part.xml").write_text('<mujocoinclude>\n<inertial mass="x"/></mujocoinclude>')
    (finding,) = mjcf(tmp_path, '<include file="bad.xml.part.xml"/>')
    assert finding.where == "bad.xml.part.xml:2 <inertial>"


def test_too_many_included_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf_source, "_MAX_FILES", 1)
    (tmp_path / "part.xml").write_text("<mujocoinclude/>")
    assert mjcf(tmp_path, '<include file="part.xml"/>')[0].what == "includes more than 1 files"


def test_what_mujoco_does_not_compile_is_refused_with_its_reason(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    (finding,) = mjcf(tmp_path, "<worldbody><body><joint/></body></worldbody>")
    assert "MuJoCo does not compile it: Error: mass and inertia of moving bodies" in finding.what


def test_a_scene_without_a_body_is_refused(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    assert mjcf(tmp_path, "<worldbody/>")[0].what == "has no <body>"


def test_a_scene_of_two_robots_is_refused_with_their_names(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    robot = '<body name="%s"><freejoint/><geom size="1"/><body><joint/><geom size="1"/></body></body>'
    (finding,) = mjcf(tmp_path, f"<worldbody>{robot % 'p'}{robot % 'q'}</worldbody>")
    assert finding.what == "has 2 robots: 'p', 'q'"


def test_mjcf_without_mujoco_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (finding,) = mjcf(tmp_path, BODY % '<geom size="1"/>')
    assert finding.fix == 'Run pip install "steelyard[sim]"'
