"""Prepared samples are the true motion, without effects of filter, jitter or gaps."""

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.signal import firwin

from steelyard.equations.filters import Filter, lowpass
from steelyard.equations.prepare import prepare
from steelyard.errors import LogError
from steelyard.log.log import Log
from steelyard.log.timing import merge_near_stamps, motion_band
from steelyard.robot.model import GRAVITY, Robot
from tests.refusals import refuses

LEVER, TILT = np.array([0.1, -0.2, 0.3]), 0.7  # of the IMU: m, and rad about x
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
TEXT = f"""<robot name="two"><link name="trunk">{BODY}</link><link name="arm">{BODY}</link><link name="imu"/>
<joint name="j" type="continuous"><parent link="trunk"/><child link="arm"/><axis xyz="0 0 1"/></joint>
<joint name="mount" type="fixed"><parent link="trunk"/><child link="imu"/>
<origin xyz="{" ".join(map(str, LEVER))}" rpy="{TILT} 0 0"/></joint></robot>"""
MOUNT = np.array([[1, 0, 0], [0, np.cos(TILT), -np.sin(TILT)], [0, np.sin(TILT), np.cos(TILT)]])
RATE = 200.0


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "two.urdf"
    path.write_text(TEXT)
    return {base: Robot.load(path, base=base) for base in ("fixed", "floating")}


def times(seconds=6.0, rate=RATE):
    return np.arange(int(seconds * rate)) / rate


def joint_log(t, f=np.sin, **more):
    return Log.from_columns({"time": t, "q.j": f(t), "tau.j": np.cos(t), **more})


def gain(frequency, filter, rate=RATE):
    """What the kinematics filter makes of a sine: a real factor, since its taps are symmetric."""
    taps = lowpass(rate, filter.kinematics)
    k = np.arange(len(taps)) - len(taps) // 2
    H = float(np.sum(taps * np.cos(2 * np.pi * frequency * k / rate)))
    return H * (2 - H)  # sharpened


def one(robot, log, filter=None, torques=True):
    (segment,), notices = prepare(robot, log, (filter or Filter()).at(RATE), torques=torques)
    return segment, notices


