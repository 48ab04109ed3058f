"""An arm whose last motor turns with two joints: its friction is recovered separately from the joints'."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Options, identify, inertia
from steelyard.equations.columns import COULOMB_SPEED
from steelyard.experiment.simulate.simulate_arm import fourier_motion
from steelyard.identify.estimate_json import estimate_json
from steelyard.log.log import Log

COUPLED = ("wrist_2_joint", "wrist_3_joint")
MATRIX = np.array([[45.0, 0.0], [32.0, 64.0]])  # motor 3 turns with wrist 2 at half the ratio
VISCOUS, COULOMB, ARMATURE = 1.1, 1.6, 0.05  # of that motor, seen at wrist 3


def model_law(v):
    """Dry friction as the columns have it, where a test is about intervals and not about friction."""
    return v / (np.abs(v) + COULOMB_SPEED)


def coupled_log(arm, seed, noise=0.003, seconds=12.0, rate=200.0, dry=np.sign, shaft=1.0):
    """Joint side, exact positions, white torque noise; friction of every joint and of one coupled motor."""
    robot, rng = arm.robot, np.random.default_rng(seed)
    t, q, v, a = fourier_motion(robot, rng, seconds, rate)
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(arm.truth[body.name])
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    rub = arm.friction
    tau += rub.viscous * v + rub.coulomb * dry(v) + rub.armature * a + rub.offset
    i, j = (robot.joints.index(joint) for joint in COUPLED)
    u, du = 0.5 * v[:, i] + v[:, j], 0.5 * a[:, i] + a[:, j]
    on_the_shaft = shaft * (VISCOUS * u + COULOMB * dry(u) + ARMATURE * du)
    tau[:, i] += 0.5 * on_the_shaft
    tau[:, j] += on_the_shaft
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    columns = {f"q.{n}": q[:, k] for k, n in enumerate(robot.joints)}
    columns |= {f"tau.{n}": tau[:, k] for k, n in enumerate(robot.joints)}
    transmission = {"joints": list(COUPLED), "matrix": MATRIX.tolist()}
    return Log.from_columns({"time": t, **columns}, {"transmission": transmission}, f"coupled {seed}")


@pytest.fixture(scope="module")
def logs(arm):
    return coupled_log(arm, 1), coupled_log(arm, 2)


def true_joint(arm, joint, law):
    return getattr(arm.friction, law)[arm.robot.joints.index(joint)]


@pytest.mark.parametrize("method", ["lmi", "least-squares"])
def test_friction_and_inertia_of_the_motor_are_recovered_beside_the_joints(arm, logs, method):
    estimate = identify("demo_arm", [logs[0]], Options(friction="all", method=method), validate=[logs[1]]).estimate
    motor = estimate.motors["wrist_3_joint"]
    assert list(estimate.motors) == ["wrist_3_joint"]
    assert motor["viscous"].value == pytest.approx(VISCOUS, rel=0.05)
    assert motor["coulomb"].value == pytest.approx(COULOMB, rel=0.05)
    assert motor["armature"].value == pytest.approx(ARMATURE, rel=0.2)
    for joint in COUPLED:
        for law in ("viscous", "coulomb"):
            assert estimate.joints[joint][law].value == pytest.approx(true_joint(arm, joint, law), rel=0.1)
    (held,) = estimate.validation.values()
    assert held.relative < 0.015  # five times the torque noise, 0.3 %


def test_without_the_transmission_the_motors_friction_is_taken_for_the_joints(arm, logs):
    plain = [replace(log, metadata={}) for log in logs]
    estimate = identify("demo_arm", plain[:1], Options(friction="all"), validate=plain[1:]).estimate
    (without,) = estimate.validation.values()
    assert "motors" not in estimate_json(estimate)
    known = identify("demo_arm", [logs[0]], Options(friction="all"), validate=[logs[1]]).estimate
    (held,) = known.validation.values()
    assert without.rmse["wrist_3_joint"] > 5 * held.rmse["wrist_3_joint"]
    assert estimate.joints["wrist_3_joint"]["coulomb"].value > 1.5 * true_joint(arm, "wrist_3_joint", "coulomb")


def test_intervals_of_base_parameters_with_a_motor_hold_the_truth(arm):
    """True values of joints and motor, combined as the base parameters combine them, are within four σ."""
    log = coupled_log(arm, 4, dry=model_law)
    result = identify("demo_arm", [log], Options(friction="all", method="least-squares"))
    bodies = result.columns.bodies
    truth = {f"{b}.{p}": x for b in bodies for p, x in zip(inertia.NAMES, arm.truth[b], strict=True)}
    truth |= {f"{j}.{law}": x[k] for law, x in vars(arm.friction).items() for k, j in enumerate(arm.robot.joints)}
    truth |= {"wrist_3_joint.motor.viscous": VISCOUS, "wrist_3_joint.motor.coulomb": COULOMB,
              "wrist_3_joint.motor.armature": ARMATURE}  # fmt: skip
    led = [p for p in result.estimate.base if p.name.startswith("wrist_3_joint.motor")]
    assert {p.name.rsplit(".", 1)[1] for p in led} == {"viscous", "coulomb", "armature"}
    for p in led:
        assert abs(sum(f * truth[name] for name, f in p.terms.items()) - p.value) < 4 * p.std, p.name


def test_motor_columns_of_a_csv_come_in_through_a_mapping_and_go_out_as_json_and_report(steelyard, arm, logs, tmp_path):
    log = logs[0]
    q, tau = (np.column_stack([log.columns[f"{kind}.{j}"] for j in COUPLED]) for kind in ("q", "tau"))
    motors = {f"q.{j}": x for j, x in zip(COUPLED, (q @ MATRIX.T).T, strict=True)}
    motors |= {f"tau.{j}": x for j, x in zip(COUPLED, (tau @ np.linalg.inv(MATRIX)).T, strict=True)}
    table = {"time": log.time, **log.columns, **motors}
    text = np.column_stack(list(table.values()))
    np.savetxt(tmp_path / "run.csv", text, delimiter=",", header=",".join(table), comments="", fmt="%.15g")
    (tmp_path / "arm.toml").write_text(
        f"[transmission]\njoints = {json.dumps(COUPLED)}\nmatrix = {json.dumps(MATRIX.tolist())}\n"
    )
    done = steelyard(
        "identify", "demo_arm", tmp_path / "run.csv", "--mapping", tmp_path / "arm.toml", "--friction", "all",
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.code == 0, done.err
    content = json.loads((tmp_path / "out" / "estimate.json").read_text())
    motor = content["motors"]["wrist_3_joint"]
    assert motor.pop("family") == "viscous+coulomb+armature"
    expected = {"viscous": VISCOUS, "coulomb": COULOMB, "armature": ARMATURE}
    assert {term: entry["value"] for term, entry in motor.items()} == pytest.approx(expected, rel=0.2)
    assert set(content["joints"]["wrist_3_joint"]) == {"family", "viscous", "coulomb", "armature", "offset", "gain"}
    assert "Coupled motors" in (tmp_path / "out" / "report.html").read_text()


def test_a_gain_of_an_uncoupled_motor_is_identified_beside_coupled_ones(arm, logs):
    """The elbow has a current and no gain; both wrists have torques behind their transmission."""
    columns = dict(logs[0].columns)
    columns["current.elbow_joint"] = columns.pop("tau.elbow_joint") / 9.0
    estimate = identify("demo_arm", [replace(logs[0], columns=columns)], Options(friction="all")).estimate
    assert estimate.joints["elbow_joint"]["gain"].value == pytest.approx(9.0, rel=0.1)
    assert estimate.motors["wrist_3_joint"]["coulomb"].value == pytest.approx(COULOMB, rel=0.1)


def test_advice_names_joints_where_a_motor_is_known_least(arm):
    """A wrist that hardly turns: the advice names a joint, never a motor."""
    still = coupled_log(arm, 3, noise=0.5, seconds=4.0)
    advice = identify("demo_arm", [still], Options(friction="all")).estimate.advice
    assert "move" in advice
    assert "motor" not in advice


def test_friction_of_a_motor_is_not_negative_where_noise_would_have_it_so(arm):
    """No friction on the shaft, much noise: least squares goes below zero somewhere, the physical method never."""
    below = False
    for seed in range(5, 9):
        log = coupled_log(arm, seed, noise=0.3, seconds=6.0, shaft=0.0)
        results = {m: identify("demo_arm", [log], Options(friction="all", method=m)) for m in ("least-squares", "lmi")}
        below |= min(t.value for t in results["least-squares"].estimate.motors["wrist_3_joint"].values()) < -1e-3
        assert min(t.value for t in results["lmi"].estimate.motors["wrist_3_joint"].values()) >= -1e-9
        assert results["lmi"].estimate.certificate.holds
    assert below
