"""Wrenches that are measured in part: what is missing is unknown, never zero, and takes nothing else with it."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import identify
from steelyard.check.checks.carried_weight import CarriedWeight
from steelyard.check.opening import open_logs
from steelyard.check.subject import Subject
from steelyard.compose.prior import make
from steelyard.equations.missing import Missing, unmeasured
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import foot
from steelyard.errors import LogError, UsageError
from steelyard.identify.options import Options
from steelyard.identify.sentence import sentence
from steelyard.identify.verdict import exit_code
from steelyard.log.log import Log
from steelyard.spatial import WRENCH
from tests.level_soles import FEET, TALOS_KG, columns, talos_log
from tests.motions import A1_FEET, installed, load, parameters, smooth, standing
from tests.refusals import refuses


def without(robot, lost, base=True):
    """``{"FR_foot": "mx my mz"}`` as what a log without those components has unknown."""
    partial_logs = []
    for frame, names in lost.items():
        measured = {f"wrench.{frame}.{c}": np.ones(2) for c in WRENCH if c not in names.split()}
        partial_logs.append(Log.from_columns({"time": [0, 1], **measured}))
    merged = {name: values for log in partial_logs for name, values in log.columns.items()}
    return unmeasured(robot, [Log.from_columns({"time": [0, 1], **merged})], base=base)


def frames(robot, part, t, names):
    """Placement of each frame in base axes, by Pinocchio's forward kinematics."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, np.concatenate([np.zeros(6), [1.0], part.q[t]]))
    return [data.oMi[robot.frame(f).joint] * pin.SE3(robot.frame(f).placement) for f in names]


def carried(robot, part, theta, names, rng):
    """The motion with random wrenches at the feet, and torques that make it exact."""
    (full,) = Setup(robot, "full", columns(robot)).rows([part])
    needed = full.Y @ theta
    wrench = {f: 50 * rng.normal(size=(len(part.time), 6)) for f in names}
    for t in range(len(part.time)):
        places = frames(robot, part, t, names)
        rest = needed[t, :6] - sum(at.act(pin.Force(wrench[f][t])).vector for f, at in zip(names, places, strict=True))
        wrench[names[0]][t] += places[0].actInv(pin.Force(rest)).vector
    part = replace(part, wrench=wrench)
    (balance,) = Setup(robot, "full", columns(robot)).rows([replace(part, tau=np.zeros_like(part.tau))])
    tau = balance.Y @ theta - balance.target
    assert np.abs(tau[:, :6]).max() < 1e-8
    return replace(part, tau=tau[:, 6:])


def blanked(part, unknown):
    """The same with what is unknown replaced by something else: nothing may depend on it."""
    wrench = {name: values.copy() for name, values in part.wrench.items()}
    rng = np.random.default_rng(9)
    for m in unknown:
        wrench[m.frame.name][:, m.components] = rng.normal(size=(len(part.time), len(m.components)))
    return replace(part, wrench=wrench)


LOST = {
    "three-axis feet": ("a1", dict.fromkeys(A1_FEET, "mx my mz"), {"base": 3, "full": 8}),
    "one moment of one foot": ("a1", {"FR_foot": "mz"}, {"base": 5, "full": 17}),
    "one foot with fz alone": ("a1", {"FL_foot": "fx fy mx my mz"}, {"base": 1, "full": 13}),
    "feet without fy": ("talos", dict.fromkeys(FEET["talos"], "fy"), {"base": 4, "full": None}),
    "soles without moments": ("talos", dict.fromkeys(FEET["talos"], "mx my mz"), {"base": 3, "full": None}),
}


