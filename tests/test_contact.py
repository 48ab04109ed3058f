"""Contact-free rows know nothing of the feet's forces, lose nothing else, and never jump."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard.equations.columns import Columns
from steelyard.equations.dynamics import Dynamics
from steelyard.equations.setup import Setup
from steelyard.equations.unknown_forces import FreeRows, foot
from steelyard.errors import UsageError
from tests.motions import A1_FEET, installed, load, parameters, smooth, standing
from tests.refusals import refuses

CASES = {
    "a1": ("a1", A1_FEET),
    "a1 on two feet": ("a1", A1_FEET[:2]),
    "talos": ("talos", ("left_sole_link:surface", "right_sole_link:surface")),
    "g1": ("g1", ("left_ankle_roll_link", "right_ankle_roll_link")),
    "go2": ("go2", tuple(f"{f}:point:0.022" for f in A1_FEET)),
}


def motion(robot, rate=200.0, seconds=2.0, amplitude=0.1):
    return smooth(robot, 0, int(seconds * rate), rate, amplitude, standing(robot))


def bases(robot, feet, part):
    J = Dynamics(robot, part).contact_jacobian(feet)
    free = FreeRows.choose(J[::10])
    return J, free, free.basis(J)[0]


def generalised(robot, part, t, feet, forces):
    """Generalised force of forces at the feet, as RNEA sees external ones: no Jacobian of ours is used."""
    model = robot.model
    q = np.concatenate([np.zeros(6), [1.0], part.q[t]])
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    external = pin.StdVec_Force()
    for _ in range(model.njoints):
        external.append(pin.Force.Zero())
    for f, force in zip(feet, forces, strict=True):
        at = data.oMi[f.frame.joint]
        if f.surface:
            wrench = pin.Force(force[:3], force[3:])
        else:
            point = at.act(f.centre) - f.radius * part.up[t]  # where the ball touches, base axes
            wrench = pin.Force(force, np.cross(point, force))
        external[f.frame.joint] += at.actInv(wrench)
    zero = np.zeros(model.nv)
    return pin.rnea(model, data, q, zero, zero) - pin.rnea(model, data, q, zero, zero, external)


@installed
@pytest.mark.parametrize("case", CASES)
def test_forces_of_all_feet_are_annihilated_and_nothing_else(case):
    name, specs = CASES[case]
    robot = load(name)
    feet = [foot(robot, spec) for spec in specs]
    part = motion(robot)
    J, free, N = bases(robot, feet, part)
    n = 6 + len(robot.joints)
    rng = np.random.default_rng(0)
    for t in range(0, len(part.time), 40):
        force = [rng.normal(size=f.forces) * 100 for f in feet]
        g = generalised(robot, part, t, feet, force)
        assert np.abs(g).max() > 10
        assert np.abs(N[t] @ g).max() < 1e-9 * np.abs(g).max()
        rank = np.linalg.matrix_rank(J[t])
        assert len(N[t]) == n - rank == len(free.coordinates)
        np.testing.assert_allclose(N[t] @ N[t].T, np.eye(n - rank), rtol=0, atol=1e-12)
        projector = np.eye(n) - np.linalg.pinv(J[t]) @ J[t]
        np.testing.assert_allclose(N[t].T @ N[t], projector, rtol=0, atol=1e-10)


@installed
@pytest.mark.parametrize("case", CASES)
def test_contact_free_rows_keep_the_gram_of_the_orthogonal_projector(case):
    name, specs = CASES[case]
    robot = load(name)
    feet = [foot(robot, spec) for spec in specs]
    part = motion(robot).part(slice(0, None, 80))
    columns = Columns(tuple(b.name for b in robot.bodies))
    (free,) = Setup(robot, "contact-free", columns, tuple(feet)).rows([part])
    (full,) = Setup(robot, "full", columns).rows([part])
    J = Dynamics(robot, part).contact_jacobian(feet)
    for t in range(len(part.time)):
        P = np.eye(J.shape[2]) - np.linalg.pinv(J[t]) @ J[t]
        expected = full.Y[t].T @ P @ full.Y[t]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(free.Y[t].T @ free.Y[t], expected, rtol=0, atol=1e-10 * scale)


@installed
@pytest.mark.parametrize("case", CASES)
def test_the_basis_never_jumps(case):
    """Sampling twice as fast halves the steps: the basis is Lipschitz in time. A jump would stay as it is."""
    name, specs = CASES[case]
    robot = load(name)
    feet = [foot(robot, spec) for spec in specs]
    steps = []
    for rate in (200.0, 400.0):
        _, _, N = bases(robot, feet, motion(robot, rate))
        steps.append(np.abs(np.diff(N, axis=0)).max())
    assert steps[0] < 0.1
    assert steps[1] < 0.55 * steps[0]


BASE = FreeRows(rank=12, coordinates=tuple(range(6)))  # a straight leg moves its foot without moving the base


def straightening(robot, rate):
    """A1 bends one knee through straight and back while the rest of it moves."""
    part = motion(robot, rate)
    q = part.q.copy()
    q[:, robot.joints.index("FR_calf_joint")] = -0.4 + 0.8 * np.sin(np.pi * part.time)
    q[:, robot.joints.index("FR_thigh_joint")] = 0.3
    return replace(part, q=q)


@installed
def test_a_knee_through_straight_makes_no_jump_either():
    robot = load("a1")
    feet = [foot(robot, f"{f}:point") for f in A1_FEET]
    steps = []
    for rate in (200.0, 400.0):
        part = straightening(robot, rate)
        J = Dynamics(robot, part).contact_jacobian(feet)
        N, turned = BASE.basis(J)
        assert 0 < turned < len(N), "the motion is meant to become singular for the base's coordinates"
        assert np.abs(np.einsum("tkn,tcn->tkc", N, J)).max() < 1e-9
        np.testing.assert_allclose(
            N @ N.transpose(0, 2, 1), np.broadcast_to(np.eye(6), (len(N), 6, 6)), rtol=0, atol=1e-9
        )
        steps.append(np.abs(np.diff(N, axis=0)).max())
    assert steps[0] < 0.1
    assert steps[1] < 0.55 * steps[0]


@installed
def test_rotation_of_the_basis_continues_over_the_border_of_two_pieces():
    robot = load("a1")
    feet = [foot(robot, f"{f}:point") for f in A1_FEET]
    J = Dynamics(robot, straightening(robot, 200.0)).contact_jacobian(feet)
    N, turned = BASE.basis(J)
    for cut in (turned - 10, turned + 1, turned + 50):
        first, from_first = BASE.basis(J[:cut])
        second, _ = BASE.basis(J[cut:], first[-1] if from_first < cut else None)
        np.testing.assert_allclose(np.concatenate([first, second]), N, rtol=0, atol=1e-10)


@installed
@pytest.mark.parametrize("case", CASES)
def test_each_row_is_named_after_a_coordinate_of_its_own_and_the_same_in_every_log(case):
    name, specs = CASES[case]
    robot = load(name)
    feet = [foot(robot, spec) for spec in specs]
    columns = Columns((robot.bodies[0].name,))
    rows = Setup(robot, "contact-free", columns, tuple(feet)).rows([motion(robot)])
    assert len(set(rows.names)) == len(rows.names) == 6 + len(robot.joints) - sum(f.forces for f in feet)
    assert set(rows.names) <= {*(f"base.{c}" for c in ("fx", "fy", "fz", "mx", "my", "mz")), *robot.joints}
    again = rows.setup.rows([motion(robot, amplitude=0.02)], free=rows.free)
    assert again.names == rows.names


@installed
def test_rows_of_a_standing_robot_do_not_depend_on_how_its_weight_is_shared():
    """Noise-free: torques that carry any foot forces give the same contact-free targets, and the true θ fits them."""
    robot, rng = load("a1"), np.random.default_rng(1)
    feet = [foot(robot, f) for f in A1_FEET]
    part = motion(robot).part(slice(0, None, 40))
    values = parameters(robot, rng)
    columns = Columns(tuple(b.name for b in robot.bodies))
    theta = np.concatenate([values[b] for b in columns.bodies])
    (full,) = Setup(robot, "full", columns).rows([part])
    needed = full.Y @ theta  # τ + Jᵀf
    tau = np.empty_like(part.tau)
    for t in range(len(part.time)):
        unit = np.array([generalised(robot, part, t, feet, e.reshape(4, 3)) for e in np.eye(12)]).T
        f = np.linalg.lstsq(unit[:6], needed[t, :6], rcond=None)[0]
        f = f + 100 * (np.eye(12) - np.linalg.pinv(unit[:6]) @ unit[:6]) @ rng.normal(
            size=12
        )  # squeezing changes nothing
        rest = needed[t] - unit @ f
        assert np.abs(rest[:6]).max() < 1e-8
        tau[t] = rest[6:]
    (free,) = Setup(robot, "contact-free", columns, tuple(feet)).rows([replace(part, tau=tau)])
    np.testing.assert_allclose(free.Y @ theta, free.target, rtol=0, atol=1e-9 * np.abs(tau).max())


@installed
def test_the_contact_point_is_a_radius_below_the_centre_of_the_ball():
    robot = load("a1")
    part = motion(robot)
    ball, point = foot(robot, "FR_foot"), foot(robot, "FR_foot:point")
    assert ball.radius == pytest.approx(0.02)
    assert point.radius == ball.radius, "the link's own ball"
    centre = foot(robot, "FR_foot:point:0")
    dynamics = Dynamics(robot, part)
    low, high = dynamics.contact_jacobian([ball]), dynamics.contact_jacobian([centre])
    rng = np.random.default_rng(2)
    for t in range(0, len(part.time), 100):
        v = rng.normal(size=18)
        data = robot.model.createData()
        pin.forwardKinematics(robot.model, data, np.concatenate([np.zeros(6), [1.0], part.q[t]]), v)
        spin = data.oMi[ball.frame.joint].rotation @ data.v[ball.frame.joint].angular
        np.testing.assert_allclose((low - high)[t] @ v, np.cross(spin, -0.02 * part.up[t]), atol=1e-14)


@installed
def test_feet_are_understood_as_they_are_written():
    robot = load("a1")
    given = foot(robot, "FR_foot:point:0.03")
    assert (given.surface, given.radius, given.forces) == (False, 0.03, 3)
    assert foot(robot, "FR_foot").radius == pytest.approx(0.02)
    surface = foot(robot, "FR_foot:surface")
    assert (surface.surface, surface.radius, surface.forces) == (True, 0.0, 6)
    assert foot(load("g1"), "left_ankle_roll_link").surface, "four balls are a surface"
    assert foot(load("talos"), "left_sole_link").surface, "six joints can hold a surface still"
    assert not foot(load("go2"), "FL_foot").surface, "three joints cannot"


@installed
@pytest.mark.parametrize(
    "text",
    [
        "FR_foot:ball",
        "FR_foot:surface:0.1",
        "FR_foot:point:0.1:2",
        "FR_foot:point:thick",
        "FR_foot:point:-0.1",
        "FR_foot:point:nan",
    ],
)
def test_a_foot_that_cannot_be_understood_is_refused(text):
    with refuses(UsageError, "option-value", f"feet={text}"):
        foot(load("a1"), text)


@installed
def test_a_foot_on_a_frame_that_the_robot_lacks_is_refused_with_the_nearest():
    with refuses(UsageError, "name-unknown", "FR_foott", {"name": "FR_foot"}):
        foot(load("a1"), "FR_foott")


@installed
def test_feet_that_explain_everything_are_refused():
    robot = load("a1")
    feet = [foot(robot, f"{f}:surface") for f in A1_FEET]
    with refuses(UsageError, "no-contact-free-equations", f"feet={','.join(A1_FEET)}"):
        Setup(robot, "contact-free", Columns(("base",)), tuple(feet)).rows([motion(robot)])
