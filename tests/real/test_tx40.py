"""A real arm with a coupled wrist: Stäubli TX40, motor positions and torques at 5 kHz, one log of nine seconds.

Its authors low-pass positions at 100 Hz and decimate rows and torque twice by ten. Plain weighted least squares then
predicts every third half second to 7.1 %; that is to be beaten with every body physical.
"""

from __future__ import annotations

import csv
import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import signal

from steelyard import Filter, Information, Options, identify
from steelyard.compose import prior as priors
from steelyard.equations.rows import Block
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.errors import DescriptionError
from steelyard.identify.solving import solve
from steelyard.identify.verdict import failed_checks
from steelyard.inference import noise
from steelyard.log.table import read_log
from steelyard.robot.description import read_description
from tests.real.measured_logs import guide_mapping
from tests.refusals import refuses

pytestmark = pytest.mark.slow

TARGET = 0.071
OWN_FILTER = Filter(cutoff=20.0, kinematics=100.0)
JOINT_TERMS = {"Ia": "armature", "fv": "viscous", "fs": "coulomb", "off": "offset"}


@pytest.fixture(scope="session")
def tx40(measured, tmp_path_factory):
    """Description and log."""
    mapping = tmp_path_factory.mktemp("tx40") / "tx40.toml"
    mapping.write_text(guide_mapping(), encoding="utf-8")
    folder = measured("tx40")
    return read_description(folder / "tx40_mdh_modified.urdf"), read_log(folder / "pos_read_data.csv.gz", mapping)


def options(method, **more):
    return Options(method=method, friction="all", repair_prior=True, **more)


@pytest.fixture(scope="session")
def held_out(tx40):
    """Estimates from two thirds of the log, with Steelyard's own filter."""
    description, log = tx40
    return {
        method: identify(description, [log], options(method, hold_out=0.5, filter=OWN_FILTER)).estimate
        for method in ("lmi", "least-squares")
    }


def test_every_body_is_physical_and_held_out_blocks_are_predicted_to_6_percent(held_out):
    estimate = held_out["lmi"]
    (score,) = estimate.validation.values()
    assert score.relative_filtered <= 0.061 < TARGET  # 6.0 % (docs/how-to-tx40.md), rounded up
    assert score.relative <= 0.160, "against the torque as it came, with all its ripple"
    assert estimate.consistent
    assert estimate.certificate.holds
    assert {q.code for q in failed_checks(estimate)} <= {"informative", "structure", "stable"}  # seven seconds


def test_physical_consistency_costs_no_accuracy(held_out):
    (ours,), (baseline,) = (held_out[m].validation.values() for m in ("lmi", "least-squares"))
    assert not held_out["least-squares"].consistent
    assert ours.relative_filtered < baseline.relative_filtered
    assert ours.relative < baseline.relative


def test_friction_of_motor_6_taken_for_that_of_joints_doubles_the_error(tx40, held_out):
    description, log = tx40
    unknown = replace(log, metadata={})
    without = identify(description, [unknown], options("lmi", hold_out=0.5, filter=OWN_FILTER)).estimate
    (ours,), (theirs,) = held_out["lmi"].validation.values(), without.validation.values()
    # docs/how-to-tx40.md: 6.0 % and 13.4 %; 1 % of that is the rounding of these figures
    assert ours.relative_filtered == pytest.approx(0.060, rel=0.01)
    assert theirs.relative_filtered == pytest.approx(0.134, rel=0.01)
    assert theirs.rmse["joint_5"] > 3 * ours.rmse["joint_5"]


def test_nearly_all_viscous_friction_of_the_last_axis_is_its_motors(held_out):
    estimate = held_out["lmi"]
    motor, joint = estimate.motors["joint_6"], estimate.joints["joint_6"]
    assert motor["viscous"].value > 5 * joint["viscous"].value
    assert motor["coulomb"].value > 3 * joint["coulomb"].value


