"""A description is judged: each doubtful value is found where it is planted, and nowhere in a good description."""

import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.errors import UsageError
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.exact_angles import exact_angle, exact_rpy
from steelyard.spatial import rotation_from_rpy
from tests.motions import installed

BOX = """<inertial><origin xyz="{com}"/><mass value="{mass}"/>
<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>
<collision><origin xyz="{centre}"/><geometry><box size="{size}"/></geometry></collision>"""
GOOD = {"mass": 2.0, "com": "0 0 0.15", "ixx": 0.0157, "iyy": 0.0163, "izz": 0.0027, "centre": "0 0 0.15"}
SIZE = "0.1 0.08 0.3"


def link(name, **values):
    return f'<link name="{name}">{BOX.format(**{**GOOD, "size": SIZE, **values})}</link>'


def joint(name, parent, child, rpy="0 0 0", xyz="0 0 0.3", axis="0 1 0"):
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" velocity="3" effort="100"/></joint>'
    )


@pytest.fixture
def arm(tmp_path):
    """Write an arm of two uniform boxes, the second with planted values."""

    def written(rpy="0 0 0", **values):
        path = tmp_path / "arm.urdf"
        links = '<link name="base"/>' + link("upper") + link("fore", **values)
        joints = joint("shoulder", "base", "upper", axis="0 0 1") + joint("elbow", "upper", "fore", rpy)
        path.write_text(f'<robot name="arm">{links}{joints}</robot>')
        return path

    return written


@pytest.fixture
def sides(tmp_path):
    """Write two mirrored legs on a base, the right one with planted values."""

    def written(**values):
        path = tmp_path / "legs.urdf"
        left = {"com": "0.01 0.02 -0.15", "centre": "0 0.02 -0.15"}
        right = {"com": "0.01 -0.02 -0.15", "centre": "0 -0.02 -0.15"}
        links = link("trunk") + link("left_leg", **left) + link("right_leg", **{**right, **values})
        joints = joint("left_hip", "trunk", "left_leg", xyz="0 0.1 0") + joint(
            "right_hip", "trunk", "right_leg", xyz="0 -0.1 0"
        )
        path.write_text(f'<robot name="legs">{links}{joints}</robot>')
        return path

    return written


def found(robot, **options):
    """(code, severity, name) of every finding."""
    return [(f.code, f.severity, f.where.split("'")[1]) for f in sy.check(robot, **options).findings]


def test_a_good_description_has_no_findings(arm, sides):
    assert found(arm()) == []
    assert found(sides(), base="floating") == []


@pytest.mark.parametrize("name", ["demo_arm", "demo_a1"])
def test_the_embedded_robots_have_no_findings(name):
    assert sy.check(name).findings == ()


@installed
@pytest.mark.parametrize("name", ["a1", "anymal", "b1", "g1", "go2", "hyq", "kinova", "laikago", "solo12"])
def test_public_robots_with_plausible_values_have_no_findings(name):
    assert sy.check(name).findings == ()


@pytest.mark.parametrize(
    ("planted", "code"),
    [
        ({"ixx": 15.7, "iyy": 16.3, "izz": 2.7}, "inertia-too-large"),  # kg·cm² ·10 for kg·m²
        ({"ixx": 1.57e-5, "iyy": 1.63e-5, "izz": 2.7e-6}, "inertia-too-small"),
        ({"com": "0 0 0.4"}, "com-outside-geometry"),
        ({"com": "0 0 150"}, "com-outside-geometry"),  # mm
        ({"mass": 0.05, "ixx": 3.9e-4, "iyy": 4.1e-4, "izz": 6.7e-5}, "density-implausible"),
        ({"mass": 2000.0, "ixx": 15.7, "iyy": 16.3, "izz": 2.7}, "density-implausible"),  # g
        ({"mass": 1.0, "ixx": 1.0, "iyy": 1.0, "izz": 1.0, "size": "3 3 3"}, "inertial-placeholder"),
        ({"size": "0.1 0.08 0.42"}, "inertials-copied"),
    ],
)
def test_a_doubtful_body_is_named(arm, planted, code):
    named = "upper" if code == "inertials-copied" else "fore"
    assert (code, "doubt", named) in found(arm(**planted))
    assert {severity for _, severity, _ in found(arm(**planted))} == {"doubt"}


def test_a_moving_body_with_hardly_any_mass_is_doubtful(arm):
    tiny = {"mass": 1e-6, "ixx": 7.85e-9, "iyy": 8.15e-9, "izz": 1.35e-9}
    assert ("mass-negligible", "doubt", "fore") in found(arm(**tiny))


def test_a_moving_body_without_mass_is_refused(arm):
    survey = sy.check(arm(mass=0, ixx=0, iyy=0, izz=0))
    assert [(f.code, f.severity, f.remedy) for f in survey.findings] == [
        ("mass-not-positive", "error", {"repair_prior": True})
    ]
    assert survey.exit_code == 3
    assert sy.check(arm(mass=0, ixx=0, iyy=0, izz=0), repair_prior=True).exit_code == 0


