"""A floating robot on a prescribed motion: its exact log obeys the equations of motion, its readings are noisy."""

import numpy as np
import pytest

from steelyard.equations.columns import Columns
from steelyard.equations.filters import Filter
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.sensors import LEVELS, measure
from steelyard.experiment.simulate.simulate_floating import crouched, random_sines, simulate_floating
from steelyard.experiment.simulate.truth import perturbed
from tests.motions import A1_FEET


@pytest.fixture(scope="module")
def recorded(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(0))
    motion = random_sines(a1_robot, np.random.default_rng(1), seconds=1.0)
    return truth, motion, simulate_floating(a1_robot, truth, A1_FEET, motion, imu_frame="imu_link", wrenches=True)


def test_velocity_and_acceleration_are_derivatives_of_the_motion(a1_robot):
    motion = random_sines(a1_robot, np.random.default_rng(0), seconds=0.2, rate=10_000.0)
    for x, rate in ((motion.position, motion.velocity), (motion.velocity, motion.acceleration)):
        slope = np.gradient(x, motion.time, axis=0)[1:-1]
        np.testing.assert_allclose(slope, rate[1:-1], atol=1e-4)  # h² max|x⃛|/6 with h = 0.1 ms


def test_every_equation_of_motion_holds_for_the_true_parameters(a1_robot, recorded):
    truth, _, log = recorded
    (segment,), _ = prepare(a1_robot, log, Filter(cutoff=None, kinematics=100.0).for_logs([log]), torques=True)
    columns = Columns(tuple(b.name for b in a1_robot.bodies))
    theta = np.concatenate([truth[b] for b in columns.bodies])
    for block in Setup(a1_robot, "full", columns).rows([segment]):
        residual = block.Y @ theta - block.target
        assert np.sqrt(np.mean(residual**2)) < 0.02 * np.sqrt(np.mean(block.target**2))  # derivatives are filtered


def test_the_posture_bends_the_knees_or_is_the_one_asked_for(a1_robot):
    around = np.linspace(-0.2, 0.2, len(a1_robot.joints))
    still = np.zeros((18, 18))
    for motion, posture in (
        (random_sines(a1_robot, np.random.default_rng(0), seconds=0.1, mix=still), crouched(a1_robot)),
        (random_sines(a1_robot, np.random.default_rng(0), seconds=0.1, mix=still, around=around), around),
    ):
        assert np.all(motion.position[:, 6:] == posture)
        assert not motion.velocity.any()


def test_measuring_adds_the_noise_of_a_level_and_keeps_the_columns_asked_for(recorded):
    *_, log = recorded
    noisy = measure(log, "mid", seed=3, keep=("base.",))
    assert np.all(noisy.columns["base.position.x"] == log.columns["base.position.x"])
    gyro = noisy.columns["imu.gyro.x"] - log.columns["imu.gyro.x"]
    assert np.std(gyro) == pytest.approx(LEVELS["mid"].gyro, rel=0.1)  # 500 samples: 3 % standard error
    assert not measure(log, "mid", seed=3).names("base")
