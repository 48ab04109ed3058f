"""Where the data contradict the description, by name, the same part of all legs together."""

import pytest

from steelyard.identify.contradictions import find_contradictions
from steelyard.inference.uncertainty import BaseParameter


def parameter(name, value, described, std=0.01, source="data", kind="body", size=1.0):
    return BaseParameter(name, {name: 1.0}, value, std, source, kind, described, size)


def test_the_same_part_of_all_legs_is_one_contradiction():
    legs = [parameter(f"{leg}_calf.hz", -0.7 - 0.01 * k, -1.0) for k, leg in enumerate(("FL", "FR", "RL", "RR"))]
    (found,) = find_contradictions([*legs, parameter("FL_hip.hz", 1.02, 1.0)])
    assert (found.parameter, found.bodies) == ("hz", ("FL_calf", "FR_calf", "RL_calf", "RR_calf"))
    assert found.change == pytest.approx((0.3, 0.29, 0.28, 0.27))  # over the described size: towards zero
    assert min(found.sigma) == pytest.approx(27)
    assert found.value == pytest.approx((-0.7, -0.71, -0.72, -0.73))
    assert found.common == "calf"


@pytest.mark.parametrize("name", ["left_arm_3", "arm_left_3", "LeftArm3"])
def test_words_are_not_taken_for_sides(name):
    assert find_contradictions([parameter(f"{name}.m", 2.0, 1.0)])[0].bodies == (name,)
    assert find_contradictions([parameter("roller.m", 2.0, 1.0)])[0].common == "roller"


@pytest.mark.parametrize(
    "change",
    [{"std": 0.2}, {"source": "narrowed"}, {"kind": "joint"}, {"size": 6.0}, {"value": 1.05}],
)
def test_what_is_uncertain_small_or_not_a_body_is_no_contradiction(change):
    assert find_contradictions([parameter(**{"name": "a.m", "value": 1.5, "described": 1.0, **change})]) == ()


def test_a_described_value_near_zero_is_compared_with_the_natural_size():
    (found,) = find_contradictions([parameter("a.hx", 0.5, 1e-4)])
    assert found.change == pytest.approx((0.4999,))
