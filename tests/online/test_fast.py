"""The compiled step: the same answer as the plain way, from arrays that are never allocated anew."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from steelyard import Options
from steelyard.experiment.simulate.truth import perturbed
from steelyard.online import OnlineIdentifier, OnlineOptions
from steelyard.robot.model import Robot
from tests.floating import floating_log
from tests.online.conftest import FEET, NOISE, table

pytestmark = pytest.mark.slow

BASE = Options(method="shapes", feet=FEET, links=("trunk",))


def both(dog, **how):
    options, average = how.get("options", BASE), how.get("average")
    return [OnlineIdentifier("a1", dog.empty, options, compiled=c, average=average) for c in (True, False)]


@pytest.mark.parametrize("average", [None, 0.5])
@pytest.mark.parametrize("method", ["shapes", "points"])
def test_the_compiled_step_and_the_plain_one_agree_at_every_window(dog, method, average):
    fast, plain = both(dog, options=replace(BASE, method=method), average=average)
    assert fast.fast is not None
    assert plain.fast is None
    values = table(dog.picked, fast.inputs)
    for k in range(1200, 1700):
        for one in (fast, plain):
            one.push(float(dog.picked.time[k]), values[k])
        if k % 10 == 9:
            assert fast.parameters == pytest.approx(plain.parameters, abs=1e-7)
    assert fast.running.test == pytest.approx(plain.running.test, rel=1e-6)
    assert fast.running.data.rows == plain.running.data.rows
    assert fast.certificate.holds
    (noticed,), (seen,) = fast.changes, plain.changes
    assert noticed.time == seen.time
    assert noticed.before["base"] == pytest.approx(seen.before["base"], abs=1e-7)
    ours, theirs = (one.estimate().body("base") for one in (fast, plain))
    assert ours.std == pytest.approx(theirs.std, rel=1e-4)
    assert ours.source == theirs.source


def test_without_a_quaternion_both_paths_track_the_same_tilt(dog):
    log = replace(dog.empty, columns={k: x for k, x in dog.empty.columns.items() if not k.startswith("base.")})
    fast, plain = (OnlineIdentifier("a1", log, BASE, compiled=c) for c in (True, False))
    values = table(log, fast.inputs)
    for one in (fast, plain):
        one.push_window(log.time[:600], values[:600])
    assert fast.fast is not None
    assert fast.parameters == pytest.approx(plain.parameters, abs=1e-9)


@pytest.mark.parametrize("mount", ["camera_joint_rearDown", "ultraSound_joint_right"])
def test_the_pose_of_the_imu_on_the_base_does_not_change_the_estimate(mount):
    robot = Robot.load("go1")
    truth = {b.name: b.parameters for b in robot.bodies}
    truth["base"] = perturbed(robot, np.random.default_rng(3))["base"]
    options, error = replace(BASE, links=("base",)), {}
    for place in (mount, None):
        log = floating_log(robot, truth, FEET, seed=1, seconds=3.0, imu_frame=place)
        fast, plain = (OnlineIdentifier("go1", log, options, compiled=c) for c in (True, False))
        values = table(log, fast.inputs)
        for one in (fast, plain):
            one.push_window(log.time, values)
        assert fast.fast is not None
        assert plain.fast is None
        assert fast.parameters == pytest.approx(plain.parameters, abs=1e-7)
        error[place] = np.linalg.norm(fast.parameters[:10] - truth["base"])
    ignored = replace(log, columns=floating_log(robot, truth, FEET, seed=1, seconds=3.0, imu_frame=mount).columns)
    wrong = OnlineIdentifier("go1", ignored, options)
    wrong.push_window(ignored.time, table(ignored, wrong.inputs))
    assert error[mount] == pytest.approx(error[None], abs=0.01)
    assert np.linalg.norm(wrong.parameters[:10] - truth["base"]) > 10 * error[mount]


def test_a_straight_knee_takes_the_general_path_with_the_same_estimate(dog):
    around = np.array([{"hip": 0.0, "thigh": 0.8, "calf": -0.05}[j.split("_")[1]] for j in dog.robot.joints])
    log = floating_log(dog.robot, dog.truth, FEET, seed=4, seconds=2.0, noise=NOISE, around=around)
    fast, plain = (OnlineIdentifier("a1", log, BASE, compiled=c) for c in (True, False))
    values = table(log, fast.inputs)
    for one in (fast, plain):
        one.push_window(log.time, values)
    assert fast.stream.turned
    assert fast.parameters == pytest.approx(plain.parameters, abs=1e-7)


def test_a_window_with_an_invalid_sample_is_processed_sample_by_sample(dog):
    online, plain = both(dog)
    values = table(dog.empty, online.inputs)
    poisoned = values.copy()
    poisoned[405, 3] = np.nan
    for one in (online, plain):
        for k in range(0, 600, 10):
            one.push_window(dog.empty.time[k : k + 10], poisoned[k : k + 10])
        assert one.rejected["not finite"] == 1
        assert one.filled == 1
    assert online.parameters == pytest.approx(plain.parameters, abs=1e-9)
    single = OnlineIdentifier("a1", dog.empty, BASE)
    for k in range(0, 600, 10):
        assert single.push_window(list(dog.empty.time[k : k + 10]), values[k : k + 10].astype(np.float32)) == 10


def test_a_step_leaks_no_memory_and_allocates_next_to_none(dog):
    online = OnlineIdentifier("a1", dog.empty, BASE)
    values = table(dog.empty, online.inputs)
    windows = [(dog.empty.time[k : k + 10], np.ascontiguousarray(values[k : k + 10])) for k in range(0, 2000, 10)]
    for times, samples in windows[:50]:
        online.push_window(times, samples)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for times, samples in windows[50:]:
        online.push_window(times, samples)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not online.changes
    assert after - before < 1000  # bytes, of 150 steps: not an array
    assert peak - before < 4000


def test_what_the_compiled_step_does_not_cover_takes_the_general_path(dog):
    for options in (replace(BASE, method="lmi"), replace(BASE, links=()), replace(BASE, links=("trunk", "FR_hip"))):
        assert OnlineIdentifier("a1", dog.empty, options).fast is None
    assert OnlineIdentifier("a1", dog.empty, BASE, OnlineOptions(window=20)).fast is None
