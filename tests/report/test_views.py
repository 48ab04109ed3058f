"""The robot, its divisions and the convergence of the estimate, on the page."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import DescriptionError, SteelyardError
from steelyard.output.report import TimeCourse, courses_of, render
from steelyard.output.report.time_courses import POINTS, course_of
from tests.refusals import refuses

HERE = Path(__file__).parent
EXAMPLE = runpy.run_path(str(HERE / "conftest.py"))
BODIES, HOSTILE = EXAMPLE["BODIES"], EXAMPLE["HOSTILE"]
Page = runpy.run_path(str(HERE / "test_page.py"))["Page"]


@pytest.fixture
def scene():
    return EXAMPLE["example_scene"]()


def keys(page):
    return [attrs["id"] for tag, attrs in page.elements if tag == "section"]


def traces(page, kind, layer):
    return [t for t in page.figures["robot"]["data"] if t["type"] == kind and layer in t["layer"].split()]


def written_out(runs):
    return [value for count, value in runs["runs"] for _ in range(count)]


def test_the_robot_comes_after_its_bodies_with_a_mesh_for_each(estimate, series, scene):
    page = Page(render(estimate, series, scene=scene))
    assert keys(page)[:5] == ["summary", "questions", "contradictions", "bodies", "scene"]
    by_source = traces(page, "mesh3d", "source")
    assert [t["color"] for t in by_source] == ["@data", "@narrowed", "@prior"]
    assert sum(len(t["x"]) for t in by_source) == 8 * len(BODIES)
    (mass,) = traces(page, "mesh3d", "mass")
    assert written_out(mass["intensity"])[::8] == pytest.approx(
        [estimate["links"][b]["mass"] for b in BODIES], abs=1e-5
    )
    assert mass["cmax"] == max(body["mass"] for body in estimate["links"].values())


def test_centres_of_mass_are_where_the_bodies_are(estimate, series, scene):
    page = Page(render(estimate, series, scene=scene))
    moved, described, estimated, true = traces(page, "scatter3d", "com")
    for k, name in enumerate(BODIES):
        x, y, z = estimate["links"][name]["com"]
        got = [estimated[a][k] for a in "xyz"]
        np.testing.assert_allclose(got, [x, y, z + 0.2 * k], atol=1e-4)
        assert [moved[a][3 * k + 1] for a in "xyz"] == got
    assert len(described["x"]) == len(true["x"]) == len(BODIES)
    assert described["x"] != estimated["x"]


def test_shapes_are_coloured_by_their_mass_and_the_page_notes_that_it_is_not_unique(estimate, series, scene):
    page = Page(render(EXAMPLE["divided"](estimate), series, scene=scene))
    (_, filled) = traces(page, "mesh3d", "shapes")  # ghosts of the bodies first
    assert written_out(filled["intensity"])[::8] == [0.3, 0.7] * 7  # six bodies and a load
    assert filled["cmax"] == 0.7
    assert page.words.count("not unique") == 2
    (load,) = traces(page, "mesh3d", "load")
    assert load["color"] == "@load"
    (width,) = [t for t in traces(page, "scatter3d", "com") if t["mode"] == "lines" and t["line"]["color"] == "@load"]
    assert width["x"][:2] == pytest.approx([0.01 - 1.96e-3, 0.01 + 1.96e-3], abs=1e-4)


def test_every_division_that_was_kept_is_a_picture_from_above_and_from_the_side(estimate, series):
    estimate["truth"]["(load)"] = {"parameters": EXAMPLE["parameters"](1.0, (0.02, 0.0, 0.1), 0.02)}
    page = Page(render(EXAMPLE["divided"](estimate), series))
    assert "scene" not in keys(page), "no scene was kept"
    assert keys(page).index("division") == keys(page).index("convergence") - 1
    pictures = [attrs for tag, attrs in page.elements if tag == "svg" and attrs.get("class") == "cells"]
    assert len(pictures) == 2 * 2 * 3, "load and hostile body, two views, three steps"
    assert pictures[0]["aria-label"] == f"load on {HOSTILE} from above at k = 0"
    shares = [attrs["style"] for tag, attrs in page.elements if tag == "polygon" and attrs.get("class") == "mass"]
    assert shares[:2] == ["fill-opacity:1.000", "fill-opacity:1.000"]
    assert shares[2:4] == ["fill-opacity:0.300", "fill-opacity:0.700"], "the heavier is drawn last"
    truths = [attrs for tag, attrs in page.elements if tag == "polygon" and attrs.get("class") == "truth"]
    assert len(truths) == 4 * 3, "the load's, and the hostile body's"
    assert "k = 2 1.025 kg · 2 shapes objective 6.2500" in page.words


def test_convergence_is_plotted_as_the_error_or_as_the_distance_from_the_final_value(estimate, series):
    content = EXAMPLE["divided"](estimate)
    page = Page(render(content | {"truth": None}, series))
    assert "Mass, distance from the final value" in page.words
    assert page.figures["division-mass"]["data"][0]["y"] == pytest.approx([75.0, 25.0, None])
    assert page.figures["division-objective"]["data"][0]["y"] == pytest.approx([93.75, 18.75, None])
    content["truth"]["(load)"] = {"parameters": [1.0, 0.0, 0.0, 0.1, 1, 0, 1, 0, 0, 1]}
    page = Page(render(content, series))
    assert "Centre of mass, error" in page.words
    assert page.figures["division-com"]["data"][0]["y"] == pytest.approx([None, 10.0, 20.0])


def test_estimates_over_time_are_plotted_with_interval_and_truth(estimate, series):
    time, parameters, std = EXAMPLE["example_courses"]()
    truth = EXAMPLE["parameters_of_load"]()
    courses = courses_of(time, parameters, std, name="load", truth=truth)
    assert [c.name for c in courses] == ["load: mass", *(f"load: centre of mass, {a}" for a in "xyz")]
    content = json.loads(json.dumps(estimate | {"courses": [c.as_json() for c in courses]}, allow_nan=False))
    page = Page(render(content, series))
    low, high, line, true = page.figures["course-0"]["data"]
    assert len(line["x"]) <= POINTS
    assert line["y"][0] == pytest.approx(1.5)
    assert line["y"][-1] == pytest.approx(parameters[-1, 0], rel=1e-5)
    assert high["y"][-1] - low["y"][-1] == pytest.approx(2 * 1.96 * std[-1, 0], rel=1e-3)
    assert true["y"] == [1.0, 1.0]
    assert "mm at the end, true 50.00" in page.words


def test_a_course_of_other_length_than_its_times_is_refused():
    with refuses(SteelyardError, "shape-mismatch", "course of m"):
        TimeCourse("m", "kg", np.arange(3.0), np.arange(3.0), np.arange(2.0))
    assert course_of({"name": "m", "unit": "kg", "time": [0, 1], "value": [1]}) is None
    assert course_of({"name": "m"}) is None


def test_hostile_names_stay_text_in_every_view(estimate, series, scene):
    content = EXAMPLE["divided"](estimate)
    content["courses"] = [TimeCourse(HOSTILE, HOSTILE, np.arange(3.0), np.arange(3.0)).as_json()]
    html = render(content, series, scene=scene)
    page = Page(html)
    assert not [attrs for tag, attrs in page.elements if tag in ("img", "iframe", "object", "embed")]
    assert "<img src=x" not in html.replace(page.scripts[1][1], "")
    texts = [text for t in page.figures["robot"]["data"] for text in _texts(t)]
    assert any("&lt;img" in text for text in texts)
    assert not any("<img" in text or "</script" in text for text in texts)
    assert "<img" not in json.dumps({k: v for k, v in page.figures.items() if k[:6] in ("course", "divisi")})


def _texts(trace):
    text = trace.get("text", [])
    return written_out(text) if isinstance(text, dict) else text


@pytest.mark.parametrize(
    "broken",
    [{}, {"bodies": []}, {"bodies": {BODIES[0]: {"pose": [[1]], "shapes": 3}}}, {"bodies": {BODIES[0]: None}},
     {"bodies": {BODIES[0]: {"pose": np.eye(4).tolist(), "shapes": [None, {"kind": "cube"}]}}, "fixed": "no"}],
)  # fmt: skip
def test_an_invalid_scene_is_omitted_from_the_page(estimate, series, broken):
    content = estimate | {"divisions": [{"cells": {"a": [{}]}}, None], "courses": [None, {}], "shapes": {"a": 1}}
    assert "scene" not in keys(Page(render(content, series, scene=broken)))


@pytest.mark.slow
def test_the_page_of_the_largest_robot_is_below_eight_megabytes(estimate, series):
    """talos_full: 45 bodies, each divided until any ten parameters are a sum of its shapes."""
    from steelyard.compose.shape_set import complete
    from steelyard.identify.series import Series
    from steelyard.output.scene_file import make_scene
    from steelyard.robot.model import Robot

    try:
        robot = Robot.load("talos_full", base="floating")
    except DescriptionError as error:
        pytest.skip(str(error))
    body = estimate["links"][BODIES[0]]
    names = [b.name for b in robot.bodies]
    shapes = {b.name: [{**p.as_json(), "mass": 0.1} for p in complete(b).parts] for b in robot.bodies}
    whole = {key: dict.fromkeys(names, estimate[key][BODIES[0]]) for key in ("prior", "truth")}
    s = series[0]
    rows = tuple(f"row {k}" for k in range(50))
    many = Series(s.log, s.role, rows, ("N·m",) * 50, s.time, *(np.tile(x, (1, 9))[:, :50] for x in (s.measured,) * 2))
    content = EXAMPLE["divided"](estimate) | whole | {"links": dict.fromkeys(names, body), "shapes": shapes}
    page = render(content, [many], scene=make_scene(robot))
    assert sum(map(len, shapes.values())) > 300
    assert len(page.encode()) < 8e6
