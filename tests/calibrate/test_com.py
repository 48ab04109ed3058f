from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.errors import LogError, UsageError
from steelyard.experiment.calibrate.bisection import Bisection, balance, find_line
from steelyard.experiment.calibrate.com import disturbances, find_com, solve
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.simulated import SimulatedRig, true_stance
from steelyard.experiment.calibrate.tipping import at_rest, follow


@pytest.fixture(scope="module")
def calibrated(loaded):
    """The rig, its centre of mass, and the lines of progress."""
    rig = loaded(noise="mid", seed=3)
    lines: list[str] = []
    return rig, find_com(rig, progress=lines.append), lines


@pytest.mark.slow
def test_the_centre_of_mass_of_a_robot_with_an_unknown_load_is_identified_to_a_millimetre(calibrated):
    rig, result, _ = calibrated
    exact = true_stance(rig)
    off = result.com - exact.com(exact.nominal)
    assert np.linalg.norm(result.described - exact.com(exact.nominal)) > 0.01
    assert np.hypot(*off[:2]) < 1.2e-3  # m; the worst of 24 loads in papers/lee is 0.6 mm, the paper's 5 mm
    assert abs(off[2]) < 3e-3  # m; the worst of those loads is 1.2 mm
    assert np.all(np.abs(off) < 4 * result.std)
    assert result.mass == pytest.approx(exact.mass, rel=5e-3)
    assert max(len(line.trials) for line in result.lines) <= 6


@pytest.mark.slow
def test_the_trunk_alone_follows_from_the_legs_as_described(calibrated):
    rig, result, _ = calibrated
    trunk = rig.world.truth["base"]
    assert result.trunk == pytest.approx(trunk[1:4] / trunk[0], abs=4e-3)
    assert np.all(result.trunk_std > result.std)


@pytest.mark.slow
def test_every_trial_is_reported(calibrated):
    _, result, lines = calibrated
    assert sum(", trial " in line for line in lines) == result.trials
    assert any("-15°" in line for line in lines)


@pytest.mark.slow
def test_the_bracket_holds_the_balance_and_the_sides_agree_with_the_falls(calibrated):
    _, result, _ = calibrated
    for line in result.lines:
        agree = [t.tilt * s > 0 for t, (_, s) in zip(line.trials, line.levers, strict=True) if abs(s) > 2e-3]
        assert all(agree)
        assert line.bracket[0] <= line.bracket[1]


@pytest.mark.slow
def test_halving_is_the_papers_search_and_finds_x_and_y_in_six_trials(loaded):
    rig = loaded(noise="mid", seed=1)
    exact = true_stance(rig)
    result = find_com(rig, Bisection("halving"), tilt=False)
    off = result.com - exact.com(exact.nominal)
    assert np.hypot(*off[:2]) < 4e-3  # m; the worst of 24 loads in papers/lee is 2.7 mm
    assert [len(line.trials) for line in result.lines] == [6, 6]
    assert result.std[2] == pytest.approx(0.05, rel=0.1)  # nothing measured z
    widths = [line.bracket[1] - line.bracket[0] for line in result.lines]
    assert max(widths) < 0.012  # m: 80 mm are halved five times to 2.5 mm; sagging joints widen that


@pytest.mark.slow
def test_errors_of_joint_zeros_add_the_uncertainty_of_misplaced_feet(calibrated):
    rig, result, _ = calibrated
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    _, sure = solve(stance, list(result.lines), 0.0, 0.0)
    _, unsure = solve(stance, list(result.lines), 0.01, 0.0)
    assert np.sqrt(np.diag(sure)) == pytest.approx(result.std)
    assert np.all(np.diag(unsure)[:2] > 4 * np.diag(sure)[:2])
    assert unsure[2, 2] < 2 * sure[2, 2]  # both turns have the same zero errors, which cancel in z
    slope = disturbances(stance, result.lines[0])
    feet = result.lines[0].trials[0].diagonal
    moving = [k for leg in feet for k in stance.legs_of[leg]]
    assert np.abs(slope[moving]).max() > 0.1  # m/rad: the height of the hips
    others = [k for k in range(12) if k not in moving]
    assert np.abs(slope[others]).max() < 0.03  # they move a little mass only


