"""Each fault of a description is refused with its place and code; all faults of a file at once."""

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
        assert finding.severity == "error"
    return error.value.findings


def places(some):
    return [(f.code, f.where) for f in some]


def urdf(tmp_path, body, **options):
    return findings(tmp_path, f'<robot name="r">\n{body}\n</robot>', **options)


def with_inertial(old, new):
    assert old in INERTIAL
    return f'<link name="a">{INERTIAL.replace(old, new)}</link>'


def joint(kind="revolute", inside='<parent link="a"/><child link="b"/>', name="j"):
    return f'<joint name="{name}" type="{kind}">{inside}</joint>'


ENDS = '<parent link="a"/><child link="b"/>'

LINK = "bad.urdf:2 link 'a'"
JOINT = "bad.urdf:2 joint 'j'"

ONE = [  # body of the file, code, where
    (with_inertial('value="1"', 'value="2,5"'), "number-malformed", f"{LINK} <mass value>"),
    (with_inertial('value="1"', 'value=""'), "number-count", f"{LINK} <mass value>"),
    (with_inertial('value="1"', 'value="nan"'), "number-not-finite", f"{LINK} <mass value>"),
    (with_inertial('value="1"', 'value="-2"'), "mass-negative", f"{LINK} <mass value>"),
    (with_inertial('value="1"', ""), "attribute-missing", f"{LINK} <mass value>"),
    (with_inertial('<mass value="1"/>', ""), "element-missing", f"{LINK} <mass>"),
    (with_inertial('iyy="1"', 'iyy="-1"'), "inertia-negative", f"{LINK} <inertia iyy>"),
    (with_inertial('ixy="0"', 'ixy="inf"'), "number-not-finite", f"{LINK} <inertia ixy>"),
    (with_inertial('ixz="0" ', ""), "attribute-missing", f"{LINK} <inertia ixz>"),
    ('<link name="a"><inertial><mass value="1"/></inertial></link>', "element-missing", f"{LINK} <inertia>"),
    (f'<link name="a">{INERTIAL}{INERTIAL}</link>', "inertial-repeated", LINK),
    (
        '<link name="a"><visual><origin rpy="0 0"/><geometry/></visual></link>',
        "number-count",
        f"{LINK} <origin rpy>",
    ),
    (
        '<link name="a"><visual><geometry><mesh/></geometry></visual></link>',
        "attribute-missing",
        f"{LINK} <mesh filename>",
    ),
    (
        '<link name="a"><visual><geometry><box size="1"/></geometry></visual></link>',
        "number-count",
        f"{LINK} <box size>",
    ),
    ("<link/>", "name-missing", "bad.urdf:2 link"),
    ("", "description-empty", "bad.urdf:1"),
    ('<link name="a"/>\n<link name="a"/>', "name-repeated", "bad.urdf:3 link 'a'"),
    (LINKS + joint("hinge"), "joint-type-unknown", JOINT),
    (
        LINKS + joint(inside='<parent link="a"/><child link="c"/>') + joint("fixed", name="k"),
        "name-unknown",
        f"{JOINT} <child>",
    ),
    (LINKS + joint(inside='<child link="b"/>'), "element-missing", f"{JOINT} <parent>"),
    (LINKS, "roots-several", "bad.urdf:1 links 'a', 'b'"),
    (
        LINKS + '<link name="c"/>' + joint() + joint(inside='<parent link="c"/><child link="b"/>', name="k"),
        "link-has-two-parents",
        "bad.urdf:1 link 'b', joints 'j', 'k'",
    ),
    (
        LINKS + joint() + joint(inside='<parent link="b"/><child link="a"/>', name="k"),
        "links-form-cycle",
        "bad.urdf:1 b → a → b",
    ),
    (LINKS + joint(inside=ENDS + '<axis xyz="0 0 0"/>'), "axis-zero", f"{JOINT} <axis xyz>"),
    (LINKS + joint(inside=ENDS + '<limit lower="1" upper="-1"/>'), "limits-swapped", f"{JOINT} <limit>"),
    (LINKS + joint(inside=ENDS + '<limit lower="nan" upper="1"/>'), "number-not-finite", f"{JOINT} <limit lower>"),
    (LINKS + joint(inside=ENDS + '<mimic joint="z"/>'), "name-unknown", f"{JOINT} <mimic joint>"),
    (LINKS + joint(inside=ENDS + '<mimic joint="j"/>'), "mimic-cycle", f"{JOINT} <mimic joint>"),
    (LINKS + joint(inside=ENDS + '<mimic joint="j" offset="x"/>'), "number-malformed", f"{JOINT} <mimic offset>"),
]


@pytest.mark.parametrize(("body", "code", "where"), ONE, ids=[f"{code} {where}" for _, code, where in ONE])
def test_a_fault_is_refused_with_its_code_and_place(tmp_path, body, code, where):
    assert (code, where) in places(urdf(tmp_path, body))


def test_a_misspelt_link_is_refused_with_the_nearest(tmp_path):
    text = LINKS.replace('"b"', '"fore"') + joint(inside='<parent link="a"/><child link="for"/>')
    assert {"name": "fore"} in [f.remedy for f in urdf(tmp_path, text) if f.code == "name-unknown"]


