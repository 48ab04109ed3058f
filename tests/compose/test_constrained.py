"""Jovic's programme: masses, boxes and cuts are kept, what they let pass is repaired, and all of it is proved."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Constrained, Lmi, Options, identify, inertia
from steelyard.compose import boxed
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.errors import SolveError
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify import repair
from steelyard.identify.fit import side_information
from steelyard.identify.method import Posed
from steelyard.identify.solving import solve
from steelyard.identify.verdict import exit_code
from steelyard.information import Information
from steelyard.robot.model import Robot
from steelyard.solve.problem import LinearConstraints, Problem
from steelyard.solve.solve import solve_certified
from tests.bodies import body, consistent, described, measured, objective, solve_bodies
from tests.motions import installed, load

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10_000)
QP = Options(method="constrained")


def posed(data, bodies, prior):
    """The quadratic programme, before any refinement."""
    parts = [boxed.composition(b, np.ones(10)) for b in bodies]
    rows = np.zeros((sum(len(p.rows) for p in parts), 10 * len(bodies)))
    at = 0
    for k, p in enumerate(parts):
        rows[at : at + len(p.rows), 10 * k : 10 * k + 10] = p.rows
        at += len(p.rows)
    lower = {10 * k: float(p.lower[0]) for k, p in enumerate(parts)}
    start = np.concatenate([p.start for p in parts])
    return Problem(data + prior.information, prior.scale, start, (), lower, (), LinearConstraints.of(rows))


def lmi_with(data, bodies, prior, linear):
    """θ of method lmi, under linear rows besides."""
    problem, assembly, _ = Lmi().problem(Posed(data, prior, tuple(bodies)))
    return assembly.map @ solve_certified(replace(problem, linear=problem.linear + linear))[0].theta


@pytest.mark.slow
@settings(max_examples=15)
@given(seeds, st.floats(0.0, 5.0), st.integers(1, 60))
def test_every_body_is_consistent_and_has_its_centre_of_mass_in_its_box(seed, noise, rows):
    rng = np.random.default_rng(seed)
    bodies = described(rng, 3)
    solution = solve_bodies(measured(rng, bodies, rows, noise), bodies, priors.of_bodies(bodies), "constrained")
    assert solution.certificate.holds
    assert all(consistent(solution.theta, bodies))
    for k, b in enumerate(bodies):
        m, c, _ = inertia.unpack(solution.theta[10 * k : 10 * k + 10])
        assert m > 0
        assert np.all(c >= b.box[0] - 1e-6)
        assert np.all(c <= b.box[1] + 1e-6)


def test_linear_rows_let_bodies_pass_that_cannot_exist_and_these_are_named_and_repaired():
    rng = np.random.default_rng(3)
    bodies = described(rng, 4)
    data, prior = measured(rng, bodies, 45, 3.0), priors.of_bodies(bodies)
    problem = posed(data, bodies, prior)
    plain = solve_certified(problem)[0].theta
    assert not all(consistent(plain, bodies))
    theta, proof, repaired = repair.solve(problem, bodies)
    assert proof.holds
    assert all(consistent(theta, bodies))
    assert repaired
    assert set(repaired) >= {b.name for b, ok in zip(bodies, consistent(plain, bodies), strict=True) if not ok}
    assert problem.objective(theta) > problem.objective(plain)
    solution = solve_bodies(data, bodies, prior, "constrained")
    assert (solution.notices[0].code, solution.notices[0].where) == ("solution-repaired", ", ".join(repaired))


def test_each_linearisation_costs_and_never_more_than_the_whole_condition():
    rng = np.random.default_rng(5)
    bodies = described(rng, 3)
    data, prior = measured(rng, bodies, 20, 5.0), priors.of_bodies(bodies)
    problem = posed(data, bodies, prior)
    whole = lmi_with(data, bodies, prior, problem.linear)
    costs = []
    for rounds in (0, 1, 2, 5):
        refined, cuts = problem, 1
        while rounds and cuts:
            theta = solve_certified(refined)[0].theta
            broken = [r for k, b in enumerate(bodies) for r in repair._violated(b, theta, k, 30)]
            cuts, rounds = len(broken), rounds - 1
            refined = replace(refined, linear=refined.linear + LinearConstraints.of(np.array(broken).reshape(-1, 30)))
        costs.append(problem.objective(solve_certified(refined)[0].theta))
    assert np.all(np.diff(costs) >= -1e-7 * costs[0])
    assert costs[-1] > costs[0] * (1 + 1e-6), "some cut was needed"
    best = problem.objective(repair.solve(problem, bodies)[0])
    assert costs[-1] * (1 - 1e-6) <= best <= problem.objective(whole) * (1 + 1e-6)


def test_where_every_body_is_repaired_it_is_lmi_with_boxes():
    rng = np.random.default_rng(11)
    bodies = described(rng, 2)
    data, prior = measured(rng, bodies, 30, 10.0), priors.of_bodies(bodies)
    problem = posed(data, bodies, prior)
    theta, _, repaired = repair.solve(problem, bodies)
    assert len(repaired) == 2
    whole = lmi_with(data, bodies, prior, problem.linear)
    np.testing.assert_allclose(theta / prior.scale, whole / prior.scale, atol=1e-3)


@given(seeds)
def test_a_cut_is_the_inertia_along_a_direction(seed):
    rng = np.random.default_rng(seed)
    b, v = body(rng), rng.normal(size=3)
    p = rng.normal(size=10)
    u = v / np.linalg.norm(v)
    expected = u @ inertia.matrix(p[4:]) @ u
    assert boxed.direction_row(b, v) @ p == pytest.approx(expected - 4e-8 * p[0] * b.size**2, rel=1e-12)


def test_a_load_has_no_box():
    rng = np.random.default_rng(4)
    b = replace(body(rng), carrier="anything but nothing")
    truth = inertia.transform(b.parameters, np.block([[np.eye(3), np.full((3, 1), 2.0)], [np.zeros((1, 3)), 1.0]]))
    solution = solve_bodies(measured(rng, [b], 40, 0.01, truth), [b], priors.of_bodies([b]), "constrained")
    assert solution.theta[1] / solution.theta[0] > 1.5


def robot_and_data(name, seed=0, rows=400, noise=1.0):
    """Random equations about all bodies of a robot that differs from its description."""
    robot = load(name)
    rng = np.random.default_rng(seed)
    columns = Columns(tuple(b.name for b in robot.bodies))
    prior = priors.make(robot, columns)
    truth = np.concatenate([perturbed(robot, rng)[b] for b in columns.bodies])
    Y = rng.normal(size=(rows, columns.n)) / prior.scale
    data = Information.of(Y, Y @ truth + noise * rng.normal(size=rows), columns.names)
    return Setup(robot, "joint", columns), data, prior


def masses(theta):
    return theta.reshape(-1, 10)[:, 0]


def test_the_total_mass_is_soft_unless_it_is_asked_to_be_hard():
    setup, data, prior = robot_and_data("demo_arm", rows=12)
    described = sum(b.parameters[0] for b in setup.robot.bodies)
    free = solve(setup, data, prior, Options(method="lmi"))
    soft = solve(setup, data, prior, QP)
    assert abs(masses(soft.theta).sum() - described) < abs(masses(free.theta).sum() - described)
    assert masses(soft.theta).sum() != pytest.approx(described, rel=1e-6)
    for total in (None, 33.3):
        hard = solve(setup, data, prior, Options(method=Constrained(hard_mass=True), total_mass=total))
        assert masses(hard.theta).sum() == pytest.approx(total or described, rel=1e-9)
        assert hard.certificate.holds


def test_a_total_mass_from_a_scale_is_data():
    setup, data, prior = robot_and_data("demo_arm", rows=12)
    options = Options(method="constrained", total_mass=40.0)
    scales = side_information(setup, options, None)
    assert scales.rows == 1
    solution = solve(setup, data + scales, prior, options)
    assert masses(solution.theta).sum() == pytest.approx(40.0, rel=0.02)
    assert scales.cost(solution.theta) == pytest.approx(((masses(solution.theta).sum() - 40.0) / 0.4) ** 2, rel=1e-6)


def test_bodies_that_are_held_count_in_the_total():
    setup, data, prior = robot_and_data("demo_arm", rows=30)
    links = ("forearm_link", "wrist_1_link")
    options = Options(method=Constrained(hard_mass=True), total_mass=27.0)
    solution = solve(replace(setup, links=links), data, prior, options)
    assert masses(solution.theta).sum() == pytest.approx(27.0, rel=1e-9)
    for b in setup.robot.bodies:
        if b.name not in links:
            np.testing.assert_array_equal(solution.theta[setup.columns.body(b.name)], b.parameters)


def test_the_more_it_is_damped_the_nearer_it_stays_to_the_description():
    rng = np.random.default_rng(2)
    bodies = described(rng, 2)
    data = measured(rng, bodies, 15, 0.5)
    off, misfit = [], []
    for alpha in (1e-3, 1.0, 1e3, 1e6):
        prior = priors.of_bodies(bodies, weight=alpha)
        theta = solve_bodies(data, bodies, prior, "constrained").theta
        off.append(objective(data, priors.of_bodies(bodies), theta) - 0.5 * data.cost(theta))
        misfit.append(data.cost(theta))
    assert np.all(np.diff(off) < 0)
    assert np.all(np.diff(misfit) > 0)


def test_a_log_is_identified_and_every_option_reaches_the_problem(arm):
    def run(method="constrained", **options):
        return identify("demo_arm", [arm.train], Options(method=method, friction="all", **options)).estimate

    plain, hard = run(), run(Constrained(hard_mass=True), total_mass=31.0)
    stiff, with_total = run(prior_weight=1e4), run(total_mass=31.0)
    assert exit_code(plain) == 0
    assert all(e.consistent and e.certificate.holds for e in (plain, hard, stiff, with_total))
    assert sum(b.mass for b in hard.bodies) == pytest.approx(31.0, rel=1e-9)
    assert sum(b.mass for b in with_total.bodies) == pytest.approx(31.0, rel=0.02)
    assert len(with_total.base) == len(plain.base) + 1, (
        "no motion of an arm on a table excites its total mass, a scale measures it"
    )
    described = Robot.load("demo_arm")
    near, far = (
        sum(np.abs(e.body(b.name).parameters - b.parameters).sum() for b in described.bodies) for e in (stiff, plain)
    )
    assert near < 0.5 * far
    assert stiff.body("forearm_link").prior_std[0] == pytest.approx(0.01 * plain.body("forearm_link").prior_std[0])
    assert hard.provenance["options"]["total_mass"] == 31.0


@installed
def test_left_and_right_get_the_same_mass_and_mirrored_centres_of_mass():
    setup, data, prior = robot_and_data("a1")
    solution = solve(setup, data, prior, Options(method=Constrained(symmetric=("auto",))))
    assert solution.certificate.holds
    for end in ("F", "R"):
        for part in ("hip", "thigh", "calf"):
            left, right = (
                solution.theta[setup.columns.body(setup.robot.body(f"{end}{side}_{part}").name)] for side in "LR"
            )
            assert left[0] == pytest.approx(right[0], rel=1e-9)
            np.testing.assert_allclose(left[1:4] / left[0], right[1:4] / right[0] * [1, -1, 1], atol=1e-9)
    free = solve(setup, data, prior, QP)
    assert abs(masses(free.theta)[1:5].std()) > 1e-3, "the data alone would have them differ"


@installed
def test_one_of_a_pair_may_be_held():
    setup, data, prior = robot_and_data("a1")
    left, right = setup.robot.body("FL_calf"), setup.robot.body("FR_calf")
    options = Options(method=Constrained(symmetric=("FL_calf=FR_calf", "FL_hip=FR_hip")))
    solution = solve(replace(setup, links=("FL_calf",)), data, prior, options)
    assert solution.theta[setup.columns.body(left.name)][0] == pytest.approx(right.parameters[0], rel=1e-9)


@installed
def test_a_pair_of_which_the_held_one_has_its_centre_of_mass_outside_the_others_box_is_a_contradiction():
    """The A1's thighs: the motor is beside the shape that stands for them."""
    setup, data, prior = robot_and_data("a1")
    options = Options(method=Constrained(symmetric=("FL_thigh=FR_thigh",)))
    with pytest.raises(SolveError) as error:
        solve(replace(setup, links=("FL_thigh",)), data, prior, options)
    assert [f.code for f in error.value.findings] == ["constraints-infeasible"]
    free = solve(setup, data, prior, QP)
    (outside,) = (n.where.split(", ") for n in free.notices if n.code == "com-outside-box")
    assert "FL_thigh" in outside
