"""Every ``auto`` is decided as the logs demand, and what does not fit together is refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Filter, LeastSquares, Lmi, Mata, Nonlinear, Options, Points, Shapes, identify
from steelyard.cli.demonstration import reference_motion
from steelyard.equations.setup import Setup
from steelyard.errors import LogError, UsageError
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.scoring import base_error
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.log.timing import motion_band
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.spatial import WRENCH
from tests.floating import floating_log
from tests.motions import installed, load
from tests.refusals import refuses

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
HINGE = """<robot name="hinge"><link name="world"/><link name="arm"><inertial><origin xyz="0.2 0 0.05"/>
<mass value="2"/><inertia ixx="0.01" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="20" velocity="2"/></joint></robot>"""


@pytest.fixture(scope="module")
def standing():
    """A short log of an A1 with the wrenches at its feet; rates and lengths as small as they may be."""
    robot = load("a1")
    truth = {b.name: b.parameters for b in robot.bodies}
    return robot, floating_log(robot, truth, FEET, seconds=1.5, rate=100, wrenches=True)


def without(log, *kinds, source=None):
    columns = {name: values for name, values in log.columns.items() if not name.startswith(kinds)}
    return replace(log, columns=columns, source=source or log.source)


def wrench(log, frame):
    return replace(log, columns={**log.columns, **{f"wrench.{frame}.{c}": np.ones(len(log)) for c in WRENCH}})


@pytest.mark.parametrize("method", ["lmi", "least-squares"])
def test_a_robot_of_one_joint_is_identified(tmp_path, method):
    path = tmp_path / "hinge.urdf"
    path.write_text(HINGE)
    robot = build(read_description(path), base="fixed")
    truth = perturbed(robot, np.random.default_rng(1))
    log = simulate_arm(robot, truth, seed=1, seconds=8)
    result = identify(path, [log], Options(method=method), validate=[simulate_arm(robot, truth, seed=2, seconds=8)])
    assert len(result.estimate.base) == 3  # Iyy about the axis, and m·c across it
    assert all(s.relative < 0.03 for s in result.estimate.validation.values())
    (body,) = result.estimate.bodies
    np.testing.assert_allclose(body.parameters[[1, 3, 6]], truth["arm"][[1, 3, 6]], rtol=0.03, atol=2e-3)


def test_an_arm_of_which_all_joints_but_one_are_locked_is_identified(arm):
    log = read_log(arm.train)
    lock = {joint: 0.0 for joint in arm.robot.joints if joint != "elbow_joint"}
    robot = build(arm.robot.description, base="fixed", lock=lock)
    alone = simulate_arm(robot, {b.name: b.parameters for b in robot.bodies}, seed=3, seconds=8)
    columns = {**log.columns, **{k: alone.columns[k] for k in alone.columns}}
    cut = {k: v[: len(alone)] for k, v in columns.items()}
    result = identify("demo_arm", [Log.from_columns({"time": alone.time, **cut})], Options(lock=lock))
    assert [b.name for b in result.estimate.bodies] == ["forearm_link"]
    assert set(result.estimate.fit.rmse) == {"elbow_joint"}
    assert result.estimate.fit.relative < 0.03


@pytest.mark.parametrize(
    ("kind", "field", "value", "near"),
    [
        (Options, "base", "float", "floating"),
        (Options, "equations", "contact", "contact-free"),
        (Options, "method", "magic", None),
        (Options, "method", "point", "points"),
        (Options, "prior", "mine", None),
        (Options, "friction", "sticky", None),
        (Lmi, "regularisation", "quadratik", "quadratic"),
        (LeastSquares, "null_space", "mine", None),
        (Points, "within", "ball", None),
        (Lmi, "inside", "elipsoid", "ellipsoid"),
    ],
)
def test_a_value_that_is_none_of_an_options_choices_is_refused_with_the_nearest(kind, field, value, near):
    remedy = {} if near is None else {field: near}
    with refuses(UsageError, "option-unknown-choice", f"{field}={value}", remedy):
        kind(**{field: value})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_locks_and_gravity_are_numbers(value):
    with refuses(UsageError, "option-value", f"lock=elbow_joint={value}"):
        Options(lock={"elbow_joint": value})
    with refuses(UsageError, "option-value", f"gravity=0.0 {value} -9.81"):
        Options(gravity=(0.0, value, -9.81))


@pytest.mark.parametrize(
    ("options", "code", "where"),
    [
        ({"prior": "none", "method": Lmi(regularisation="entropic")}, "option-conflict", "regularisation=entropic"),
        ({"prior": "none", "method": Lmi(regularisation="pullback")}, "option-conflict", "regularisation=pullback"),
        ({"prior": "none", "method": Mata(regularisation="pullback")}, "option-conflict", "regularisation=pullback"),
        ({"method": "constrained", "prior": "none"}, "option-conflict", "prior=none"),
        ({"method": Lmi(regularisation="entropic"), "prior_space": "data"}, "option-conflict", "prior_space=data"),
        ({"method": "constrained", "prior_weight": 0.0}, "option-value", "prior_weight=0.0"),
        ({"method": "constrained", "prior_weight": np.inf}, "option-value", "prior_weight=inf"),
        ({"method": "constrained", "total_mass": -1.0}, "option-value", "total_mass=-1.0"),
    ],
)
def test_options_that_conflict_or_are_out_of_range_are_refused(options, code, where):
    with refuses(UsageError, code, where):
        Options(**options)


@pytest.mark.parametrize("method", [Mata, Nonlinear, Points, Shapes])
def test_entropic_regularisation_is_for_lmi(method):
    with refuses(UsageError, "option-conflict", "regularisation=entropic", {"method": "lmi"}):
        method(regularisation="entropic")


@pytest.mark.parametrize(
    ("given", "flag", "method"),
    [
        (("--method", "nonlinear", "--ellipsoid"), "--ellipsoid", "lmi"),
        (("--method", "least-squares", "--regularisation", "pullback"), "--regularisation", "constrained"),
        (("--hard-mass",), "--hard-mass", "constrained"),
        (("--symmetric", "auto"), "--symmetric", "constrained"),
        (("--points", "4"), "--points", "points"),
        (("--divisions", "4"), "--divisions", "shapes"),
    ],
)
def test_the_command_line_refuses_options_of_another_method(steelyard, arm, tmp_path, given, flag, method):
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "out", *given)
    assert done.code == 2
    assert f"  {flag}: " in done.err
    assert f"--method {method}" in done.err
    assert "[option-conflict]" in done.err


@pytest.mark.parametrize("method", ["lmi", "points", "nonlinear"])
def test_a_total_mass_from_a_scale_is_one_soft_row_for_any_method(arm, method):
    described = float(sum(b.parameters[0] for b in arm.robot.bodies))
    plain, heavy = (
        identify("demo_arm", [arm.train], Options(method=method, friction="all", total_mass=total)).estimate
        for total in (None, 1.2 * described)
    )
    mass = [sum(b.mass for b in estimate.bodies) for estimate in (plain, heavy)]
    assert mass[1] == pytest.approx(1.2 * described, rel=0.02)
    assert abs(mass[0] - mass[1]) > 0.05 * described


def test_options_are_refused_once_with_every_reason():
    with pytest.raises(UsageError) as error:
        Options(method="magic", lock={"elbow_joint": np.nan}, feet=("tool0",), equations="full")
    assert [f.code for f in error.value.findings] == ["option-value", "option-conflict", "option-unknown-choice"]


@pytest.mark.parametrize("equations", ["full", "joint", "base"])
def test_feet_are_refused_with_rows_that_cannot_project_them_out(steelyard, arm, tmp_path, equations):
    with refuses(UsageError, "option-conflict", f"feet={','.join(FEET)}", {"equations": "contact-free"}):
        Options(feet=FEET, equations=equations)
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--feet", "tool0",
                     "--equations", equations)  # fmt: skip
    assert done.code == 2
    assert "--feet tool0: " in done.err
    assert "[option-conflict]" in done.err


@pytest.mark.parametrize("base", ["auto", "fixed"])
def test_feet_are_refused_on_a_fixed_base(arm, base):
    with refuses(UsageError, "option-conflict", "feet=tool0", {"base": "floating"}):
        identify("demo_arm", [arm.train], Options(feet=("tool0",), base=base))


@installed
@pytest.mark.parametrize("torques", [True, False])
def test_a_second_log_without_the_wrenches_of_the_first_is_refused_by_name(standing, torques):
    robot, log = standing
    first = log if torques else without(log, "tau.")
    second = without(first, "wrench.RR_foot", source="barefoot")
    with refuses(LogError, "logs-differ", "barefoot, wrench.RR_foot"):
        Setup.of(robot.description, [first, second], Options())
    assert Setup.of(robot.description, [first, first], Options()).equations == ("full" if torques else "base")


@installed
def test_gravity_is_refused_on_a_floating_base(standing):
    robot, log = standing
    with refuses(UsageError, "option-conflict", "gravity=0.0 0.0 -9.81"):
        Setup.of(robot.description, [log], Options(gravity=(0.0, 0.0, -9.81)))
    fixed = Setup.of(read_description("demo_arm"), [_still("demo_arm")], Options(gravity=(1.0, 0.0, -9.7)))
    np.testing.assert_array_equal(fixed.robot.gravity, [1.0, 0.0, -9.7])


def _still(name, tau=1.0, source="still"):
    """A log that has all columns and no motion."""
    joints = load(name).joints
    time = np.arange(200) / 100
    columns = {f"q.{j}": np.full(200, 0.1) for j in joints} | {f"tau.{j}": np.full(200, tau) for j in joints}
    return Log.from_columns({"time": time, **columns}, source=source)


def test_torques_that_are_zero_throughout_are_refused(arm):
    log = read_log(arm.train)
    silent = {k: np.zeros_like(v) if k.startswith("tau.") else v for k, v in log.columns.items()}
    with refuses(LogError, "torque-all-zero", "silent, tau"):
        identify("demo_arm", [replace(log, columns=silent, source="silent")])
    with refuses(LogError, "torque-all-zero", "silent, tau"):
        identify("demo_arm", [log], validate=[replace(log, columns=silent, source="silent")])
    one = {k: np.zeros_like(v) if k == "tau.wrist_3_joint" else v for k, v in log.columns.items()}
    Setup.of(arm.robot.description, [replace(log, columns=one)], Options())  # a single free joint may be


@pytest.mark.parametrize(("column", "frame", "near"), [
    ("wrench.tool1", "tool1", "tool0"), ("contact.forearm", "forearm", "forearm_link"),
    ("wrench.sole", "sole", None),
])  # fmt: skip
def test_a_column_of_a_frame_that_the_robot_lacks_is_refused_by_name(steelyard, arm, tmp_path, column, frame, near):
    log = read_log(arm.train)
    extra = {f"{column}.fx": np.ones(len(log))} if column.startswith("wrench") else {column: np.ones(len(log))}
    write_log(tmp_path / "odd.parquet", replace(log, columns={**log.columns, **extra}))
    done = steelyard("identify", "demo_arm", tmp_path / "odd.parquet", "-o", tmp_path / "out")
    assert done.code == 3
    assert f"odd.parquet, {column}: " in done.err
    assert "[name-unknown]" in done.err
    assert not (tmp_path / "out").exists()


@installed
def test_an_imu_frame_that_the_robot_lacks_is_refused_by_name(standing):
    robot, log = standing
    lost = replace(log, metadata={"imu_frame": "imu_lnk"}, source="lost")
    with refuses(LogError, "name-unknown", "lost, imu_frame", {"name": "imu_link"}) as error:
        identify(robot.description, [lost], Options(feet=FEET))
    assert error.value.exit_code == 3


def sines(robot, truth, top, rate, seconds=10.0, seed=3):
    """Exact positions and torques of a periodic motion with five harmonics up to ``top`` Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi * top * np.arange(1, 6) / 5
    A, B = rng.normal(size=(2, 5, len(robot.joints)))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    v = c @ A + s @ B
    scale = 1.25 / np.abs(v).max(axis=0)
    q, a = s @ (A / w[:, None]) - c @ (B / w[:, None]), -s @ (A * w[:, None]) + c @ (B * w[:, None])
    q, v, a = q * scale, v * scale, a * scale
    model = robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(truth[body.name])
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    columns = {f"q.{j}": q[:, k] for k, j in enumerate(robot.joints)}
    return Log.from_columns({"time": t, **columns, **{f"tau.{j}": tau[:, k] for k, j in enumerate(robot.joints)}})


