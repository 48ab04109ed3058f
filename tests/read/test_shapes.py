"""A file of shapes gives the shapes of links; all its faults are reported at once."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from steelyard import inertia
from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import capsule, cuboid, cylinder, ellipsoid, polyhedron, sphere
from steelyard.compose.shape_file import ShapeFile, read_shapes
from steelyard.errors import DescriptionError, LogError, UsageError
from steelyard.robot.model import LOAD, Robot
from steelyard.spatial import rotation_from_rpy
from tests.refusals import refuses

GOOD = """
[division]
choose = "criterion"
k1 = 2
k2 = 0.5
parts = 3
at_once = 2
prune = false
tolerance = 1e-4

[bodies]
tool0 = [
    { cuboid = [0.4, 0.2, 0.04], at = [0, 0.1, 0.2], rpy = [0.1, -0.2, 0.3] },
    { cylinder = [0.05, 0.2] },
]
forearm_link = [
    { ellipsoid = [0.1, 0.2, 0.3] },
    { sphere = 0.1 },
    { capsule = [0.1, 0.2] },
    { polyhedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], at = [1, 0, 0] },
]
"""
BAD = """
other = 1
division = { choose = "best", k1 = "much", parts = 12, speed = 3, patience = 1.5 }
[bodies]
none = []
one = { sphere = 1 }
two = [{ }, { sphere = 0.1, cuboid = [1, 1, 1] }, 3]
three = [{ sphere = -1 }, { cuboid = [1, 2] }, { cylinder = [1, "long"] }, { sphere = 0.1, angle = 3 }]
four = [{ sphere = 0.1, at = [1, 2], rpy = "up" }]
five = [{ polyhedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]] }, { polyhedron = 3 }]
"""


def write(tmp_path, text):
    path = tmp_path / "shapes.toml"
    path.write_text(text)
    return path


def test_every_shape_is_read_with_its_measures_and_pose(tmp_path):
    file = read_shapes(write(tmp_path, GOOD))
    box, rod = file.links["tool0"]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_from_rpy(np.array([0.1, -0.2, 0.3])), [0, 0.1, 0.2]
    aside = np.eye(4)
    aside[0, 3] = 1
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    expected = [cuboid([0.4, 0.2, 0.04], T), cylinder(0.05, 0.2), ellipsoid([0.1, 0.2, 0.3]), sphere(0.1),
                capsule(0.1, 0.2), polyhedron(corners, aside)]  # fmt: skip
    for ours, theirs in zip((box, rod, *file.links["forearm_link"]), expected, strict=True):
        assert ours.kind == theirs.kind
        np.testing.assert_allclose(ours.parameters, theirs.parameters, atol=1e-14)
    assert file.rule == Rule("criterion", 2.0, 0.5, at_once=2, parts=3, prune=False, tolerance=1e-4)


def test_shapes_of_a_link_are_placed_in_the_frame_of_its_moving_body(tmp_path):
    robot = Robot.load("demo_arm")
    file = read_shapes(write(tmp_path, GOOD.replace("forearm_link", "wrist_3_link")))
    bodies = file.bodies(robot)
    name = robot.body("tool0").name
    assert list(bodies) == [name], "both links belong to one body"
    assert len(bodies[name]) == 6
    placement = robot.frames["tool0"].placement
    assert not np.allclose(placement, np.eye(4))
    expected = inertia.transform(file.links["tool0"][0].parameters, placement)
    np.testing.assert_allclose(bodies[name][0].parameters, expected, atol=1e-14)


def test_shapes_of_a_load_stay_in_the_axes_of_its_carrier():
    area = cuboid([0.4, 0.2, 0.04])
    robot = Robot.load("demo_arm").with_load("tool0")
    (placed,) = ShapeFile(links={LOAD: (area,)}).bodies(robot)[LOAD]
    np.testing.assert_allclose(placed.parameters, area.parameters)


def test_the_page_about_shapes_has_a_file_that_can_be_read_and_every_key_of_division(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "shapes.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(read_shapes(write(tmp_path, text)).links["base"]) == 6
    defaults = {f.name: f.default for f in fields(Rule)}
    keys = page.split("| key | default |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`[a-z_0-9`, ]+`) \| ([^|]+) \|", keys, re.MULTILINE)
    documented = {
        name: value.strip(' `"')
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True)
    }
    assert set(documented) == set(defaults)
    for name, default in defaults.items():
        shown = str(default).lower() if isinstance(default, bool) else default
        assert documented[name] == shown if isinstance(shown, str) else float(documented[name]) == shown


def test_an_empty_file_has_no_shapes_and_the_default_rule(tmp_path):
    assert read_shapes(write(tmp_path, "")) == ShapeFile(str(tmp_path / "shapes.toml"))


def test_all_faults_of_a_file_are_reported_at_once(tmp_path):
    path = write(tmp_path, BAD)
    with pytest.raises(DescriptionError) as error:
        read_shapes(path)
    assert [(f.code, f.where.removeprefix(f"{path}, ")) for f in error.value.findings] == [
        ("key-unknown", "other"),
        ("key-unknown", "division, speed"),
        ("value-invalid", "division, k1"),
        ("value-invalid", "division, patience"),
        ("option-unknown-choice", "division.choose='best'"),
        ("option-value", "division.parts=12"),
        ("value-invalid", "bodies, none"),
        ("value-invalid", "bodies, one"),
        *(("value-invalid", f"bodies, two, shape {k}") for k in (1, 2, 3)),
        ("value-invalid", "bodies, three, shape 1, sphere"),
        ("value-invalid", "bodies, three, shape 2, cuboid"),
        ("value-invalid", "bodies, three, shape 3, cylinder"),
        ("key-unknown", "bodies, three, shape 4, angle"),
        ("value-invalid", "bodies, four, shape 1, at"),
        ("value-invalid", "bodies, four, shape 1, rpy"),
        *(("value-invalid", f"bodies, five, shape {k}, polyhedron") for k in (1, 2)),
    ]


def test_sections_that_are_not_tables_are_refused(tmp_path):
    with pytest.raises(DescriptionError) as error:
        read_shapes(path := write(tmp_path, "bodies = 3\ndivision = []"))
    assert [(f.code, f.where) for f in error.value.findings] == [
        ("value-invalid", f"{path}, division"),
        ("value-invalid", f"{path}, bodies"),
    ]


def test_a_file_that_is_missing_or_not_toml_is_refused(tmp_path):
    with refuses(DescriptionError, "file-missing", "nothing.toml"):
        read_shapes(tmp_path / "nothing.toml")
    with refuses(LogError, "toml-malformed", "shapes.toml"):
        read_shapes(write(tmp_path, "[bodies"))


def test_links_that_do_not_exist_or_never_move_are_refused_by_name(tmp_path):
    file = ShapeFile("s.toml", {"forarm_link": (sphere(0.1),), "world": (sphere(0.1),)})
    with pytest.raises(UsageError) as error:
        file.bodies(Robot.load("demo_arm"))
    assert [(f.code, f.where, f.remedy) for f in error.value.findings] == [
        ("name-unknown", "s.toml, link 'forarm_link'", {"name": "forearm_link"}),
        ("link-on-fixed-base", "s.toml, link 'world'", {}),
    ]
