"""Legs of two real quadrupeds whose logs have targets and no torque: the law of the drives gives it."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import Log, Options, identify
from steelyard.check.survey import survey
from steelyard.equations.equation_options import EquationOptions
from tests.real.conftest import JOINTS

pytestmark = pytest.mark.slow


def test_the_torque_is_that_of_the_law(measured, legs_mapping):
    import pyarrow.parquet as pq

    path = measured("legs") / "go2_4.parquet"
    log, table = Log.read(path, mapping=legs_mapping("go2")), pq.read_table(path)
    target, position, velocity = (table[f"{kind}_FL_calf_joint"].to_numpy() for kind in ("target", "pos", "vel"))
    np.testing.assert_allclose(log.columns["tau.FL_calf_joint"], 40 * (target - position) - 2 * velocity, atol=1e-12)
    assert log.metadata["commanded"] == JOINTS


def test_real_legs_have_no_error_and_the_delay_of_their_drives_is_a_doubt(measured, legs_mapping, aliengo):
    """The law is evaluated at the log's own stamps: a drive that acts later is a torque that is early."""
    folder, fixed = measured("legs"), EquationOptions(base="fixed")
    for robot, name, faults in (("go2", "go2_4", set()), (aliengo, "aliengo_0", {"torque-delayed"})):
        report = survey(robot, folder / f"{name}.parquet", mapping=legs_mapping(name.split("_")[0]), options=fixed)
        assert report.errors == ()
        assert {f.code for f in report.findings} & {"torque-delayed"} == faults


def test_the_estimate_marks_commanded_torque(measured, legs_mapping):
    log = measured("legs") / "go2_4.parquet"
    options = Options(base="fixed", friction="all")
    estimate = identify("go2", [log], options, mapping=legs_mapping("go2")).estimate
    assert set(estimate.provenance["commanded"]) == set(JOINTS)
    assert estimate.fit.relative_filtered < 0.10
