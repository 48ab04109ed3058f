"""Bags written by the public libraries read back to the same log; the clock keeps its promises."""

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
        """How far the chord of a step can be from the sine: h²/8 · max |f″|."""
        return step**2 / 8 * np.max(self.A * self.w**2) + 1e-12


def ticks(rate, start=0.0, stop=2.0):
    return start + np.arange(int((stop - start) * rate) + 1) / rate


def standing(rate=100.0, names=("a", "b"), stop=1.0, topic="/joint_states", start=0.0):
    """Joint states that are a ramp: linear interpolation of them is exact."""
    return [joints(t, names, q=[t + k for k in range(len(names))], topic=topic) for t in ticks(rate, start, stop)]


def reasons(call, *arguments, **options):
    with pytest.raises(LogError) as error:
        call(*arguments, **options)
    return [(f.where, f.what, f.fix) for f in error.value.findings]


def what(call, *arguments, **options):
    return [reason[1] for reason in reasons(call, *arguments, **options)]


@pytest.mark.parametrize("kind", bags.WRITERS)
def test_an_arm_reads_back_to_the_same_log_from_every_kind_of_bag(tmp_path, arm, kind):
    log = read_log(arm.train).cut(100, 400)
    names = log.names("q")
    rng = np.random.default_rng(1)
    said = []
    for k, t in enumerate(log.time - log.time[0]):
        shuffled = list(rng.permutation(names))
        q, tau = ([log.columns[f"{x}.{j}"][k] for j in shuffled] for x in ("q", "tau"))
        said.append(joints(t, shuffled, q=q, tau=tau))
    path = bags.WRITERS[kind](tmp_path, said)
    back = read_log(path)
    np.testing.assert_allclose(back.time, log.time - log.time[0], rtol=0, atol=0.6e-9)  # stamps are whole ns
    assert set(back.columns) == {f"{x}.{j}" for x in ("q", "tau") for j in names}
    for name, values in back.columns.items():
        np.testing.assert_array_equal(values, log.columns[name])
    assert back.metadata == {"topics": {"/joint_states": "joints"}, "epoch_ns": bags.START}
    assert back.notices == ()
    assert back.source == str(path)


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

    said = []
    for t in ticks(200):
        order = rng.permutation(12)
        said.append(joints(t, [LEGS[i] for i in order], q(t)[order], v(t)[order], tau(t)[order]))
    said += [imu(t, gyro(t), acc(t), frame="/trunk_imu") for t in ticks(333, 0.1013)]
    said += [wrench(t, force[f](t), f, f"/{f}") for k, f in enumerate(FEET) for t in ticks(100, 0.001 * k, 1.9)]
    for k, t in enumerate(ticks(50, 0.0437, 1.95)):  # a quaternion and its negative are the same orientation
        said.append(odometry(t, place(t), turned(t) * (-1) ** k, speed(t), spin(t), child="trunk"))
    said.sort(key=lambda message: message.time)
    log = read_log(bags.WRITERS[kind](tmp_path, said))

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
    assert len(log.notices) == 2
    assert "starts later" in log.notices[0]
    assert "ends earlier" in log.notices[1]


def test_check_says_the_same_of_a_bag_as_of_a_table(tmp_path, arm, steelyard):
    log = read_log(arm.train)
    said = [
        joints(t, log.names("q"), *([log.columns[f"{x}.{j}"][k] for j in log.names("q")] for x in ("q",)),
               tau=[log.columns[f"tau.{j}"][k] for j in log.names("q")])
        for k, t in enumerate(log.time)
    ]  # fmt: skip
    path = bags.rosbag(tmp_path / "run", said, "mcap")
    of_bag, of_table = (json.loads(steelyard("check", "demo_arm", p, "--json").out) for p in (path, arm.train))
    assert of_bag["facts"] == of_table["facts"]
    assert of_bag["findings"] == of_table["findings"] == []


def test_what_a_bag_said_survives_as_a_table(tmp_path):
    log = read_bag(bags.rosbag(tmp_path / "run", standing()))
    write_log(tmp_path / "run.parquet", log)
    back = read_log(tmp_path / "run.parquet")
    assert back.metadata == log.metadata
    assert back.columns.keys() == log.columns.keys()


