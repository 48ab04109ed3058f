"""A ``pinocchio.Model`` as robot: the same bodies, joints and dynamics as its URDF gives."""

import numpy as np
import pinocchio as pin
import pytest

from steelyard.errors import DescriptionError
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot

ROBOTS = ("demo_arm", "ur10", "panda", "a1", "go2", "talos")


@pytest.fixture(params=ROBOTS)
def both(request):
    """A robot read from its file, and the same from Pinocchio's own parser."""
    try:
        robot = Robot.load(request.param)
    except DescriptionError as error:
        pytest.skip(str(error))
    path = str(robot.description.path)
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    return robot, Robot.load(pin.buildModelFromUrdf(path, *root), base=robot.base)


def test_bodies_and_joints_are_those_of_the_file(both):
    file, model = both
    followers = {j.name for j in file.description.joints.values() if j.mimic is not None}  # free in Pinocchio
    assert set(model.joints) - followers == set(file.joints)
    mine, theirs = ({b.name: b for b in robot.bodies} for robot in (model, file))
    assert mine.keys() == theirs.keys()
    for name, body in mine.items():
        # Pinocchio adds up welded links in another order: rounding.
        np.testing.assert_allclose(body.parameters, theirs[name].parameters, rtol=1e-9, atol=1e-12)
    for frame in file.frames:
        if frame in model.frames:
            at, wanted = model.frames[frame], file.frames[frame]
            np.testing.assert_allclose(at.placement, wanted.placement, atol=1e-9)


def test_torques_are_those_of_the_file(both):
    file, model = both
    rng = np.random.default_rng(1)
    if file.coupling is not None:
        pytest.skip("mimic joints, which Pinocchio's parser frees")
    state = {joint: rng.uniform(-1, 1, 3) for joint in file.joints}
    torques = []
    for robot in (file, model):
        q, v, a = pin.neutral(robot.model), np.zeros(robot.model.nv), np.zeros(robot.model.nv)
        for name, values in state.items():
            joint = robot.model.joints[robot.model.getJointId(name)]
            moved = np.zeros(robot.model.nv)
            moved[joint.idx_v], v[joint.idx_v], a[joint.idx_v] = values
            q = pin.integrate(robot.model, q, moved)
        tau = pin.rnea(robot.model, robot.model.createData(), q, v, a)
        torques.append({n: tau[robot.model.joints[robot.model.getJointId(n)].idx_v] for n in state})
    assert torques[0] == pytest.approx(torques[1], rel=1e-9, abs=1e-9)


def test_a_joint_of_several_degrees_of_freedom_is_refused_by_name():
    model = pin.Model()
    ball = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "hip")
    model.appendBodyToJoint(ball, pin.Inertia.Random(), pin.SE3.Identity())
    with pytest.raises(DescriptionError) as refused:
        read_description(model)
    assert [(f.code, f.where) for f in refused.value.findings] == [("joint-kind-unsupported", "joint 'hip'")]


def test_limits_and_axes_come_along():
    model = pin.Model()
    along = pin.JointModelPrismaticUnaligned(np.array([0.0, 0.6, 0.8]))
    limits = np.array([3.0]), np.array([2.0]), np.array([-0.1]), np.array([0.4])
    joint = model.addJoint(0, along, pin.SE3.Random(), "slide", *limits)
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    wheel = model.addJoint(joint, pin.JointModelRUBX(), pin.SE3.Random(), "wheel")
    model.appendBodyToJoint(wheel, pin.Inertia.Random(), pin.SE3.Identity())
    description = read_description(model)
    slide = description.joints["slide"]
    assert (slide.kind, slide.lower, slide.upper, slide.velocity, slide.effort) == ("prismatic", -0.1, 0.4, 2.0, 3.0)
    np.testing.assert_allclose(slide.axis, [0.0, 0.6, 0.8])
    assert (description.joints["wheel"].kind, description.joints["wheel"].upper) == ("continuous", np.inf)
    assert description.root == "world"
