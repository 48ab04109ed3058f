"""Fields of the compiled step are found by name: where they lie means nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from steelyard import Options
from steelyard.kernels.state_layout import NAMES, PERSISTENT, StateLayout
from steelyard.online import OnlineIdentifier, compiled_step
from tests.online.conftest import FEET, table

pytestmark = pytest.mark.slow

BASE = Options(method="shapes", feet=FEET, links=("trunk",))
LAYOUT = StateLayout(columns=35, feet=4, nodes=13, joints=12, shapes=11, tree_integers=105, tree_reals=501)
ORDERS = {
    "reversed": tuple(reversed(range(len(NAMES)))),
    "turned": tuple(np.roll(np.arange(len(NAMES)), 17).tolist()),
    **{f"random {seed}": tuple(np.random.default_rng(seed).permutation(len(NAMES)).tolist()) for seed in (0, 1)},
}


def arranged(monkeypatch, order, *arguments, **more):
    """An identifier whose compiled step has its fields in this order."""
    with monkeypatch.context() as patch:
        patch.setattr(compiled_step, "StateLayout", partial(StateLayout, order=order))
        return OnlineIdentifier(*arguments, **more)


def learned(online, log, start, stop):
    values = table(log, online.inputs)
    for k in range(start, stop, 10):
        online.push_window(log.time[k : k + 10], np.ascontiguousarray(values[k : k + 10]))
    return online


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_fields_in_any_order_are_whole_and_apart(order):
    integers, reals, fields = replace(LAYOUT, order=order).allocate()
    assert set(fields) == set(NAMES) >= set(PERSISTENT)
    for number, name in enumerate(NAMES, 1):
        fields[name][...] = number
    for number, name in enumerate(NAMES, 1):
        assert np.all(fields[name] == number), name
    kinds = LAYOUT.integers(), LAYOUT.reals()
    for array, shapes in zip((integers, reals), kinds, strict=True):
        assert all(np.shares_memory(array, fields[name]) for name in shapes)
        assert {name: fields[name].shape for name in shapes} == shapes


@pytest.mark.parametrize("average", [None, 0.5])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_the_order_of_fields_changes_no_bit_of_any_estimate(dog, monkeypatch, order, average):
    usual = OnlineIdentifier("a1", dog.empty, BASE, average=average)
    other = arranged(monkeypatch, order, "a1", dog.empty, BASE, average=average)
    for start in range(1200, 1800, 100):  # something is picked up at 1500
        for one in (usual, other):
            learned(one, dog.picked, start, start + 100)
        assert np.array_equal(other.parameters, usual.parameters)
        assert other.certificate == usual.certificate
        assert np.array_equal(other.running.data.triangle, usual.running.data.triangle)
    (noticed,), (seen,) = other.changes, usual.changes
    assert (noticed.time, noticed.statistic, noticed.threshold) == (seen.time, seen.statistic, seen.threshold)
    assert other.estimate().sentence() == usual.estimate().sentence()


def test_without_a_quaternion_the_order_of_fields_changes_nothing_either(dog, monkeypatch):
    log = replace(dog.empty, columns={k: x for k, x in dog.empty.columns.items() if not k.startswith("base.")})
    usual = OnlineIdentifier("a1", log, BASE)
    other = arranged(monkeypatch, ORDERS["random 0"], "a1", log, BASE)
    for one in (usual, other):
        learned(one, log, 0, 600)
    assert np.array_equal(other.parameters, usual.parameters)


def test_a_state_saved_in_one_order_resumes_in_another(dog, monkeypatch, tmp_path):
    usual = learned(OnlineIdentifier("a1", dog.empty, BASE), dog.picked, 1200, 1450)
    usual.save(tmp_path / "state.npz")
    other = arranged(monkeypatch, ORDERS["random 1"], "a1", dog.empty, BASE)
    other.restore(tmp_path / "state.npz")
    for one in (usual, other):
        learned(one, dog.picked, 1450, 1700)
        assert len(one.changes) == 1
    assert np.array_equal(other.parameters, usual.parameters)
    with np.load(tmp_path / "state.npz") as saved:
        assert {f"running.{name}" for name in PERSISTENT} <= set(saved)