def test_publishers_with_joints_of_their_own_are_merged_on_the_clock_of_the_busiest(tmp_path):
    said = standing(200, ("hip", "knee")) + standing(50, ("jaw",)) + standing(20, ("neck",), topic="/head")
    said += [joints(t, ["hip", "knee"], tau=[3 * t, -t], topic="/torques") for t in ticks(40, 0, 1)]
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    np.testing.assert_allclose(log.time, ticks(200, 0, 1), atol=1e-9)
    expected = {"q.hip": log.time, "q.knee": log.time + 1, "q.jaw": log.time, "q.neck": log.time}
    expected |= {"tau.hip": 3 * log.time, "tau.knee": -log.time}
    assert set(log.columns) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(log.columns[name], values, atol=1e-9)
    assert log.metadata["topics"] == {"/joint_states": "joints", "/head": "joints", "/torques": "joints"}


def test_a_publisher_that_leaves_joints_out_at_times_tells_one_series_of_each(tmp_path):
    said = [joints(t, ["a", "b"][: 1 + k % 2], q=[t, 2 * t][: 1 + k % 2]) for k, t in enumerate(ticks(100, 0, 1))]
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    np.testing.assert_allclose(log.columns["q.a"], log.columns["q.b"] / 2, atol=1e-12)


def test_nan_and_empty_arrays_are_absent(tmp_path):
    nan = float("nan")
    said = [joints(t, ["a", "b"], q=[t, nan], v=[nan, nan]) for t in ticks(100, 0, 1)]
    said[50] = joints(0.5, ["a", "b"], q=[nan, nan])
    for path in (bags.rosbag(tmp_path / "run", said), bags.plain_mcap(tmp_path / "run.mcap", said)):
        log = read_bag(path)
        assert list(log.columns) == ["q.a"]
        np.testing.assert_allclose(log.columns["q.a"], log.time, atol=1e-12)


def test_null_is_absent_in_json(tmp_path):
    said = [joints(t, ["a"], q=[t]) for t in ticks(100, 0, 1)]
    said = [message._replace(fields=message.fields | {"velocity": [None]}) for message in said]
    assert list(read_bag(bags.plain_mcap(tmp_path / "run.mcap", said)).columns) == ["q.a"]


def test_json_may_give_seconds_or_the_stamps_of_ros_1_or_none(tmp_path):
    stamps = ({"header": {"stamp": t}} for t in ticks(50, 100, 101))
    old = ({"header": {"stamp": {"secs": int(t), "nsecs": round(t % 1 * 1e9)}}} for t in ticks(50, 100, 101))
    bare = itertools.repeat({})
    for k, headers in enumerate((stamps, old, bare)):
        said = [
            bags.Said("/j", "JointState", bags.ns(t), {**head, "name": ["a"], "position": [t]})
            for t, head in zip(ticks(50, 0, 1), headers, strict=k < 2)
        ]
        log = read_bag(bags.plain_mcap(tmp_path / f"{k}.mcap", said))
        np.testing.assert_allclose(log.time, ticks(50, 0, 1), atol=1e-9)
        assert log.metadata["epoch_ns"] == (bags.START if k == 2 else 100 * 10**9)


def test_what_an_imu_does_not_measure_is_absent(tmp_path):
    for k, (absent, expected) in enumerate(
        ((("linear_acceleration",), "imu.gyro"), (("angular_velocity",), "imu.acc"))
    ):
        said = standing() + [
            imu(t, (t, 0, 1), UP, (0, 0, 0, 1), "", absent=(*absent, "orientation")) for t in ticks(100)
        ]
        log = read_bag(bags.rosbag(tmp_path / str(k), said))
        assert [c for c in log.columns if "." in c and c[0] in "ib"] == [f"{expected}.{c}" for c in "xyz"]
        assert "imu_frame" not in log.metadata


def test_the_orientation_of_an_imu_is_used_for_want_of_odometry(tmp_path):
    turn = [(0, 0, np.sin(t / 2), np.cos(t / 2)) for t in ticks(100)]
    inertial = [imu(t, (0, 0, 1), UP, q) for t, q in zip(ticks(100), turn, strict=True)]
    log = read_bag(bags.rosbag(tmp_path / "alone", standing() + inertial))
    np.testing.assert_allclose(log.columns["base.quaternion.z"], np.sin(log.time / 2), atol=1e-12)
    assert log.metadata["quaternion_frame"] == log.metadata["imu_frame"] == "imu_link"
    assert any("is taken for that of the base" in notice for notice in log.notices)
    poses = [odometry(t, (0, 0, 0), (1, 0, 0, 0), (1, 0, 0)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "both", standing() + inertial + poses))
    assert np.all(log.columns["base.quaternion.x"] == 1)
    assert "quaternion_frame" not in log.metadata
    unknown = [odometry(t, (0, 0, 0), (0, 0, 0, 0), (1, 0, 0)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "unknown", standing() + inertial + unknown))
    assert log.metadata["quaternion_frame"] == "imu_link"


