"""The mean of an accelerometer is gravity while a robot is on its feet."""

import pytest

from steelyard.check.checks.accelerometer_scale import scale_of
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.simulate_quadruped import simulate_quadruped
from steelyard.experiment.simulate.truth import Specimen
from steelyard.robot.model import Robot
from tests.check.good_logs import FEET
from tests.floating import floating_log
from tests.planted import changed, scaled

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trot():
    pytest.importorskip("mujoco")
    robot = Robot.load("demo_a1")
    return robot, simulate_quadruped(robot, "trot", Specimen(truth_seed=1), Recording(noise="mid"), seconds=6.0, seed=1)


@pytest.mark.parametrize(("factor", "doubtful"), [(0.9, True), (0.96, True), (1.0, False), (1.05, True), (1.3, True)])
def test_a_wrong_scale_is_found_by_gravity(trot, factor, doubtful):
    robot, log = trot
    measured, excess = scale_of(robot, scaled("imu.acc.", factor)(log))
    assert measured == pytest.approx(factor, rel=0.01)  # within 0.5 m/s in six seconds
    assert (excess > 0.02) == doubtful


def test_so_is_a_bias_along_gravity(trot):
    robot, log = trot
    biased = changed(log, **{"imu.acc.z": log.columns["imu.acc.z"] + 0.5})
    assert scale_of(robot, biased)[0] == pytest.approx(1 + 0.5 / 9.81, rel=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_a_robot_that_is_thrown_about_is_not_judged(a1_robot, seed):
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    assert scale_of(a1_robot, floating_log(a1_robot, truth, FEET, seed=seed, seconds=4, rate=200))[1] < 0
