"""Feet whose force is not the weight of the robot, or that do not measure alike."""

import numpy as np
import pytest

from steelyard.check.supporting_force import _axes, _up
from steelyard.check.survey import survey
from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.log import Log
from steelyard.spatial import WRENCH
from tests.check.good_logs import FEET, MID
from tests.floating import floating_log
from tests.planted import scaled

CALM = np.diag([0.05] * 3 + [0.2] * 3 + [1.0] * 12)


def codes(log):
    return [(f.code, f.severity) for f in survey("a1", log).findings]


@pytest.fixture(scope="module")
def carried(a1_robot):
    """A robot that carries 20 % more than described on its feet."""
    truth = perturbed(a1_robot, np.random.default_rng(2))
    trunk = a1_robot.bodies[0].name
    truth[trunk] = truth[trunk] * 1.4
    return floating_log(a1_robot, truth, FEET, seconds=8, rate=200, noise=MID, wrenches=True, mix=CALM)


@pytest.fixture(scope="module")
def shifted(a1_robot, carried) -> Log:
    """The weight moves from left to right, and from front to rear."""
    rows = np.arange(len(carried))
    axes, (_, up) = _axes(a1_robot, carried, rows), _up(a1_robot, carried, rows)
    left, front = (0.5 + 0.4 * np.sin(2 * np.pi * f * carried.time) for f in (0.3, 0.17))
    sides, ends = {"L": left, "R": 1 - left}, {"F": front, "R": 1 - front}
    columns = {c: x for c, x in carried.columns.items() if not c.startswith(("wrench.", "tau."))}
    for foot in FEET:
        force = 9.81 * 14.0 * (ends[foot[0]] * sides[foot[1]])[:, None] * np.einsum("ti,tij->tj", up, axes[foot])
        columns |= {f"wrench.{foot}.{c}": f for c, f in zip(WRENCH, force.T, strict=False)}
    return Log.from_columns({"time": carried.time, **columns}, source="shifted")


def test_feet_that_carry_an_unknown_load_are_good(carried):
    assert codes(carried) == []


@pytest.mark.parametrize(("factor", "severity"), [(0.5, "doubt"), (0.25, "error"), (2.0, "doubt")])
def test_feet_that_do_not_carry_the_weight_are_reported_with_both_masses(carried, factor, severity):
    findings = survey(
        "a1", scaled(tuple(f"wrench.{foot}.{c}" for foot in FEET for c in WRENCH), factor)(carried)
    ).findings
    (finding,) = (f for f in findings if f.code == "weight-not-carried")
    assert finding.severity == severity
    assert finding.remedy["carried"] / finding.remedy["mass"] == pytest.approx(factor, rel=0.35)


def found(log):
    return [f for f in survey("a1", log).findings if f.code == "force-scale"]


def test_feet_between_which_the_weight_is_shifted_are_good(shifted):
    assert found(shifted) == []


@pytest.mark.parametrize("factor", [1.5, 0.7])
def test_a_foot_of_another_scale_is_a_doubt_where_weight_is_shifted_to_it(shifted, factor):
    (finding,) = found(scaled("wrench.FL_foot.", factor)(shifted))
    assert finding.severity == "doubt"
    assert finding.remedy["column"] == "wrench.FL_foot"
    assert finding.remedy["scale"] == pytest.approx(1 / factor, rel=0.02)