def test_an_orientation_that_never_changes_and_velocities_that_are_never_filled_are_left_out(tmp_path):
    said = standing() + [imu(t, (0, 0, 1), UP, (0, 0, 0, 1)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "imu", said))
    assert not log.has(*QUATERNION)
    assert log.has("imu.acc.z")
    assert any("never changes" in notice for notice in log.notices)
    said = standing() + [odometry(t, (t, 0, 0), (0, 0, 0, 1)) for t in ticks(100)]
    log = read_bag(bags.rosbag(tmp_path / "odometry", said))
    assert log.has("base.position.x", *QUATERNION)
    assert not log.has("base.velocity.x")
    assert any("every velocity is exactly zero" in notice for notice in log.notices)


def test_a_quaternion_that_is_not_of_unit_length_stays_so_for_the_check_to_find(tmp_path):
    said = standing() + [odometry(t, (0, 0, 0), (0, 0, 0.6, 1.6 * 0.5)) for t in ticks(30)]
    said += [odometry(t, (0, 0, 0), (0, 0, 2 * np.sin(t), 2 * np.cos(t)), topic="/mocap") for t in ticks(30)]
    log = read_bag(bags.rosbag(tmp_path / "run", said), {"odometry": "/mocap"})
    length = np.linalg.norm(np.column_stack([log.columns[name] for name in QUATERNION]), axis=1)
    np.testing.assert_allclose(length, 2, atol=1e-12)


def test_messages_without_a_stamp_have_the_time_of_their_receipt_and_a_notice(tmp_path):
    said = [joints(None, ["a"], q=[t], received=t) for t in ticks(100, 0, 1)]
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    assert log.metadata["epoch_ns"] == bags.START + bags.LATE
    np.testing.assert_allclose(log.time, ticks(100, 0, 1), atol=1e-9)
    assert "101 of 101 messages have no stamp" in log.notices[0]


def test_stamps_are_sorted_and_repeats_dropped_with_a_notice(tmp_path):
    said = standing()
    said[10], said[11] = said[11], said[10]
    said.insert(21, joints(0.2, ["a", "b"], q=[77, 77]))
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    np.testing.assert_allclose(log.columns["q.a"], ticks(100, 0, 1), atol=1e-12)
    assert [n.partition(", ")[2] for n in log.notices] == [
        "/joint_states: 1 messages out of order, sorted by stamp",
        "/joint_states: 1 messages repeat a stamp and were dropped",
    ]


def test_rows_in_a_hole_of_any_topic_are_dropped_and_a_short_one_is_bridged(tmp_path):
    seen = [t for t in ticks(100) if not 0.4001 < t < 0.4999 and not 0.6001 < t < 0.6299]
    said = standing(200) + [imu(t, (t, 0, 0), UP) for t in seen]
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    kept = [t for t in ticks(200, 0, 1) if not 0.4001 < t < 0.4999]
    np.testing.assert_allclose(log.time, kept, atol=1e-9)
    np.testing.assert_allclose(log.columns["imu.gyro.x"], kept, atol=1e-12)
    assert "/imu: 19 rows lie in holes of more than 4 median steps" in log.notices[0]


def test_nothing_is_extrapolated(tmp_path):
    said = standing(100) + [imu(t, (t, 0, 0), UP) for t in ticks(100, 0.2055, 0.7)]
    log = read_bag(bags.rosbag(tmp_path / "run", said))
    at = (log.metadata["epoch_ns"] - bags.START) / 1e9
    assert at == pytest.approx(0.21)
    assert at + log.time[-1] == pytest.approx(0.69)
    np.testing.assert_allclose(log.columns["q.a"], at + log.time, atol=1e-12)
    np.testing.assert_allclose(log.columns["imu.gyro.x"], at + log.time, atol=1e-12)
    assert [n.partition(", ")[2] for n in log.notices] == [
        "the first 0.21 s (21 rows) are cut: /imu starts later",
        "the last 0.31 s (31 rows) are cut: /imu ends earlier",
    ]


