"""Motions of humanoids on their feet are feasible by Pinocchio's inverse dynamics and between samples."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.excite.build_motion import MotionScale, WholeBodyMotion, build_motion
from steelyard.experiment.excite.candidate import KINDS, draw_candidate
from steelyard.experiment.excite.feasibility import EDGE_LEAST, compute_ground_reaction, find_violations
from steelyard.experiment.excite.footstep_schedule import GRAVITY, Footstep, FootstepSchedule, smootherstep, track_zmp
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.make_feasible import reduce_scale
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from tests.excite.feasible_motions import feasible, pool
from tests.motions import installed

ROBOTS = ("talos", "g1")


def configuration(motion: WholeBodyMotion, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a as Pinocchio has them: the base's velocities in base axes, spatial acceleration."""
    s = motion.trajectory.at(np.array([time, time + 1e-3]))
    R = s.rotation[0]
    quaternion = pin.Quaternion(R).coeffs()
    v = R.T @ s.values_v[0, :3]
    a = R.T @ s.values_a[0, :3] - np.cross(s.gyro[0], v)
    return (
        np.concatenate([s.base_position[0], quaternion, s.q[0]]),
        np.concatenate([v, s.gyro[0], s.v[0]]),
        np.concatenate([a, s.alpha[0], s.a[0]]),
    )


def test_the_zero_moment_point_follows_its_reference():
    step, height = 0.02, 0.8
    t = np.arange(400) * step
    reference = np.column_stack(
        [0.1 * smootherstep((t - 2) / 1.0), 0.05 * smootherstep((t - 1.5) / 0.8) * smootherstep((6 - t) / 0.8)]
    )
    c = track_zmp(reference, step, height)
    acceleration = np.gradient(np.gradient(c, step, axis=0), step, axis=0)
    p = c - height / GRAVITY * acceleration
    assert np.abs(p - reference)[5:-5].max() < 2e-3
    assert np.ptp(c[:10], axis=0).max() < 1e-3  # at rest to begin with
    assert np.abs(c[-1] - reference[-1]).max() == 0


def test_a_standing_foot_rests_and_a_step_lands_at_its_target():
    places = np.array([[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]])
    schedule = FootstepSchedule(6.0, places, (Footstep(0, 1.5, 2.5, np.array([0.2, 0.05, 0.1]), 0.06),), inward=0.1)
    t = np.linspace(0, 6, 601)
    feet, standing = schedule.foot_poses(t), schedule.in_contact(t)
    assert np.allclose(feet[1][:, [0, 1, 3]], places[1])
    assert np.allclose(feet[0, -1], [0.2, 0.15, 0.0, 0.1])
    assert np.all(feet[0][standing[:, 0], 2] == 0)
    assert feet[0][:, 2].max() == pytest.approx(0.06)
    assert standing[:, 1].all()
    under = schedule.zmp_reference(t)[~standing[:, 0]]
    assert np.allclose(under, [0.0, -0.08])  # a tenth of the way from the foot that stands


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ["talos", "g1", "icub", "romeo"])
def test_soles_are_level_and_the_home_posture_stands_on_them(name):
    robot = Robot.load(name, base="floating", repair=True)
    if robot.coupling is not None:
        with pytest.raises(UsageError) as refused:
            HumanoidStance.of(robot)
        assert [f.code for f in refused.value.findings] == ["joints-coupled"]
        return
    stance = HumanoidStance.of(robot)
    q = robot.positions(stance.home[None])[0]
    q[:3] = stance.base
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    for sole, place in zip(find_soles(robot), stance.soles, strict=True):
        pose = data.oMi[sole.joint] * pin.SE3(sole.placement)
        assert np.allclose(pose.translation, place, atol=1e-9)
        assert np.allclose(pose.rotation, np.eye(3), atol=1e-9)
        corners = np.array([data.oMi[sole.joint].act(c) for c in sole.corners])
        assert np.allclose(corners[:, 2], 0, atol=1e-9)
    lower, upper = stance.limits
    assert np.all((stance.home > lower) & (stance.home < upper))


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_feasible_motion_is_feasible_by_pinocchio_and_between_samples(name, kind):
    motion = feasible(name, kind)
    stance, robot = motion.stance, motion.stance.robot
    fine = motion.trajectory.at(np.arange(0, motion.trajectory.duration, 5e-4))
    lower, upper = stance.limits
    assert np.all((fine.q > lower) & (fine.q < upper))
    assert np.all(np.abs(fine.v) < stance.speeds)
    s = motion.trajectory.sampled()
    for end in (0, -1):
        assert np.allclose(s.q[end], stance.home, atol=1e-6)
        assert np.allclose(s.values_v[end], 0, atol=1e-9)
    ground, standing, feet = compute_ground_reaction(motion, s), motion.in_contact(s.time), motion.foot_poses(s.time)
    data = robot.model.createData()
    for k in range(0, len(s.time), 97):
        q, v, a = configuration(motion, s.time[k])
        pin.forwardKinematics(robot.model, data, q)
        contact = pin.StdVec_Force()
        contact.extend([pin.Force.Zero() for _ in range(robot.model.njoints)])
        for i, leg in enumerate(stance.legs):
            pose = data.oMi[leg.sole.joint]
            sole = pose * pin.SE3(leg.sole.placement)
            if standing[k, i]:
                assert np.allclose(sole.translation, feet[i, k, :3], atol=2e-5)
                assert np.all(np.abs(ground.cop[i, k]) <= leg.sole.half - EDGE_LEAST + 1e-3)
            force = ground.share[k, i] * ground.force[k]
            c, t = np.cos(feet[i, k, 3]), np.sin(feet[i, k, 3])
            off = np.array([[c, -t], [t, c]]) @ ground.cop[i, k]
            at = np.array([*(feet[i, k, :2] + off), 0.0])
            moment = np.cross(at, force)
            moment[2] += ground.share[k, i] * ground.yaw_moment[k]
            contact[leg.sole.joint] = pose.actInv(pin.Force(force, moment))
        tau = pin.rnea(robot.model, data, q, v, a, contact)
        assert np.abs(tau[:6]).max() < 1e-6 * stance.mass * 9.81  # no residual wrench on the base
        assert np.allclose(tau[6:], ground.torque[k], atol=1e-6 * stance.mass * 9.81)
        assert np.all(np.abs(tau[6:]) <= stance.efforts)
        assert np.linalg.norm(ground.force[k, :2]) < 0.5 * ground.force[k, 2]


