"""Going on from an earlier estimate is the same as fitting its logs along."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Job, Options, RangeOptions, UsageError, identify
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.identify.resume import identify_further
from steelyard.log.table import read_log
from steelyard.output.results import write_results
from tests.refusals import refuses

OPTIONS = Options(friction="all")


@pytest.fixture(scope="module")
def folder(arm, tmp_path_factory):
    out = tmp_path_factory.mktemp("earlier") / "first"
    write_results(identify("demo_arm", [arm.train], OPTIONS), out)
    return out


def test_information_of_an_earlier_run_adds_up_with_new_logs(arm, folder):
    both = identify("demo_arm", [arm.train, arm.test], OPTIONS)
    first, later = identify("demo_arm", [arm.train], OPTIONS), identify_further("demo_arm", [arm.test], folder)
    assert later.information.rows == both.information.rows
    assert later.columns == both.columns
    for a, b, c in zip(later.estimate.bodies, both.estimate.bodies, first.estimate.bodies, strict=True):
        apart = np.abs(a.parameters - b.parameters) / b.std  # equal but for the weights of the rows
        assert np.max(apart) < 2.0
        assert np.median(apart) < 0.3
        np.testing.assert_allclose(a.std, b.std, rtol=0.35)
        assert np.all(a.std < 1.05 * c.std)
    assert later.estimate.count_base("body")[0] >= first.estimate.count_base("body")[0]


def test_a_short_and_noisy_log_changes_an_earlier_estimate_but_little(arm):
    first = identify("demo_arm", [arm.train], OPTIONS)
    info = first.information
    short = simulate_arm(arm.robot, arm.truth, seed=3, seconds=3, noise="high", friction=arm.friction)
    with_more = identify("demo_arm", [short], OPTIONS, job=Job(earlier=info))
    alone = identify("demo_arm", [short], OPTIONS)
    moved = [np.linalg.norm(info.R @ (r.theta - first.theta)) for r in (with_more, alone)]
    assert moved[0] < 0.2 * moved[1]


def test_the_command_resumes_from_a_folder_and_from_its_own_results(steelyard, arm, folder, tmp_path):
    run = steelyard("identify", "demo_arm", arm.test, "--from", folder, "-o", tmp_path / "second")
    assert run.code == 0
    again = steelyard("identify", "demo_arm", arm.train, "--from", tmp_path / "second", "-o", tmp_path / "third")
    assert again.code == 0
    over = steelyard("identify", "demo_arm", arm.test, "--from", folder, "-o", folder)
    assert over.code == 2
    assert "estimate.json: " in over.err
    assert "[input-overwritten]" in over.err


def test_bodies_held_fixed_are_refused_together_with_an_earlier_estimate(steelyard, arm, folder, tmp_path):
    run = steelyard("identify", "demo_arm", arm.test, "--from", folder, "--links", "wrist_3_link", "-o", tmp_path / "x")
    assert run.code == 2
    assert "--links wrist_3_link: " in run.err
    assert "[option-conflict]" in run.err
    with refuses(UsageError, "earlier-parameters-differ", "wrist_3"):
        identify_further("demo_arm", [arm.test], folder, Options(lock={"wrist_3_joint": 0.0}))


def test_uncertainty_of_the_scale_of_gains_is_in_every_mass(arm, tmp_path):
    gains = dict(zip(arm.robot.joints, (14.0, 12.0, 11.0, 8.0, 9.0, 10.0), strict=True))

    def currents(path):
        log = read_log(path)
        columns = {k: v for k, v in log.columns.items() if not k.startswith("tau.")}
        columns |= {f"current.{j}": log.columns[f"tau.{j}"] / k for j, k in gains.items()}
        return replace(log, columns=columns, metadata={})

    first = identify("demo_arm", [currents(arm.train)], OPTIONS)
    write_results(first, tmp_path)
    later = identify_further(
        "demo_arm", [currents(arm.test)], tmp_path, job=Job(ranges=RangeOptions("masses"))
    ).estimate
    assert later.scale.doubt == first.estimate.scale.doubt
    assert all(b.std[0] > 0.99 * later.scale.doubt * b.mass for b in later.bodies)
    assert all(b.source.mass == "prior" for b in later.bodies)
    assert all(body.mass == (0.0, None) for body in later.ranges.bodies.values())