@pytest.mark.parametrize("frequency", [0.3, 1.0, 3.0])
def test_derivatives_of_a_sine_are_those_of_the_filtered_sine(robots, frequency):
    filter, w = Filter().at(RATE), 2 * np.pi * frequency
    part, notices = one(robots["fixed"], joint_log(times(), lambda t: np.sin(w * t)))
    H, t = gain(frequency, filter), part.time
    assert not notices
    assert pytest.approx(1, abs=0.01) == H
    np.testing.assert_allclose(part.q[:, 0], H * np.sin(w * t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.v[:, 0], H * w * np.cos(w * t), rtol=0, atol=1e-4 * w)
    np.testing.assert_allclose(part.a[:, 0], -H * w**2 * np.sin(w * t), rtol=0, atol=1e-3 * w**2)


def test_slow_motion_is_differentiated_to_six_digits(robots):
    part, _ = one(robots["fixed"], joint_log(times(), lambda t: np.sin(2 * t)))
    H = gain(1 / np.pi, Filter().at(RATE))
    np.testing.assert_allclose(part.v[:, 0], 2 * H * np.cos(2 * part.time), rtol=0, atol=1e-8)
    np.testing.assert_allclose(part.a[:, 0], -4 * H * np.sin(2 * part.time), rtol=0, atol=1e-6)


def test_the_filter_has_no_phase(robots):
    """An even signal about the middle of the log stays even, its derivative odd: no delay of any length."""
    t = times(4.0 + 1 / RATE)
    middle = t[len(t) // 2]
    part, _ = one(robots["fixed"], joint_log(t, lambda t: np.exp(-20 * (t - middle) ** 2)))
    assert part.time[np.argmax(part.q[:, 0])] == middle
    np.testing.assert_allclose(part.q, part.q[::-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(part.v, -part.v[::-1], rtol=0, atol=1e-11)


def test_lowpass_taps_are_symmetric_sum_to_one_and_halve_the_cutoff():
    taps = lowpass(200.0, 10.0)
    np.testing.assert_allclose(taps, taps[::-1], rtol=0, atol=1e-16)
    assert taps.sum() == pytest.approx(1, abs=1e-14)
    k = np.arange(len(taps)) - len(taps) // 2
    assert np.sum(taps * np.cos(2 * np.pi * 10 * k / 200)) == pytest.approx(0.5, abs=0.01)
    assert abs(np.sum(taps * np.cos(2 * np.pi * 25 * k / 200))) < 0.01
    np.testing.assert_array_equal(lowpass(200.0, 100.0), [1.0])


def test_noise_above_the_cutoff_is_gone(robots):
    part, _ = one(robots["fixed"], joint_log(times(), lambda t: np.sin(t) + 0.1 * np.sin(2 * np.pi * 60 * t)))
    np.testing.assert_allclose(part.q[:, 0], gain(1 / (2 * np.pi), Filter().at(RATE)) * np.sin(part.time), atol=1e-3)


def test_torques_stay_raw(robots):
    part, _ = one(robots["fixed"], joint_log(times()))
    np.testing.assert_array_equal(part.tau[:, 0], np.cos(part.time))


def test_jittered_stamps_give_the_motion_at_even_ones(robots):
    rng = np.random.default_rng(0)
    true = times()
    stamps = true + rng.uniform(-0.3, 0.3, len(true)) / RATE
    even, _ = one(robots["fixed"], joint_log(true, lambda t: np.sin(3 * t)))
    part, _ = one(robots["fixed"], joint_log(stamps, lambda t: np.sin(3 * t)), Filter(rate=RATE))
    assert np.ptp(np.diff(part.time)) < 1e-12
    H = gain(3 / (2 * np.pi), Filter().at(RATE))
    np.testing.assert_allclose(part.q[:, 0], H * np.sin(3 * part.time), rtol=0, atol=1e-7)
    np.testing.assert_allclose(part.tau[:, 0], np.cos(part.time), rtol=0, atol=1e-7)
    np.testing.assert_allclose(part.a[:, 0], -9 * H * np.sin(3 * part.time), rtol=0, atol=2e-3)
    believed = joint_log(true, lambda t: np.sin(3 * (t + stamps - true)))  # what trusting the row number gives
    wrong, _ = one(robots["fixed"], believed)
    assert np.abs(wrong.a - even.a).max() > 20 * np.abs(part.a[:, 0] + 9 * H * np.sin(3 * part.time)).max()


def held_up(t, every=40):
    """Stamps of a logger that is held up for a step and a half now and then, and writes twice within 2 % of a step."""
    stamps = t.copy()
    stamps[every::every] = stamps[every + 1 :: every] - 0.02 / RATE
    return stamps


def test_samples_with_nearly_equal_stamps_are_averaged_with_a_notice(robots):
    """Noise of 1e-5 rad over 0.1 ms would be a speed of 0.1 rad/s, and the spline would overshoot beside it."""
    t = held_up(times())
    rng = np.random.default_rng(1)
    log = joint_log(t, lambda t: np.sin(2 * t) + 1e-5 * rng.normal(size=len(t)))
    one_each, lost = merge_near_stamps(log)
    assert lost == 29
    assert len(one_each) == len(log) - lost
    assert np.diff(one_each.time).min() > 0.25 / RATE
    np.testing.assert_allclose(one_each.columns["q.j"], np.sin(2 * one_each.time), rtol=0, atol=6e-5)
    part, notices = one(robots["fixed"], log)
    (notice,) = notices
    assert (notice.code, notice.where, notice.remedy["samples"]) == ("samples-averaged", "log", 29)
    assert notice.remedy["within"] == pytest.approx(1.2e-3, abs=5e-5)
    even, _ = one(robots["fixed"], joint_log(times(), lambda t: np.sin(2 * t) + 1e-5 * rng.normal(size=len(t))))
    exact = [4 * np.sin(2 * x.time) for x in (part, even)]
    errors = [np.std(x.a[:, 0] + a) for x, a in zip((part, even), exact, strict=True)]
    assert errors[0] < 1.2 * errors[1], "no worse than a clock that was even"


def test_a_clock_that_only_jitters_is_left_alone():
    stamps = times() + np.random.default_rng(0).uniform(-0.3, 0.3, len(times())) / RATE
    log = joint_log(stamps)
    assert merge_near_stamps(log) == (log, 0)


def test_a_burst_becomes_samples_a_quarter_step_apart():
    t = np.concatenate([times(1.0), 1.2 + np.arange(16) * 0.06 / RATE, 1.3 + times(1.0)])
    one_each, lost = merge_near_stamps(joint_log(t))
    assert lost == 12
    np.testing.assert_allclose(one_each.time[200:204], 1.2 + (2 + 5 * np.arange(4) - [0, 0, 0, 2]) * 0.06 / RATE)


def test_orientations_of_opposite_sign_are_averaged_as_what_they_are():
    t = held_up(times())
    q = quaternions(base_truth(t)[0]) * np.where(np.arange(len(t)) % 2, -1, 1)[:, None]
    one_each, lost = merge_near_stamps(joint_log(t, **xyz("base.quaternion", q, "xyzw")))
    assert lost
    back = np.column_stack([one_each.columns[f"base.quaternion.{c}"] for c in "xyzw"])
    assert np.abs(np.linalg.norm(back, axis=1) - 1).max() < 1e-6
    np.testing.assert_allclose(
        back, quaternions(base_truth(one_each.time)[0]) * np.sign(back[:, 3:]), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3])
def test_noise_of_the_encoders_is_no_motion(noise):
    rng = np.random.default_rng(2)
    log = joint_log(times(), lambda t: 0.4 * np.sin(2 * np.pi * 1.5 * t) + noise * rng.normal(size=len(t)))
    assert motion_band(log) == pytest.approx(1.5, abs=0.4)
    assert motion_band(joint_log(times(), lambda t: np.round(log.columns["q.j"] / 0.0015) * 0.0015)) < 4.0


def test_a_pose_that_is_differentiated_twice_is_filtered_lower(robots):
    t = times()
    R, *_, position, _ = base_truth(t)
    capture = xyz("base.quaternion", quaternions(R), "xyzw") | xyz("base.position", position)
    posed, moved = joint_log(t, **capture), joint_log(t, **capture, **imu(t))
    assert (Filter().for_logs([posed]).cutoff, Filter().for_logs([posed]).kinematics) == (3.0, 12.0)
    assert (Filter().for_logs([moved]).cutoff, Filter().for_logs([moved]).kinematics) == (10.0, 20.0)
    assert Filter().for_logs([moved, posed]).cutoff == 3.0
    assert Filter(cutoff=5.0, kinematics=30.0).for_logs([posed]) == Filter(5.0, 30.0, RATE), "unless given"
    _, (notice,) = prepare(robots["floating"], posed, Filter().for_logs([posed]), torques=True)
    assert (notice.code, notice.remedy) == ("acceleration-from-position", {"cutoff": 3.0})


def test_a_gap_splits_the_log_and_is_never_differentiated_across(robots):
    t = times(8.0)
    keep = (t < 3.5) | (t > 4.0)
    log = joint_log(t[keep], lambda t: np.sin(t) + 1000.0 * (t > 3.75))  # a leap hidden in the gap
    parts, notices = prepare(robots["fixed"], log, Filter().at(RATE), torques=True)
    assert len(parts) == 2
    assert parts[0].time[-1] < 3.5 < 4.0 < parts[1].time[0]
    for part in parts:
        assert np.abs(part.v).max() < 1.01
        assert np.abs(part.a).max() < 1.02
    (notice,) = (n for n in notices if n.code == "log-split")
    assert notice.remedy == {"gaps": 1, "widest": pytest.approx(0.5, abs=2 / RATE)}


def test_a_few_lost_samples_are_not_a_gap(robots):
    t = np.delete(times(), [300, 301])
    part, notices = one(robots["fixed"], joint_log(t))
    assert not notices
    np.testing.assert_allclose(part.q[:, 0], gain(0.16, Filter().at(RATE)) * np.sin(part.time), rtol=0, atol=1e-6)


def test_parts_too_short_for_the_filter_are_dropped_with_a_notice(robots):
    t = times(8.0)
    keep = (t < 6.0) | ((t > 7.0) & (t < 7.1))
    parts, notices = prepare(robots["fixed"], joint_log(t[keep]), Filter().at(RATE), torques=True)
    assert len(parts) == 1
    assert "parts-too-short" in [n.code for n in notices]


def test_a_log_too_short_for_the_filter_is_refused(robots):
    with refuses(LogError, "log-too-short"):
        prepare(robots["fixed"], joint_log(times(0.2)), Filter().at(RATE), torques=True)


def test_measured_velocity_and_acceleration_are_taken(robots):
    t = times()
    log = joint_log(t, **{"v.j": np.full(len(t), 2.0), "a.j": np.full(len(t), 5.0)})
    part, _ = one(robots["fixed"], log)
    np.testing.assert_allclose(part.v, 2.0, rtol=1e-12)
    np.testing.assert_allclose(part.a, 5.0, rtol=1e-12)
    velocity, _ = one(robots["fixed"], joint_log(t, **{"v.j": np.sin(t)}))
    np.testing.assert_allclose(velocity.a[:, 0], np.cos(velocity.time), atol=0.005)


def test_a_current_with_a_known_gain_is_a_torque_and_else_a_current(robots):
    t = times()
    columns = {"time": t, "q.j": np.sin(t), "current.j": np.cos(t)}
    known, _ = one(robots["fixed"], Log.from_columns(columns, {"gains": {"j": 3.0}}))
    np.testing.assert_allclose(known.tau[:, 0], 3 * np.cos(known.time), rtol=1e-14)
    unknown, _ = one(robots["fixed"], Log.from_columns(columns))
    assert not unknown.tau.any()
    np.testing.assert_array_equal(unknown.current["j"], np.cos(unknown.time))


def test_part_keeps_every_signal_in_step(robots):
    t = times()
    wrench = {f"wrench.arm.{c}": np.sin(k + t) for k, c in enumerate(("fx", "fy", "fz", "mx", "my", "mz"))}
    part, _ = one(robots["fixed"], joint_log(t, **wrench))
    some = part.part(slice(10, 30, 2))
    np.testing.assert_array_equal(some.wrench["arm"][:, 1], np.sin(1 + some.time))
    np.testing.assert_array_equal(some.q, part.q[10:30:2])
    np.testing.assert_array_equal(some.tau, part.tau[10:30:2])


def base_truth(t, pace=1.0):
    """Pose, velocity and acceleration of a base that turns and shakes; angles small and slow, all analytic."""

    def turn(t):
        a, da = (
            np.array([0.3 * np.sin(1.1 * t), 0.2 * np.sin(1.7 * t + 1), 0.5 * np.sin(0.9 * t + 2)]),
            np.array([0.33 * np.cos(1.1 * t), 0.34 * np.cos(1.7 * t + 1), 0.45 * np.cos(0.9 * t + 2)]),
        )
        (cr, cp, cy), (sr, sp, sy) = np.cos(a), np.sin(a)
        R = np.array(
            [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
             [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
             [-sp, cp * sr, cp * cr]]
        )  # fmt: skip
        spin = np.array([da[0] - da[2] * sp, da[1] * cr + da[2] * cp * sr, -da[1] * sr + da[2] * cp * cr])
        return np.moveaxis(R, 2, 0), spin.T

    R, gyro = turn(t)
    h = 1e-4
    alpha = (turn(t + h)[1] - turn(t - h)[1]) / (2 * h)
    w, A = pace * np.array([1.3, 0.8, 1.9]), np.array([0.4, 0.3, 0.1]) / pace**2
    position = A * np.sin(np.outer(t, w))
    world = -A * w**2 * np.sin(np.outer(t, w))
    acc = np.einsum("tki,tk->ti", R, world + np.array([0, 0, GRAVITY]))
    return R, gyro, alpha, acc, position, np.einsum("tki,tk->ti", R, world)


def xyz(name, values, components="xyz"):
    return {f"{name}.{c}": values[:, k] for k, c in enumerate(components)}


def quaternions(R):
    """x, y, z, w; no half turn occurs."""
    w = np.sqrt(1 + np.trace(R, axis1=1, axis2=2)) / 2
    v = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1) / (4 * w[:, None])
    return np.column_stack([v, w])


def imu(t, lever=LEVER, mount=MOUNT, pace=1.0):
    _, gyro, alpha, acc, _, _ = base_truth(t, pace)
    at_imu = acc + np.cross(alpha, lever) + np.cross(gyro, np.cross(gyro, lever))
    return xyz("imu.gyro", gyro @ mount) | xyz("imu.acc", at_imu @ mount)


def check_base(part, acc=0.03):
    R, gyro, alpha, proper, _, _ = base_truth(part.time)
    np.testing.assert_allclose(part.gyro, gyro, rtol=0, atol=0.004)
    np.testing.assert_allclose(part.alpha, alpha, rtol=0, atol=0.008)
    np.testing.assert_allclose(part.acc, proper, rtol=0, atol=acc)
    return R


def test_imu_is_moved_to_the_base_origin_and_turned_to_its_axes(robots):
    t = times()
    log = joint_log(t, **imu(t))
    log = Log.from_columns({"time": t, **log.columns}, {"imu_frame": "imu"})
    part, _ = one(robots["floating"], log)
    check_base(part)
    unmoved, _ = one(robots["floating"], joint_log(t, **imu(t)))
    assert np.abs(unmoved.acc - part.acc).max() > 1, "lever and mounting matter in this motion"
    centred, _ = one(robots["floating"], joint_log(t, **imu(t, np.zeros(3), np.eye(3))))
    check_base(centred)


def test_motion_capture_gives_the_same_base_motion_as_the_imu(robots):
    t = times()
    R, *_, position, _ = base_truth(t)
    capture = xyz("base.quaternion", quaternions(R), "xyzw") | xyz("base.position", position)
    part, _ = one(robots["floating"], joint_log(t, **capture))
    R = check_base(part)
    np.testing.assert_allclose(part.up, R[:, 2, :], rtol=0, atol=0.002)


def test_base_velocities_and_accelerations_give_the_same_base_motion(robots):
    t = times()
    R, gyro, alpha, _, _, linear = base_truth(t)
    given = xyz("base.quaternion", quaternions(R), "xyzw") | xyz("base.angular_velocity", gyro)
    given |= xyz("base.angular_acceleration", alpha) | xyz("base.acceleration", linear)
    check_base(one(robots["floating"], joint_log(t, **given))[0])


def test_base_velocity_and_orientation_give_the_same_base_motion(robots):
    """v̇ + ω × v in axes that turn, gravity from the orientation."""
    t = times()
    R, gyro, _, _, position, _ = base_truth(t)
    world = make_interp_spline(t, position, k=5).derivative()(t)
    given = xyz("base.quaternion", quaternions(R), "xyzw") | xyz("base.velocity", np.einsum("tki,tk->ti", R, world))
    alone, _ = one(robots["floating"], joint_log(t, **given))
    R = check_base(alone)
    np.testing.assert_allclose(alone.up, R[:, 2, :], rtol=0, atol=0.002)
    with_gyro, _ = one(robots["floating"], joint_log(t, **given, **xyz("base.angular_velocity", gyro)))
    check_base(with_gyro)


def test_the_sign_of_a_quaternion_does_not_matter(robots):
    t = times()
    R, *_, position, _ = base_truth(t)
    q = quaternions(R)
    flipped = q * np.where(np.random.default_rng(0).random(len(q)) < 0.5, -1, 1)[:, None]
    one_way, other = (
        one(robots["floating"], joint_log(t, **xyz("base.quaternion", x, "xyzw"), **xyz("base.position", position)))[0]
        for x in (q, flipped)
    )
    np.testing.assert_allclose(one_way.gyro, other.gyro, rtol=0, atol=1e-12)


def test_up_from_the_imu_alone_is_close_to_the_truth(robots):
    """The base shakes at one or two hertz with up to 1 m/s²: an accelerometer by itself is degrees off."""
    t = times(12.0)
    part, _ = one(robots["floating"], joint_log(t, **imu(t, np.zeros(3), np.eye(3), pace=6.0)))
    truth = base_truth(part.time)[0][:, 2, :]
    np.testing.assert_allclose(np.linalg.norm(part.up, axis=1), 1, atol=1e-12)
    angle = np.degrees(np.arccos(np.clip(np.sum(part.up * truth, axis=1), -1, 1)))
    raw = part.acc / np.linalg.norm(part.acc, axis=1, keepdims=True)
    raw = np.degrees(np.arccos(np.clip(np.sum(raw * truth, axis=1), -1, 1)))
    assert angle.max() < 0.5
    assert np.sqrt(np.mean(angle**2)) < 0.1 * np.sqrt(np.mean(raw**2))


def test_a_quaternion_without_unit_norm_is_refused(robots):
    t = times()
    R, *_, position, _ = base_truth(t)
    q = quaternions(R)
    q[17] *= 1.3
    log = joint_log(t, **xyz("base.quaternion", q, "xyzw"), **xyz("base.position", position))
    with refuses(LogError, "quaternion-not-unit", "base.quaternion, row 17"):
        one(robots["floating"], log)


def test_a_floating_base_without_its_motion_is_refused(robots):
    t = times()
    with refuses(LogError, "base-rotation-missing"):
        one(robots["floating"], joint_log(t))
    with refuses(LogError, "base-acceleration-missing"):
        one(robots["floating"], joint_log(t, **xyz("imu.gyro", np.zeros((len(t), 3)))))


def test_an_imu_on_a_moving_link_is_refused(robots):
    t = times()
    log = Log.from_columns({"time": t, **joint_log(t, **imu(t)).columns}, {"imu_frame": "arm"})
    with refuses(LogError, "frame-not-on-base", "imu_frame"):
        one(robots["floating"], log)


def test_an_orientation_given_in_the_axes_of_the_imu_is_turned_to_those_of_the_base(robots):
    t = times()
    half = 0.2 * np.sin(t)  # about x of the base, as is the mount: angles add
    still = {f"imu.{kind}.{c}": np.zeros_like(t) for kind in ("gyro", "acc") for c in "xyz"}

    def up(angle, metadata):
        zero = np.zeros_like(t)
        quaternion = dict(zip("xyzw", (np.sin(angle), zero, zero, np.cos(angle)), strict=True))
        columns = {f"base.quaternion.{c}": values for c, values in quaternion.items()}
        log = Log.from_columns({"time": t, "q.j": zero, "tau.j": zero, **still, **columns}, metadata)
        return one(robots["floating"], log)[0].up

    expected = up(half, {"imu_frame": "imu"})
    np.testing.assert_allclose(up(half + TILT / 2, {"quaternion_frame": "imu"}), expected, atol=1e-6)
    with refuses(LogError, "frame-not-on-base", "quaternion_frame"):
        up(half, {"quaternion_frame": "arm"})


@pytest.mark.parametrize(("hertz", "cutoff"), [(0.5, 4.5), (12.0, 7.2), (17.0, 10.0)])
def test_base_equations_with_measured_forces_are_filtered_as_low_as_the_motion_allows(hertz, cutoff):
    t = times(10.0)
    gyro = {f"imu.gyro.{c}": np.sin(t) for c in "xyz"}
    log = joint_log(t, lambda t: np.sin(2 * np.pi * hertz * t), **gyro, **{"wrench.foot.fz": np.ones_like(t)})
    chosen = Filter().for_logs([log], "base")
    assert chosen.cutoff == pytest.approx(cutoff, rel=0.1)
    assert chosen.predicted == 10.0  # predictions are compared with raw forces up to this frequency
    assert Filter(cutoff=7.0).for_logs([log], "base") == Filter(cutoff=7.0).for_logs([log])
    assert Filter().for_logs([log], "full").cutoff == 10.0
    ringing = joint_log(t, lambda t: np.sin(50 * t), **gyro, **{"wrench.foot.fz": np.ones_like(t)})
    assert Filter().for_logs([log, ringing, log], "base").cutoff == pytest.approx(cutoff, rel=0.1)
    without = Log.from_columns({"time": t, **{k: x for k, x in log.columns.items() if not k.startswith("wrench")}})
    assert Filter().for_logs([without], "base").cutoff == 10.0


@pytest.mark.parametrize(("rate", "cutoff"), [(100.0, 7.5), (500.0, 10.0), (95.3, 3.0), (1000.0, 404.0), (200.0, 99.0)])
def test_a_low_pass_is_the_one_that_scipy_designs(rate, cutoff):
    taps = lowpass(rate, cutoff)
    np.testing.assert_allclose(taps, firwin(len(taps), cutoff, fs=rate, window="hamming"), rtol=1e-12, atol=1e-16)
