"""Ranges hold whatever is allowed, are reached, and shrink to the interval where the data decide."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from scipy.stats import chi2

from steelyard import Job, Options, RangeOptions, UsageError, identify, inertia
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.estimate_json import estimate_json
from steelyard.identify.sentence import sentence
from steelyard.inference.feasible_set import Allowed, Evidence, box_rows, make_region
from steelyard.inference.quantity_ranges import find_ranges, format_range
from steelyard.log.table import read_log
from steelyard.output.report.words import figure
from steelyard.robot.model import Body
from steelyard.solve.extreme import Extremes
from tests.floating import floating_log
from tests.motions import physical

pytestmark = pytest.mark.numerical

SIZE = 0.4
MASSES = Job(ranges=RangeOptions("masses"))
ONE = float(chi2.ppf(0.95, 1))


def body(rng, name):
    half = np.array([0.15, 0.1, 0.08])
    parameters = physical(rng, 2.0, SIZE)
    centre = parameters[1:4] / parameters[0]
    return Body(name, (name,), 1, parameters, (centre - half, centre + half), SIZE)


@lru_cache
def case(seed=0, bodies=2, others=2, rows=14, noise=0.02):
    """Few noisy equations about some bodies and some numbers that must not be negative; what is allowed; the truth."""
    rng = np.random.default_rng(seed)
    described = tuple(body(rng, f"b{k}") for k in range(bodies))
    scale = np.concatenate([np.tile([2.0, *[0.4] * 3, *[0.08] * 6], bodies), np.ones(others)])
    truth = np.concatenate([*(physical(rng, 2.0, SIZE) for _ in described), rng.uniform(0.2, 1, others)])
    Y = rng.normal(size=(rows, len(scale))) / scale / noise
    Y[:, 0] = np.abs(Y[:, 0])
    Y[0, :] = 0.0
    Y[0, 0 : 10 * bodies : 10] = 1 / noise  # together they are weighed, so that every mass has a limit
    Q, R = np.linalg.qr(Y)  # one row a base parameter
    data = Evidence(R, Q.T @ (Y @ truth + rng.normal(size=rows)))
    lowest = {10 * bodies + k: 0.0 for k in range(others)}
    return data, Allowed(described, lowest, scale, np.full(others, 0.5), 4.0, SIZE), truth


CASES = {"few rows": (0, 2, 2, 14), "one body": (1, 1, 0, 5), "more rows": (2, 2, 2, 19), "three bodies": (3, 3, 1, 21)}


def sampled(region, count=400, seed=0):
    """Points of a region, by hit and run from its start."""
    rng = np.random.default_rng(seed)
    theta, W = region.start, region.coordinates
    points = []
    for _ in range(count):
        step = W @ rng.normal(size=len(theta))
        ends = []
        for sign in (1.0, -1.0):
            length = 4.0
            while not region.contains(theta + sign * length * step) and length > 1e-6:
                length *= 0.7
            ends.append(sign * length)
        theta = theta + rng.uniform(min(ends), max(ends)) * step
        assert region.contains(theta)
        points.append(theta)
    return np.array(points)


def quantities(points, k):
    p = points[:, 10 * k : 10 * k + 10]
    com = p[:, 1:4] / p[:, :1]
    trace = p[:, [4, 6, 9]].sum(axis=1) - 2 * np.sum(p[:, 1:4] ** 2, axis=1) / p[:, 0]
    return {"mass": p[:, :1], "com": com, "inertia": p[:, 4:], "trace": trace[:, None]}


def ends(ranges, name, what):
    given = getattr(ranges.bodies[name], what)
    given = given if isinstance(given[0], tuple) else (given,)
    return np.array([[-np.inf if low is None else low, np.inf if high is None else high] for low, high in given])


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_allowed_lies_outside(name):
    data, allowed, _ = case(*CASES[name])
    region, _ = make_region(data, allowed, ONE)
    points, ranges = sampled(region), find_ranges(data, allowed)
    for k, b in enumerate(allowed.bodies):
        for what, values in quantities(points, k).items():
            limits = ends(ranges, b.name, what)
            assert np.all(values >= limits[:, 0]), what
            assert np.all(values <= limits[:, 1]), what
    masses = points[:, 0 : 10 * len(allowed.bodies) : 10].sum(axis=1)
    assert ranges.total[0] <= masses.min() < masses.max() <= ranges.total[1]


def drawn_back(data, region, theta):
    """The point of the region nearest to theta on the line from its start: where that leaves it, if it does."""
    a, d = data.R @ region.start - data.z, data.R @ (theta - region.start)
    most = region.radius**2 * (1 - 1e-12)
    if np.sum((a + d) ** 2) <= most:
        return theta
    share = (np.sqrt((a @ d) ** 2 + d @ d * (most - a @ a)) - a @ d) / (d @ d)
    return region.start + share * (theta - region.start)


def pushed(data, region, value):
    """The greatest value by SLSQP in log-Cholesky coordinates, where a body is always physical: no cone, no dual.

    In these the region is not convex, and the ends, bodies that are flat, are infinitely far: a search stops at its
    bounds or gives up, and rounding decides where. So there are three, each begins again where it ended, and what
    oversteps the region by the solver's tolerance is drawn back to it instead of being lost.
    """
    best, most = -np.inf, region.radius**2
    for reached in (region.start, *sampled(region, 40)[19::20]):
        for _ in range(2):
            first = inertia.log_cholesky(region.start + (1 - 1e-6) * (reached - region.start))
            result = minimize(
                lambda x: -value(inertia.from_log_cholesky(x)), first, method="SLSQP",
                bounds=[(x - 6, x + 3) for x in first], options={"maxiter": 200, "ftol": 1e-8},
                constraints=[{"type": "ineq", "fun": lambda x: 1 - data.misfit(inertia.from_log_cholesky(x)) / most}],
            )  # fmt: skip
            reached = drawn_back(data, region, inertia.from_log_cholesky(result.x))
            best = max(best, value(reached))
    return best


@pytest.mark.slow
def test_a_search_without_cones_or_duals_comes_as_far_as_the_ends_and_no_further():
    """No further but for rounding, since all that is reached lies in the region; as far as the best of the searches
    comes, which on some processors leaves 0.015 of h − t m, and less than 1e-4 of the others.
    """
    data, allowed, _ = case(1, 1, 0, 6, 0.2)
    region, _ = make_region(data, allowed, ONE)
    extremes, E = Extremes(region), np.eye(10)
    mass, h, least = E[0], E[2], extremes.minimise(E[0]).proved
    for sign, bound in ((1, extremes.maximise(mass)), (-1, extremes.minimise(mass))):
        reached = pushed(data, region, lambda p, s=sign: s * p[0])
        assert sign * bound.proved - 0.01 < reached <= sign * bound.proved + 1e-9
    most, fewest = extremes.maximise_ratio(h, mass, least).proved, extremes.minimise_ratio(h, mass, least).proved
    for sign, t in ((1, most), (-1, fewest)):  # h/m goes as far as t where h − t m goes as far as zero
        assert -0.03 < pushed(data, region, lambda p, s=sign, t=t: s * (p[2] - t * p[0])) <= 1e-9

    def trace(p):
        return p[4] + p[6] + p[9] - 2 * p[1:4] @ p[1:4] / p[0]

    most = extremes.maximise_trace(0).proved
    thinner = 3 * 2 * 2.1 * inertia.SOLVER_MARGIN * SIZE**2  # 2 m Σ of a search that comes nearer to flat than a cone
    assert 0.99 * most < pushed(data, region, trace) <= most + thinner


@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_is_hardly_more_than_what_is_attained(name):
    data, allowed, _ = case(*CASES[name])
    region, _ = make_region(data, allowed, ONE)
    extremes, E = Extremes(region), np.eye(len(region.start))
    for c, size in ((E[0], 2.0), (-E[0], 2.0), (E[1], 0.4), (-E[5], 0.08), (E[0] - E[4], 2.0)):
        bound = extremes.maximise(c)
        assert region.contains(bound.theta, 1e-5)
        assert bound.attained == pytest.approx(c @ bound.theta)
        assert bound.attained - 1e-9 * size <= bound.proved <= bound.attained + 1e-3 * size


def test_a_bound_holds_for_any_multipliers():
    data, allowed, _ = case(*CASES["few rows"])
    region, _ = make_region(data, allowed, ONE)
    points = sampled(region, 200)
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-3, 1.0, 30.0):
        for _ in range(20):
            goal = rng.normal(size=len(region.start)) / region.scale
            Z = [size * (A @ A.T - 0.2 * np.eye(4)) for A in rng.normal(size=(2, 4, 4))]
            mu = size * rng.normal(size=len(region.levels))
            assert region.prove_bound(goal, Z, mu) >= np.max(points @ goal)


def test_where_the_data_decide_a_range_is_the_interval():
    data, allowed, _ = case(5, 2, 2, 200, 0.01)
    ranges = find_ranges(data, allowed)
    C = np.linalg.inv(data.R.T @ data.R)
    best = C @ data.R.T @ data.z
    for k, b in enumerate(allowed.bodies):
        assert inertia.is_consistent(best[10 * k : 10 * k + 10], SIZE)
        intervals = [
            (ranges.bodies[b.name].mass, 10 * k),
            *zip(ranges.bodies[b.name].inertia, range(10 * k + 4, 10 * k + 10), strict=True),
        ]
        for (low, high), i in intervals:
            np.testing.assert_allclose([low, high], best[i] + np.array([-1.96, 1.96]) * C[i, i] ** 0.5, rtol=0.01)
        m, c = best[10 * k], best[10 * k + 1 : 10 * k + 4] / best[10 * k]
        for (low, high), i, c_i in zip(ranges.bodies[b.name].com, range(10 * k + 1, 10 * k + 4), c, strict=True):
            g = np.zeros(len(best))
            g[[10 * k, i]] = -c_i / m, 1 / m
            np.testing.assert_allclose([low, high], c_i + np.array([-1.96, 1.96]) * (g @ C @ g) ** 0.5, atol=1e-4)
        low, high = ranges.bodies[b.name].trace
        I = inertia.unpack(best[10 * k : 10 * k + 10])[2]
        assert low < np.trace(I) < high < 1.2 * np.trace(I)
        assert low > 0.8 * np.trace(I)


def test_simultaneous_ranges_are_wider_by_the_number_of_base_parameters():
    data, allowed, _ = case(5, 2, 2, 200, 0.01)
    each, together = find_ranges(data, allowed, "masses"), find_ranges(data, allowed, "masses", together=True)
    assert together.freedom == 22
    ratio = np.sqrt(chi2.ppf(0.95, 22) / ONE)
    for b in allowed.bodies:
        (low, high), (lower, higher) = each.bodies[b.name].mass, together.bodies[b.name].mass
        assert (higher - lower) / (high - low) == pytest.approx(ratio, rel=0.02)


def solid(rng, box, points=60):
    """Ten parameters of random point masses in a box."""
    x = rng.uniform(*box, (points, 3))
    x1, m = np.column_stack([x, np.ones(points)]), rng.exponential(size=points) * 2 / points
    return inertia.from_pseudo((x1 * m[:, None]).T @ x1)


def test_whatever_lies_in_a_box_satisfies_its_rows_and_what_lies_beside_it_does_not():
    rng = np.random.default_rng(0)
    box = (np.array([-0.1, 0.0, 0.2]), np.array([0.3, 0.1, 0.5]))
    rows = np.array(list(box_rows(box)))
    assert rows.shape == (15, 10)
    for k in range(50):
        p = solid(rng, box, 1 + k)
        assert np.all(rows @ p >= -1e-12)
        beside = inertia.transform(p, np.array([[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
        assert np.any(rows @ beside < 0)
    E = np.diag(1 / (3 * ((box[1] - box[0]) / 2) ** 2))  # the ellipsoid around the box: xᵀEx ≤ 1 from its centre
    c = (box[0] + box[1]) / 2
    inside = np.einsum("kij,ij->k", inertia.PSEUDO_BASIS, np.block([[-E, (E @ c)[:, None]], [c @ E, 1 - c @ E @ c]]))
    weights = nnls(rows.T, inside)[0]  # a sum of rows, none of them taken away
    np.testing.assert_allclose(rows.T @ weights, inside, atol=1e-9)


def test_knowing_the_boxes_narrows_ranges_and_loses_nothing_that_lies_in_them():
    data, allowed, _ = case(*CASES["few rows"])
    rng = np.random.default_rng(3)
    truth = np.concatenate([*(solid(rng, b.box) for b in allowed.bodies), [0.5, 0.2]])
    data = replace(data, z=data.R @ truth)
    wide, narrow = find_ranges(data, allowed), find_ranges(data, replace(allowed, inside=frozenset({"b0", "b1"})))
    assert narrow.inside == ("b0", "b1")
    for k, b in enumerate(allowed.bodies):
        for what, values in quantities(truth[None], k).items():
            outer, inner = ends(wide, b.name, what), ends(narrow, b.name, what)
            assert np.all(inner[:, 0] <= values[0])
            assert np.all(values[0] <= inner[:, 1])
            assert np.all(inner[:, 0] >= outer[:, 0] - 1e-4)
            assert np.all(inner[:, 1] <= outer[:, 1] + 1e-4)
        assert np.ptp(ends(narrow, b.name, "mass")) < 0.9 * np.ptp(ends(wide, b.name, "mass"))
        assert np.all(ends(narrow, b.name, "com")[:, 0] >= b.box[0] - 1e-9)


def test_a_mass_without_information_has_no_limit_and_may_have_its_centre_anywhere():
    _, allowed, _ = case(*CASES["one body"])
    nothing = Evidence(np.eye(10)[4:5], np.array([0.1]))
    ranges = find_ranges(nothing, allowed)
    body = ranges.bodies["b0"]
    assert body.mass == (0.0, None)
    assert body.com == ((None, None),) * 3
    assert body.inertia[0][1] == pytest.approx(0.1 + 1.96, rel=1e-3)
    assert ranges.total == (0.0, None)
    boxed = find_ranges(nothing, replace(allowed, inside=frozenset({"b0"}))).bodies["b0"]
    for (low, high), *box in zip(boxed.com, *allowed.bodies[0].box, strict=True):
        assert [low, high] == box


def test_data_that_no_body_explains_refute_the_model():
    data, allowed, _ = case(*CASES["more rows"])
    assert not find_ranges(data, allowed, "masses").refuted
    assert find_ranges(replace(data, z=-data.z), allowed, "masses").refuted


def test_ranges_are_formatted_to_the_digits_that_they_support():
    assert format_range((11.23, 18.91), "kg") == "11.2–18.9 kg"
    assert format_range((3.0026, 3.1214), "kg") == "3.003–3.121 kg"
    assert format_range((0.0132, 6.348), "kg") == "0.013–6.3 kg"
    assert format_range((-4.32, 2345.6), "mm") == "-4.3 to 2346 mm"
    assert format_range((1e-9, 2.5), "kg") == "0–2.5 kg"
    assert format_range((3.0, None), "kg") == "at least 3.0 kg"
    assert format_range((None, 3.0), "mm") == "at most 3.0 mm"
    assert format_range((0.0, None), "kg") == format_range((None, None), "mm") == "anything"


@pytest.fixture(scope="module")
def arm_estimate(arm):
    return identify("demo_arm", [arm.train], Options(friction="all"), job=Job(ranges=RangeOptions("com"))).estimate


def test_the_masses_of_an_arm_have_ranges_some_without_a_limit(arm, arm_estimate):
    ranges = arm_estimate.ranges
    assert set(ranges.bodies) == {b.name for b in arm_estimate.bodies}
    for b in arm_estimate.bodies:
        assert np.all(ends(ranges, b.name, "mass")[:, 0] <= arm.truth[b.name][0])
        assert np.all(ends(ranges, b.name, "mass")[:, 1] >= arm.truth[b.name][0])
    assert ranges.bodies["shoulder_link"].mass == (0.0, None)  # it only turns about its own upright axis
    low, high = ranges.bodies["forearm_link"].mass
    assert 0.5 < low < high < 20
    assert ranges.total[0] > low
    assert ranges.total[1] is None
    content = estimate_json(arm_estimate)
    assert content["ranges"]["shoulder_link"]["mass"] == (0.0, None)
    assert content["ranges_about"]["freedom"] == len(arm_estimate.base)
    assert "whatever the prior" in sentence(arm_estimate)


@pytest.mark.parametrize("options", [{"method": "least-squares"}, {"prior": "box"}])
def test_ranges_are_the_same_whatever_the_prior_and_the_method(arm, arm_estimate, options):
    other = identify("demo_arm", [arm.train], Options(friction="all", **options), job=MASSES).estimate.ranges
    for name, body in other.bodies.items():
        for end, expected in zip(body.mass, arm_estimate.ranges.bodies[name].mass, strict=True):
            assert (end is None) == (expected is None)
            assert end is None or end == pytest.approx(expected, rel=0.05, abs=0.02)


def test_with_other_bodies_held_the_total_counts_them(arm):
    log = simulate_arm(arm.robot, {b.name: b.parameters for b in arm.robot.bodies}, seed=2, seconds=8, noise="low")
    ranges = identify("demo_arm", [log], Options(links=("wrist_3_link",)), job=MASSES).estimate.ranges
    assert set(ranges.bodies) == {"wrist_3_link"}
    held = sum(b.parameters[0] for b in arm.robot.bodies if b.name != "wrist_3_link")
    low, high = ranges.bodies["wrist_3_link"].mass
    assert low < arm.robot.body("wrist_3_link").parameters[0] < high
    np.testing.assert_allclose(ranges.total, [low + held, high + held], rtol=1e-3)


@pytest.mark.slow
def test_without_a_known_gain_no_mass_has_a_limit(arm):
    log = read_log(arm.train)
    gains = dict(zip(arm.robot.joints, (14.0, 12.0, 11.0, 8.0, 9.0, 10.0), strict=True))
    columns = {k: v for k, v in log.columns.items() if not k.startswith("tau.")}
    columns |= {f"current.{j}": log.columns[f"tau.{j}"] / k for j, k in gains.items()}
    unknown = replace(log, columns=columns, metadata={})
    estimate = identify("demo_arm", [unknown], Options(friction="all"), job=Job(ranges=RangeOptions("all"))).estimate
    ranges = estimate.ranges
    assert all(body.mass == body.trace == body.inertia[0] == (0.0, None) for body in ranges.bodies.values())
    assert all(body.inertia[1] == (None, None) for body in ranges.bodies.values())
    low, high = ranges.bodies["forearm_link"].com[0]  # a ratio
    assert low < arm.truth["forearm_link"][1] / arm.truth["forearm_link"][0] < high < 0
    assert "upper bound" in sentence(estimate)


@pytest.mark.slow
def test_a_floating_robot_knows_its_total_and_so_limits_every_mass(a1_robot):
    rng = np.random.default_rng(0)
    truth = perturbed(a1_robot, rng)
    feet = [f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")]
    log = floating_log(a1_robot, truth, feet, seconds=4, rate=250, wrenches=True, noise=(1e-5, 1e-3, 1e-2, 0.02))
    estimate = identify("a1", [log], job=MASSES).estimate
    low, high = estimate.ranges.total
    assert (high - low) / (2 * 1.96 * estimate.total.std) == pytest.approx(1.0, abs=0.1)
    for name, body in estimate.ranges.bodies.items():
        assert body.mass[0] <= truth[name][0] <= body.mass[1] < high


def test_boxes_are_used_only_where_they_are_those_of_shapes(arm, tmp_path):
    inside = Job(ranges=RangeOptions("masses", inside=True))
    estimate = identify("demo_arm", [arm.train], Options(friction="all"), job=inside).estimate
    assert set(estimate.ranges.inside) == {b.name for b in estimate.bodies}
    bare = tmp_path / "bare.urdf"
    text = arm.robot.description.path.read_text()
    bare.write_text(re.sub(r"<(visual|collision)>.*?</\1>", "", text, flags=re.DOTALL))
    estimate = identify(bare, [arm.train], Options(friction="all"), job=inside).estimate
    assert estimate.ranges.inside == ()
    (notice,) = estimate.ranges.notices(inside=True)
    assert notice.code == "link-without-shapes"
    assert "shoulder_link" in notice.where.split(", ")
    assert notice in estimate.notices


def test_a_log_that_no_robot_could_have_written_brings_a_notice(arm, arm_estimate):
    assert arm_estimate.ranges.notices(inside=False) == []
    log = read_log(arm.train)
    fallen = {k: -v if k.startswith("tau.") else v for k, v in log.columns.items()}  # as if of negative mass
    estimate = identify(
        "demo_arm", [replace(log, columns=fallen)], Options(friction="all", despite=("sign-reversed",)), job=MASSES
    ).estimate
    assert estimate.ranges.refuted
    (notice,) = estimate.ranges.notices(inside=False)
    assert notice.code == "data-not-explained"
    assert notice in estimate.notices


@pytest.mark.slow
def test_the_command_writes_ranges_to_terminal_json_and_report(steelyard, arm, tmp_path):
    run = steelyard(
        "identify", "demo_arm", arm.train, "--friction", "all", "--ranges", "all", "--ranges-inside",
        "--ranges-together", "-o", tmp_path / "out",
    )  # fmt: skip
    assert run.code == 0
    assert "ranges: wrist_3_link, 6 of 6" in run.err
    assert "whatever the prior" in run.out
    assert re.search(r"shoulder_link +anything", run.out)
    content = json.loads((tmp_path / "out" / "estimate.json").read_text())
    forearm = content["ranges"]["forearm_link"]
    assert set(forearm) == {"mass", "com", "inertia", "trace"}
    assert content["ranges"]["shoulder_link"]["mass"] == [0.0, None]
    assert content["ranges_about"]["together"] is True
    assert content["ranges_about"]["inside"] == sorted(content["links"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="ranges"' in page
    assert 'id="ranges-mass"' in page
    low, high = forearm["mass"]
    assert f"{figure(low, 3)} to {figure(high, 3)}" in page
    assert "all of them together" in page


def test_what_is_asked_for_must_exist(steelyard, arm, tmp_path):
    assert steelyard("identify", "demo_arm", arm.train, "--ranges", "some", "-o", tmp_path / "out").code == 2
    with pytest.raises(UsageError) as error:
        RangeOptions("some")
    assert [f.code for f in error.value.findings] == ["option-unknown-choice"]