@pytest.mark.slow
@installed
def test_a_g1_stands_on_one_foot():
    for kind in ("left", "right"):
        motion = feasible("g1", kind)
        standing = motion.in_contact(motion.trajectory.sampled().time)
        lifted = 1 if kind == "left" else 0
        assert np.mean(~standing[:, lifted]) > 0.4
        assert standing[:, 1 - lifted].all()


@installed
def test_derivatives_of_a_trajectory_are_its_finite_differences():
    motion = feasible("talos", "double")
    t, h = 2.3, 1e-4
    s = motion.trajectory.at(np.array([t - h, t, t + h]))
    R = s.rotation
    turn = pin.log3(R[0].T @ R[2]) / (2 * h)
    assert np.allclose(turn, s.gyro[1], atol=1e-6)
    assert np.allclose((s.gyro[2] - s.gyro[0]) / (2 * h), s.alpha[1], atol=1e-5)
    assert np.allclose((s.q[2] - s.q[0]) / (2 * h), s.v[1], atol=1e-6)
    log, joint = motion.trajectory.log({}, {}, "motion"), "arm_left_1_joint"
    column = motion.stance.robot.joints.index(joint)
    assert np.array_equal(log.columns[f"v.{joint}"], motion.trajectory.sampled().v[:, column])


@installed
def test_each_violated_constraint_reduces_only_what_causes_it():
    p = pool("talos")
    stance = p.stance
    candidate = draw_candidate(p.checker, "double", 1)
    hasty = build_motion(stance, candidate, MotionScale(np.ones(len(stance.upper)), base=0.0, stretch=0.4))
    violations = find_violations(hasty, hasty.trajectory.sampled())
    assert {"speed", "torque", "friction", "balance"} & {r.constraint for r in violations}
    scale = reduce_scale(stance, hasty.scale, violations)
    assert scale.stretch > hasty.scale.stretch
    far = build_motion(stance, candidate, MotionScale(np.ones(len(stance.upper)), base=6.0))
    assert {r.constraint for r in find_violations(far, far.trajectory.sampled())} & {"reach", "limit"}
    scale = reduce_scale(stance, far.scale, find_violations(far, far.trajectory.sampled())[:1])
    assert scale.base < far.scale.base
    assert scale.stretch == far.scale.stretch


@installed
@pytest.mark.parametrize(
    ("name", "code", "where", "remedy"),
    [
        ("ur10", "base-fixed", "ur10", {"base": "floating"}),
        ("romeo", "joints-coupled", "romeo", {"lock": None}),
        ("a1", "soles-missing", "soles of a1", {"feet": None}),
    ],
)
def test_a_robot_that_is_no_humanoid_is_refused(name, code, where, remedy):
    robot = Robot.load(name, repair=True) if name == "ur10" else Robot.load(name, base="floating", repair=True)
    with pytest.raises(UsageError) as refused:
        HumanoidStance.of(robot)
    finding = refused.value.findings[0]
    assert (finding.code, finding.where, finding.remedy) == (code, where, remedy)
