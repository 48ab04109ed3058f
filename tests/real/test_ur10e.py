"""A real arm: UR10e, motor currents at about 95 Hz on a jittered clock; one motion to learn from, one to predict."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from steelyard import Log, Options, identify
from steelyard.identify.verdict import exit_code

JOINTS = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # N·m/A, De Luca


def ur10e_log(path, first: int, last: int) -> Log:
    """Rows first to last (1-based) of a headerless file: time, q×6, dq×6, i×6, …"""
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()[first - 1 : last]
    table = np.array([[float(cell) for cell in line.split(",")[:19]] for line in lines])
    columns = {"time": table[:, 0]}
    for k, joint in enumerate(JOINTS):
        columns |= {
            f"q.{joint}": table[:, 1 + k],
            f"v.{joint}": table[:, 7 + k],
            f"tau.{joint}": GAINS[k] * table[:, 13 + k],
        }
    return Log.from_columns(columns, source=path.name)


@pytest.fixture(scope="module")
def ur10e(measured):
    folder = measured("ur10e")
    train = ur10e_log(folder / "ur-20_02_10-30sec_12harm.csv.gz", 635, 3510)
    test = ur10e_log(folder / "ur-20_02_12-40sec_12harm.csv.gz", 500, 4460)

    def run(method):
        options = Options(method=method, friction="all")
        return identify(folder / "ur10e.urdf", [train], options, validate=[test]).estimate

    return run


def test_every_body_is_consistent_and_another_motion_is_predicted_to_4_8_percent(ur10e):
    estimate = ur10e("lmi")
    (score,) = estimate.validation.values()
    assert estimate.consistent
    assert estimate.certificate.holds
    assert score.relative <= 0.048
    assert score.relative_filtered <= 0.040
    assert exit_code(estimate) == 0


def test_physical_consistency_costs_no_accuracy_against_least_squares(ur10e):
    physical, plain = ur10e("lmi"), ur10e("least-squares")
    (ours,), (baseline,) = physical.validation.values(), plain.validation.values()
    assert not plain.consistent
    assert ours.relative <= baseline.relative


def test_no_single_mass_of_an_arm_is_called_identified(ur10e):
    estimate = ur10e("lmi")
    assert {b.verdict.mass for b in estimate.bodies} == {"prior"}
    assert estimate.base_identified >= 15
