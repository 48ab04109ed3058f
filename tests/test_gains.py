"""Drive gains are told by what moves mass, not by what only rubs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.gains import partial
from steelyard.simulate.arm import Friction, simulate_arm

GAIN = 9.0


def currents(log, gain=GAIN):
    named = {k.replace("tau.", "current."): v / gain if k.startswith("tau.") else v for k, v in log.columns.items()}
    return replace(log, columns=named)


def rubbing(robot, joint, viscous=4.0, coulomb=6.0):
    """Friction on one joint alone."""
    on = np.array([float(j == joint) for j in robot.joints])
    return Friction(viscous * on, coulomb * on, 0 * on, 0 * on)


@pytest.mark.parametrize("friction", ["coulomb", "all"])
def test_a_joint_that_is_nearly_all_friction_keeps_a_gain_like_the_others(arm, friction):
    """Friction columns explain the wrist's current whatever its gain: left to itself the gain would go to zero."""
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    rub = rubbing(arm.robot, "wrist_3_joint")
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low", friction=rub)
    result = identify("demo_arm", [currents(log)], Options(friction=friction))
    for joint in arm.robot.joints:
        gain = result.estimate.joints[joint]["gain"]
        assert gain == pytest.approx(GAIN, rel=0.3 if joint == "wrist_3_joint" else 0.1), joint
    assert result.estimate.joints["wrist_3_joint"]["viscous"] == pytest.approx(4.0, rel=0.4)
    assert result.estimate.joints["wrist_3_joint"]["coulomb"] == pytest.approx(6.0, rel=0.4)


def test_friction_on_every_joint_does_not_move_the_gains(arm):
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low", friction=arm.friction)
    result = identify("demo_arm", [currents(log)], Options(friction="all"))
    for joint in arm.robot.joints:
        assert result.estimate.joints[joint]["gain"] == pytest.approx(GAIN, rel=0.1), joint


def test_gains_that_differ_from_joint_to_joint_are_told_apart(arm):
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low")
    true = dict(zip(arm.robot.joints, (14.0, 12.0, 11.0, 8.0, 7.0, 9.0), strict=True))
    amps = {f"current.{j}": log.columns[f"tau.{j}"] / k for j, k in true.items()}
    mixed = replace(log, columns={k: v for k, v in log.columns.items() if k.startswith("q.")} | amps)
    result = identify("demo_arm", [mixed])
    found = {joint: terms["gain"] for joint, terms in result.estimate.joints.items()}
    for joint in arm.robot.joints[:5]:
        assert found[joint] == pytest.approx(true[joint], rel=0.05), joint


def test_a_slope_beside_other_columns_is_that_of_the_joint_regression():
    rng = np.random.default_rng(0)
    x, beside = rng.normal(size=200), rng.normal(size=(200, 2))
    x = x + beside[:, 0]
    y = 3 * x + beside @ [5.0, -7.0] + 0.1 * rng.normal(size=200)
    slope, explained = partial(x, y, beside)
    assert slope == pytest.approx(np.linalg.lstsq(np.column_stack([x, beside]), y, rcond=None)[0][0])
    assert 0.99 < explained < 1
    only_friction, share = partial(x, beside @ [5.0, -7.0] + 0.1 * rng.normal(size=200), beside)
    assert abs(only_friction) < 0.05
    assert share < 0.05
    assert partial(np.zeros(5), np.ones(5), np.zeros((5, 0))) == (1.0, 0.0)
