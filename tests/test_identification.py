"""The whole path on logs with a known truth: arms, floating bases, every kind of row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Filter, Lmi, Options, identify, inertia
from steelyard.equations.holdout import Training
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.errors import LogError, UsageError
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify import fit as fitting
from steelyard.identify.estimate_json import estimate_json, estimate_text
from steelyard.identify.fit import fit
from steelyard.identify.verdict import is_trusted
from steelyard.log.table import read_log
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from tests.floating import floating_log
from tests.refusals import refuses

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")


@pytest.fixture(scope="module")
def a1(a1_robot):
    robot = a1_robot
    truth = {b.name: b.parameters for b in robot.bodies}
    truth["base"] = perturbed(robot, np.random.default_rng(2))["base"]
    return robot, truth


def error_of(result, truth, body="base"):
    """e_p: ‖Φ̂ − Φ‖ over the ten parameters, SI."""
    return float(np.linalg.norm(result.estimate.body(body).parameters - truth[body]))


def test_an_exact_walking_log_gives_the_base_link_without_force_sensors(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET)
    result = identify(robot.description, [log], Options(links=("trunk",), feet=FEET))
    assert result.estimate.equations == "contact-free"
    assert error_of(result, truth) < 1e-3
    assert result.estimate.body("base").source.worst == "data"
    assert result.estimate.total.source == "data"
    assert set(result.estimate.fit.rmse) == {"base.fx", "base.fy", "base.fz", "base.mx", "base.my", "base.mz"}


def test_a_noisy_walking_log_gives_mass_and_centre_of_mass(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET, noise=(3e-4, 0.005, 0.05, 0.2), imu_frame="imu_link")
    result = identify(robot.description, [log], Options(links=("base",), feet=FEET))
    mass, com, _ = inertia.unpack(truth["base"])
    estimated_mass, estimated_com, _ = inertia.unpack(result.estimate.body("base").parameters)
    assert estimated_mass == pytest.approx(mass, rel=0.01)
    assert np.linalg.norm(estimated_com - com) < 0.004
    std = result.estimate.body("base").std
    assert np.all(np.abs(result.estimate.body("base").parameters - truth["base"]) < 5 * std)


@pytest.mark.slow
def test_ignoring_where_the_ball_of_the_foot_touches_costs_accuracy(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET)
    centres = tuple(f"{f}:point:0" for f in FEET)
    right = identify(robot.description, [log], Options(links=("base",), feet=FEET))
    wrong = identify(robot.description, [log], Options(links=("base",), feet=centres))
    assert error_of(wrong, truth) > 10 * error_of(right, truth)


@pytest.mark.slow
def test_base_rows_need_no_torque_and_full_rows_agree_with_them(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET, wrenches=True)
    bare = replace(log, columns={k: v for k, v in log.columns.items() if not k.startswith("tau.")})
    base = identify(robot.description, [bare], Options(links=("base",)))
    full = identify(robot.description, [log], Options(links=("base",)))
    assert (base.estimate.equations, full.estimate.equations) == ("base", "full")
    assert error_of(base, truth) < 1e-3
    assert error_of(full, truth) < 1e-3


@pytest.mark.slow
def test_orientation_is_not_needed(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET)
    bare = replace(log, columns={k: v for k, v in log.columns.items() if not k.startswith("base.")})
    result = identify(robot.description, [bare], Options(links=("base",), feet=FEET))
    assert error_of(result, truth) < 0.05


def test_feet_come_from_contact_columns_where_none_are_named(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET, seconds=3)
    flags = {f"contact.{f}": np.ones(len(log)) for f in FEET}
    result = identify(robot.description, [replace(log, columns={**log.columns, **flags})], Options(links=("base",)))
    assert result.estimate.equations == "contact-free"
    assert [n.remedy for n in result.estimate.notices if n.code == "feet-from-contacts"] == [{"feet": list(FEET)}]


def test_all_bodies_of_a_floating_robot_have_the_right_number_of_base_parameters(a1):
    robot, truth = a1
    log = floating_log(robot, truth, FEET, wrenches=True, seconds=4, rate=200)
    result = identify(robot.description, [log])
    assert len(result.estimate.base) == 10 + 7 * 12
    assert result.estimate.consistent
    assert result.estimate.total.mass == pytest.approx(sum(p[0] for p in truth.values()), abs=0.02)


def test_two_logs_together_are_more_informative_than_one(arm):
    one = identify("demo_arm", [arm.train], Options(friction="all"))
    both = identify("demo_arm", [arm.train, arm.test], Options(friction="all"))
    seen = [x for b in one.estimate.bodies for x in b.std_data if x is not None]
    more = [x for b in both.estimate.bodies for x in b.std_data if x is not None]
    assert both.estimate.rows > 1.9 * one.estimate.rows
    assert np.median(np.array(more) / np.array(seen)) < 0.9


def test_a_log_cut_in_two_by_a_gap_is_still_used(arm):
    log = read_log(arm.train)
    keep = (log.time < 5) | (log.time > 5.5)
    holed = replace(log, time=log.time[keep], columns={k: v[keep] for k, v in log.columns.items()})
    result = identify("demo_arm", [holed], Options(friction="all"))
    assert [n.remedy["gaps"] for n in result.estimate.notices if n.code == "log-split"] == [1]
    assert is_trusted(result.estimate)


def test_a_robust_loss_is_insensitive_to_torque_spikes(arm):
    log = read_log(arm.train)
    rng = np.random.default_rng(1)
    spikes = {}
    for name, values in log.columns.items():
        if name.startswith("tau."):
            values = values.copy()
            hit = rng.choice(len(values), len(values) // 100, replace=False)
            values[hit] += 30 * np.std(values) * rng.choice([-1, 1], len(hit))
        spikes[name] = values
    spiked = replace(log, columns=spikes)

    def distance(robust):
        result = identify("demo_arm", [spiked], Options(friction="all", robust=robust), validate=[arm.test])
        return next(iter(result.estimate.validation.values())).relative

    assert distance(True) < 0.8 * distance(False)


@pytest.mark.parametrize("options", [
    Options(prior="none", friction="all"),
    Options(prior="box", friction="all"),
    Options(method=Lmi(regularisation="entropic"), friction="all"),
], ids=["no prior", "box prior", "entropic"])  # fmt: skip
def test_every_prior_gives_physical_bodies_and_a_certificate(arm, options):
    result = identify("demo_arm", [arm.train], options, validate=[arm.test])
    assert result.estimate.consistent
    assert result.estimate.certificate.holds
    assert next(iter(result.estimate.validation.values())).relative < 0.03


def test_friction_is_identified_along_with_the_links(arm):
    result = identify("demo_arm", [arm.train], Options(friction="all"))
    for k, joint in enumerate(arm.robot.joints):
        assert result.estimate.joints[joint]["viscous"].value == pytest.approx(arm.friction.viscous[k], rel=0.25)
        assert result.estimate.joints[joint]["coulomb"].value == pytest.approx(arm.friction.coulomb[k], rel=0.25)
        assert result.estimate.joints[joint]["armature"].value >= 0


def test_a_known_drive_gain_turns_current_into_torque_and_an_unknown_one_is_identified(arm):
    gain = 9.0
    exact = {b.name: b.parameters for b in arm.robot.bodies}  # a true description, so that it can anchor the gains
    log = simulate_arm(arm.robot, exact, seed=3, seconds=10, noise="low")
    amps = {k.replace("tau.", "current."): v / gain if k.startswith("tau.") else v for k, v in log.columns.items()}
    current = replace(log, columns=amps)
    known = replace(current, metadata={"gains": dict.fromkeys(arm.robot.joints, gain)})
    with_torque, with_gain = identify("demo_arm", [log]), identify("demo_arm", [known])
    np.testing.assert_allclose(with_torque.theta, with_gain.theta, rtol=1e-6, atol=1e-8)
    free = identify("demo_arm", [current])
    for joint in arm.robot.joints[:5]:
        assert free.estimate.joints[joint]["gain"].value == pytest.approx(gain, rel=0.01)
    # The last joint turns its own small inertia alone, which nothing else shows: its gain is known to 15 % (1 σ).
    assert free.estimate.joints["wrist_3_joint"]["gain"].value == pytest.approx(gain, rel=0.3)
    assert free.estimate.scale is not None


def test_a_tilted_base_is_given_by_gravity(arm):
    tilted = Robot.load("demo_arm", gravity=(3.0, 0.0, -9.3))
    exact = {b.name: b.parameters for b in tilted.bodies}
    log = simulate_arm(tilted, exact, seed=4, seconds=8, noise="none")
    right = identify("demo_arm", [log], Options(gravity=(3.0, 0.0, -9.3)))
    with refuses(LogError, "gravity-direction"):
        identify("demo_arm", [log])
    wrong = identify("demo_arm", [log], Options(despite=("gravity-direction",)))
    assert not wrong.verdict.trusted
    assert right.estimate.fit.relative < 1e-3
    assert wrong.estimate.fit.relative > 0.05


def test_the_same_input_gives_the_same_output(arm):
    a = identify("demo_arm", [arm.train], Options(friction="all"))
    b = identify("demo_arm", [arm.train], Options(friction="all"))
    assert estimate_text(estimate_json(a.estimate)) == estimate_text(estimate_json(b.estimate))


def test_rows_beyond_the_cache_give_the_same_answer(arm, monkeypatch):
    kept = identify("demo_arm", [arm.train], Options(friction="all"))
    monkeypatch.setattr(fitting, "CACHE_BYTES", 0.0)
    monkeypatch.setattr("steelyard.equations.rows.CHUNK_BYTES", 2e6)
    streamed = identify("demo_arm", [arm.train], Options(friction="all"))
    np.testing.assert_allclose(streamed.theta, kept.theta, rtol=1e-5, atol=1e-7)


def test_logs_of_different_joints_are_not_mixed(arm):
    log = read_log(arm.train)
    five = replace(log, columns={k: v for k, v in log.columns.items() if "wrist_3" not in k}, source="five")
    with refuses(LogError, "logs-differ", "five, joints"):
        identify("demo_arm", [log, five])


def test_an_unknown_method_is_refused_with_the_nearest_one(arm):
    with refuses(UsageError, "option-unknown-choice", "method=least-square", {"method": "least-squares"}):
        identify("demo_arm", [arm.train], Options(method="least-square"))


def test_mjcf_and_urdf_of_one_robot_give_the_same_answer(arm, tmp_path):
    pytest.importorskip("mujoco")
    from steelyard.output.mjcf_writer import to_mjcf

    text = to_mjcf(read_description("demo_arm"), {}, base="fixed", comment="test")
    (tmp_path / "arm.xml").write_text(text)
    options = Options(friction="all", filter=Filter(8.0))
    urdf, mjcf = identify("demo_arm", [arm.train], options), identify(tmp_path / "arm.xml", [arm.train], options)
    for body in urdf.estimate.bodies:
        np.testing.assert_allclose(mjcf.estimate.body(body.name).parameters, body.parameters, atol=2e-5)


def test_a_known_delay_of_the_torque_is_compensated(arm):
    log = simulate_arm(arm.robot, arm.truth, seed=9, seconds=10, noise="low")
    late = {c: np.interp(log.time - 0.02, log.time, v) if c.startswith("tau.") else v for c, v in log.columns.items()}
    delayed = replace(log, columns=late)
    plain = identify("demo_arm", [delayed])
    shifted = identify("demo_arm", [delayed], Options(filter=Filter(delay=0.02)))
    assert shifted.estimate.fit.relative_filtered < 0.2 * plain.estimate.fit.relative_filtered


def test_many_short_logs_are_compiled_as_one_long_log_is(a1, monkeypatch):
    robot, truth = a1
    logs = [floating_log(robot, truth, FEET, wrenches=True, seed=seed, seconds=2.0, rate=200.0) for seed in (0, 1)]
    options = Options(equations="base", links=("base",))
    plain = identify(robot.description, logs, options)
    monkeypatch.setattr("steelyard.equations.rows.COMPILED_FROM", 10_000)  # more than one log has, less than both
    compiled = identify(robot.description, logs, options)
    np.testing.assert_allclose(compiled.theta, plain.theta, rtol=1e-6, atol=1e-9)
    assert compiled.theta.tobytes() != plain.theta.tobytes()  # by other arithmetic


def test_base_rows_are_whitened_by_the_covariance_of_their_noise(a1):
    """Noise of a force sensor in a foot is a moment about the base, too: a lever arm away and at the same time."""
    robot, truth = a1
    log = floating_log(robot, truth, FEET, wrenches=True, rate=200.0)
    rng = np.random.default_rng(0)
    noise = {c: 3.0 * rng.normal(size=len(log)) for c in log.columns if c.endswith("_foot.fx")}
    noisy = replace(log, columns={c: x + noise.get(c, 0.0) for c, x in log.columns.items()})
    setup = Setup.of(robot.description, [noisy], Options(equations="base", links=("base",)))
    filter = Options().filter.for_logs([noisy], "base")
    segments, _ = prepare(setup.robot, noisy, filter, torques=False)
    rows = Setup(setup.robot, "base", setup.columns, filter=filter).rows(segments)
    fitted = fit(setup, Training([(rows, None)]), Options(equations="base", links=("base",)))
    e = np.concatenate([block.target - block.Y @ fitted.theta for block in rows])
    fx, my = 0, 4
    assert abs(np.corrcoef(e.T)[fx, my]) > 0.7
    assert abs(np.corrcoef(fitted.noise.root @ e.T)[fx, my]) < 0.1