def test_a_body_without_inertia_is_refused_by_name_or_repaired(tx40):
    description, log = tx40
    with refuses(DescriptionError, "inertia-not-positive-definite", "link_6", {"repair_prior": True}):
        identify(description, [log], Options(friction="all"))


def test_no_single_mass_of_the_arm_is_identified(held_out):
    assert "data" not in {b.source.mass for b in held_out["lmi"].bodies}


class Pinned:
    """The authors' filter on Steelyard's rows: zero-phase Butterworth at 100 Hz, then twice every tenth sample."""

    def __init__(self, description, whole):
        self.setup = Setup.of(description, [whole], options("lmi"))
        self.prior = priors.make(self.setup.robot, self.setup.columns)
        columns = [[whole.columns[f"{kind}.{j}"] for j in self.setup.robot.joints] for kind in ("q", "tau")]
        q, torque = map(np.column_stack, columns)
        q = signal.filtfilt(*signal.butter(4, 100.0, fs=5000.0), q, axis=0)
        v = np.gradient(q, 1 / 5000, axis=0)
        a = np.gradient(v, 1 / 5000, axis=0)
        kept = slice(500, 37501)  # 0.1 to 7.5 s, cut after the filter
        self.raw = tuple(x[kept] for x in (whole.time, q, v, a, torque))
        self.Y, self.tau, self.time = self.rows(), decimated(self.raw[4]), self.raw[0][::100]

    def rows(self, accelerations=(1, 1, 1, 1, 1, 1)):
        """Decimated rows, with each joint's acceleration times a factor."""
        time, q, v, a, torque = self.raw
        segment = Segment(time, 5000.0, q, v, a * accelerations, torque, {}, None, None, None, None, {})
        blocks = Setup(self.setup.robot, "joint", self.setup.columns).rows([segment])
        return decimated(np.concatenate([b.Y for b in blocks]))

    def fit(self, learned, method):
        """θ from the rows that are ``learned``, each run of them a piece of its own."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], learned.astype(int), [0]])))
        runs = [slice(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        blocks = [Block(self.time[r], self.Y[r], self.tau[r], True) for r in runs]
        _, info = noise.estimate_noise(blocks, self.setup.columns.names, self.prior.information)
        theta, proof, *_ = solve(self.setup, info, self.prior, options(method))
        assert proof.holds
        return theta

    def errors(self, method):
        """Σ error², Σ torque² of every third block of half a second, for each of the three ways to count."""
        block = np.floor(self.time / 0.5 + 1e-9).astype(int) % 3
        errors_by_way = []
        for k in range(3):
            theta = self.fit(block != k, method)
            error = self.tau[block == k] - self.Y[block == k] @ theta
            errors_by_way.append((np.sum(error**2), np.sum(self.tau[block == k] ** 2)))
        return np.array(errors_by_way)


def decimated(values):
    for _ in range(2):
        values = signal.decimate(values, 10, axis=0, zero_phase=True)
    return values


@pytest.fixture(scope="session")
def pinned(tx40, measured, tmp_path_factory):
    mapping = tmp_path_factory.mktemp("whole") / "tx40.toml"
    mapping.write_text(re.sub(r"(?m)^rows = .*$", "", guide_mapping()), encoding="utf-8")
    return Pinned(tx40[0], read_log(measured("tx40") / "pos_read_data.csv.gz", mapping))


def test_with_the_authors_filter_each_choice_of_a_held_out_third_beats_their_baseline(pinned, monkeypatch):
    """Theirs: least squares, and the sign of the speed for dry friction; blocks 2, 5, 8 … give the 7.1 %."""
    ours, plain = pinned.errors("lmi"), pinned.errors("least-squares")
    monkeypatch.setattr("steelyard.equations.columns.COULOMB_SPEED", 1e-12)
    signs = copy(pinned)
    signs.Y = pinned.rows()
    theirs = signs.errors("least-squares")
    lmi, baseline = (np.sqrt(e[:, 0] / e[:, 1]) for e in (ours, theirs))
    assert baseline[1] == pytest.approx(TARGET, abs=1e-3)
    assert np.all(lmi <= TARGET), lmi
    errors_by_way = [
        [*np.sqrt(e[:, 0] / e[:, 1]), np.sqrt(e[:, 0].sum() / e[:, 1].sum())] for e in (ours, plain, theirs)
    ]
    guide = [[0.052, 0.064, 0.070, 0.061], [0.055, 0.067, 0.073, 0.063], [0.060, 0.071, 0.078, 0.068]]
    np.testing.assert_allclose(errors_by_way, guide, atol=7e-4)


def published(folder):
    """Expression, value and relative standard deviation of the authors' 60 base parameters (least squares)."""
    rows = csv.reader((folder / "TX40_bp_5.csv").read_text().splitlines())
    return [(row[0], float(row[1]), float(row[2]) / 100) for row in rows]