def test_wrenches_go_by_frame_unless_the_user_names_them(tmp_path):
    said = standing() + [wrench(t, range(6), "/left_foot", "/left") for t in ticks(100)]
    said += [wrench(t, range(6), "", "/wrist") for t in ticks(100)]
    said += [wrench(t, range(6), "plate", "/plate") for t in ticks(100)]
    said += [imu(t, (1, 2, 3), UP, frame="imu_sensor_frame_id") for t in ticks(100)]
    path = bags.rosbag(tmp_path / "run", said)
    log = read_bag(path, {"sensor.wrist_3": "/wrist", "plate.A": "/plate", "imu.trunk": "/imu"})
    assert log.names("wrench") == ["left_foot"]
    assert log.names("sensor") == ["wrist_3"]
    assert log.names("plate") == ["A"]
    assert log.columns["sensor.wrist_3.mz"][0] == 5
    assert log.metadata["imu_frame"] == "trunk"
    assert "no header.frame_id" in what(read_bag, path)[0]
    assert read_bag(path, {"wrench": ""}).names("wrench") == []
    log = read_bag(path, {"wrench": "/left", "imu": ""})
    assert log.names("wrench") == ["left_foot"]
    assert not log.has("imu.acc.x")


def test_topics_are_listed_with_their_rates_those_too_that_are_not_read(tmp_path, steelyard):
    said = standing(100) + [imu(t, (0, 0, 0), UP) for t in ticks(50, 0, 1)] + [wrench(0, range(6), "f")]
    expected = [("/force", bags.WRENCH, 1, 0), ("/imu", bags.IMU, 51, 50), ("/joint_states", bags.JOINTS, 101, 100)]
    for name, write in bags.WRITERS.items():
        (folder := tmp_path / name.replace(",", "")).mkdir()
        found = bag_topics(write(folder, said))
        assert [(t.name, t.count) for t in found] == [(e[0], e[2]) for e in expected]
        assert [t.rate for t in found] == pytest.approx([e[3] for e in expected])
    path = bags.rosbag(tmp_path / "run", said)
    assert bag_topics(path) == [Topic(*e[:3], pytest.approx(e[3])) for e in expected]
    shown = steelyard("check", "demo_arm", path, "--topics")
    assert shown.code == 0
    assert "/joint_states" in shown.out
    assert "100.0" in shown.out
    shown = json.loads(steelyard("check", "demo_arm", path, "--topics", "--json").out)
    assert [t["name"] for t in shown] == ["/force", "/imu", "/joint_states"]


def test_the_command_line_chooses_topics(tmp_path, arm, steelyard):
    log = read_log(arm.train)
    names = log.names("q")
    said = []
    for k, t in enumerate(log.time):
        q, tau = ([log.columns[f"{x}.{j}"][k] for j in names] for x in ("q", "tau"))
        said += [joints(t, names, q, tau=tau), joints(t, names, [0.0] * len(names), topic="/commands")]
    path = bags.rosbag(tmp_path / "run", said)
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
    assert "is not KIND=NAME" in bad.err


def test_a_choice_that_is_none_is_a_mistake_of_use(tmp_path):
    path = bags.rosbag(tmp_path / "run", standing())
    with pytest.raises(UsageError) as error:
        read_bag(path, {"imus": "/imu", "joints.left": "/j", "wrench.foot": "", "sensor": "/f", "imu": "/imu"})
    assert [f.where for f in error.value.findings] == [
        f"topics, '{key}'" for key in ("imus", "joints.left", "wrench.foot", "sensor")
    ]


def test_ambiguous_topics_are_refused_by_name_with_the_choice_to_make(tmp_path):
    said = standing() + standing(50, ("b", "c"), topic="/other")
    said += [imu(t, (t, 0, 0), UP, topic=f"/imu{k}") for t in ticks(100) for k in (1, 2)]
    said += [odometry(t, (t, 0, 0), (0, 0, 0, 1), topic=f"/odom{k}") for t in ticks(50) for k in (1, 2)]
    said += [wrench(t, range(6), "foot", f"/force{k}") for t in ticks(50) for k in (1, 2)]
    path = bags.rosbag(tmp_path / "run", said)
    found = reasons(read_bag, path)
    assert [where for where, _, _ in found] == [f"{path}, /imu1, /imu2", f"{path}, /odom1, /odom2"]
    assert "are 2 topics of the type sensor_msgs/Imu" in found[0][1]
    assert 'topics={"imu": "/imu1"}' in found[0][2]
    choice = {"imu": "/imu2", "odometry": "/odom1"}
    found = reasons(read_bag, path, choice)
    assert [(where, saying) for where, saying, _ in found] == [
        (f"{path}, /joint_states, /other", "all give q.b"),
        (f"{path}, /force1, /force2",
         "all give wrench.foot.fx, wrench.foot.fy, wrench.foot.fz, wrench.foot.mx, wrench.foot.my, wrench.foot.mz"),
    ]  # fmt: skip
    log = read_bag(path, choice | {"joints": "/joint_states", "wrench": "/force2"})
    assert log.names("q") == ["a", "b"]
    assert log.names("wrench") == ["foot"]


