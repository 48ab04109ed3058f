from __future__ import annotations

import numpy as np
import pytest

from steelyard.experiment.calibrate.balance import balance_on
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.simulated import true_stance

pytestmark = pytest.mark.slow


def test_a_robot_that_knows_its_centre_of_mass_balances_on_two_feet_and_one_that_does_not_falls(loaded):
    rig = loaded(noise="mid", seed=1)
    exact = true_stance(rig)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    diagonal = stance.diagonals[0]
    _, n = stance.line(stance.nominal, np.array([0.0, 0.0, 1.0]), diagonal)
    right = exact.com(exact.nominal)
    good = balance_on(rig, stance.with_mass_and_com(exact.mass, right), diagonal, seconds=2.0)
    assert good.stood
    assert good.seconds == 2.0
    bad = balance_on(rig, stance.with_mass_and_com(exact.mass, right + 0.01 * n), diagonal, seconds=2.0)
    assert not bad.stood
    assert bad.seconds < 1.0
