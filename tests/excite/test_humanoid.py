"""Humanoids on their own feet: what is built is what is checked, by Pinocchio and by finer samples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.excite.build_motion import Built, MotionScale, build
from steelyard.experiment.excite.candidates import KINDS, draw
from steelyard.experiment.excite.feasible import EDGE_LEAST, ground_of, reasons
from steelyard.experiment.excite.humanoid_stance import HumanoidStance
from steelyard.experiment.excite.pool import Pool
from steelyard.experiment.excite.rescue import attempt, less
from steelyard.experiment.excite.schedule import GRAVITY, Footstep, Schedule, preview, smooth
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from tests.motions import installed

ROBOTS = ("talos", "g1")


@lru_cache
def pool(name: str) -> Pool:
    return Pool.of(Robot.load(name, base="floating"))


@lru_cache
def possible(name: str, kind: str) -> Built:
    """The first candidate of a kind that can be done."""
    for seed in range(5):
        found = attempt(pool(name).postures, draw(pool(name).postures, kind, seed)).built
        if found is not None:
            return found
    raise AssertionError(f"{name} can do none of five motions of kind {kind}")


def configuration(built: Built, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a as Pinocchio has them: the base's velocities in base axes, spatial acceleration."""
    s = built.course.at(np.array([time, time + 1e-3]))
    R = s.rotation[0]
    quaternion = pin.Quaternion(R).coeffs()
    v = R.T @ s.values_v[0, :3]
    a = R.T @ s.values_a[0, :3] - np.cross(s.gyro[0], v)
    return (
        np.concatenate([s.place[0], quaternion, s.q[0]]),
        np.concatenate([v, s.gyro[0], s.v[0]]),
        np.concatenate([a, s.alpha[0], s.a[0]]),
    )


def test_a_zero_moment_point_goes_where_its_reference_goes():
    step, height = 0.02, 0.8
    t = np.arange(400) * step
    reference = np.column_stack([0.1 * smooth((t - 2) / 1.0), 0.05 * smooth((t - 1.5) / 0.8) * smooth((6 - t) / 0.8)])
    c = preview(reference, step, height)
    acceleration = np.gradient(np.gradient(c, step, axis=0), step, axis=0)
    p = c - height / GRAVITY * acceleration
    assert np.abs(p - reference)[5:-5].max() < 2e-3
    assert np.ptp(c[:10], axis=0).max() < 1e-3  # at rest to begin with
    assert np.abs(c[-1] - reference[-1]).max() == 0


def test_feet_stand_where_they_are_and_go_where_they_should():
    places = np.array([[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]])
    schedule = Schedule(6.0, places, (Footstep(0, 1.5, 2.5, np.array([0.2, 0.05, 0.1]), 0.06),), inward=0.1)
    t = np.linspace(0, 6, 601)
    feet, standing = schedule.feet(t), schedule.standing(t)
    assert np.allclose(feet[1][:, [0, 1, 3]], places[1])
    assert np.allclose(feet[0, -1], [0.2, 0.15, 0.0, 0.1])
    assert np.all(feet[0][standing[:, 0], 2] == 0)
    assert feet[0][:, 2].max() == pytest.approx(0.06)
    assert standing[:, 1].all()
    under = schedule.reference(t)[~standing[:, 0]]
    assert np.allclose(under, [0.0, -0.08])  # a tenth of the way from the foot that stands


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ["talos", "g1", "icub", "romeo"])
def test_soles_are_level_and_a_home_posture_stands_on_them(name):
    robot = Robot.load(name, base="floating", repair=True)
    if robot.coupling is not None:
        with pytest.raises(UsageError, match="follow others"):
            HumanoidStance.of(robot)
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
def test_a_possible_motion_is_possible_by_pinocchio_and_between_samples(name, kind):
    built = possible(name, kind)
    stance, robot = built.stance, built.stance.robot
    fine = built.course.at(np.arange(0, built.course.duration, 5e-4))
    lower, upper = stance.limits
    assert np.all((fine.q > lower) & (fine.q < upper))
    assert np.all(np.abs(fine.v) < stance.speeds)
    s = built.course.sampled()
    for end in (0, -1):
        assert np.allclose(s.q[end], stance.home, atol=1e-6)
        assert np.allclose(s.values_v[end], 0, atol=1e-9)
    ground, standing, feet = ground_of(built, s), built.standing(s.time), built.feet(s.time)
    data = robot.model.createData()
    for k in range(0, len(s.time), 97):
        q, v, a = configuration(built, s.time[k])
        pin.forwardKinematics(robot.model, data, q)
        contact = pin.StdVec_Force()
        contact.extend([pin.Force.Zero() for _ in range(robot.model.njoints)])
        for i, leg in enumerate(stance.legs):
            pose = data.oMi[leg.sole.joint]
            sole = pose * pin.SE3(leg.sole.placement)
            if standing[k, i]:
                assert np.allclose(sole.translation, feet[i, k, :3], atol=2e-5)
                assert np.all(np.abs(ground.press[i, k]) <= leg.sole.half - EDGE_LEAST + 1e-3)
            force = ground.share[k, i] * ground.force[k]
            c, t = np.cos(feet[i, k, 3]), np.sin(feet[i, k, 3])
            off = np.array([[c, -t], [t, c]]) @ ground.press[i, k]
            at = np.array([*(feet[i, k, :2] + off), 0.0])
            moment = np.cross(at, force)
            moment[2] += ground.share[k, i] * ground.twist[k]
            contact[leg.sole.joint] = pose.actInv(pin.Force(force, moment))
        tau = pin.rnea(robot.model, data, q, v, a, contact)
        assert np.abs(tau[:6]).max() < 1e-6 * stance.mass * 9.81  # nothing is left for the base
        assert np.allclose(tau[6:], ground.torque[k], atol=1e-6 * stance.mass * 9.81)
        assert np.all(np.abs(tau[6:]) <= stance.efforts)
        assert np.linalg.norm(ground.force[k, :2]) < 0.5 * ground.force[k, 2]