@pytest.mark.parametrize(
    "planted",
    [
        {"mass": 2.2},
        {"com": "0.01 0.02 -0.15"},  # copied from the left, not mirrored
        {"ixx": 0.0235, "iyy": 0.0245, "izz": 0.0041},
    ],
)
def test_sides_that_are_not_mirrored_are_doubtful(sides, planted):
    assert found(sides(**planted), base="floating") == [("sides-differ", "doubt", "left_leg")]


def test_the_same_part_on_both_sides_is_not_doubtful(sides):
    same = {"com": "0.01 0.02 -0.15", "centre": "0 0.02 -0.15"}
    assert found(sides(**same), base="floating") == []


@pytest.mark.parametrize(
    "text", ["1.57", "1.5707", "1.5708", "-1.57079", "3.14", "3.1416", "0.785", "0.7854", "2.3562"]
)
def test_a_rounded_angle_is_a_note_with_its_exact_value(arm, text):
    [finding] = sy.check(arm(rpy=f"{text} 0 0")).findings
    assert (finding.code, finding.severity) == ("angle-rounded", "note")
    assert finding.remedy["joint"] == "elbow"
    exact = finding.remedy["rpy"][0] * 4 / np.pi
    assert exact == pytest.approx(round(exact), abs=1e-14)
    off = finding.remedy["rpy"][0] - float(text)
    assert abs(np.angle(np.exp(1j * off))) < 2e-3


@pytest.mark.parametrize("text", ["1.5707963267948966", "1.5712", "0.3", "0.52", "1.5", "0.79", "1e-4"])
def test_another_angle_is_left_as_it_is(arm, text):
    assert sy.check(arm(rpy=f"{text} 0 0")).findings == ()
    assert build(read_description(arm(rpy=f"{text} 0 0")), base="fixed").notices == ()


@pytest.mark.parametrize(
    "rpy", [(1.5708, 0, 3.1416), (0, 1.5708, 0), (0.3, 1.571, 0.7), (0, -1.5708, 1.57), (0, 3.1416, 0), (1.57, 2, 3.14)]
)
def test_the_exact_rotation_is_the_nearest_one_of_exact_angles(rpy):
    wanted = rotation_from_rpy([exact_angle(a) for a in rpy])
    np.testing.assert_allclose(rotation_from_rpy(exact_rpy(rotation_from_rpy(rpy))[1]), wanted, atol=1e-9)


def rank(path):
    robot = build(read_description(path), base="fixed")
    columns = Columns(tuple(b.name for b in robot.bodies))
    space = Setup(robot, "joint", columns).structure(priors.make(robot, columns).scale)
    return space.rank, space.condition


def test_a_rounded_angle_adds_no_base_parameter(tmp_path, monkeypatch):
    def arm_on(rpy):  # its first axis is vertical only if the angle is exact
        path = tmp_path / "arm.urdf"
        joints = joint("pan", "base", "upper", rpy, axis="0 1 0") + joint("elbow", "upper", "fore", axis="1 0 0")
        path.write_text(f'<robot name="arm"><link name="base"/>{link("upper")}{link("fore")}{joints}</robot>')
        return path

    exact, condition = rank(arm_on("1.5707963267948966 0 0"))
    assert rank(arm_on("1.5708 0 0")) == (exact, pytest.approx(condition, rel=1e-3))
    (notice,) = build(read_description(arm_on("1.5708 0 0")), base="fixed").notices
    assert (notice.code, notice.where, notice.remedy) == ("angle-rounded", "pan", {"joints": ["pan"]})
    monkeypatch.setattr("steelyard.robot.build.exact_placements", lambda description: ({}, []))
    phantom, large = rank(arm_on("1.5708 0 0"))
    assert phantom > exact
    assert large > 100 * condition


def test_exit_codes_are_0_for_nothing_4_for_doubts_and_3_for_errors(steelyard, arm):
    assert steelyard("check", arm()).code == 0
    assert steelyard("check", arm(rpy="1.5708 0 0")).code == 0
    doubtful = steelyard("check", arm(com="0 0 0.4"), "--json")
    assert doubtful.code == 4
    assert [f["code"] for f in json.loads(doubtful.out)["findings"]] == ["com-outside-geometry"]
    assert steelyard("check", arm(mass=0, ixx=0, iyy=0, izz=0)).code == 3


@pytest.mark.parametrize("option", [["--topics"], ["--write-mapping", "m.toml"], ["--mapping", "m.toml"]])
def test_options_of_a_log_need_one(steelyard, arm, option):
    assert steelyard("check", arm(), *option).code == 2


def test_a_description_that_cannot_be_read_is_a_finding():
    assert [f.code for f in sy.check("no_such_robot").findings] == ["robot-unknown"]
    with pytest.raises(UsageError):
        sy.check("demo_arm", base="sideways")
