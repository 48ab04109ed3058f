"""Every method on two real arms: those that guarantee consistent bodies return them, without loss of accuracy."""

from __future__ import annotations

import pytest

from bench.arms import WAYS, arms, table

pytestmark = pytest.mark.slow

PHYSICAL = [way for way in WAYS if way.split(",")[0] not in ("mata", "linear", "least-squares")]


@pytest.fixture(scope="module")
def results(measured):
    assert measured("ur10e").parent == measured("tx40").parent
    return arms(measured("ur10e").parent)


@pytest.mark.parametrize("arm", ["ur10e", "tx40"])
def test_physical_methods_predict_what_was_held_out_better_than_least_squares(results, arm):
    plain = results[arm]["least-squares"]
    assert plain["consistent"] == 0
    for way in PHYSICAL:
        ours = results[arm][way]
        assert ours["consistent"] == ours["bodies"] == 6, way
        assert ours["relative_filtered"] < plain["relative_filtered"], way
        assert ours["relative"] < plain["relative"], way
        assert ours["distance"] < plain["distance"], way


@pytest.mark.parametrize("arm", ["ur10e", "tx40"])
def test_methods_with_weaker_conditions_return_an_inconsistent_body(results, arm):
    assert all(results[arm][way]["consistent"] < 6 for way in ("mata", "linear"))


def test_the_table_has_a_line_for_every_method_and_arm(results):
    lines = table(results).splitlines()
    assert len([line for line in lines if line.startswith("| `")]) == 2 * len(WAYS)
