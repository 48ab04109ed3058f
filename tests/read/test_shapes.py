"""A file of shapes says what links are made of; all that is wrong with it is said at once."""

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
    found = read_shapes(write(tmp_path, GOOD))
    box, rod = found.links["tool0"]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_from_rpy(np.array([0.1, -0.2, 0.3])), [0, 0.1, 0.2]
    aside = np.eye(4)
    aside[0, 3] = 1
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    expected = [cuboid([0.4, 0.2, 0.04], T), cylinder(0.05, 0.2), ellipsoid([0.1, 0.2, 0.3]), sphere(0.1),
                capsule(0.1, 0.2), polyhedron(corners, aside)]  # fmt: skip
    for ours, theirs in zip((box, rod, *found.links["forearm_link"]), expected, strict=True):
        assert ours.kind == theirs.kind
        np.testing.assert_allclose(ours.parameters, theirs.parameters, atol=1e-14)
    assert found.rule == Rule("criterion", 2.0, 0.5, at_once=2, parts=3, prune=False, tolerance=1e-4)


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
    robot = Robot.load("demo_arm").carrying("tool0")
    (found,) = ShapeFile(links={LOAD: (area,)}).bodies(robot)[LOAD]
    np.testing.assert_allclose(found.parameters, area.parameters)


def test_the_page_about_shapes_has_a_file_that_can_be_read_and_every_key_of_division(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "shapes.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    found = read_shapes(write(tmp_path, text))
    assert len(found.links["base"]) == 6
    defaults = {f.name: f.default for f in fields(Rule)}
    keys = page.split("| key | default |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`[a-z_0-9`, ]+`) \| ([^|]+) \|", keys, re.MULTILINE)
    said = {
        name: value.strip(' `"')
        for names, values in rows
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True)
    }
    assert set(said) == set(defaults)
    for name, default in defaults.items():
        shown = str(default).lower() if isinstance(default, bool) else default
        assert said[name] == shown if isinstance(shown, str) else float(said[name]) == shown


def test_a_file_that_says_nothing_leaves_everything_as_it_is(tmp_path):
    assert read_shapes(write(tmp_path, "")) == ShapeFile(str(tmp_path / "shapes.toml"))


def test_all_that_is_wrong_with_a_file_is_said_at_once(tmp_path):
    path = write(tmp_path, BAD)
    with pytest.raises(DescriptionError) as error:
        read_shapes(path)
    said = [str(f).removeprefix(f"{path}, ") for f in error.value.findings]
    assert said == [
        "other: is a section that is not known. There are: division, bodies.",
        "division, speed: is a key that is not known. There are: choose, k1, k2, axes, at_once, parts, width, prune, "
        "merge, add, tolerance, patience, thorough, most.",
        "division, k1: is 'much', not a number. Give a number.",
        "division, patience: is 1.5, not a whole number. Give a whole number.",
        "division, choose 'best': is not known. Choose from: look-ahead, criterion, gradient.",
        "division, parts 12: is out of range. Give 2 to 8.",
        "bodies, none: is [], not a list of shapes. Write [{ cuboid = […] }, …].",
        "bodies, one: is {'sphere': 1}, not a list of shapes. Write [{ cuboid = […] }, …].",
        *(
            f"bodies, two, shape {k}: is {what}, not one shape. Write {{ KIND = measures }} with one of cuboid, "
            "cylinder, ellipsoid, sphere, capsule, polyhedron."
            for k, what in ((1, "{}"), (2, "{'sphere': 0.1, 'cuboid': [1, 1, 1]}"), (3, "3"))
        ),
        "bodies, three, shape 1, sphere: is -1. Give a radius in m, all above 0.",
        "bodies, three, shape 2, cuboid: is [1, 2]. Give three edges in m, all above 0.",
        "bodies, three, shape 3, cylinder: is [1, 'long']. Give radius and length in m, all above 0.",
        "bodies, three, shape 4, angle: is a key that is not known. There are: sphere, at, rpy.",
        "bodies, four, shape 1, at: is [1, 2]. Give three numbers in m.",
        "bodies, four, shape 1, rpy: is 'up'. Give three numbers in rad.",
        *(
            f"bodies, five, shape {k}, polyhedron: is {what}. Give four corners or more, not all in one plane: "
            "[[x, y, z], …] in m."
            for k, what in ((1, "[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]"), (2, "3"))
        ),
    ]


def test_sections_that_are_none_are_refused(tmp_path):
    with pytest.raises(DescriptionError, match="bodies: is 3, not a section") as error:
        read_shapes(write(tmp_path, "bodies = 3\ndivision = []"))
    assert len(error.value.findings) == 2


def test_a_file_that_is_not_there_or_no_toml_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match="is no file"):
        read_shapes(tmp_path / "nothing.toml")
    with pytest.raises(LogError, match="is not TOML"):
        read_shapes(write(tmp_path, "[bodies"))


def test_links_that_are_not_there_or_never_move_are_refused_by_name(tmp_path):
    file = ShapeFile("s.toml", {"forarm_link": (sphere(0.1),), "world": (sphere(0.1),)})
    with pytest.raises(UsageError) as error:
        file.bodies(Robot.load("demo_arm"))
    first, second = error.value.findings
    assert first.where == "s.toml, link 'forarm_link'"
    assert "forearm_link" in first.fix
    assert "never moves" in second.what
