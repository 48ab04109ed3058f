"""Every method on two real arms: those that promise bodies that can exist keep it, and lose nothing by it."""

from __future__ import annotations

import pytest

from bench.arms import WAYS, arms, table

pytestmark = pytest.mark.slow

PHYSICAL = [way for way in WAYS if way.split(",")[0] not in ("mata", "linear", "least-squares")]


@pytest.fixture(scope="module")
def found(measured):
    assert measured("ur10e").parent == measured("tx40").parent
    return arms(measured("ur10e").parent)


@pytest.mark.parametrize("arm", ["ur10e", "tx40"])
def test_physical_methods_predict_what_was_held_out_better_than_least_squares(found, arm):
    plain = found[arm]["least-squares"]
    assert plain["consistent"] == 0
    for way in PHYSICAL:
        ours = found[arm][way]
        assert ours["consistent"] == ours["bodies"] == 6, way
        assert ours["relative_filtered"] < plain["relative_filtered"], way
        assert ours["relative"] < plain["relative"], way
        assert ours["distance"] < plain["distance"], way


@pytest.mark.parametrize("arm", ["ur10e", "tx40"])
def test_what_asks_less_than_existence_returns_a_body_that_cannot_exist(found, arm):
    assert all(found[arm][way]["consistent"] < 6 for way in ("mata", "linear"))


def test_the_table_has_a_line_for_every_way_of_every_arm(found):
    lines = table(found).splitlines()
    assert len([line for line in lines if line.startswith("| `")]) == 2 * len(WAYS)