def gradient(expression, names):
    """Of a published combination; its Ia and fv of joints 5 and 6 hold the share of motor 6."""
    g = np.zeros(len(names))
    for sign, factor, kind, k in re.findall(r"([+-]?) ?(?:([\d.]+)\*)?([A-Za-z]+)(\d)", expression):
        if kind in ("Iam", "fvm", "fsm"):
            places = [f"joint_{k}.motor.{JOINT_TERMS[kind[:-1]]}"]
        elif kind in JOINT_TERMS:
            places = [f"joint_{k}.{JOINT_TERMS[kind]}"]
            if kind in ("Ia", "fv") and k in "56":
                places.append(f"joint_6.motor.{JOINT_TERMS[kind]}")
        else:
            places = [f"link_{k}." + (kind.replace("m", "h") if kind in ("mx", "my", "mz") else kind)]
        for place in places:
            g[names.index(place)] += float(f"{sign}{factor or 1}")
    return g


@pytest.mark.parametrize("method", ["least-squares", "lmi"])
def test_base_parameters_that_the_authors_know_to_a_tenth_are_ours(tx40, measured, method):
    """Within three of their standard deviations or 5 %: all of them, the physical estimate's too."""
    description, log = tx40
    result = identify(description, [log], options(method, filter=OWN_FILTER))
    known = [p for p in published(measured("tx40")) if p[2] < 0.1]
    assert len(known) == 23
    for expression, value, std in known:
        ours = gradient(expression, result.columns.names) @ result.theta
        assert abs(ours / value - 1) <= max(3 * std, 0.05), (expression, value, ours)


def test_the_authors_left_the_acceleration_of_joint_6_out(pinned, measured, monkeypatch):
    """All 60 are found again to a standard deviation if it is zero, slow rows are dropped and rows weigh alike."""
    monkeypatch.setattr(
        "steelyard.equations.columns.COULOMB_SPEED", 1e-12
    )  # their dry friction is the sign of the speed
    known = published(measured("tx40"))
    assert not any("Ia6" in expression for expression, *_ in known)
    names = pinned.setup.columns.names
    (slow,) = re.findall(r"dq_lim_def : \[(.*)\]", (measured("tx40") / "TX40_config.yaml").read_text())
    speed = np.stack([np.abs(pinned.Y[:, k, names.index(f"joint_{k + 1}.viscous")]) for k in range(6)], axis=1)
    fast = speed >= [float(x) for x in slow.split(",")]
    worst = {}
    for zero in (True, False):
        Y = pinned.rows((1, 1, 1, 1, 1, 0) if zero else (1, 1, 1, 1, 1, 1))
        theta = Information.of(Y[fast], pinned.tau[fast]).solve()
        off = [abs(gradient(e, names) @ theta - value) / (std * abs(value)) for e, value, std in known]
        worst[zero] = max(off)
    assert worst[True] < 1.0
    assert worst[False] > 2.0
