"""Checks that every composition must pass: ``check_composition(make)`` runs all, ``CHECKS`` lists them.

A composition states that a body's ten parameters are θ = map·x with x in cones and above bounds. The checks draw
members of that set, of every size and up to its boundary, and test the properties that it declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from steelyard import inertia
from steelyard.compose.composition import Assembly, Composition
from steelyard.compose.prior import body_root
from steelyard.compose.pseudo_inertia import mass_floor
from steelyard.information import Information
from steelyard.robot.model import Body, Robot
from steelyard.solve.problem import Problem
from steelyard.solve.solve import solve_certified
from steelyard.spatial import Array
from tests.motions import physical

Make = Callable[[Body, Array], Composition]  # of a body, given the natural size of its ten parameters
SEEDS = range(6)


def bodies() -> Iterator[Body]:
    """Bodies with shapes, bodies with none, thin ones, and one far from its frame's origin."""
    yield from Robot.load("demo_arm").bodies[:2]
    for seed, (size, away, thin) in enumerate([(0.4, 0.1, 1.0), (0.02, 0.0, 1.0), (1.5, 3.0, 1.0), (0.3, 0.1, 1e-3)]):
        yield loose(np.random.default_rng(seed), size, away, thin)


def loose(rng: np.random.Generator, size: float, away: float = 0.0, thin: float = 1.0) -> Body:
    """A body of a box and an inertia, without shapes."""
    half = rng.uniform(0.3, 1.0, 3) * np.array([1.0, 1.0, thin])
    half *= size / (2 * np.linalg.norm(half))
    centre = away * rng.normal(size=3)
    covariance = np.diag(np.maximum(half, 1e-2 * size) ** 2) / 3
    com = centre + 0.3 * half * rng.uniform(-1, 1, 3)
    mass = rng.uniform(0.5, 5.0)
    parameters = inertia.pack(mass, com, mass * (np.trace(covariance) * np.eye(3) - covariance))
    return Body("loose", ("loose",), 1, parameters, (centre - half, centre + half), size)


def build(make: Make, body: Body) -> Composition:
    """The composition of a body, with the scale that solvers use."""
    return make(body, np.linalg.norm(body_root(body.parameters, body.size), axis=1))


def check_its_parts_fit_together(make: Make) -> None:
    for body in bodies():
        c = build(make, body)
        k = c.size
        assert c.map.shape == (10, k)
        assert c.start.shape == c.scale.shape == (k,)
        assert np.all(c.scale > 0)
        assert c.lower.shape in ((0,), (k,))
        assert not np.any(np.isnan(c.lower) | (c.lower == np.inf))
        assert c.ridge.shape in ((0,), (k,))
        assert np.all(c.ridge >= 0)
        assert c.reference.shape in ((0,), (k,))
        assert c.rows.shape in ((0, 0), (len(c.rows), k))
        for F in c.cones:
            assert F.shape == (k, F.shape[1], F.shape[1])
            np.testing.assert_array_equal(F, F.transpose(0, 2, 1))
        for array in (c.map, c.start, c.scale, c.ridge, c.reference, c.rows, *c.cones):
            assert np.isfinite(array).all()


def check_any_ten_parameters_can_be_reached_if_declared_complete(make: Make) -> None:
    """The map has full row rank, each parameter in its natural unit (Ayusawa III-B)."""
    some = False
    for body in bodies():
        c = build(make, body)
        s = np.linalg.svd(np.linalg.solve(body_root(body.parameters, body.size), c.map), compute_uv=False)
        assert (len(s) == 10 and s[-1] > 1e-6 * s[0]) == c.complete
        some |= c.complete
    assert some


def check_the_start_is_strictly_inside_and_a_body(make: Make) -> None:
    for body in bodies():
        c = build(make, body)
        assert room(c, c.start) > 0
        assert inertia.is_consistent(c.map @ c.start, body.size)


def check_members_are_bodies_if_declared_consistent(make: Make) -> None:
    """Points all over the set, up to its edge and far out along its rays."""
    physical_ones, others = 0, 0
    for body in bodies():
        c = build(make, body)
        for x in members(c):
            theta = c.map @ x
            assert theta[0] >= mass_floor(body) * (1 - 1e-9)
            if inertia.is_consistent(theta, body.size):
                physical_ones += 1
            else:
                others += 1
    assert physical_ones > 0
    assert (others == 0) == c.consistent


def check_no_fit_is_better_than_least_squares_and_each_is_proved(make: Make) -> None:
    for seed in SEEDS:
        body, data = noisy(seed)
        theta = fitted(build(make, body), data)
        assert data.cost(theta) >= data.cost(data.solve()) * (1 - 1e-9)
        assert theta[0] >= mass_floor(body) * (1 - 1e-6)
        if build(make, body).consistent:
            assert inertia.is_consistent(theta, body.size)


