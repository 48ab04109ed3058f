"""The online identifier: the same answer as offline, always physical, never poisoned, and it notices a load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Filter, Options, Shapes, UsageError, identify, inertia
from steelyard.information import Information
from steelyard.log.table import read_log
from steelyard.online import OnlineIdentifier, OnlineOptions
from tests.online.conftest import CUBE, FEET, table
from tests.refusals import refuses

BASE = Options(method="shapes", feet=FEET, links=("trunk",))
WHOLE = OnlineOptions(memory=np.inf, alarm_every=np.inf)  # nothing is forgotten, and nothing changes


def fed(online, log, start=0, stop=None, late=0.0):
    """The same identifier after samples ``start`` to ``stop`` of a log, ``late`` seconds later than they were."""
    values = table(log, online.inputs)
    for k in range(start, len(log) if stop is None else stop):
        assert online.push(float(log.time[k]) + late, values[k])
    return online


@pytest.mark.slow
@pytest.mark.parametrize("cutoff", [None, 20.0])
@pytest.mark.parametrize("method", ["shapes", "points", "lmi"])
def test_with_the_same_causal_filter_and_no_forgetting_offline_and_online_estimates_agree(dog, method, cutoff):
    options = replace(BASE, method=method, filter=Filter(cutoff=cutoff))
    online = fed(OnlineIdentifier("a1", dog.empty, options, WHOLE), dog.empty)
    same = replace(options, filter=online.filter)
    if method == "shapes":
        same = replace(same, method=Shapes(start=online.shape_file, divisions=0))
    offline = identify("a1", [dog.empty], same)
    assert online.running.data.rows == offline.information.rows
    assert online.parameters == pytest.approx(offline.theta, abs=1e-8, rel=1e-7)


@pytest.mark.slow
def test_all_bodies_can_be_identified_online_and_the_estimate_is_that_of_the_whole_log(dog):
    options = Options(method="lmi", feet=FEET, filter=Filter(cutoff=20.0))
    online = fed(OnlineIdentifier("a1", dog.empty, options, WHOLE), dog.empty)
    offline = identify("a1", [dog.empty], replace(options, filter=online.filter))
    distance = offline.information.R @ (online.parameters - offline.theta)
    assert np.abs(distance).max() < 1e-3  # standard deviations
    assert len(online.estimate().bodies) == 13


@pytest.mark.slow
def test_an_arm_is_identified_online_from_its_joints_alone(arm):
    log = read_log(arm.train)
    options = Options(method="lmi", friction="all")
    online = fed(OnlineIdentifier("demo_arm", log, options, WHOLE), log)
    online.close()
    offline = identify("demo_arm", [log], replace(options, filter=online.filter))
    distance = offline.information.R @ (online.parameters - offline.theta)
    assert np.abs(distance).max() < 1e-3  # standard deviations


@pytest.mark.slow
def test_the_base_is_identified_consistent_and_certified_at_every_step(dog):
    online = OnlineIdentifier("a1", dog.empty, replace(BASE, method="lmi"))
    values, size = table(dog.empty, online.inputs), dog.robot.bodies[0].size
    for k, row in enumerate(values):
        online.push(float(dog.empty.time[k]), row)
        if k % 100 == 99:
            assert inertia.is_consistent(online.parameters[:10], size)
            assert online.certificate.holds
    trunk = online.estimate().body("trunk")
    assert trunk.source.mass == "data"
    error = trunk.parameters - dog.truth["base"]
    assert np.linalg.norm(error) < 0.05
    assert np.mean(np.abs(error) < 3 * trunk.std) > 0.8
    assert online.estimate().is_certified


@pytest.mark.slow
def test_single_windows_averaged_by_17_stay_consistent_and_converge(dog):
    online = OnlineIdentifier("a1", dog.empty, BASE, average=0.5)
    values, size, far = table(dog.empty, online.inputs), dog.robot.bodies[0].size, []
    for k, row in enumerate(values):
        online.push(float(dog.empty.time[k]), row)
        if k % 10 == 9:
            assert inertia.is_consistent(online.parameters[:10], size)
            far.append(np.linalg.norm(online.parameters[:10] - dog.truth["base"]))
    assert np.median(far[20:]) < 0.3
    assert np.median(far[20:]) > 1e-3  # it is the noise of 20 ms that is left


@pytest.mark.slow
def test_an_average_of_one_is_the_last_window_alone(dog):
    online = OnlineIdentifier("a1", dog.empty, BASE, OnlineOptions(alarm_every=np.inf), average=1.0, compiled=False)
    seen = []
    absorb = online.absorb
    online.absorb = lambda Y, z: (seen.append((Y, z)), absorb(Y, z))
    fed(online, dog.empty, 0, 500)
    last = online._answer(Information.of(*seen[-1])).theta
    assert online.parameters[:10] == pytest.approx(last, rel=1e-9)


@pytest.mark.slow
def test_the_order_of_windows_does_not_matter_without_forgetting(dog):
    online = OnlineIdentifier("a1", dog.empty, BASE, WHOLE, compiled=False)
    seen = []
    absorb = online.absorb
    online.absorb = lambda Y, z: (seen.append((Y, z)), absorb(Y, z))
    fed(online, dog.empty, 0, 1000)
    other = OnlineIdentifier("a1", dog.empty, BASE, WHOLE)
    for k in np.random.default_rng(0).permutation(len(seen)):
        other.absorb(*seen[k])
    assert other.parameters == pytest.approx(online.parameters, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("average", [None, 0.5])
@pytest.mark.parametrize("method", ["shapes", "lmi"])
def test_a_saved_identifier_resumes_to_the_last_bit(dog, tmp_path, method, average):
    build = lambda: OnlineIdentifier("a1", dog.empty, replace(BASE, method=method), average=average)  # noqa: E731
    online = fed(build(), dog.empty, 0, 507)
    online.push(0.0, [])  # rejected, and counted
    online.save(tmp_path / "state.npz")
    restored = build()
    restored.restore(tmp_path / "state.npz")
    for one in (online, restored):
        fed(one, dog.empty, 507, 733)
    assert np.array_equal(restored.parameters, online.parameters)
    assert restored.rejected == online.rejected
    assert restored.rejected["wrong length"] == 1
    assert restored.estimate().sentence() == online.estimate().sentence()


def test_a_state_of_another_identifier_is_refused(dog, tmp_path):
    fed(OnlineIdentifier("a1", dog.empty, BASE), dog.empty, 0, 20).save(tmp_path / "state.npz")
    with refuses(UsageError, "state-mismatch", "state.npz"):
        OnlineIdentifier("a1", dog.empty, BASE, OnlineOptions(window=20)).restore(tmp_path / "state.npz")


def test_bad_samples_are_rejected_counted_and_change_nothing(dog):
    clean = fed(OnlineIdentifier("a1", dog.empty, BASE), dog.empty, 0, 400)
    online, values = OnlineIdentifier("a1", dog.empty, BASE), table(dog.empty, clean.inputs)
    poison = values[7].copy()
    poison[3] = np.nan
    for k in range(400):
        t = float(dog.empty.time[k])
        if k == 207:
            assert not online.push(t, poison)
            assert not online.push(np.nan, values[k])
            assert not online.push(t - 1.0, values[k])
            assert not online.push(float(dog.empty.time[k - 1]), values[k])
            assert not online.push(t, values[k][:-1])
            assert not online.push(t, dict.fromkeys(online.inputs[1:], 0.0))
            assert not online.push(t, np.full(len(values[k]), np.inf))
        assert online.push(t, values[k])
    assert online.rejected == {"not finite": 4, "out of order": 2, "wrong length": 1}
    assert np.array_equal(online.parameters, clean.parameters)


@pytest.mark.slow
def test_a_lost_sample_is_interpolated_and_a_gap_restarts_the_filters(dog):
    online = OnlineIdentifier("a1", dog.quiet, BASE, OnlineOptions(memory=np.inf))
    values = table(dog.quiet, online.inputs)
    for k in range(1500):
        if k % 97 != 50 and not 700 < k < 800:
            online.push(float(dog.quiet.time[k]), values[k])
    assert online.filled == sum(k % 97 == 50 for k in range(1500) if not 700 < k < 800)
    assert online.gaps == 1
    whole = fed(OnlineIdentifier("a1", dog.quiet, BASE, OnlineOptions(memory=np.inf)), dog.quiet, 0, 1500)
    assert online.parameters[:10] == pytest.approx(whole.parameters[:10], abs=5e-3)


@pytest.mark.slow
def test_samples_may_come_by_name_or_as_a_window(dog):
    by_row = fed(OnlineIdentifier("a1", dog.empty, BASE), dog.empty, 0, 300)
    by_name, by_window = (OnlineIdentifier("a1", dog.empty, BASE) for _ in range(2))
    values = table(dog.empty, by_row.inputs)
    for k in range(300):
        by_name.push(float(dog.empty.time[k]), dict(zip(by_row.inputs, values[k], strict=True)))
    for k in range(0, 300, 25):
        assert by_window.push_window(dog.empty.time[k : k + 25], values[k : k + 25]) == 25
    assert np.array_equal(by_name.parameters, by_row.parameters)
    assert np.array_equal(by_window.parameters, by_row.parameters)


def test_a_change_of_load_is_detected_within_a_tenth_of_a_second_without_false_alarms(dog):
    online = OnlineIdentifier("a1", dog.empty, BASE)
    masses = []
    for stop in (1500, 3000, 4000):  # picked up at 3 s, put down at 6 s
        fed(online, dog.picked, len(masses) and (1500, 3000)[len(masses) - 1], stop)
        masses.append(online.estimate().body("base").mass)
    up, down = online.changes
    assert 3.0 < up.time < 3.1
    assert 6.0 < down.time < 6.1
    assert up.statistic > up.threshold
    assert up.before["base"][0] == pytest.approx(masses[0], abs=0.02)
    assert down.before["base"][0] == pytest.approx(masses[1], abs=0.02)
    assert masses[1] - masses[0] == pytest.approx(CUBE[0], abs=0.05)
    assert masses[2] == pytest.approx(masses[0], abs=0.05)


def test_options_that_need_a_whole_log_and_methods_without_consistency_are_refused(dog):
    wrong = Options(method="least-squares", feet=FEET, robust=True, hold_out=0.5)
    with pytest.raises(UsageError) as refused:
        OnlineIdentifier("a1", dog.empty, wrong, OnlineOptions(window=0, memory=-1.0))
    assert [(f.code, f.where) for f in refused.value.findings] == [
        ("method-not-online", "method=least-squares"),
        ("option-offline-only", "robust"),
        ("option-offline-only", "hold_out"),
        ("option-value", "window=0"),
        ("option-value", "memory=-1.0"),
    ]
    with refuses(UsageError, "option-value", "average=2"):
        OnlineIdentifier("a1", dog.empty, BASE, average=2.0)
