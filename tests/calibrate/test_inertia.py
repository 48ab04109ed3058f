from __future__ import annotations

import numpy as np
import pytest

from steelyard import inertia
from steelyard.errors import LogError, UsageError
from steelyard.experiment.calibrate.composite import find_inertia, frozen
from steelyard.experiment.calibrate.simulated import true_stance
from steelyard.experiment.calibrate.sinusoid import AXES, Harmonics, Shake, dominant, effective, effective_of, shake


@pytest.fixture(scope="module")
def measured_inertia(loaded):
    rig = loaded(noise="mid", seed=2)
    return rig, find_inertia(rig, Shake(periods=6))


@pytest.mark.slow
def test_effective_inertia_is_identified_to_a_percent_or_so(measured_inertia):
    rig, result = measured_inertia
    exact = true_stance(rig)
    for one in result.effective:
        truth = effective_of(exact.model, exact, one.axis)
        assert one.inertia == pytest.approx(truth, rel=0.015)  # 1.22 %, worst of twelve loads in papers/lee
        assert abs(one.damping) < 0.1
        assert one.residual < 0.06


@pytest.mark.slow
def test_composite_inertia_is_identified_to_a_percent(measured_inertia):
    rig, result = measured_inertia
    exact = true_stance(rig)
    mass, com, whole = inertia.unpack(frozen(exact, rig.world.truth))
    assert np.diag(result.composite.inertia) == pytest.approx(np.diag(whole), rel=0.01)
    assert result.composite.mass == pytest.approx(mass, rel=3e-3)
    assert result.composite.com == pytest.approx(com, abs=1e-3)
    assert result.composite.source == "data"


@pytest.mark.slow
def test_effective_is_less_than_composite_because_legs_do_not_turn(measured_inertia):
    _, result = measured_inertia
    for k, one in enumerate(result.effective):
        assert one.inertia < result.composite.inertia[k, k]


def test_a_robot_without_legs_mass_has_the_same_inertia_both_ways(stance):
    """The law behind both: with all mass in the trunk every part of it turns."""
    import pinocchio as pin

    model = stance.model.copy()
    for k in range(2, model.njoints):
        model.inertias[k] = pin.Inertia.FromDynamicParameters(1e-9 * model.inertias[k].toDynamicParameters())
    trunk = model.inertias[1].inertia
    for k, axis in enumerate(AXES):
        assert effective_of(model, stance, axis) == pytest.approx(trunk[k, k], rel=1e-6)


@pytest.mark.slow
def test_one_frequency_confuses_a_wrong_height_with_inertia_and_two_do_not(loaded):
    rig = loaded(noise="none")
    exact, how = true_stance(rig), Shake(periods=3)
    log = shake(rig, exact, "x", how)
    wrong = exact.with_mass_and_com(exact.mass, exact.com(exact.nominal) + np.array([0.0, 0.0, 0.01]))
    right = {single: effective(exact, log, "x", how, single=single).inertia for single in (True, False)}
    off = {single: effective(wrong, log, "x", how, single=single) for single in (True, False)}
    assert off[False].stiffness == pytest.approx(0.01 * exact.mass * 9.81, rel=0.25)
    assert abs(off[True].inertia - right[True]) > 0.03 * right[True]
    assert right[False] == pytest.approx(effective_of(exact.model, exact, "x"), rel=0.01)


def test_harmonics_give_exact_derivatives_and_average_noise():
    rng, t = np.random.default_rng(0), np.arange(2000) / 500
    x = 1 + 0.3 * np.sin(2 * np.pi * 1.5 * t + 0.2) + 0.1 * np.cos(2 * np.pi * 3.5 * t)
    fit = Harmonics.fit(t, x[:, None], 0.5, 9)
    slope = 0.3 * 3 * np.pi * np.cos(2 * np.pi * 1.5 * t + 0.2) - 0.1 * 7 * np.pi * np.sin(2 * np.pi * 3.5 * t)
    assert fit.at(t, 1)[:, 0] == pytest.approx(slope, abs=1e-9)
    noisy = Harmonics.fit(t, (x + 0.05 * rng.normal(size=len(t)))[:, None], 0.5, 9)
    assert noisy.noise[0] == pytest.approx(0.05, rel=0.1)
    assert np.sqrt(np.mean((noisy.at(t)[:, 0] - x) ** 2)) < 0.01


def test_the_dominant_frequency_is_interpolated_between_the_lines_of_the_spectrum():
    t = np.arange(1500) / 500
    assert dominant(np.sin(2 * np.pi * 3.27 * t) + 0.2 * np.sin(2 * np.pi * 9 * t), 500) == pytest.approx(
        3.27, abs=0.02
    )


def test_shaking_that_is_not_a_motion_is_refused(loaded, stance):
    with pytest.raises(UsageError) as caught:
        Shake(multiples=(3,))
    assert [f.code for f in caught.value.findings] == ["option-value"]
    with pytest.raises(UsageError) as caught:
        shake(loaded(noise="none"), stance, "x", Shake(base=0.3))
    (finding,) = caught.value.findings
    assert (finding.code, finding.where) == ("option-value", "base=0.3")
    assert finding.remedy == {"base": pytest.approx(0.3, rel=1e-3)}  # 1667 samples at 500 Hz
    with pytest.raises(LogError) as caught:
        dominant(np.random.default_rng(0).normal(size=1000), 500)
    assert [f.code for f in caught.value.findings] == ["frequency-not-dominant"]
