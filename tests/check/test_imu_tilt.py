"""An IMU whose mounting is some degrees off, by accelerometer and gyro against the orientation."""

import numpy as np
import pytest

from steelyard.check.checks.imu_tilt import ImuTilt
from steelyard.check.opening import open_logs
from steelyard.check.subject import Subject
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.options import Options
from steelyard.spatial import rotation_about
from tests.check.good_logs import FEET, MID, findings
from tests.floating import floating_log
from tests.planted import changed

STANDING = np.diag([0.0] * 6 + [1.0] * 12)
AXIS = np.array([0.8, 0.6, 0.0])


def rotated(log, degrees, vectors=("imu.acc", "imu.gyro")):
    R = rotation_about(AXIS, np.radians(degrees))
    columns = {}
    for vector in vectors:
        columns |= {f"{vector}.{c}": x for c, x in zip("xyz", R @ log.vector(vector).T, strict=True)}
    return changed(log, **columns)


def judged(robot, log):
    setup = open_logs(robot.description, [log], Options(feet=FEET))
    return [(f.code, f.severity, f.remedy["degrees"]) for f in ImuTilt().find(Subject(setup, log, ()))]


@pytest.fixture(scope="module")
def standing(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(4))
    return floating_log(a1_robot, truth, FEET, seconds=8, rate=200, noise=MID, mix=STANDING)


@pytest.mark.parametrize("seed", range(3))
def test_a_base_that_sways_and_leaps_has_no_tilted_imu(a1_robot, seed):
    truth = perturbed(a1_robot, np.random.default_rng(seed))
    for noise in ((0.0, 0.0, 0.0, 0.0), MID):
        assert judged(a1_robot, floating_log(a1_robot, truth, FEET, seed=seed, seconds=8, rate=200, noise=noise)) == []


def test_a_robot_that_stands_still_with_a_constant_orientation_has_no_findings(a1_robot, standing):
    assert findings(standing, "a1") == ()
    truth = perturbed(a1_robot, np.random.default_rng(4))
    exact = floating_log(a1_robot, truth, FEET, seconds=8, rate=200, mix=STANDING)
    assert findings(exact, "a1") == ()


@pytest.mark.parametrize(("degrees", "severity"), [(3.0, "doubt"), (5.0, "doubt"), (10.0, "error"), (-15.0, "error")])
def test_a_tilted_imu_is_reported_with_its_angle(walking, degrees, severity):
    (finding,) = findings(rotated(walking, degrees), "a1")
    assert (finding.code, finding.severity) == ("imu-tilted", severity)
    assert finding.remedy["degrees"] == pytest.approx(abs(degrees), rel=0.1)


def test_a_tilted_accelerometer_is_found_on_a_standing_robot_too(a1_robot, standing):
    ((code, severity, degrees),) = judged(a1_robot, rotated(standing, 10.0))
    assert (code, severity) == ("imu-tilted", "error")
    assert degrees == pytest.approx(10.0, rel=0.1)
    assert judged(a1_robot, rotated(standing, 1.0)) == []
