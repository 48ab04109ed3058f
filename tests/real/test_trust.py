"""Real logs: none is refused, and what their verdicts say is what is known of these robots."""

from __future__ import annotations

import pytest

from steelyard import Filter, Options, identify, weigh_load
from steelyard.identify.verdict import failed_checks
from tests.real.measured_logs import JOINTS, ur10e_log

pytestmark = pytest.mark.slow

MOTIONS = {  # useful rows
    "ur-20_02_06-20sec_5harm": (550, 2430),
    "ur-20_02_10-30sec_12harm": (635, 3510),
    "ur-20_02_12-40sec_12harm": (500, 4460),
    "ur-20_02_19_14harm50sec": (195, 4966),
    "ur-20_02_19_14harm50secLoad": (308, 5071),
}
MODEL = {"structure", "stable"}  # real friction is not that of the equations


def codes(result):
    return {q.code for q in failed_checks(result.estimate)}


@pytest.fixture(scope="module")
def ur10e(measured):
    folder = measured("ur10e")
    return folder / "ur10e.urdf", {name: ur10e_log(folder / f"{name}.csv.gz", *rows) for name, rows in MOTIONS.items()}


@pytest.mark.parametrize("name", list(MOTIONS)[:4])
def test_a_real_arm_is_identified_and_only_the_shape_of_its_friction_is_doubted(ur10e, name):
    robot, logs = ur10e
    result = identify(robot, logs[name], friction="all")
    assert result.estimate.findings == ()
    assert codes(result) <= MODEL
    held_out = result.estimate.evidence.pooled
    assert held_out.identified < 0.6 * held_out.description
    assert set(result.estimate.evidence.held_out) == set(JOINTS)


def test_so_is_its_load(ur10e):
    robot, logs = ur10e
    empty, loaded = list(logs)[3:]
    result = weigh_load(robot, logs[loaded], on="tool0", empty=logs[empty], friction="all")
    assert codes(result) <= MODEL
    assert result.estimate.loads[0].seen


def test_a_log_without_a_load_shows_none(ur10e):
    robot, logs = ur10e
    first, second = list(logs)[1:3]
    result = weigh_load(robot, logs[second], on="tool0", empty=logs[first], friction="all")
    (load,) = result.estimate.loads
    assert not load.seen
    assert load.at_most < 0.3  # kg, of a payload of 10


def test_legs_say_how_few_body_parameters_come_from_the_data(legs_mapping, measured):
    log = measured("legs") / "go2_4.parquet"
    result = identify("go2", log, Options(base="fixed", friction="all"), mapping=legs_mapping("go2"))
    data, count = result.estimate.count_base("body")
    assert data <= 0.1 * count
    assert result.estimate.count_base("joint")[0] > 20


def test_the_description_of_a_real_leg_is_contradicted_at_the_calf_by_name(legs_mapping, aliengo, measured):
    """The drives obey 10 ms later than their law is evaluated."""
    log = measured("legs") / "aliengo_0.parquet"
    options = Options(base="fixed", friction="all", filter=Filter(delay=-0.01))
    estimate = identify(aliengo, log, options, mapping=legs_mapping("aliengo")).estimate
    moments = [c for c in estimate.contradictions if c.parameter == "hz"]
    assert any(c.common == "calf" and len(c.bodies) >= 3 for c in moments)
    assert all(abs(v) < abs(d) for c in moments for v, d in zip(c.value, c.described, strict=True))
