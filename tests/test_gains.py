"""Drive gains are identified by joints that move mass, not by friction alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.check.torque_balance import partial
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from tests.currents import GAIN, currents


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
        gain = result.estimate.joints[joint]["gain"].value
        assert gain == pytest.approx(GAIN, rel=0.3 if joint == "wrist_3_joint" else 0.1), joint
    assert result.estimate.joints["wrist_3_joint"]["viscous"].value == pytest.approx(4.0, rel=0.4)
    assert result.estimate.joints["wrist_3_joint"]["coulomb"].value == pytest.approx(6.0, rel=0.4)


def test_friction_on_every_joint_does_not_move_the_gains(arm):
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low", friction=arm.friction)
    result = identify("demo_arm", [currents(log)], Options(friction="all"))
    for joint in arm.robot.joints[:5]:
        assert result.estimate.joints[joint]["gain"].value == pytest.approx(GAIN, rel=0.03), joint
    # Gravity does not turn the last joint: friction and armature explain its current with any gain.
    assert result.estimate.joints["wrist_3_joint"]["gain"].value == pytest.approx(GAIN, rel=0.25)


def test_larger_gains_and_larger_masses_explain_a_log_equally_well_and_the_intervals_include_both(arm):
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="mid")
    result = identify("demo_arm", [currents(log)])
    theta = result.theta
    gain = np.array([name.endswith(".gain") for name in result.columns.names])
    assert gain.sum() == len(arm.robot.joints)
    least = result.information.cost(theta)
    for factor in (0.3, 0.9, 1.1, 4.0):
        scaled = np.where(gain, factor - 1, factor * theta)
        assert result.information.cost(scaled) == pytest.approx(least, rel=1e-9)
    one_off = np.where(gain, 0.1 * (np.arange(len(theta)) == np.flatnonzero(gain)[1]), theta)
    assert result.information.cost(one_off) > 2 * least
    assert result.estimate.scale.doubt > 0.1
    for body in result.estimate.bodies:
        assert body.std_data[0] is None
        assert body.source.mass == "prior"
        assert body.std[0] > 0.9 * result.estimate.scale.doubt * 0.5 * body.mass


def test_one_known_gain_identifies_all_the_others(arm):
    log = simulate_arm(arm.robot, arm.truth, seed=3, seconds=10, noise="low")
    known = replace(currents(log), metadata={"gains": {"elbow_joint": GAIN}})
    estimate = identify("demo_arm", [known]).estimate
    assert estimate.scale is None
    for joint in arm.robot.joints[:5]:
        if joint != "elbow_joint":
            assert estimate.joints[joint]["gain"].value == pytest.approx(GAIN, rel=0.02), joint
    assert estimate.count_base("body")[0] > 10


@pytest.mark.slow
def test_gains_do_not_depend_on_where_the_search_starts(arm):
    log = simulate_arm(arm.robot, arm.truth, seed=3, seconds=10, noise="mid", friction=arm.friction)
    gains = []
    for factor in (1.0, 30.0, 0.02):  # N·m/A of other drives: the same currents in other units
        estimate = identify("demo_arm", [currents(log, GAIN * factor)], Options(friction="all")).estimate
        gains.append([estimate.joints[j]["gain"].value / factor for j in arm.robot.joints])
    np.testing.assert_allclose(gains[1], gains[0], rtol=1e-3)
    np.testing.assert_allclose(gains[2], gains[0], rtol=1e-3)


def test_gains_that_differ_from_joint_to_joint_are_identified(arm):
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low")
    true = dict(zip(arm.robot.joints, (14.0, 12.0, 11.0, 8.0, 7.0, 9.0), strict=True))
    amps = {f"current.{j}": log.columns[f"tau.{j}"] / k for j, k in true.items()}
    mixed = replace(log, columns={k: v for k, v in log.columns.items() if k.startswith("q.")} | amps)
    result = identify("demo_arm", [mixed])
    gains = {joint: terms["gain"].value for joint, terms in result.estimate.joints.items()}
    for joint in arm.robot.joints[:5]:
        assert gains[joint] == pytest.approx(true[joint], rel=0.05), joint


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
