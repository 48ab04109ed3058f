"""Rotations, quaternions (x, y, z, w), placements and cross products: their laws, and Pinocchio's and SciPy's word."""

import numpy as np
import pinocchio as pin
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from steelyard.spatial import (
    cross,
    placement,
    quaternion_from_rotation,
    quaternion_from_rpy,
    rotation_about,
    rotation_from_quaternion,
    rotation_from_rpy,
    rotation_from_unit,
    rotation_from_wxyz,
    rpy_from_rotation,
    skew,
    translation,
    unwrap_quaternions,
)

ANGLES = st.one_of(st.floats(-4, 4), st.sampled_from([0, np.pi / 2, -np.pi / 2, np.pi]), st.floats(1.57, 1.5708))
RPY = st.tuples(ANGLES, ANGLES, ANGLES).map(np.array)
VECTORS = arrays(float, 3, elements=st.floats(-10, 10))
QUATERNIONS = arrays(float, 4, elements=st.floats(-10, 10)).filter(lambda q: np.linalg.norm(q) > 1e-3)
AXES = VECTORS.filter(lambda x: np.linalg.norm(x) > 1e-3).map(lambda x: x / np.linalg.norm(x))


def close(a, b, atol=1e-14):
    np.testing.assert_allclose(a, b, atol=atol, rtol=1e-14)


@given(QUATERNIONS)
def test_a_quaternion_of_any_length_and_sign_is_a_rotation_as_others_have_it(q):
    R = rotation_from_quaternion(q)
    close(R @ R.T, np.eye(3))
    assert np.linalg.det(R) > 0
    close(R, Rotation.from_quat(q).as_matrix())
    close(R, pin.Quaternion(q / np.linalg.norm(q)).toRotationMatrix())
    close(R, rotation_from_quaternion(-2 * q))
    close(R, rotation_from_unit(q / np.linalg.norm(q)))
    close(R, rotation_from_wxyz(q[[3, 0, 1, 2]]))


@given(RPY)
def test_roll_pitch_yaw_are_those_of_urdf(rpy):
    R = rotation_from_rpy(rpy)
    close(R, pin.rpy.rpyToMatrix(rpy))
    close(R, Rotation.from_euler("xyz", rpy).as_matrix())
    close(R, rotation_from_quaternion(quaternion_from_rpy(rpy)))


@given(RPY)
def test_angles_and_quaternions_give_back_the_rotation_also_at_gimbal_lock(rpy):
    R = rotation_from_rpy(rpy)
    close(rotation_from_rpy(rpy_from_rotation(R)), R)
    close(rotation_from_quaternion(quaternion_from_rotation(R)), R)


@given(AXES, ANGLES, ANGLES)
def test_turns_about_one_axis_add_up_and_leave_it_alone(axis, one, other):
    R = rotation_about(axis, one)
    close(R, pin.exp3(one * axis), 1e-13)  # an axis of length one but for rounding, times an angle of up to four
    close(R @ axis, axis)
    close(R @ rotation_about(axis, other), rotation_about(axis, one + other))


@given(arrays(float, (5, 4), elements=st.floats(0.1, 1)), arrays(float, (5, 3), elements=ANGLES), AXES)
def test_many_are_each_as_alone(quaternions, rpy, axis):
    close(rotation_from_quaternion(quaternions), [rotation_from_quaternion(q) for q in quaternions])
    close(rotation_from_wxyz(quaternions), [rotation_from_wxyz(q) for q in quaternions])
    close(rotation_from_rpy(rpy), [rotation_from_rpy(x) for x in rpy])
    close(quaternion_from_rpy(rpy), [quaternion_from_rpy(x) for x in rpy])
    close(rotation_about(axis, rpy[:, 0]), [rotation_about(axis, x) for x in rpy[:, 0]])


@given(VECTORS, VECTORS)
def test_a_cross_product_is_skew_and_as_numpy_has_it(a, b):
    assert np.array_equal(cross(a, b), np.cross(a, b))
    assert np.array_equal(cross(a, b), -cross(b, a))
    assert np.array_equal(skew(a), pin.skew(a))
    close(skew(a) @ b, cross(a, b), 1e-13)  # of products up to a hundred
    assert np.array_equal(skew(a), -skew(a).T)


@given(arrays(float, (4, 3), elements=st.floats(-10, 10)), arrays(float, (4, 3), elements=st.floats(-10, 10)))
def test_many_cross_products_are_each_as_alone(a, b):
    assert np.array_equal(cross(a, b), np.cross(a, b))
    assert np.array_equal(cross(a, b[0]), np.cross(a, b[0]))
    assert np.array_equal(cross(a[0], b), np.cross(a[0], b))


@given(RPY, VECTORS, VECTORS)
def test_a_placement_moves_points_as_pinocchio_does(rpy, position, point):
    R = rotation_from_rpy(rpy)
    T = placement(R, position)
    close((T @ np.append(point, 1.0))[:3], pin.SE3(R, position).act(point), 1e-13)
    close(T, translation(position) @ placement(R, np.zeros(3)))
    close(T @ placement(R.T, -R.T @ position), np.eye(4), 1e-13)


@given(arrays(float, (6, 4), elements=st.floats(0.1, 1)), arrays(bool, 6))
def test_continuous_quaternions_are_the_same_orientations_without_a_jump(quaternions, flipped):
    given_ = np.where(flipped[:, None], -quaternions, quaternions)
    smooth = unwrap_quaternions(given_)
    assert np.array_equal(smooth, quaternions * (-1.0 if flipped[0] else 1.0))
    close(rotation_from_quaternion(smooth), rotation_from_quaternion(given_))
