"""Legs of two real quadrupeds whose logs have targets and no torque: the law of the drives gives it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from steelyard import Log, Options, identify
from steelyard.check.survey import survey
from steelyard.equations.equation_options import EquationOptions

pytestmark = pytest.mark.slow

PARTS = ("hip", "thigh", "calf")
JOINTS = [f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in PARTS]
GAINS = {"go2": ((20, 20, 40), (1, 1, 2)), "aliengo": ((25, 25, 25), (0.5, 0.5, 0.5))}  # kp, kd of hip, thigh, calf


@pytest.fixture
def mapping(tmp_path):
    def write(robot):
        lines = ["[columns]", 'time = "t"']
        for joint in JOINTS:
            kp, kd = (gains[PARTS.index(joint.split("_")[1])] for gains in GAINS[robot])
            law = f'{{ target = "target_{joint}", kp = {kp}, kd = {kd} }}'
            lines += [
                f'"q.{joint}" = "pos_{joint}"',
                f'"v.{joint}" = "vel_{joint}"',
                f'"tau.{joint}" = {{ pd = {law} }}',
            ]
        path = tmp_path / f"{robot}.toml"
        path.write_text("\n".join(lines))
        return path

    return write


@pytest.fixture
def aliengo(measured, tmp_path):
    """The laboratory's description without the meshes, which are not with it; inertias are explicit."""
    text = (measured("legs") / "aliengo.xml").read_text()
    path = tmp_path / "aliengo.xml"
    path.write_text(re.sub(r'<mesh [^>]*/>|<geom [^>]*mesh="[^>]*/>', "", text))
    return path


def test_the_torque_is_that_of_the_law(measured, mapping):
    import pyarrow.parquet as pq

    path = measured("legs") / "go2_4.parquet"
    log, table = Log.read(path, mapping=mapping("go2")), pq.read_table(path)
    target, position, velocity = (table[f"{kind}_FL_calf_joint"].to_numpy() for kind in ("target", "pos", "vel"))
    np.testing.assert_allclose(log.columns["tau.FL_calf_joint"], 40 * (target - position) - 2 * velocity, atol=1e-12)
    assert log.metadata["commanded"] == JOINTS


def test_real_legs_have_no_error_and_the_delay_of_their_drives_is_a_doubt(measured, mapping, aliengo):
    """The law is evaluated at the log's own stamps: a drive that acts later is a torque that is early."""
    folder, fixed = measured("legs"), EquationOptions(base="fixed")
    for robot, name, faults in (("go2", "go2_4", set()), (aliengo, "aliengo_0", set())):
        report = survey(robot, folder / f"{name}.parquet", mapping=mapping(name.split("_")[0]), options=fixed)
        assert report.errors == ()
        assert {f.code for f in report.findings} & {"torque-delayed"} == faults


def test_the_estimate_marks_commanded_torque(measured, mapping):
    log = measured("legs") / "go2_4.parquet"
    options = Options(base="fixed", friction="all")
    estimate = identify("go2", [log], options, mapping=mapping("go2")).estimate
    assert set(estimate.provenance["commanded"]) == set(JOINTS)
    assert estimate.fit.relative_filtered < 0.10