@pytest.mark.slow
@installed
def test_a_g1_stands_on_one_foot():
    for kind in ("left", "right"):
        built = possible("g1", kind)
        standing = built.standing(built.course.sampled().time)
        lifted = 1 if kind == "left" else 0
        assert np.mean(~standing[:, lifted]) > 0.4
        assert standing[:, 1 - lifted].all()


@installed
def test_derivatives_of_a_motion_are_its_differences():
    built = possible("talos", "double")
    t, h = 2.3, 1e-4
    s = built.course.at(np.array([t - h, t, t + h]))
    R = s.rotation
    turn = pin.log3(R[0].T @ R[2]) / (2 * h)
    assert np.allclose(turn, s.gyro[1], atol=1e-6)
    assert np.allclose((s.gyro[2] - s.gyro[0]) / (2 * h), s.alpha[1], atol=1e-5)
    assert np.allclose((s.q[2] - s.q[0]) / (2 * h), s.v[1], atol=1e-6)
    log, joint = built.course.log({}, {}, "motion"), "arm_left_1_joint"
    column = built.stance.robot.joints.index(joint)
    assert np.array_equal(log.columns[f"v.{joint}"], built.course.sampled().v[:, column])


@installed
def test_what_is_too_much_is_named_and_only_that_is_taken_back():
    p = pool("talos")
    stance = p.stance
    candidate = draw(p.postures, "double", 1)
    hasty = build(stance, candidate, MotionScale(np.ones(len(stance.upper)), base=0.0, stretch=0.4))
    found = reasons(hasty, hasty.course.sampled())
    assert {"speed", "torque", "friction", "balance"} & {r.what for r in found}
    scale = less(stance, hasty.scale, found)
    assert scale.stretch > hasty.scale.stretch
    far = build(stance, candidate, MotionScale(np.ones(len(stance.upper)), base=6.0))
    assert {r.what for r in reasons(far, far.course.sampled())} & {"reach", "limit"}
    scale = less(stance, far.scale, reasons(far, far.course.sampled())[:1])
    assert scale.base < far.scale.base
    assert scale.stretch == far.scale.stretch


@installed
@pytest.mark.parametrize(
    ("name", "message"),
    [("ur10", "has a fixed base"), ("romeo", "follow others"), ("a1", "soles of a1")],
)
def test_what_is_no_humanoid_is_refused(name, message):
    robot = Robot.load(name, repair=True) if name == "ur10" else Robot.load(name, base="floating", repair=True)
    with pytest.raises(UsageError, match=message):
        HumanoidStance.of(robot)