@installed
@pytest.mark.parametrize("kind", ["base", "full", "joint", "contact-free"])
@pytest.mark.parametrize("case", LOST)
def test_projected_rows_contain_no_unknown_force_and_lose_nothing_else(case, kind):
    name, lost, counts = LOST[case]
    robot, rng = load(name), np.random.default_rng(4)
    theta = np.concatenate(list(parameters(robot, rng).values()))
    part = smooth(robot, 0, 12, 20.0, 0.1, standing(robot))
    part = carried(robot, part, theta, FEET[name], rng)
    unknown = without(robot, lost)
    assert all(not m.level for m in unknown)
    feet = [foot(robot, FEET[name][-1])] if kind == "contact-free" else []
    (rows,) = Setup(robot, kind, columns(robot), (*feet, *unknown)).rows([blanked(part, unknown)])
    scale = np.abs(rows.Y @ theta).max()
    np.testing.assert_allclose(rows.Y @ theta, rows.target, rtol=0, atol=1e-9 * scale)
    if counts.get(kind):
        assert rows.Y.shape[1] == counts[kind]
    # The Gram matrix is that of the orthogonal projector: no equation that is free of unknowns was lost.
    n = 6 + len(robot.joints)
    take = {"base": slice(0, 6), "joint": slice(6, n)}.get(kind, slice(0, n))
    (full,) = Setup(robot, "full", columns(robot)).rows([part])
    zero = replace(part, tau=np.zeros_like(part.tau), wrench={})
    for t in (0, 7):
        unit = []
        for m in unknown:
            for i in m.components:
                wrench = np.zeros((len(part.time), 6))
                wrench[:, i] = 1
                (pushed,) = Setup(robot, "full", columns(robot)).rows([replace(zero, wrench={m.frame.name: wrench})])
                unit.append(pushed.target[t, take])
        if kind == "contact-free":
            unit += list(contact_free_part(robot, part, t, feet))
        J = np.array(unit)
        P = np.eye(J.shape[1]) - np.linalg.pinv(J) @ J
        expected = full.Y[t, take].T @ P @ full.Y[t, take]
        np.testing.assert_allclose(rows.Y[t].T @ rows.Y[t], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def contact_free_part(robot, part, t, feet):
    from steelyard.equations.dynamics import Dynamics

    return Dynamics(robot, part).contact_jacobian(feet)[t]


@installed
def test_force_feet_leave_the_three_force_equations_as_they_are():
    robot = load("a1")
    part = smooth(robot, 0, 12, 20.0, 0.1, standing(robot))
    rows = Setup(robot, "base", columns(robot), tuple(without(robot, dict.fromkeys(A1_FEET, "mx my mz")))).rows([part])
    assert rows.names == ("base.fx", "base.fy", "base.fz")
    (some,), (all_six,) = rows, Setup(robot, "base", columns(robot)).rows([part])
    np.testing.assert_allclose(some.Y, all_six.Y[:, :3], rtol=0, atol=1e-12 * np.abs(all_six.Y).max())


@installed
@pytest.mark.parametrize("name", FEET)
def test_feet_with_fz_alone_leave_the_vertical_balance_and_nothing_else(name):
    robot, rng = load(name), np.random.default_rng(3)
    part = smooth(robot, 0, 12, 20.0, 0.1, standing(robot))
    unknown = without(robot, dict.fromkeys(FEET[name], "fx fy mx my mz"))
    assert all(m.level for m in unknown)
    wrench = {f: np.zeros((len(part.time), 6)) for f in FEET[name]}
    for values in wrench.values():
        values[:, 2] = rng.uniform(50, 100, len(part.time))
    part = replace(part, wrench=wrench)
    rows = Setup(robot, "base", columns(robot), tuple(unknown)).rows([part])
    assert rows.names == ("base.fz",)
    (vertical,), (six,) = rows, Setup(robot, "base", columns(robot)).rows([part])
    np.testing.assert_allclose(
        vertical.Y[:, 0], np.einsum("ti,tin->tn", part.up, six.Y[:, :3]), rtol=0, atol=1e-11 * np.abs(six.Y).max()
    )
    for t in range(len(part.time)):
        z = [at.rotation[:, 2] for at in frames(robot, part, t, FEET[name])]
        pushed = sum(w[t, 2] * (n @ part.up[t]) for w, n in zip(wrench.values(), z, strict=True))
        assert vertical.target[t, 0] == pytest.approx(pushed, abs=1e-9)


@installed
def test_one_foot_with_fz_alone_needs_no_ground_that_is_level():
    robot = load("a1")
    (alone,) = without(robot, {"FR_foot": "fx fy mx my mz"})
    assert not alone.level
    both = without(robot, {"FR_foot": "fx fy mx my mz", "FL_foot": "fx fy"})
    assert [m.level for m in both] == [True, True]
    mixed = without(robot, {"FR_foot": "fx fy mx my mz", "FL_foot": "fz", "RR_foot": ""})
    assert [(m.column, m.names, m.level) for m in mixed] == [
        ("wrench.FR_foot", ("fx", "fy", "mx", "my", "mz"), False), ("wrench.FL_foot", ("fz",), False),
    ]  # fmt: skip


@installed
def test_what_the_sensors_do_not_measure_is_structurally_unidentifiable():
    """Forces of a chain of turning joints: the whole mass, and first moments, 3 of the base and 2 of every joint."""
    robot = load("talos")
    these = columns(robot)
    scale = make(robot, these).scale
    level = without(robot, dict.fromkeys(FEET["talos"], "fx fy mx my mz"))
    force = without(robot, dict.fromkeys(FEET["talos"], "mx my mz"))
    moments = [Setup(robot, "base", these, tuple(unknown)).structure(scale) for unknown in (level, force)]
    turning = sum(robot.description.joints[j].kind != "prismatic" for j in robot.joints)
    assert turning == len(robot.joints)
    assert [space.rank for space in moments] == [4 + 2 * turning] * 2
    unit = np.eye(these.n)
    total = sum(unit[10 * k] for k in range(len(robot.bodies)))
    for space in moments:
        assert space.outside(total) < 1e-9
        inertias = [space.outside(unit[10 * k + i]) for k in range(len(robot.bodies)) for i in range(4, 10)]
        assert min(inertias) > 0.999  # 1: vertical forces contain no inertia
    strict = without(robot, dict.fromkeys(FEET["talos"], "fx fy mx my mz"), base=False)
    assert not any(m.level for m in strict), "beside torques no ground has to be level"
    everything, torques = (Setup(robot, "full", these, tuple(unknown)).structure(scale) for unknown in ((), strict))
    assert torques.rank < everything.rank
    feet = {robot.body(f).name for f in FEET["talos"]}
    for body in these.bodies:
        trace = unit[[these.body(body).start + i for i in (4, 6, 9)]].sum(axis=0)
        hidden = torques.outside(trace) - everything.outside(trace)
        assert (hidden > 0.1) == (body in feet), "with torques only the soles' own inertia stays behind their moments"
    assert Setup(robot, "contact-free", these, tuple(strict)).structure(scale).rank == torques.rank


@installed
def test_wrenches_that_leave_no_equation_are_refused_with_what_to_log():
    robot = load("a1")
    part = smooth(robot, 0, 12, 20.0, 0.1, standing(robot))
    unknown = without(robot, {"FR_foot": "fz mx my mz", "RL_foot": "fx mz", "FL_foot": "fy"})
    with refuses(UsageError, "no-contact-free-equations", "wrench.FR_foot without fz mx my mz, "):
        Setup(robot, "base", columns(robot), tuple(unknown)).rows([part])


def test_directions_are_unit_forces_about_the_base_origin():
    rng = np.random.default_rng(0)
    at = pin.SE3.Random()
    up = rng.normal(size=3)
    up /= np.linalg.norm(up)
    frame = load("demo_arm").frame("tool0")
    strict = Missing("wrench.f", frame, (1, 5), False).directions(at.homogeneous, None)
    np.testing.assert_allclose(strict[:, 0], at.act(pin.Force(np.eye(6)[1])).vector, atol=1e-12)
    np.testing.assert_allclose(strict[:, 1], at.act(pin.Force(np.eye(6)[5])).vector, atol=1e-12)
    level = Missing("wrench.f", frame, (0, 1, 3), True).directions(at.homogeneous, up)
    np.testing.assert_allclose(up @ level[:3], 0, atol=1e-12)
    assert np.linalg.matrix_rank(level) == 3
    for force in level[:, :2].T:
        np.testing.assert_allclose(force[3:], np.cross(at.translation, force[:3]), atol=1e-12)


@installed
def test_a_setup_reports_components_that_are_not_measured_and_projects_them_out():
    robot = load("a1")
    t = np.arange(200) / 100
    table = {f"{kind}.{j}": np.sin(t) for j in robot.joints for kind in ("q", "tau")}
    table |= {f"wrench.{f}.{c}": 30 + 0 * t for f in A1_FEET for c in ("fx", "fy", "fz")}
    table |= {f"imu.{kind}.{c}": 9.81 * (c == "z") + 0 * t for kind in ("gyro", "acc") for c in "xyz"}
    log = Log.from_columns({"time": t, **table})
    setup = open_logs(robot.description, [log], Options())
    assert [m.column for m in setup.unknown] == [f"wrench.{f}" for f in A1_FEET]
    assert setup.equations == "full"
    which = " and ".join(f"wrench.{f}" for f in A1_FEET)
    (notice,) = (n for n in setup.notices if n.code == "components-missing")
    assert (notice.where, notice.remedy["components"]) == (which, ("mx", "my", "mz"))


def only(log, *components, scale=1.0, frame=None):
    """The log with these components of its wrenches alone, in another unit, or called after another frame."""
    kept = {}
    for name, values in log.columns.items():
        if not name.startswith("wrench."):
            kept[name] = values
        elif name.rsplit(".", 1)[1] in components:
            kept[name.replace("left_sole_link", frame or "left_sole_link")] = scale * values
    return replace(log, columns={n: v for n, v in kept.items() if not n.startswith("tau.")})


@installed
@pytest.mark.parametrize("components", [WRENCH, WRENCH[:3], ("fz",)])
@pytest.mark.parametrize(
    ("scale", "unit", "factor"),
    [(1 / 9.81, "kgf", 9.80665), (1e3, "mN", 1e-3), (1e-3, "kN", 1e3), (1e3 / 9.81, "gf", 9.80665e-3)],
)
def test_forces_in_another_unit_are_refused(components, scale, unit, factor):
    robot, log = talos_log()
    remedy = {"column": "wrench", "unit": unit, "scale": pytest.approx(factor)}
    with refuses(LogError, "column-unit", ", wrench", remedy):
        open_logs(robot.description, [only(log, *components, scale=scale)], Options())


@installed
@pytest.mark.parametrize("components", [WRENCH, WRENCH[:3], ("fz",)])
@pytest.mark.parametrize("scale", [-1.0, 1.0, 0.6])
def test_forces_that_push_down_are_refused_and_a_wrong_mass_is_a_doubt(components, scale):
    robot, log = talos_log()
    log = only(log, *components, scale=scale)
    if scale < 0:
        with refuses(LogError, "sign-reversed", ", wrench", {"negate": "wrench"}):
            open_logs(robot.description, [log], Options())
        return
    setup = open_logs(robot.description, [log], Options())
    assert setup.equations == "base"
    findings = CarriedWeight().find(Subject(setup, log, ()))
    carried = [dict(f.remedy) for f in findings if f.code == "weight-not-carried"]
    # 0.6 of TALOS_KG by the mean force, within 1 % as it sways, and TALOS_KG
    expected = {"carried": pytest.approx(54.1, rel=0.01), "mass": pytest.approx(90.3, abs=0.05)}
    assert carried == ([expected] if scale == 0.6 else [])


@installed
def test_forces_are_not_judged_where_up_or_their_vertical_part_is_unknown():
    robot, log = talos_log()
    sideways = only(log, "fx", "fy", scale=-1.0)  # what is measured is horizontal
    open_logs(robot.description, [sideways], Options())
    lost = only(log, "fz", scale=-1.0)
    lost = replace(lost, columns={n: v for n, v in lost.columns.items() if "quaternion" not in n and ".acc." not in n})
    open_logs(robot.description, [lost], Options())  # up is unknown
    torn = replace(only(log, "fz", scale=-1.0))
    torn.columns.update({f"imu.acc.{c}": -torn.columns[f"imu.acc.{c}"] for c in "xyz"})
    open_logs(robot.description, [torn], Options())  # orientation and accelerometer disagree: not the forces' fault


@installed
def test_a_foot_that_is_not_level_gives_a_notice_or_is_refused():
    def tilts(lean, *components):
        robot, log = talos_log(lean=lean)
        notices = open_logs(robot.description, [only(log, *components)], Options()).notices
        return [n for n in notices if n.code == "foot-tilted"]

    assert tilts(0.0, "fz") == []
    assert tilts(0.15, "fz") == [], "9°"
    (notice,) = tilts(0.25, "fz")
    assert notice.where.endswith(", wrench.left_sole_link")
    assert notice.remedy == {"degrees": pytest.approx(14, abs=0.5), "share": 100}  # 0.25 rad
    assert tilts(0.25, "fx", "fy", "fz") == []
    with refuses(LogError, "foot-not-level", "wrench.left_sole_link"):
        tilts(1.3, "fz")


@pytest.mark.slow
@installed
@pytest.mark.parametrize("base", ["imu", "pose"])
def test_the_total_mass_of_a_humanoid_whose_feet_measure_fz_alone_is_identified(base):
    """Its true mass is 10 % more than described; masses of single bodies come from the prior."""
    robot, log = talos_log(scaled=1.1)
    log = only(log, "fz")
    kept = ("imu.", "base.quaternion") if base == "imu" else ("base.",)
    gone = [n for n in log.columns if n.startswith(("imu.", "base.")) and not n.startswith(kept)]
    log = replace(log, columns={n: v for n, v in log.columns.items() if n not in gone})
    estimate = identify(robot.description, [log]).estimate
    assert estimate.equations == "base"
    assert list(estimate.fit.rmse) == ["base.fz"]
    assert estimate.total.mass == pytest.approx(1.1 * TALOS_KG, rel=1e-3)  # exact forces, differentiated motion
    assert estimate.total.source == "data"
    assert "data" not in {b.source.worst for b in estimate.bodies}
    assert exit_code(estimate) == 0
    assert estimate.blind == "vertical force alone"
    assert set(estimate.hidden) == {b.name for b in estimate.bodies}
    assert estimate.advice.endswith("log fx, fy, mx, my, mz of wrench.left_sole_link and wrench.right_sole_link")
    assert sentence(estimate).startswith("Trusted")
    everything = {f"{b.name}.m": 1.0 for b in robot.bodies}
    (whole,) = [p for p in estimate.base if p.terms == everything]
    assert whole.source == "data"
    assert (whole.value, whole.name) == (pytest.approx(estimate.total.mass), "base_link.m")


@pytest.mark.slow
@installed
def test_feet_without_moments_identify_the_parameters_of_forces_alone():
    robot, log = talos_log(scaled=1.1)
    estimate = identify(robot.description, [only(log, *WRENCH[:3])]).estimate
    assert list(estimate.fit.rmse) == ["base.fx", "base.fy", "base.fz"]
    assert estimate.total.mass == pytest.approx(1.1 * TALOS_KG, rel=1e-3)  # exact forces, differentiated motion
    assert estimate.blind == "force without moment"
    assert estimate.fit.relative_filtered < 1e-3