def test_all_faults_of_a_file_are_reported_at_once(tmp_path):
    body = with_inertial('value="1"', 'value="-1"') + '\n<link name="b"/>' + joint(inside=ENDS + '<axis xyz="0 0 0"/>')
    body += '\n<joint name="k" type="weld"/>'
    assert places(urdf(tmp_path, body)) == [
        ("mass-negative", f"{LINK} <mass value>"),
        ("axis-zero", "bad.urdf:3 joint 'j' <axis xyz>"),
        ("joint-type-unknown", "bad.urdf:4 joint 'k'"),
        ("element-missing", "bad.urdf:4 joint 'k' <parent>"),
        ("element-missing", "bad.urdf:4 joint 'k' <child>"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>',
        '<robot name="r"><link name="${prefix}a"/></robot>',
        '<robot name="r"><link name="$(arg prefix)a"/></robot>',
    ],
)
def test_a_xacro_file_has_to_be_expanded_first(tmp_path, text):
    assert places(findings(tmp_path, text)) == [("xacro-not-expanded", "bad.urdf:1")]


def test_a_declared_xacro_namespace_alone_is_no_fault(tmp_path):
    (tmp_path / "ok.urdf").write_text('<robot name="r" xmlns:xacro="x"><link name="a"/></robot>')
    assert read_description(tmp_path / "ok.urdf").root == "a"


def test_another_kind_of_file_is_refused(tmp_path):
    assert places(findings(tmp_path, "<sdf/>")) == [("description-format-unknown", "bad.urdf:1")]


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
    assert (finding.code, finding.where) == ("path-escapes-folder", f"{LINK} <mesh filename>")
    assert finding.remedy == {"package_dirs": None}


@pytest.mark.parametrize("name", ["package://../secret.stl", "package://home/secret.stl", "package://tmp/x.stl"])
def test_a_package_named_like_a_distant_folder_is_not_followed(tmp_path, name):
    far = tmp_path / "home/me/work"
    far.mkdir(parents=True)
    (tmp_path / "home/secret.stl").write_text("")
    (far / "r.urdf").write_text(f'<robot name="r">{MESH % name}</robot>')
    assert read_description(far / "r.urdf").links["a"].visual[0].mesh is None


def mjcf(tmp_path, body, **options):
    return findings(tmp_path, f"<mujoco>\n{body}\n</mujoco>", "bad.xml", **options)


BODY = '<worldbody>\n<body name="b"><joint/>%s</body></worldbody>'

MJCF = [  # body of the file, code, where
    (BODY % '<inertial pos="0 0 0" mass="-1"/>', "mass-negative", "bad.xml:3 <inertial mass>"),
    (BODY % '<inertial pos="0 0 0" mass="nan"/>', "number-not-finite", "bad.xml:3 <inertial mass>"),
    (
        BODY % '<inertial pos="0 0 0" mass="1" diaginertia="1 -1 1"/>',
        "inertia-negative",
        "bad.xml:3 <inertial diaginertia>",
    ),
    (BODY % '<geom name="g" mass="-1"/>', "mass-negative", "bad.xml:3 geom 'g' <geom mass>"),
    (BODY % '<geom name="g" density="-1"/>', "density-negative", "bad.xml:3 geom 'g' <geom density>"),
    ('<include file="../x.xml"/>', "path-escapes-folder", "bad.xml:2 <include file>"),
    (
        '<asset><mesh name="m" file="/etc/passwd"/></asset>',
        "path-escapes-folder",
        "bad.xml:2 mesh 'm' <mesh file>",
    ),
    ('<compiler meshdir="../.."/>', "path-escapes-folder", "bad.xml:2 <compiler meshdir>"),
    (
        '<asset><texture type="cube" fileup="../x.png"/></asset>',
        "path-escapes-folder",
        "bad.xml:2 <texture fileup>",
    ),
]


@pytest.mark.parametrize(("body", "code", "where"), MJCF, ids=[f"{code} {where}" for _, code, where in MJCF])
def test_a_fault_of_mjcf_is_refused_before_mujoco_compiles_it(tmp_path, body, code, where):
    assert (code, where) in places(mjcf(tmp_path, body))


def test_off_diagonal_inertia_may_be_negative(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    text = BODY % '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 -.1 -.1 -.1"/>'
    (tmp_path / "ok.xml").write_text(f"<mujoco>{text}</mujoco>")
    assert read_description(tmp_path / "ok.xml").links["b"].inertia[0, 1] == pytest.approx(-0.1)


def test_a_fault_in_an_included_file_is_refused(tmp_path):
    (tmp_path / "bad.xml.part.xml").write_text('<mujocoinclude>\n<inertial mass="x"/></mujocoinclude>')
    faults = mjcf(tmp_path, '<include file="bad.xml.part.xml"/>')
    assert places(faults) == [("number-malformed", "bad.xml.part.xml:2 <inertial mass>")]


def test_too_many_included_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf_source, "_MAX_FILES", 1)
    (tmp_path / "part.xml").write_text("<mujocoinclude/>")
    assert places(mjcf(tmp_path, '<include file="part.xml"/>')) == [("includes-too-many", "bad.xml:2 <include>")]


def test_a_model_that_mujoco_does_not_compile_is_refused(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    massless = mjcf(tmp_path, "<worldbody><body><joint/></body></worldbody>")
    assert places(massless) == [("mjcf-not-compiled", "bad.xml")]


def test_a_scene_without_a_body_is_refused(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    assert places(mjcf(tmp_path, "<worldbody/>")) == [("description-empty", "bad.xml")]


def test_a_scene_of_two_robots_is_refused_with_their_names(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs MuJoCo")
    robot = '<body name="%s"><freejoint/><geom size="1"/><body><joint/><geom size="1"/></body></body>'
    scene = f"<worldbody>{robot % 'p'}{robot % 'q'}</worldbody>"
    assert places(mjcf(tmp_path, scene)) == [("robots-several", "bad.xml bodies 'p', 'q'")]


def test_mjcf_without_mujoco_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (finding,) = mjcf(tmp_path, BODY % '<geom size="1"/>')
    assert (finding.code, finding.remedy) == ("package-missing", {"install": "steelyard[sim]"})