def test_the_zero_of_a_line_through_trials_is_exact_whatever_the_scale_of_falls():
    for kappa in (0.9, 1.0, 1.1):
        u = np.array([-0.02, 0.004, 0.009])
        zero, std = balance([(x, kappa * (x - 0.006)) for x in u])
        assert zero == pytest.approx(0.006, abs=3e-5)
        assert 0 < std < 5e-4


def refused(error, call, *arguments, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return caught.value.findings


def test_settings_out_of_range_are_refused_with_every_reason(loaded):
    findings = refused(UsageError, find_com, loaded(noise="none"), Bisection(trials=2, within=1.0), mass=-1.0)
    assert {f.code for f in findings} == {"option-value"}
    assert [f.where for f in findings] == ["mass=-1.0", "trials=2", "within=1"]
    assert [f.remedy for f in findings] == [{"mass": None}, {"trials": 3}, {}]


@pytest.mark.slow
def test_a_centre_of_mass_beyond_the_range_is_refused(loaded):
    rig = loaded(noise="none")
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    off = stance.with_mass_and_com(true_stance(rig).mass, stance.com(stance.nominal) + np.array([0.0, 0.04, 0.0]))
    (finding,) = refused(LogError, find_line, rig, off, stance.diagonals[0], Bisection(within=0.006))
    assert (finding.code, finding.where) == ("com-out-of-range", "support line of FL_foot and RR_foot")
    assert finding.remedy == {"within": 0.012}


class Broken(SimulatedRig):
    """A rig whose driver is not finished."""

    change = staticmethod(lambda log: log)

    def follow(self, targets):
        return self.change(super().follow(targets))


def broken(rig, change):
    other = Broken(rig.world, rig.posture, feet=rig.feet, noise="none")
    other.change = change
    return other


@pytest.mark.slow
def test_a_rig_that_measures_too_little_is_refused_with_the_missing_columns(loaded):
    rig = loaded(noise="none")
    bare = broken(rig, lambda log: replace(log, columns={k: v for k, v in log.columns.items() if "gyro" not in k}))
    findings = refused(LogError, find_com, bare)
    assert {f.code for f in findings} == {"column-missing"}
    assert [f.remedy["column"] for f in findings] == [f"imu.gyro.{c}" for c in "xyz"]
    short = broken(rig, lambda log: log.cut(0, len(log) - 5))
    (finding,) = refused(LogError, find_com, short)
    assert (finding.code, finding.where) == ("rows-not-targets", "rig of a1")
    legs = broken(rig, lambda log: replace(log, metadata={"imu_frame": "FR_calf"}))
    (finding,) = refused(LogError, find_com, legs)
    assert (finding.code, finding.remedy) == ("frame-not-on-base", {"imu_frame": None})


def test_a_robot_that_does_not_stand_still_is_refused(loaded):
    rig = loaded(noise="none")
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    log = follow(rig, stance, np.tile(stance.nominal, (200, 1)))
    shaking = 0.3 * np.sin(2 * np.pi * 2 * log.time)
    moved = replace(log, columns={**log.columns, "imu.gyro.x": log.columns["imu.gyro.x"] + shaking})
    (finding,) = refused(LogError, at_rest, stance, moved, 150)
    assert finding.code == "not-at-rest"


@pytest.mark.slow
def test_a_robot_that_falls_over_is_not_taken_for_one_that_tips(loaded):
    rig = loaded(noise="none")

    def turning(log):
        spin = np.full(len(log), 3.0) * (len(log) > 300) * (len(log) < 500)
        return replace(log, columns={**log.columns, "imu.gyro.x": log.columns["imu.gyro.x"] + spin})

    (finding,) = refused(LogError, find_com, broken(rig, turning))
    assert finding.code == "robot-fell"


def test_rates_and_noise_that_do_not_exist_are_refused(loaded):
    rig = loaded(noise="none")
    (finding,) = refused(UsageError, SimulatedRig, rig.world, rate=333.0)
    assert (finding.code, finding.where) == ("option-value", "rate=333")
    assert SimulatedRig(rig.world, rate=finding.remedy["rate"]).rate == pytest.approx(333, rel=0.01)
    (finding,) = refused(UsageError, SimulatedRig, rig.world, noise="loud")
    assert (finding.code, finding.where) == ("option-unknown-choice", "noise=loud")
