"""The recorded history of divisions: bodies that were divided most, at steps closer together in the beginning."""

import numpy as np
import pytest

from steelyard import Job
from steelyard.identify.division.history import BODIES, PICTURES, cells, recorded, recorded_body
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.output.report.solids import meshes


@pytest.fixture(scope="module")
def division_run(arm):
    stages = []
    result = identify(
        "demo_arm", [arm.train], Options(method="shapes", friction="all"), job=Job(progress=stages.append)
    )
    return result.estimate, stages


def test_every_division_is_reported_as_it_happens(division_run):
    estimate, stages = division_run
    divisions = [text for text in stages if text.startswith("dividing shapes: ")]
    assert len(divisions) == len(estimate.divisions) - 1
    last = estimate.divisions[-1]
    assert divisions[-1] == f"dividing shapes: {last.k}, objective {last.objective:.6g}, {last.shapes} shapes"


def test_masses_of_the_shapes_of_a_step_add_up_to_that_of_the_body(division_run):
    estimate, _ = division_run
    for entry, step in zip(recorded(estimate.divisions), estimate.divisions, strict=True):
        for name, kept in entry["cells"].items():
            assert sum(shape["mass"] for shape in kept) == pytest.approx(step.bodies[name][0])
            assert entry["bodies"][name]["mass"] == step.bodies[name][0]
            assert all(meshes(shape) for shape in kept)


def test_few_steps_are_recorded_the_first_and_the_last_change_among_them(division_run):
    estimate, _ = division_run
    history = recorded(estimate.divisions)
    assert 0 < len(history[0]["cells"]) <= BODIES
    for name in history[0]["cells"]:
        kept = [entry["k"] for entry in history if name in entry["cells"]]
        assert len(kept) <= PICTURES
        assert np.all(np.diff(kept) > 0)
        last = estimate.divisions[-1].k if kept[-1] == estimate.divisions[-1].k else kept[-1] + 1
        last_shapes = estimate.divisions[kept[-1]].shape_sets[name]
        assert all(step.shape_sets[name] is last_shapes for step in estimate.divisions[last:])


def test_the_history_of_one_body_is_that_of_all_with_its_own_shapes(division_run):
    estimate, _ = division_run
    name = next(iter(recorded(estimate.divisions)[0]["cells"]))
    history = recorded_body(estimate.divisions, name)
    assert [entry["k"] for entry in history] == [step.k for step in estimate.divisions]
    assert history[0]["cells"] == cells(estimate.divisions[0], name)
    assert sum("cells" in entry for entry in history) <= PICTURES
    assert recorded_body((), name) == []