def test_several_frames_in_one_topic_are_refused_where_one_is_needed(tmp_path):
    said = standing()
    said += [imu(t, (t, 0, 0), UP, frame=frame) for t in ticks(100) for frame in ("left", "right")]
    said += [wrench(t, range(6), frame) for t in ticks(100) for frame in ("left", "right")]
    path = bags.rosbag(tmp_path / "run", said)
    assert what(read_bag, path) == ["speaks of several frames: 'left', 'right'"]
    assert read_bag(path, {"imu": ""}).names("wrench") == ["left", "right"]
    assert what(read_bag, path, {"imu": "", "wrench.foot": "/force"}) == ["speaks of several frames: 'left', 'right'"]


def test_a_chosen_topic_must_be_there_and_of_the_right_type(tmp_path):
    said = standing() + [imu(t, (t, 0, 0), UP) for t in ticks(100)]
    path = bags.rosbag(tmp_path / "run", said)
    found = reasons(read_bag, path, {"imu": "/joint_states", "joints": "/joint_statse", "wrench.foot": "/imu"})
    assert ("is not in the bag", "Choose from /joint_states") in [f[1:] for f in found]
    assert [f[1] for f in found if "type" in f[1]] == [
        f"is of the type {bags.JOINTS} or has no messages, and cannot be imu",
        f"is of the type {bags.IMU} or has no messages, and cannot be wrench",
    ]


def test_topics_that_never_run_together_are_refused_with_their_times(tmp_path):
    said = standing() + [imu(t, (t, 0, 0), UP) for t in ticks(100, 5000, 5001)]
    found = reasons(read_bag, bags.rosbag(tmp_path / "run", said))
    assert len(found) == 2
    assert "its stamps run from 1700000000.123 to 1700000001.123 s" in found[0][1]


def test_a_topic_of_one_message_or_one_stamp_is_refused(tmp_path):
    said = [*standing(), wrench(0.5, range(6), "foot")]
    assert what(read_bag, bags.rosbag(tmp_path / "a", said)) == ["has only one stamp with a value for wrench.foot.fx"]
    said = [joints(0.5, ["a"], q=[1.0]) for _ in range(20)]
    assert what(read_bag, bags.rosbag(tmp_path / "b", said)) == ["has only one stamp with a value for q.a"]


def test_holes_that_leave_nothing_are_refused(tmp_path):
    said = [joints(t, ["a"], q=[t]) for t in (0.0, 0.001, 0.002, 0.5, 0.999, 1.0, 1.001)]
    said += [imu(t, (t, 0, 0), UP) for t in (0.4, 0.401, 0.402, 0.999)]
    said = [m for m in said if m.topic == "/imu" or m.fields["position"][0] not in (0.999,)]
    assert what(read_bag, bags.rosbag(tmp_path / "run", said)) == ["has too little in common with the other topics: "
        "its stamps run from 1700000000.123 to 1700000001.124 s", "has too little in common with the other topics: "
        "its stamps run from 1700000000.523 to 1700000001.122 s"]  # fmt: skip
    said += [joints(t, ["a"], q=[t]) for t in (0.6, 0.7)]
    assert what(read_bag, bags.rosbag(tmp_path / "all", said)) == ["leave no row between the holes of the topics"]


def test_values_that_are_not_finite_are_refused(tmp_path):
    said = standing()
    said[3] = joints(0.03, ["a", "b"], q=[float("inf"), 0.0])
    assert "not finite" in what(read_bag, bags.rosbag(tmp_path / "run", said))[0]


def test_without_the_extra_the_refusal_says_what_to_install(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", standing())
    monkeypatch.setattr(bag, "find_spec", lambda name: None)
    for read in (read_log, bag_topics):
        assert reasons(read, path) == [
            (str(path), "is a bag, and rosbags and mcap is not installed",
             'Install what reads it: pip install "steelyard[bags]"')
        ]  # fmt: skip
