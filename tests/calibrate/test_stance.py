from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.calibrate.bisection import over_line
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.simulated import true_stance
from steelyard.robot.model import Robot

UP = np.array([0.0, 0.0, 1.0])


def test_a_trunk_that_moves_leaves_its_feet_where_they_were(stance):
    R, shift = pin.exp3(np.array([0.1, -0.05, 0.2])), np.array([0.02, -0.01, 0.015])
    q = stance.moved(shift, R)
    assert stance.centres(q) @ R.T + shift == pytest.approx(stance.centres(stance.nominal), abs=1e-8)


def test_the_lever_arm_is_what_pinocchio_has_for_the_moment_of_gravity(stance):
    q = stance.nominal + np.random.default_rng(0).normal(size=12) * 0.05
    for diagonal in stance.diagonals:
        p, other = stance.touching(q, UP)[list(diagonal)]
        gravity = pin.computeGeneralizedGravity(
            stance.model, stance.model.createData(), stance.robot.positions(q[None])[0]
        )
        force, moment = -gravity[:3], -gravity[3:6]  # of the weight, at the base's origin
        t = (other - p) / np.linalg.norm(other - p)
        about = t @ (moment - np.cross(p, force))
        assert stance.lever(q, UP, diagonal) * stance.mass * 9.81 == pytest.approx(about, rel=1e-9)


def test_diagonals_run_from_front_left_and_from_front_right(stance):
    assert [stance.name(d) for d in stance.diagonals] == ["FL_foot and RR_foot", "FR_foot and RL_foot"]


def test_a_posture_over_the_line_has_the_wanted_lever_arm(stance):
    for turn in (0.0, 0.25, -0.25):
        for diagonal in stance.diagonals:
            q = over_line(stance, diagonal, turn, 0.012, stance.nominal)
            _, n = stance.line(stance.nominal, UP, diagonal)
            up = pin.exp3(turn * np.cross(UP, n)).T @ UP
            assert stance.lever(q, up, diagonal) == pytest.approx(0.012, abs=2e-6)


def test_a_believed_trunk_gives_the_whole_robot_the_mass_and_centre_of_mass_asked_for(stance):
    other = stance.with_mass_and_com(15.0, np.array([0.01, 0.002, -0.005]))
    assert other.mass == pytest.approx(15.0)
    assert other.com(other.nominal) == pytest.approx([0.01, 0.002, -0.005])
    q = over_line(stance, stance.diagonals[0], 0.0, 0.02, stance.nominal)
    _, before = stance.legs(stance.nominal)
    _, after = stance.legs(q)
    assert other.com(q) - other.com(other.nominal) == pytest.approx((after - before) / 15.0, abs=1e-12)


def test_torques_at_rest_weigh_the_robot(loaded):
    from steelyard.experiment.calibrate.com import weigh

    rig = loaded(noise="none")
    exact = true_stance(rig)
    assert weigh(rig, QuadrupedStance.of(rig.robot, rig.feet, rig.posture)) == pytest.approx(exact.mass, rel=2e-3)


def refused(call, *arguments):
    with pytest.raises(UsageError) as caught:
        call(*arguments)
    (finding,) = caught.value.findings
    return finding


def test_what_is_not_a_quadruped_on_point_feet_is_refused(a1_robot, stance):
    feet, posture = ["FR_foot", "FL_foot", "RR_foot", "RL_foot"], dict.fromkeys(a1_robot.joints, 0.0)
    fixed, sensing = Robot.load("a1", base="fixed"), Robot.load("a1", sensors=["FR_foot_fixed"])
    assert refused(QuadrupedStance.of, fixed, feet, posture).code == "base-fixed"
    assert refused(QuadrupedStance.of, sensing, feet, posture).code == "joints-coupled"
    assert refused(QuadrupedStance.of, a1_robot, feet[:3], posture).code == "feet-not-four"
    lacking = refused(QuadrupedStance.of, a1_robot, feet, {j: 0.0 for j in a1_robot.joints if j != "RL_calf_joint"})
    assert (lacking.code, lacking.remedy) == ("posture-incomplete", {"posture": {"RL_calf_joint": None}})
    for foot in ("RL_thigh:point:0.02", "RL_foot:surface"):
        finding = refused(QuadrupedStance.of, a1_robot, [*feet[:3], foot], posture)
        assert (finding.code, finding.where) == ("leg-unsuitable", f"foot {foot.split(':')[0]}")
    assert refused(stance.with_mass_and_com, 5.0, np.zeros(3)).code == "mass-below-legs"
    assert refused(stance.moved, np.array([0.0, 0.0, 0.3])).code == "posture-unreachable"
