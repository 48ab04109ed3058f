"""No delay is reported where there is none: exact logs, logs that hardly move, logs at a wrong rate."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.experiment.simulate.simulate_arm import fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.table import read_log
from tests.check.good_logs import FEET, MID, findings, with_velocities
from tests.floating import floating_log
from tests.planted import late, lossy

DELAYS = {"torque-delayed", "delay-beyond-range", "clock-drift"}
ONE_LEG = np.diag([0.0] * 6 + [1.0] * 3 + [0.0] * 9)


def codes(log, robot="demo_arm"):
    return {f.code for f in findings(log, robot)}


@pytest.mark.parametrize("seconds", [8.0, 12.0])
def test_an_exact_log_of_an_arm_has_no_delay_and_a_delay_of_20_ms_is_found_in_it(arm, seconds):
    truth = perturbed(arm.robot, np.random.default_rng(8))
    log = simulate_arm(arm.robot, truth, seed=8, seconds=seconds, noise="none")
    assert codes(log) == set()
    assert codes(late(0.02)(log)) & DELAYS


@pytest.mark.parametrize("amplitude", [0.0, 0.002, 0.02])
def test_an_arm_that_hardly_moves_has_no_delay(arm, amplitude):
    t, q, v, a = fourier_motion(arm.robot, np.random.default_rng(3), 12.0, 200.0)
    motion = (t, q[0] + amplitude * (q - q[0]), amplitude * v, amplitude * a)
    truth = perturbed(arm.robot, np.random.default_rng(3))
    for noise in ("none", "mid"):
        assert not codes(simulate_arm(arm.robot, truth, seed=3, noise=noise, motion=motion)) & DELAYS


@pytest.mark.parametrize("noise", [(0.0, 0.0, 0.0, 0.0), MID])
@pytest.mark.parametrize("mix", [None, ONE_LEG])
def test_an_exact_or_poorly_moving_walking_robot_has_no_delay(a1_robot, noise, mix):
    truth = perturbed(a1_robot, np.random.default_rng(6))
    log = floating_log(a1_robot, truth, FEET, seed=6, seconds=8, rate=200, noise=noise, mix=mix)
    assert not codes(log, "a1") & DELAYS


def test_a_log_read_at_a_tenth_of_its_rate_is_a_wrong_rate_and_no_delay(arm):
    log = with_velocities(read_log(arm.train))
    (finding,) = findings(replace(log, time=10 * log.time))
    assert (finding.code, finding.severity) == ("velocity-inconsistent", "error")
    assert finding.remedy["column"] == "time"


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_half_of_the_samples_lost_is_a_doubt_at_least(good, share):
    lost = [f for f in findings(lossy(share)(good)) if f.code == "samples-lost"]
    assert [f.severity in ("doubt", "error") for f in lost] == [True]
