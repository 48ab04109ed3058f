"""The mean of an accelerometer is gravity, whatever the robot does on its feet."""

import pytest

from steelyard.check.checks.accelerometer_scale import scale_of
from tests.check.good_logs import findings
from tests.planted import changed, scaled

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("factor", "severity"), [(0.9, "error"), (0.96, "doubt"), (1.05, "doubt"), (1.3, "error")])
def test_a_wrong_scale_is_found_by_gravity(walking, a1_robot, factor, severity):
    wrong = scaled("imu.acc.", factor)(walking)
    (finding,) = (f for f in findings(wrong, "a1") if f.code == "accelerometer-scale")
    assert finding.severity == severity
    assert finding.remedy["scale"] == pytest.approx(1 / factor, rel=0.03)  # its base is faster at the end
    assert scale_of(a1_robot, walking)[0] == pytest.approx(1, abs=0.03)


def test_so_is_a_bias_along_gravity_and_a_good_log_has_none(walking):
    assert findings(walking, "a1") == ()
    biased = changed(walking, **{"imu.acc.z": walking.columns["imu.acc.z"] + 0.8})
    assert [f.code for f in findings(biased, "a1") if f.code == "accelerometer-scale"] == ["accelerometer-scale"]
