"""``identify --method shapes``: from a log to bodies made of shapes, and the proof that goes with them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from steelyard import Options, Shapes, UsageError, identify, weigh_load
from steelyard.compose.division_rule import Rule
from steelyard.compose.primitives import cuboid
from steelyard.compose.shape_file import ShapeFile
from steelyard.identify.estimate_json import estimate_json, estimate_text
from steelyard.identify.verdict import is_trusted
from steelyard.identify.weighing import load_report
from steelyard.robot.model import LOAD
from tests.compose.bodies import at
from tests.floating import floating_log
from tests.motions import carrying
from tests.refusals import refuses

pytestmark = pytest.mark.numerical

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(scope="module")
def pair(arm):
    """The same log by shapes and by lmi."""
    return [
        identify("demo_arm", [arm.train], Options(method=method, friction="all"), validate=[arm.test]).estimate
        for method in ("shapes", "lmi")
    ]


def test_bodies_of_shapes_are_consistent_certified_and_predict_as_well(pair):
    ours, best = pair
    assert ours.consistent
    assert ours.certificate.holds
    assert is_trusted(ours)
    (held_out,), (reference,) = ours.validation.values(), best.validation.values()
    assert held_out.relative < 1.05 * reference.relative


def test_no_division_raises_the_objective_and_it_approaches_that_of_lmi(pair):
    ours, best = pair
    objectives = [step.objective for step in ours.divisions]
    assert len(objectives) > 20
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert ours.objective < 1.01 * best.objective
    assert objectives[0] > 1.5 * objectives[-1], "undivided shapes explain much less"


def test_the_estimate_contains_its_shapes_and_their_divisions(pair):
    content = json.loads(estimate_text(estimate_json(pair[0])))
    for name, link in content["links"].items():
        assert sum(shape["mass"] for shape in content["shapes"][name]) == pytest.approx(link["mass"])
    assert content["divisions"][0] == {**content["divisions"][0], "k": 0, "change": None, "done": []}
    assert {"k", "objective", "change", "shapes", "done", "bodies", "cells"} == set(content["divisions"][1])
    assert "divisions" not in json.loads(estimate_text(estimate_json(pair[1])))


def test_a_description_that_shapes_cannot_represent_is_a_notice(a1_robot):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, truth, FEET, seconds=2.0, rate=200, wrenches=True)
    estimate = identify("a1", [log], Options(method=Shapes(divisions=0))).estimate
    (notice,) = [n for n in estimate.notices if n.code == "prior-not-represented"]
    assert notice.remedy["bodies"] == len(a1_robot.bodies) == 13
    assert notice.remedy["distance"] > 0


@pytest.fixture(scope="module")
def cube(a1_robot):
    """An A1 with a cube of 1 kg on its trunk, at the paper's noise; where the cube is."""
    place = np.array([0.11, -0.04, 0.077])
    load = cuboid([0.04] * 3, at(*place)).parameters
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    log = floating_log(a1_robot, carrying(a1_robot, truth, "trunk", load), FEET, seed=4, noise=(3e-4, 0.005, 0.05, 0.2))
    return log, place


AREA = ShapeFile(links={LOAD: (cuboid([0.4, 0.2, 0.04], at(0, 0, 0.077)),)})


def test_a_cube_on_a_walking_robot_is_identified_by_dividing_its_area(cube):
    log, place = cube
    result = weigh_load("a1", [log], "trunk", Options(method=Shapes(start=AREA), feet=FEET))
    (load,) = result.estimate.loads
    assert load.consistent
    assert result.estimate.certificate.holds
    assert load.mass == pytest.approx(1.0, abs=0.02)
    assert np.linalg.norm(load.parameters[1:4] / load.mass - place) < 4e-3
    content = load_report(result)
    assert [d["k"] for d in content["divisions"]] == list(range(len(content["divisions"])))
    distances = [np.linalg.norm(np.array(d["com"]) - place) for d in content["divisions"]]
    assert distances[0] > 0.1, "one shape has its centre of mass where it is"
    assert distances[-1] < 4e-3
    (entry,) = content["loads"]
    assert sum(shape["mass"] for shape in entry["shapes"]) == pytest.approx(load.mass)
    assert json.dumps(content, allow_nan=False)


def test_without_an_area_a_load_lies_in_a_cube_about_its_link(cube):
    log, place = cube
    (load,) = weigh_load("a1", [log], "trunk", Options(method="shapes", feet=FEET)).estimate.loads
    assert load.consistent
    assert np.linalg.norm(load.parameters[1:4] / load.mass - place) < 6e-3


def test_the_file_has_the_rule_of_division_and_the_command_line_the_number():
    file = ShapeFile(rule=Rule(parts=3))
    assert Shapes().rule == Rule()
    assert Shapes(start=file).rule == Rule(parts=3)
    assert Shapes(start=file, divisions=5).rule == Rule(parts=3, most=5)


def test_options_that_do_not_fit_shapes_are_refused_with_every_reason():
    with refuses(UsageError, "option-value", "divisions=-3"):
        Shapes(start=ShapeFile(), divisions=-3)
    with refuses(UsageError, "option-conflict", "regularisation=entropic", {"method": "lmi"}):
        Options(method=Shapes(regularisation="entropic"))


def test_a_file_of_shapes_is_read_by_the_command_line_and_is_in_the_provenance(arm, tmp_path, steelyard):
    file = tmp_path / "shapes.toml"
    file.write_text(
        "[division]\nparts = 3\n[bodies]\nforearm_link = [{ cuboid = [0.6, 0.1, 0.1], at = [-0.3, 0, 0] }]\n"
    )
    options = ["--method", "shapes", "--shapes", file, "--divisions", "2", "--friction", "all"]
    done = steelyard("identify", "demo_arm", arm.train, *options, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    estimate = identify(
        "demo_arm", [arm.train], Options(method=Shapes(start=file, divisions=2), friction="all")
    ).estimate
    (stopped,) = (n for n in estimate.notices if n.code == "division-stopped")
    assert stopped.remedy == {"steps": 2}
    assert f"note: {stopped}" in done.out
    content = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert content["method"] == "shapes"
    assert len(content["divisions"]) == 3
    assert str(file) in content["provenance"]["inputs"]
    again = steelyard("identify", "demo_arm", arm.train, *options, "-o", tmp_path / "out")
    assert again.code == 0


def test_a_link_of_the_file_that_the_robot_does_not_have_is_refused(arm, tmp_path, steelyard):
    file = tmp_path / "shapes.toml"
    file.write_text("[bodies]\nforarm = [{ sphere = 0.1 }]\n")
    done = steelyard("identify", "demo_arm", arm.train, "--method", "shapes", "--shapes", file, "-o", tmp_path / "out")
    assert done.code == 2
    assert "link 'forarm'" in done.err
