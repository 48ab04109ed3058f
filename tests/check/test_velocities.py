"""Velocities against the rates of their positions, at any factor."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.check.survey import survey
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.options import Options
from steelyard.log.table import read_log
from tests.check.good_logs import with_velocities
from tests.floating import floating_log
from tests.planted import scaled

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
MID = (3e-4, 0.005, 0.05, 0.2)  # noise of q, gyro, acc and tau


@pytest.fixture(scope="module")
def good(arm):
    return with_velocities(read_log(arm.train))


def findings(log, robot="demo_arm", **options):
    return survey(robot, log, options=Options(**options)).findings


def test_velocities_that_are_the_rates_of_their_positions_are_good(good):
    assert findings(good) == ()


@pytest.mark.parametrize("factor", [10.0, 0.1, 2.0, 0.5, 1.3])
def test_a_wrong_rate_of_the_stamps_is_named_with_its_factor_and_not_as_a_delay(good, factor):
    (finding,) = findings(replace(good, time=factor * good.time))
    assert (finding.code, finding.severity) == ("velocity-inconsistent", "error")
    assert finding.remedy["column"] == "time"
    assert finding.remedy["scale"] == pytest.approx(1 / factor, rel=0.02)


@pytest.mark.parametrize(("factor", "severity"), [(3.0, "error"), (0.7, "error"), (1.1, "doubt")])
def test_a_wrong_unit_of_one_velocity_is_named_with_its_factor(good, factor, severity):
    (finding,) = findings(scaled("v.elbow_joint", factor)(good))
    assert (finding.code, finding.severity) == ("velocity-inconsistent", severity)
    assert finding.remedy["column"] == "v.elbow_joint"
    assert finding.remedy["scale"] == pytest.approx(1 / factor, rel=0.02)


def test_a_reversed_velocity_has_a_reversed_sign(good):
    (finding,) = findings(scaled("v.elbow_joint", -1.0)(good))
    assert (finding.code, finding.remedy) == ("sign-reversed", {"negate": "v.elbow_joint"})


@pytest.mark.slow
def test_a_gyro_of_another_scale_contradicts_the_orientation(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(4))
    log = floating_log(a1_robot, truth, FEET, seconds=8, rate=200, noise=MID)
    assert findings(log, "a1", feet=FEET) == ()
    for slower in (scaled("imu.gyro", 1.5)(log), replace(log, time=1.5 * log.time)):
        finding = next(f for f in findings(slower, "a1", feet=FEET) if f.code == "velocity-inconsistent")
        assert finding.severity == "error"
        assert finding.remedy["column"] == "imu.gyro"
        assert finding.remedy["scale"] == pytest.approx(1 / 1.5, rel=0.02)