@pytest.mark.parametrize(("top", "rate", "cutoff"), [(0.5, 50, 5.0), (0.5, 500, 50.0), (1.0, 200, 20.0)])
def test_a_slow_motion_is_filtered_at_a_tenth_of_the_rate(arm, top, rate, cutoff):
    log = sines(arm.robot, arm.truth, top, rate)
    assert motion_band(log) == pytest.approx(top, rel=0.25)
    assert Filter().for_logs([log]).kinematics == cutoff


def test_a_fast_motion_widens_the_filter_of_the_kinematics(arm):
    slow, fast = (sines(arm.robot, arm.truth, top, 50) for top in (0.5, 4.0))
    assert motion_band(fast) == pytest.approx(4.0, rel=0.1)
    wide = Filter().for_logs([fast])
    assert wide.kinematics == pytest.approx(16, rel=0.1)
    assert Filter().for_logs([slow, fast]).kinematics == wide.kinematics, "the fastest log decides"
    assert Filter(kinematics=7.0).for_logs([fast]).kinematics == 7.0, "unless a cut-off is given"
    assert Filter().for_logs([sines(arm.robot, arm.truth, 12.0, 50)]).kinematics == 20.0, "up to 0.4 of the rate"


def off(arm, log, filter=None):
    """Base-parameter error by a fixed motion."""
    result = identify("demo_arm", [log], Options(filter=filter or Filter()))
    reference = reference_motion(arm.robot, result.columns)
    return base_error(reference, result.theta, np.concatenate([arm.truth[b] for b in result.columns.bodies]))


def test_an_exact_slow_log_at_fifty_samples_a_second_gives_base_parameters_to_half_a_percent(arm):
    assert off(arm, sines(arm.robot, arm.truth, 0.5, 50)) < 0.005


def test_the_wider_filter_keeps_a_fast_motion_at_fifty_samples_a_second_usable(arm):
    log = sines(arm.robot, arm.truth, 4.0, 50)
    assert off(arm, log) < 0.005
    assert off(arm, log) < 0.4 * off(arm, log, Filter(kinematics=5.0))
