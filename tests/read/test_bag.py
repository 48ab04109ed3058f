"""Bags written by the public libraries read back to the same log, with all topics on one clock."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from steelyard.errors import LogError, UsageError
from steelyard.log.bag import reader as bag
from steelyard.log.bag.reader import Topic, bag_topics, read_bag
from steelyard.log.log import QUATERNION
from steelyard.log.table import read_log, write_log
from steelyard.spatial import WRENCH
from tests import bags
from tests.bags import imu, joints, odometry, wrench
from tests.refusals import noted

LEGS = [f"{leg}_{part}" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")]
FEET = [f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")]
UP = (0.0, 0.0, 9.81)


class Sines:
    """Smooth columns with known second derivatives: Aₖ sin(ωₖ t + φₖ)."""

    def __init__(self, count, seed, size=1.0):
        rng = np.random.default_rng(seed)
        self.A, self.w, self.p = size * rng.uniform(0.5, 1, count), rng.uniform(2, 9, count), rng.uniform(0, 6, count)

    def __call__(self, t):
        return self.A * np.sin(self.w * np.asarray(t)[..., None] + self.p)

    def slack(self, step):
        """Largest distance of the chord of a step from the sine: h²/8 · max |f″|."""
        return step**2 / 8 * np.max(self.A * self.w**2) + 1e-12


def ticks(rate, start=0.0, stop=2.0):
    return start + np.arange(int((stop - start) * rate) + 1) / rate


def ramp(rate=100.0, names=("a", "b"), stop=1.0, topic="/joint_states", start=0.0):
    """Joint states that are a ramp: linear interpolation of them is exact."""
    return [joints(t, names, q=[t + k for k in range(len(names))], topic=topic) for t in ticks(rate, start, stop)]


def refusals(call, *arguments, **options):
    with pytest.raises(LogError) as error:
        call(*arguments, **options)
    return error.value.findings


def places(path, topics=None):
    """Code and place of each finding about a bag, the place without the bag."""
    return [(f.code, f.where.removeprefix(f"{path}, ")) for f in refusals(read_bag, path, topics)]


@pytest.mark.parametrize("kind", bags.WRITERS)
def test_an_arm_reads_back_to_the_same_log_from_every_kind_of_bag(tmp_path, arm, kind):
    log = read_log(arm.train).cut(100, 400)
    names = log.names("q")
    rng = np.random.default_rng(1)
    messages = []
    for k, t in enumerate(log.time - log.time[0]):
        shuffled = list(rng.permutation(names))
        q, tau = ([log.columns[f"{x}.{j}"][k] for j in shuffled] for x in ("q", "tau"))
        messages.append(joints(t, shuffled, q=q, tau=tau))
    path = bags.WRITERS[kind](tmp_path, messages)
    back = read_log(path)
    np.testing.assert_allclose(back.time, log.time - log.time[0], rtol=0, atol=0.6e-9)  # stamps are whole ns
    assert set(back.columns) == {f"{x}.{j}" for x in ("q", "tau") for j in names}
    for name, values in back.columns.items():
        np.testing.assert_array_equal(values, log.columns[name])
    assert back.metadata == {"topics": {"/joint_states": "joints"}, "epoch_ns": bags.START}
    assert back.notices == ()
    assert back.source == str(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", bags.WRITERS)
def test_a_quadruped_with_topics_of_many_rates_reads_back_within_the_error_of_interpolation(tmp_path, kind):
    rng = np.random.default_rng(2)
    q, v, tau, gyro, acc = (Sines(n, seed) for seed, n in enumerate((12, 12, 12, 3, 3)))
    force, place, speed, spin = (
        {f: Sines(6, 10 + k, 50.0) for k, f in enumerate(FEET)},
        *map(Sines, (3, 3, 3), (6, 7, 8)),
    )
    lean = Sines(1, 20, 0.4)  # rad, about an axis that is none of x, y, z

    def turned(t):
        axis, half = np.array([1.0, -2.0, 2.0]) / 3, lean(t)[..., 0] / 2
        return np.concatenate([np.sin(half)[..., None] * axis, np.cos(half)[..., None]], axis=-1)

    messages = []
    for t in ticks(200):
        order = rng.permutation(12)
        messages.append(joints(t, [LEGS[i] for i in order], q(t)[order], v(t)[order], tau(t)[order]))
    messages += [imu(t, gyro(t), acc(t), frame="/trunk_imu") for t in ticks(333, 0.1013)]
    messages += [wrench(t, force[f](t), f, f"/{f}") for k, f in enumerate(FEET) for t in ticks(100, 0.001 * k, 1.9)]
    for k, t in enumerate(ticks(50, 0.0437, 1.95)):  # a quaternion and its negative are the same orientation
        messages.append(odometry(t, place(t), turned(t) * (-1) ** k, speed(t), spin(t), child="trunk"))
    messages.sort(key=lambda message: message.time)
    log = read_log(bags.WRITERS[kind](tmp_path, messages))

    t = log.time + (log.metadata["epoch_ns"] - bags.START) / 1e9
    np.testing.assert_allclose(t, ticks(200)[21:379], atol=1e-9)  # from the first IMU message to the last wrench
    rows = slice(21, 379)
    for kind_, sines in (("q", q), ("v", v), ("tau", tau)):
        exact = sines(ticks(200))[rows]
        np.testing.assert_array_equal(np.column_stack([log.columns[f"{kind_}.{j}"] for j in LEGS]), exact)
    for name, sines, rate in (
        ("imu.gyro", gyro, 333), ("imu.acc", acc, 333),
        ("base.position", place, 50), ("base.velocity", speed, 50), ("base.angular_velocity", spin, 50),
    ):  # fmt: skip
        np.testing.assert_allclose(log.vector(name), sines(t), rtol=0, atol=sines.slack(1 / rate))
    for f in FEET:
        np.testing.assert_allclose(log.vector(f"wrench.{f}", WRENCH), force[f](t), rtol=0, atol=force[f].slack(1 / 100))
    xyzw = np.column_stack([log.columns[name] for name in QUATERNION])
    np.testing.assert_allclose(np.linalg.norm(xyzw, axis=1), 1, atol=1e-12)
    assert np.min(np.sum(xyzw[1:] * xyzw[:-1], axis=1)) > 0.9
    apart = 2 * np.arccos(np.minimum(np.abs(np.sum(xyzw * turned(t), axis=1)), 1))
    step = 0.4 * 9 / 50  # rad between two orientations, at most: the chord's own error grows with its cube
    assert np.max(apart) < lean.slack(1 / 50) + step**3 / 48 + 1e-7
    assert log.metadata["imu_frame"] == "trunk_imu"
    assert log.metadata["base_frame"] == "trunk"
    assert [n.code for n in log.notices] == ["topic-starts-late", "topic-ends-early"]


def test_check_reports_the_same_of_a_bag_as_of_a_table(tmp_path, arm, steelyard):
    log = read_log(arm.train)
    messages = [
        joints(t, log.names("q"), *([log.columns[f"{x}.{j}"][k] for j in log.names("q")] for x in ("q",)),
               tau=[log.columns[f"tau.{j}"][k] for j in log.names("q")])
        for k, t in enumerate(log.time)
    ]  # fmt: skip
    path = bags.rosbag(tmp_path / "run", messages, "mcap")
    of_bag, of_table = (json.loads(steelyard("check", "demo_arm", p, "--json").out) for p in (path, arm.train))
    assert of_bag["facts"] == of_table["facts"]
    assert of_bag["findings"] == of_table["findings"] == []


def test_a_log_from_a_bag_is_written_and_read_as_a_table(tmp_path):
    log = read_bag(bags.rosbag(tmp_path / "run", ramp()))
    write_log(tmp_path / "run.parquet", log)
    back = read_log(tmp_path / "run.parquet")
    assert back.metadata == log.metadata
    assert back.columns.keys() == log.columns.keys()


def test_publishers_with_joints_of_their_own_are_merged_at_the_stamps_of_the_most_frequent(tmp_path):
    messages = ramp(200, ("hip", "knee")) + ramp(50, ("jaw",)) + ramp(20, ("neck",), topic="/head")
    messages += [joints(t, ["hip", "knee"], tau=[3 * t, -t], topic="/torques") for t in ticks(40, 0, 1)]
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    np.testing.assert_allclose(log.time, ticks(200, 0, 1), atol=1e-9)
    expected = {"q.hip": log.time, "q.knee": log.time + 1, "q.jaw": log.time, "q.neck": log.time}
    expected |= {"tau.hip": 3 * log.time, "tau.knee": -log.time}
    assert set(log.columns) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(log.columns[name], values, atol=1e-9)
    assert log.metadata["topics"] == {"/joint_states": "joints", "/head": "joints", "/torques": "joints"}


def test_messages_with_some_of_the_joints_give_one_series_of_each_joint(tmp_path):
    messages = [joints(t, ["a", "b"][: 1 + k % 2], q=[t, 2 * t][: 1 + k % 2]) for k, t in enumerate(ticks(100, 0, 1))]
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    np.testing.assert_allclose(log.columns["q.a"], log.columns["q.b"] / 2, atol=1e-12)


def test_nan_and_empty_arrays_are_absent(tmp_path):
    nan = float("nan")
    messages = [joints(t, ["a", "b"], q=[t, nan], v=[nan, nan]) for t in ticks(100, 0, 1)]
    messages[50] = joints(0.5, ["a", "b"], q=[nan, nan])
    for path in (bags.rosbag(tmp_path / "run", messages), bags.plain_mcap(tmp_path / "run.mcap", messages)):
        log = read_bag(path)
        assert list(log.columns) == ["q.a"]
        np.testing.assert_allclose(log.columns["q.a"], log.time, atol=1e-12)


def test_null_is_absent_in_json(tmp_path):
    messages = [joints(t, ["a"], q=[t]) for t in ticks(100, 0, 1)]
    messages = [message._replace(fields=message.fields | {"velocity": [None]}) for message in messages]
    assert list(read_bag(bags.plain_mcap(tmp_path / "run.mcap", messages)).columns) == ["q.a"]


def test_json_may_give_seconds_or_the_stamps_of_ros_1_or_none(tmp_path):
    stamps = ({"header": {"stamp": t}} for t in ticks(50, 100, 101))
    old = ({"header": {"stamp": {"secs": int(t), "nsecs": round(t % 1 * 1e9)}}} for t in ticks(50, 100, 101))
    bare = itertools.repeat({})
    for k, headers in enumerate((stamps, old, bare)):
        messages = [
            bags.Message("/j", "JointState", bags.ns(t), {**head, "name": ["a"], "position": [t]})
            for t, head in zip(ticks(50, 0, 1), headers, strict=k < 2)
        ]
        log = read_bag(bags.plain_mcap(tmp_path / f"{k}.mcap", messages))
        np.testing.assert_allclose(log.time, ticks(50, 0, 1), atol=1e-9)
        assert log.metadata["epoch_ns"] == (bags.START if k == 2 else 100 * 10**9)


def test_quantities_that_an_imu_does_not_measure_are_absent(tmp_path):
    for k, (absent, expected) in enumerate(
        ((("linear_acceleration",), "imu.gyro"), (("angular_velocity",), "imu.acc"))
    ):
        messages = ramp() + [
            imu(t, (t, 0, 1), UP, (0, 0, 0, 1), "", absent=(*absent, "orientation")) for t in ticks(100)
        ]
        log = read_bag(bags.rosbag(tmp_path / str(k), messages))
        assert [c for c in log.columns if "." in c and c[0] in "ib"] == [f"{expected}.{c}" for c in "xyz"]
        assert "imu_frame" not in log.metadata


def test_the_orientation_of_an_imu_is_used_without_odometry(tmp_path):
    turn = [(0, 0, np.sin(t / 2), np.cos(t / 2)) for t in ticks(100)]
    inertial = [imu(t, (0, 0, 1), UP, q) for t, q in zip(ticks(100), turn, strict=True)]
    log = read_bag(bags.rosbag(tmp_path / "alone", ramp() + inertial))
    np.testing.assert_allclose(log.columns["base.quaternion.z"], np.sin(log.time / 2), atol=1e-12)
    assert log.metadata["quaternion_frame"] == log.metadata["imu_frame"] == "imu_link"
    assert noted(log.notices) == [("orientation-from-imu", f"{tmp_path}/alone, /imu")]
    poses = [odometry(t, (0, 0, 0), (1, 0, 0, 0), (1, 0, 0)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "both", ramp() + inertial + poses))
    assert np.all(log.columns["base.quaternion.x"] == 1)
    assert "quaternion_frame" not in log.metadata
    unknown = [odometry(t, (0, 0, 0), (0, 0, 0, 0), (1, 0, 0)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "unknown", ramp() + inertial + unknown))
    assert log.metadata["quaternion_frame"] == "imu_link"


def test_a_constant_orientation_and_zero_velocities_are_not_read(tmp_path):
    messages = ramp() + [imu(t, (0, 0, 1), UP, (0, 0, 0, 1)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "imu", messages))
    assert not log.has(*QUATERNION)
    assert log.has("imu.acc.z")
    assert ("orientation-constant", f"{tmp_path}/imu, /imu") in noted(log.notices)
    messages = ramp() + [odometry(t, (t, 0, 0), (0, 0, 0, 1)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "odometry", messages))
    assert log.has("base.position.x", *QUATERNION)
    assert not log.has("base.velocity.x")
    assert ("velocity-all-zero", f"{tmp_path}/odometry, /odom") in noted(log.notices)


def test_the_norm_of_a_quaternion_is_kept_for_the_check(tmp_path):
    messages = ramp() + [odometry(t, (0, 0, 0), (0, 0, 0.6, 1.6 * 0.5)) for t in ticks(30)]
    messages += [odometry(t, (0, 0, 0), (0, 0, 2 * np.sin(t), 2 * np.cos(t)), topic="/mocap") for t in ticks(30)]
    log = read_bag(bags.rosbag(tmp_path / "run", messages), {"odometry": "/mocap"})
    length = np.linalg.norm(np.column_stack([log.columns[name] for name in QUATERNION]), axis=1)
    np.testing.assert_allclose(length, 2, atol=1e-12)


def test_messages_without_a_stamp_have_their_time_of_reception_and_a_notice(tmp_path):
    messages = [joints(None, ["a"], q=[t], received=t) for t in ticks(100, 0, 1)]
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    assert log.metadata["epoch_ns"] == bags.START + bags.LATE
    np.testing.assert_allclose(log.time, ticks(100, 0, 1), atol=1e-9)
    assert (log.notices[0].code, log.notices[0].remedy) == ("stamps-missing", {"messages": 101, "of": 101})


def test_stamps_are_sorted_and_repeats_dropped_with_a_notice(tmp_path):
    messages = ramp()
    messages[10], messages[11] = messages[11], messages[10]
    messages.insert(21, joints(0.2, ["a", "b"], q=[77, 77]))
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    np.testing.assert_allclose(log.columns["q.a"], ticks(100, 0, 1), atol=1e-12)
    topic = f"{tmp_path}/run, /joint_states"
    assert noted(log.notices) == [("stamps-out-of-order", topic), ("stamps-repeated", topic)]
    assert [n.remedy for n in log.notices] == [{"messages": 1}, {"messages": 1}]


def test_rows_in_a_gap_of_any_topic_are_dropped_and_a_short_one_is_interpolated(tmp_path):
    seen = [t for t in ticks(100) if not 0.4001 < t < 0.4999 and not 0.6001 < t < 0.6299]
    messages = ramp(200) + [imu(t, (t, 0, 0), UP) for t in seen]
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    kept = [t for t in ticks(200, 0, 1) if not 0.4001 < t < 0.4999]
    np.testing.assert_allclose(log.time, kept, atol=1e-9)
    np.testing.assert_allclose(log.columns["imu.gyro.x"], kept, atol=1e-12)
    notice = log.notices[0]
    assert (notice.code, notice.where, notice.remedy) == ("rows-in-gaps", f"{tmp_path}/run, /imu", {"rows": 19})


def test_nothing_is_extrapolated(tmp_path):
    messages = ramp(100) + [imu(t, (t, 0, 0), UP) for t in ticks(100, 0.2055, 0.7)]
    log = read_bag(bags.rosbag(tmp_path / "run", messages))
    at = (log.metadata["epoch_ns"] - bags.START) / 1e9
    assert at == pytest.approx(0.21)
    assert at + log.time[-1] == pytest.approx(0.69)
    np.testing.assert_allclose(log.columns["q.a"], at + log.time, atol=1e-12)
    np.testing.assert_allclose(log.columns["imu.gyro.x"], at + log.time, atol=1e-12)
    topic = f"{tmp_path}/run, /imu"
    assert noted(log.notices) == [("topic-starts-late", topic), ("topic-ends-early", topic)]
    assert [n.remedy for n in log.notices] == [
        {"seconds": pytest.approx(0.21), "rows": 21},
        {"seconds": pytest.approx(0.31), "rows": 31},
    ]


def test_wrenches_are_named_by_frame_or_by_the_user(tmp_path):
    messages = ramp() + [wrench(t, range(6), "/left_foot", "/left") for t in ticks(100)]
    messages += [wrench(t, range(6), "", "/wrist") for t in ticks(100)]
    messages += [wrench(t, range(6), "plate", "/plate") for t in ticks(100)]
    messages += [imu(t, (1, 2, 3), UP, frame="imu_sensor_frame_id") for t in ticks(100)]
    path = bags.rosbag(tmp_path / "run", messages)
    log = read_bag(path, {"sensor.wrist_3": "/wrist", "plate.A": "/plate", "imu.trunk": "/imu"})
    assert log.names("wrench") == ["left_foot"]
    assert log.names("sensor") == ["wrist_3"]
    assert log.names("plate") == ["A"]
    assert log.columns["sensor.wrist_3.mz"][0] == 5
    assert log.metadata["imu_frame"] == "trunk"
    assert places(path) == [("message-invalid", "/wrist, message 0")]
    assert read_bag(path, {"wrench": ""}).names("wrench") == []
    log = read_bag(path, {"wrench": "/left", "imu": ""})
    assert log.names("wrench") == ["left_foot"]
    assert not log.has("imu.acc.x")


def test_all_topics_are_listed_with_their_rates(tmp_path, steelyard):
    messages = ramp(100) + [imu(t, (0, 0, 0), UP) for t in ticks(50, 0, 1)] + [wrench(0, range(6), "f")]
    expected = [("/force", bags.WRENCH, 1, 0), ("/imu", bags.IMU, 51, 50), ("/joint_states", bags.JOINTS, 101, 100)]
    for name, write in bags.WRITERS.items():
        (folder := tmp_path / name.replace(",", "")).mkdir()
        topics = bag_topics(write(folder, messages))
        assert [(t.name, t.count) for t in topics] == [(e[0], e[2]) for e in expected]
        assert [t.rate for t in topics] == pytest.approx([e[3] for e in expected])
    path = bags.rosbag(tmp_path / "run", messages)
    assert bag_topics(path) == [Topic(*e[:3], pytest.approx(e[3])) for e in expected]
    shown = steelyard("check", "demo_arm", path, "--topics")
    assert shown.code == 0
    assert "/joint_states" in shown.out
    assert "100.0" in shown.out
    shown = json.loads(steelyard("check", "demo_arm", path, "--topics", "--json").out)
    assert [t["name"] for t in shown] == ["/force", "/imu", "/joint_states"]


@pytest.mark.slow
def test_the_command_line_chooses_topics(tmp_path, arm, steelyard):
    log = read_log(arm.train)
    names = log.names("q")
    messages = []
    for k, t in enumerate(log.time):
        q, tau = ([log.columns[f"{x}.{j}"][k] for j in names] for x in ("q", "tau"))
        messages += [joints(t, names, q, tau=tau), joints(t, names, [0.0] * len(names), topic="/commands")]
    path = bags.rosbag(tmp_path / "run", messages)
    refused = steelyard("check", "demo_arm", path)
    assert refused.code == 3
    assert "--topic joints=/joint_states" in refused.out
    chosen = ("--topic", "joints=/joint_states")
    assert steelyard("check", "demo_arm", path, *chosen).code == 0
    assert steelyard("identify", "demo_arm", path, "-o", tmp_path / "x").code == 3
    done = steelyard("identify", "demo_arm", path, "-o", tmp_path / "out", "--friction", "all", *chosen, "--json")
    assert done.code == 0
    assert {str(path / name) for name in ("run.db3", "metadata.yaml")} <= set(
        json.loads(done.out)["provenance"]["inputs"]
    )
    bad = steelyard("check", "demo_arm", path, "--topic", "joints")
    assert bad.code == 2
    assert "--topic joints" in bad.err


def test_an_unknown_kind_of_topic_is_a_usage_error(tmp_path):
    path = bags.rosbag(tmp_path / "run", ramp())
    with pytest.raises(UsageError) as error:
        read_bag(path, {"imus": "/imu", "joints.left": "/j", "wrench.foot": "", "sensor": "/f", "imu": "/imu"})
    assert [(f.code, f.where) for f in error.value.findings] == [
        ("option-value", f"topics={choice}") for choice in ("imus=/imu", "joints.left=/j", "wrench.foot=", "sensor=/f")
    ]


def test_ambiguous_topics_are_refused_with_a_choice(tmp_path):
    messages = ramp() + ramp(50, ("b", "c"), topic="/other")
    messages += [imu(t, (t, 0, 0), UP, topic=f"/imu{k}") for t in ticks(100) for k in (1, 2)]
    messages += [odometry(t, (t, 0, 0), (0, 0, 0, 1), topic=f"/odom{k}") for t in ticks(50) for k in (1, 2)]
    messages += [wrench(t, range(6), "foot", f"/force{k}") for t in ticks(50) for k in (1, 2)]
    path = bags.rosbag(tmp_path / "run", messages)
    for choice, expected in (
        (None, [("/imu1, /imu2", {"imu": "/imu1"}), ("/odom1, /odom2", {"odometry": "/odom1"})]),
        (
            {"imu": "/imu2", "odometry": "/odom1"},
            [
                ("/joint_states, /other", {"joints": "/joint_states"}),
                ("/force1, /force2", {"wrench": "/force1"}),
            ],
        ),
    ):
        assert [(f.code, f.where, f.remedy) for f in refusals(read_bag, path, choice)] == [
            ("topics-ambiguous", f"{path}, {topics}", {"topics": first}) for topics, first in expected
        ]
    log = read_bag(path, choice | {"joints": "/joint_states", "wrench": "/force2"})
    assert log.names("q") == ["a", "b"]
    assert log.names("wrench") == ["foot"]


def test_several_frames_in_one_topic_are_refused_where_one_is_needed(tmp_path):
    messages = ramp()
    messages += [imu(t, (t, 0, 0), UP, frame=frame) for t in ticks(100) for frame in ("left", "right")]
    messages += [wrench(t, range(6), frame) for t in ticks(100) for frame in ("left", "right")]
    path = bags.rosbag(tmp_path / "run", messages)
    assert places(path) == [("frames-several", "/imu")]
    assert read_bag(path, {"imu": ""}).names("wrench") == ["left", "right"]
    assert places(path, {"imu": "", "wrench.foot": "/force"}) == [("frames-several", "/force")]


def test_a_chosen_topic_exists_and_has_the_right_type(tmp_path):
    messages = ramp() + [imu(t, (t, 0, 0), UP) for t in ticks(100)]
    path = bags.rosbag(tmp_path / "run", messages)
    findings = refusals(read_bag, path, {"imu": "/joint_states", "joints": "/joint_statse", "wrench.foot": "/imu"})
    assert [(f.code, f.where, f.remedy) for f in findings] == [
        ("topic-type-mismatch", f"{path}, /joint_states", {}),
        ("name-unknown", f"{path}, /joint_statse", {"name": "/joint_states"}),
        ("topic-type-mismatch", f"{path}, /imu", {}),
    ]


def test_topics_without_common_time_are_refused(tmp_path):
    messages = ramp() + [imu(t, (t, 0, 0), UP) for t in ticks(100, 5000, 5001)]
    path = bags.rosbag(tmp_path / "run", messages)
    assert places(path) == [("clocks-disjoint", "/joint_states"), ("clocks-disjoint", "/imu")]


def test_a_topic_of_one_message_or_one_stamp_is_refused(tmp_path):
    messages = [*ramp(), wrench(0.5, range(6), "foot")]
    assert places(bags.rosbag(tmp_path / "a", messages)) == [("rows-too-few", "/force, wrench.foot.fx")]
    messages = [joints(0.5, ["a"], q=[1.0]) for _ in range(20)]
    assert places(bags.rosbag(tmp_path / "b", messages)) == [("rows-too-few", "/joint_states, q.a")]


def test_gaps_that_leave_no_rows_are_refused(tmp_path):
    messages = [joints(t, ["a"], q=[t]) for t in (0.0, 0.001, 0.002, 0.5, 0.999, 1.0, 1.001)]
    messages += [imu(t, (t, 0, 0), UP) for t in (0.4, 0.401, 0.402, 0.999)]
    messages = [m for m in messages if m.topic == "/imu" or m.fields["position"][0] not in (0.999,)]
    path = bags.rosbag(tmp_path / "run", messages)
    assert places(path) == [("clocks-disjoint", "/joint_states"), ("clocks-disjoint", "/imu")]
    messages += [joints(t, ["a"], q=[t]) for t in (0.6, 0.7)]
    assert places(bags.rosbag(tmp_path / "all", messages)) == [("rows-too-few", "/joint_states, /imu")]


def test_values_that_are_not_finite_are_refused(tmp_path):
    messages = ramp()
    messages[3] = joints(0.03, ["a", "b"], q=[float("inf"), 0.0])
    assert places(bags.rosbag(tmp_path / "run", messages)) == [("column-not-finite", "q.a, row 3")]


def test_without_the_extra_a_bag_is_refused_with_what_to_install(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", ramp())
    monkeypatch.setattr(bag, "find_spec", lambda name: None)
    for read in (read_log, bag_topics):
        (finding,) = refusals(read, path)
        assert (finding.code, finding.where) == ("package-missing", str(path))
        assert finding.remedy == {"install": "steelyard[bags]"}
