"""``python -m bench scale`` in its small form: figures that add up."""

import pytest

from bench.scale import arm, fleet, scale, table

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def costs():
    return scale(6.0, {"demo_arm 100 Hz": (arm, "demo_arm", 100.0)}, repeats=1, tasks=24)


def test_stages_add_up_to_the_cost_of_a_robot_hour(costs):
    case = costs["cases"]["demo_arm 100 Hz"]
    cpu = case["cpu_s"]
    assert cpu["whole"] == pytest.approx(cpu["hash"] + cpu["read"] + cpu["sums"])
    assert case["triangles_MB"] < case["sums_MB"] < case["log_MB"]
    assert case["sums_MB"] == pytest.approx(case["sent_MB"], rel=0.5)
    assert case["columns"] == 13
    assert min(costs["task"].values()) > 0


def test_the_cost_of_a_fleet_is_that_of_its_hours(costs):
    case = costs["cases"]["demo_arm 100 Hz"]
    one, ten = (fleet(case, costs["task"], robots=n, hours=8.0) for n in (1, 10))
    assert one["cpu_hours"] == pytest.approx(8 * case["cpu_s"]["whole"] / 3600)
    assert one["read_TB"] * 1e6 == pytest.approx(8 * case["log_MB"])
    for key in ("cpu_hours", "read_TB", "checkpoint_TB", "scheduler_hours", "robot_hours"):
        assert ten[key] == pytest.approx(10 * one[key])
    assert table(costs).count("demo_arm 100 Hz") == 2