def check_exact_data_about_a_member_give_it_back(make: Make) -> None:
    for seed, body in enumerate(bodies()):
        c = build(make, body)
        truth = c.map @ c.start
        N = np.linalg.inv(body_root(truth, body.size))
        Y = np.random.default_rng(seed).normal(size=(40, 10)) @ N
        theta = fitted(replace(c, ridge=np.zeros(0), reference=np.zeros(0)), Information.of(Y, Y @ truth))
        assert np.linalg.norm(N @ (theta - truth)) < 1e-4


def check_it_moves_along_with_its_frame(make: Make) -> None:
    """The frame's origin is a convention: relative to another one, the same data give the same body.

    Turning the frame is another matter: a grid in an axis-aligned box does not turn with it.
    """
    for seed in SEEDS[:3]:
        body, data = noisy(seed)
        shift = np.eye(4)
        shift[:3, 3] = np.random.default_rng(seed).normal(size=3)
        B = inertia.transform_matrix(shift)
        box = (body.box[0] + shift[:3, 3], body.box[1] + shift[:3, 3])
        moved = replace(body, parameters=B @ body.parameters, box=box)
        original = fitted(build(make, body), data)
        transformed = fitted(build(make, moved), data.through(np.linalg.inv(B)))
        N = np.linalg.inv(body_root(body.parameters, body.size))
        np.testing.assert_allclose(N @ np.linalg.solve(B, transformed), N @ original, rtol=0, atol=2e-3)


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_its_parts_fit_together,
    check_any_ten_parameters_can_be_reached_if_declared_complete,
    check_the_start_is_strictly_inside_and_a_body,
    check_members_are_bodies_if_declared_consistent,
    check_no_fit_is_better_than_least_squares_and_each_is_proved,
    check_exact_data_about_a_member_give_it_back,
    check_it_moves_along_with_its_frame,
)


def check_composition(make: Make) -> None:
    """All of them."""
    for check in CHECKS:
        check(make)


def room(c: Composition, x: np.ndarray) -> float:
    """How far inside its set x is: the least of all eigenvalues and of all distances to a bound or row."""
    margins = [np.inf]
    if c.lower.size:
        margins.append(float(np.min((x - c.lower) / c.scale)))
    if c.rows.size:
        margins.append(float(np.min(c.rows @ x / (np.abs(c.rows) @ c.scale))))
    margins += [float(np.linalg.eigvalsh(np.tensordot(x, F, axes=1))[0]) for F in c.cones]
    return min(margins)


def members(c: Composition, count: int = 60) -> Iterator[np.ndarray]:
    """From the start along single unknowns and along random directions: half-way, just before the edge, or far out."""
    rng = np.random.default_rng(0)
    rays = np.eye(c.size)[rng.permutation(c.size)[:40]]
    few = np.abs(rng.normal(size=(count, c.size))) * (rng.random((count, c.size)) < 0.1)
    directions = [-c.start / c.scale, *rays, *-rays, *rng.normal(size=(count, c.size)), *few]
    low = np.where(np.isfinite(c.lower), c.lower, c.start) if c.lower.size else c.start
    for d in directions:
        d = d * c.scale
        reach = 1e6
        if room(c, c.start + reach * d) < 0:
            inside, outside = 0.0, reach
            while outside - inside > 1e-12 * outside and outside > 1e-12:
                middle = (inside + outside) / 2
                inside, outside = (middle, outside) if room(c, c.start + middle * d) >= 0 else (inside, middle)
            reach = inside
        yield c.start + 0.5 * reach * d
        yield c.start + reach * d
        if not c.cones and not c.rows.size and np.all(d >= 0):  # a ray from the corner of all bounds
            yield low + 1e3 * d


def noisy(seed: int) -> tuple[Body, Information]:
    """A body, and few noisy equations about one that is not like its description; more noise with every seed."""
    rng = np.random.default_rng(seed)
    body = loose(rng, 0.4, 0.2)
    N = np.linalg.inv(body_root(body.parameters, body.size))
    shift = np.eye(4)
    shift[:3, 3] = body.parameters[1:4] / body.parameters[0]
    truth = inertia.transform(physical(rng, body.parameters[0], 0.2 * body.size), shift)
    Y = rng.normal(size=(25, 10)) @ N
    data = Information.of(Y, Y @ truth + (0.1 + 0.5 * seed) * rng.normal(size=25))
    weak = 1e-2 * N
    return body, data + Information.of(weak, weak @ body.parameters)


def fitted(c: Composition, data: Information) -> np.ndarray:
    """Parameters (10,) of the certified fit."""
    assembly = Assembly((c,))
    posed = data.through(assembly.map)
    if np.any(assembly.ridge):
        posed = posed + Information.of(np.diag(assembly.ridge), assembly.ridge * assembly.reference)
    problem = Problem(posed, assembly.scale, assembly.start, assembly.cones, assembly.lower, linear=assembly.rows)
    solution, proof = solve_certified(problem)
    assert proof.holds
    return np.asarray(assembly.map @ solution.theta)
