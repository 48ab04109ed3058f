"""A load somewhere in an area, located by dividing it, against the robot as described or as identified before."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from steelyard import Options, UnknownLoad, UsageError, identify, inertia
from steelyard.compose.load_area import area_above, as_cuboid
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.weighing import load_report, weigh_load
from steelyard.log.table import write_log
from steelyard.output.results import write_results
from tests.floating import floating_log
from tests.motions import load

pytestmark = pytest.mark.slow

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
NOISE = (3e-4, 0.005, 0.05, 0.2)
AREA = (-0.2, 0.2, -0.1, 0.1, 0.057, 0.097)
PLACE = np.array([0.08, -0.05, 0.077])
CUBE = inertia.pack(1.0, PLACE, 0.04**2 / 6 * np.eye(3))


@pytest.fixture(scope="module")
def dog(tmp_path_factory):
    """Logs of a robot whose trunk is not as described, with and without a cube on its back."""
    robot, folder = load("demo_a1"), tmp_path_factory.mktemp("area")
    described = {b.name: b.parameters for b in robot.bodies}
    other = described | {"trunk": perturbed(robot, np.random.default_rng(1))["trunk"]}
    logs = SimpleNamespace(robot=robot, folder=folder)
    for name, truth in (("described", described), ("other", other)):
        for kind, bodies in (("empty", truth), ("loaded", truth | {"trunk": truth["trunk"] + CUBE})):
            path = folder / f"{name}-{kind}.parquet"
            write_log(path, floating_log(robot, bodies, FEET, seed=len(kind), seconds=4.0, noise=NOISE))
            setattr(logs, f"{name}_{kind}", path)
    return logs


def mass_and_error(result):
    (one,) = result.estimate.loads
    mass, com, _ = inertia.unpack(one.parameters)
    return mass, 1e3 * np.linalg.norm(com - PLACE)


@pytest.mark.parametrize("where", [{"area": AREA}, {"top": 0.08}])
def test_dividing_an_area_finds_where_in_it_a_cube_lies(dog, where):
    result = weigh_load("demo_a1", [dog.described_loaded], UnknownLoad("trunk", **where), Options(feet=FEET))
    mass, far = mass_and_error(result)
    assert mass == pytest.approx(1.0, abs=0.02)  # kg; 95 % intervals are ± 0.016 in papers/xu, Case 2
    assert far < 4.0  # mm; a tenth of the cube's edge
    assert result.estimate.certificate.holds
    report = load_report(result)
    steps = report["divisions"]
    assert [s["k"] for s in steps] == list(range(len(steps)))
    objective = [s["objective"] for s in steps]
    assert objective == sorted(objective, reverse=True)
    assert np.linalg.norm(np.array(steps[-1]["com"]) - PLACE) < 0.2 * np.linalg.norm(np.array(steps[0]["com"]) - PLACE)
    shapes = report["loads"][0]["shapes"]
    assert sum(s["mass"] for s in shapes) == pytest.approx(mass)
    assert set(report["fixed"]) == {b.name for b in dog.robot.bodies}


def test_the_uncertainty_and_errors_of_an_earlier_estimate_stay_out_of_the_load(dog, tmp_path):
    base = identify("demo_a1", [dog.other_empty], Options(feet=FEET, links=("trunk",)))
    write_results(base, tmp_path / "base")
    options, load = Options(feet=FEET), UnknownLoad("trunk", area=AREA)
    wrong = weigh_load("demo_a1", [dog.other_loaded], load, options)
    right = weigh_load("demo_a1", [dog.other_loaded], load, options, earlier=tmp_path / "base")
    assert mass_and_error(wrong)[1] > 30  # mm; the trunk's own error is taken for load
    mass, far = mass_and_error(right)
    assert mass == pytest.approx(1.0, abs=0.02)  # kg; 95 % intervals are ± 0.016 in papers/xu, Case 2
    assert far < 4.0  # mm; a tenth of the cube's edge
    assert right.estimate.certificate.holds
    (load_,) = right.estimate.loads
    assert load_.std[0] > wrong.estimate.loads[0].std[0]
    free = {b.name for b in right.estimate.bodies if b.free}
    assert free == {"trunk"}  # the legs were held as described then, and are now
    both = weigh_load("demo_a1", [dog.other_loaded], load, options, empty=[dog.other_empty])
    assert mass_and_error(both)[1] < 6.0  # legs free as well
    assert all(b.consistent for b in both.estimate.bodies)


def test_divisions_end_at_the_number_asked_for(dog):
    load = UnknownLoad("trunk", area=AREA, divisions=2)
    assert len(weigh_load("demo_a1", [dog.described_loaded], load, Options(feet=FEET)).estimate.divisions) == 3


def test_the_command_writes_place_and_divisions_of_the_load(steelyard, dog, tmp_path):
    where = ("--area", *AREA, "--feet", ",".join(FEET))
    done = steelyard("load", "demo_a1", dog.described_loaded, "--on", "trunk", "-o", tmp_path / "out", *where)
    assert done.code == 0
    content = json.loads((tmp_path / "out" / "load.json").read_text())
    assert content["loads"][0]["mass"] == pytest.approx(1.0, abs=0.02)
    assert len(content["divisions"]) > 4
    assert (tmp_path / "out" / "report.html").stat().st_size < 8e6


def test_a_file_defines_shapes_and_division_of_the_load(steelyard, dog, tmp_path):
    rule = 'choose = "criterion"\nk1 = 0.0\nk2 = 1.0\nmost = 5\npatience = 9'
    shapes = "{ cuboid = [0.4, 0.2, 0.04], at = [0, 0, 0.077] }"
    (tmp_path / "area.toml").write_text(f'[division]\n{rule}\n[bodies]\n"(load)" = [{shapes}]\n')
    where = ("--shapes", tmp_path / "area.toml", "--feet", ",".join(FEET))
    done = steelyard("load", "demo_a1", dog.described_loaded, "--on", "trunk", "-o", tmp_path / "out", *where)
    assert done.code == 0
    content = json.loads((tmp_path / "out" / "load.json").read_text())
    assert [step["k"] for step in content["divisions"]] == [0, 1, 2, 3, 4, 5]
    assert content["loads"][0]["mass"] == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(
    ("options", "code", "where"),
    [
        ({"area": (0.2, -0.2, -0.1, 0.1, 0.0, 0.1)}, "option-value", "area=0.2 -0.2 -0.1 0.1 0 0.1"),
        ({"area": (0.2, np.nan, -0.1, 0.1, 0.0, 0.1)}, "option-value", "area=0.2 nan -0.1 0.1 0 0.1"),
        ({"area": AREA, "top": 0.1}, "option-conflict", "top=0.1"),
        ({"top": 0.0}, "option-value", "top=0.0"),
        ({"divisions": 3}, "load-area-missing", "divisions="),
        ({"area": AREA, "divisions": -1}, "option-value", "divisions=-1"),
    ],
)
def test_an_area_is_refused_if_it_is_empty_or_given_twice(options, code, where):
    with pytest.raises(UsageError) as error:
        UnknownLoad("trunk", **options)
    assert [(f.code, f.where) for f in error.value.findings] == [(code, where)]


def test_an_area_is_a_cuboid_and_the_top_of_a_link_is_above_its_shapes(dog):
    low, high = as_cuboid(AREA).box
    assert np.column_stack([low, high]).ravel() == pytest.approx(AREA)
    # the trunk's box, 0.267 × 0.194 × 0.114 m, and 0.1 m above it
    assert area_above(dog.robot, "trunk", 0.1) == pytest.approx((-0.1335, 0.1335, -0.097, 0.097, 0.057, 0.157))
    with pytest.raises(UsageError) as error:
        area_above(dog.robot, "imu_link", 0.1)
    (finding,) = error.value.findings
    assert (finding.code, finding.where, finding.remedy) == ("link-without-shapes", "imu_link", {"area": None})
    with pytest.raises(UsageError) as error:
        as_cuboid((0.0, 1.0))
    (finding,) = error.value.findings
    assert (finding.code, finding.where, finding.remedy) == ("option-value", "area=0 1", {"area": None})
