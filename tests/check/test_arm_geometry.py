"""Joints under another's name, joints that count the other way, a tilted base and wrong zeros of encoders."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.experiment.simulate.simulate_arm import NOISE, Friction, fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from tests.check.good_logs import findings
from tests.planted import changed, scaled

LIFT, ELBOW = "shoulder_lift_joint", "elbow_joint"


def exchanged(log, a, b, kinds):
    names = {f"{kind}.{x}": f"{kind}.{y}" for kind in kinds for x, y in ((a, b), (b, a))}
    return changed(log, **{name: log.columns[other] for name, other in names.items()})


def codes(log):
    return [(f.code, f.severity) for f in findings(log)]


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("rubbing", [True, False])
def test_a_robot_of_other_masses_has_no_swapped_joint_no_tilt_and_no_offset(arm, noise, rubbing):
    rng = np.random.default_rng(21)
    truth, friction = perturbed(arm.robot, rng), Friction.random(arm.robot, rng) if rubbing else None
    assert codes(simulate_arm(arm.robot, truth, seed=21, seconds=8.0, noise=noise, friction=friction)) == []


@pytest.mark.parametrize("noise", ["none", "mid"])
@pytest.mark.parametrize("moving", range(6))
def test_a_log_in_which_one_joint_moves_alone_has_no_findings(arm, moving, noise):
    t, q, v, a = fourier_motion(arm.robot, np.random.default_rng(4), 12.0, 200.0)
    alone = np.arange(6) == moving
    motion = (t, np.where(alone, q, q[0]), v * alone, a * alone)
    truth = perturbed(arm.robot, np.random.default_rng(4))
    assert codes(simulate_arm(arm.robot, truth, seed=4, noise=noise, motion=motion)) == []


@pytest.mark.parametrize("kinds", [("q",), ("tau",), ("q", "tau")])
@pytest.mark.parametrize("pair", [("shoulder_pan_joint", LIFT), (LIFT, ELBOW), ("wrist_1_joint", "wrist_2_joint")])
def test_swapped_joints_are_named_with_their_columns(good, pair, kinds):
    (finding,) = findings(exchanged(good, *pair, kinds))
    assert (finding.code, finding.severity) == ("joints-swapped", "error")
    assert finding.remedy == {"swap": list(pair), "columns": list(kinds)}


@pytest.mark.parametrize(("joint", "kinds"), [(LIFT, ("q",)), (LIFT, ("q", "tau")), (ELBOW, ("q", "tau"))])
def test_a_joint_that_counts_the_other_way_is_named_with_its_columns(good, joint, kinds):
    columns = [f"{kind}.{joint}" for kind in kinds]
    (finding,) = findings(scaled(tuple(columns), -1.0)(good))
    assert (finding.code, finding.severity) == ("joint-reversed", "error")
    assert finding.remedy == {"negate": columns}


@pytest.mark.parametrize(("degrees", "severity"), [(3.0, "doubt"), (12.0, "error")])
def test_a_tilted_base_is_reported_with_the_direction_of_gravity(arm, degrees, severity):
    model, tilt, rng = arm.robot.model.copy(), np.radians(degrees), np.random.default_rng(7)
    gravity = 9.81 * np.array([0.6 * np.sin(tilt), 0.8 * np.sin(tilt), -np.cos(tilt)])
    model.gravity.linear = gravity
    tilted, truth, friction = (
        replace(arm.robot, model=model),
        perturbed(arm.robot, rng),
        Friction.random(arm.robot, rng),
    )
    (finding,) = findings(simulate_arm(tilted, truth, seed=7, seconds=12.0, friction=friction))
    assert (finding.code, finding.severity) == ("gravity-direction", severity)
    np.testing.assert_allclose(
        finding.remedy["gravity"], gravity, atol=0.15 * max(1.0, degrees / 5)
    )  # m/s²: first order in the tilt


@pytest.mark.parametrize("degrees", [3.0, -10.0])
def test_a_wrong_zero_of_an_encoder_is_a_doubt_with_its_size(good, degrees):
    column = f"q.{LIFT}"
    (finding,) = findings(changed(good, **{column: good.columns[column] - np.radians(degrees)}))
    assert (finding.code, finding.severity) == ("encoder-zero", "doubt")
    assert finding.remedy["column"] == column
    assert finding.remedy["add"] == pytest.approx(np.radians(degrees), rel=0.25)
