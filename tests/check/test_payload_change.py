"""A load that is picked up within a log, on the last link of an arm and on the base of a walking robot."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.experiment.simulate.simulate_arm import Friction, fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from tests.check.good_logs import FEET, MID, findings
from tests.floating import floating_log


def load(kg, height=0.08):
    """A small ball above the origin of the body that carries it."""
    inertia = kg * (height**2 + 0.002)
    return np.array([kg, 0, 0, kg * height, inertia, 0, inertia, 0, 0, kg * 0.002])


def picked_up(make, truth, body, kg, share=0.5):
    """A log that continues with the load from a share of its samples on."""
    before, after = (make({**truth, body: truth[body] + load(x)}) for x in (0.0, kg))
    row = int(share * len(before))
    columns = {c: np.concatenate([x[:row], after.columns[c][row:]]) for c, x in before.columns.items()}
    return replace(before, columns=columns)


@pytest.fixture(scope="module")
def lifting(arm):
    rng = np.random.default_rng(5)
    truth, friction = perturbed(arm.robot, rng), Friction.random(arm.robot, rng)
    motion = fourier_motion(arm.robot, rng, 16.0, 200.0)

    def log(kg, share=0.5):
        def make(true):
            return simulate_arm(arm.robot, true, seed=5, friction=friction, motion=motion)

        return picked_up(make, truth, arm.robot.bodies[-1].name, kg, share)

    return log


@pytest.mark.parametrize(("kg", "share", "severity"), [(1.0, 0.5, "doubt"), (4.0, 0.5, "error"), (4.0, 0.3, "error")])
def test_a_load_that_an_arm_picks_up_is_reported_with_time_and_mass(lifting, kg, share, severity):
    (finding,) = findings(lifting(kg, share))
    assert (finding.code, finding.severity) == ("payload-changes", severity)
    assert finding.remedy["mass"] == pytest.approx(kg, rel=0.15)
    assert finding.remedy["time"] == pytest.approx(16.0 * share, abs=0.8)


def test_an_arm_that_carries_the_same_load_throughout_is_good(lifting):
    assert findings(lifting(4.0, 0.0)) == ()
    assert findings(lifting(0.0)) == ()


def test_a_load_put_on_a_walking_robot_is_reported_with_time_and_mass(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(0))

    def make(true):
        return floating_log(a1_robot, true, FEET, seconds=8, rate=200, noise=MID)

    trunk = a1_robot.bodies[0].name
    (finding,) = findings(picked_up(make, truth, trunk, 2.0), "a1")
    assert (finding.code, finding.severity) == ("payload-changes", "error")
    assert finding.remedy["mass"] == pytest.approx(2.0, rel=0.1)
    assert finding.remedy["time"] == pytest.approx(4.0, abs=0.5)
    assert findings(picked_up(make, truth, trunk, 2.0, 0.0), "a1") == ()
