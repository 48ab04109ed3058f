"""Children carry their parent's ten parameters to the last digit; cuts tile it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.compose.divide_shape import MOST_PARTS, criterion, cut, divide, longest_axis
from steelyard.compose.primitives import Solid, capsule, combine, cuboid, cylinder, ellipsoid, polyhedron, sphere
from tests.compose.bodies import KINDS, pose, random_primitive

pytestmark = pytest.mark.numerical

seeds = st.integers(0, 10**6)
parts = st.integers(2, MOST_PARTS)
axes = st.sampled_from([None, 0, 1, 2])


def off(shape, pieces):
    """How far the children's sum is from the parent, relative to the parent."""
    total = sum(piece.share * piece.shape.parameters for piece in pieces)
    return np.max(np.abs(total - shape.parameters)) / np.linalg.norm(shape.parameters)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(seed=seeds, parts=parts, axis=axes)
def test_children_are_exactly_what_their_parent_was(kind, seed, parts, axis):
    shape = random_primitive(kind, np.random.default_rng(seed))
    pieces = divide(shape, parts, axis)
    assert len(pieces) == (3 if kind == "capsule" else parts)
    assert sum(piece.share for piece in pieces) == pytest.approx(1, abs=1e-15)
    assert all(piece.share > 0 and piece.shape.thinnest > 0 for piece in pieces)
    assert off(shape, pieces) < 1e-14


@pytest.mark.parametrize("kind", KINDS)
def test_grandchildren_of_the_tenth_generation_still_are(kind):
    rng = np.random.default_rng(5)
    shape = random_primitive(kind, rng)
    family = [(1.0, shape)]
    for _ in range(10):
        k = int(rng.integers(len(family)))
        share, chosen = family.pop(k)
        family += [(share * piece.share, piece.shape) for piece in divide(chosen)]
    total = sum(share * child.parameters for share, child in family)
    np.testing.assert_allclose(total, shape.parameters, rtol=0, atol=1e-14 * np.linalg.norm(shape.parameters))


@pytest.mark.parametrize(
    ("shape", "axis", "k"),
    [
        (cylinder(0.3, 0.5), 0, 4),
        (cylinder(0.3, 0.5), 1, 4),
        (sphere(0.2), 0, 5),
        (ellipsoid([0.1, 0.2, 0.4]), 2, 5),
        (capsule(0.2, 0.3).parts[1], 1, 5),
        (cuboid([0.2, 0.4, 0.6]), 1, 3),
        (cylinder(0.3, 0.5), 2, 3),
    ],
)
def test_halves_have_the_half_axis_and_the_place_that_keep_the_second_moment(shape, axis, k):
    """a(k − 1)/(k + 1) at ±2a/(k + 1), the other axes unchanged."""
    a = shape.half[axis]
    low, high = divide(shape, 2, axis)
    for piece, sign in ((low, -1), (high, 1)):
        expected = shape.half.copy()
        expected[axis] = a * (k - 1) / (k + 1)
        np.testing.assert_allclose(piece.shape.half, expected, rtol=1e-14)
        moved = piece.shape.placement[:3, 3] - shape.placement[:3, 3]
        np.testing.assert_allclose(moved, sign * 2 * a / (k + 1) * shape.axes[:, axis], atol=1e-15)
        assert (piece.share, piece.shape.kind) == (0.5, shape.kind)


def inside(child, parent, rng):
    """Convex: inside exactly where no direction reaches farther."""
    directions = rng.normal(size=(100, 3))
    size = np.linalg.norm(np.subtract(*parent.box))
    return all(child.support(d) <= parent.support(d) + 1e-12 * size * np.linalg.norm(d) for d in directions)


def tiles(shape, axis, count, rng):
    pieces = divide(shape, count, axis)
    volumes = np.array([piece.shape.volume for piece in pieces])
    assert volumes.sum() == pytest.approx(shape.volume, rel=1e-13)
    np.testing.assert_allclose([piece.share for piece in pieces], volumes / shape.volume, rtol=1e-12)
    assert all(inside(piece.shape, shape, rng) for piece in pieces)
    normal = shape.axes[:, axis]
    for below, above in pairwise(pieces):
        assert below.shape.support(normal) == pytest.approx(-above.shape.support(-normal), abs=1e-12), (
            "no gap, no overlap"
        )


@settings(max_examples=30)
@given(seed=seeds, count=parts, axis=st.integers(0, 2))
def test_a_cuboid_is_cut_into_slices_that_tile_it(seed, count, axis):
    rng = np.random.default_rng(seed)
    tiles(random_primitive("cuboid", rng), axis, count, rng)


@settings(max_examples=30)
@given(seed=seeds, count=parts)
def test_a_cylinder_is_cut_along_its_axis_into_slices_that_tile_it(seed, count):
    rng = np.random.default_rng(seed)
    tiles(random_primitive("cylinder", rng), 2, count, rng)


@settings(max_examples=30)
@given(seed=seeds, count=parts, axis=st.integers(0, 2))
def test_a_polyhedron_is_cut_into_slices_that_tile_it(seed, count, axis):
    rng = np.random.default_rng(seed)
    tiles(random_primitive("polyhedron", rng), axis, count, rng)


@settings(max_examples=60)
@given(seeds)
def test_any_plane_through_its_inside_cuts_a_polyhedron_in_two(seed):
    rng = np.random.default_rng(seed)
    whole = random_primitive("polyhedron", rng)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    low, high = -whole.support(-normal), whole.support(normal)
    offset = low + (high - low) * rng.uniform(0.05, 0.95)
    below, above = cut(whole, normal, offset)
    assert below.support(normal) == pytest.approx(offset, abs=1e-12)
    assert -above.support(-normal) == pytest.approx(offset, abs=1e-12)
    for half in (below, above):
        assert inside(half, whole, rng)
        again = polyhedron(half.triangles.reshape(-1, 3))  # the hull of its corners is itself
        assert again.volume == pytest.approx(half.volume, rel=1e-9)
        np.testing.assert_allclose(again.parameters, half.parameters, atol=1e-9)
    sum_ = below.volume * below.parameters + above.volume * above.parameters
    expected = whole.volume * whole.parameters
    np.testing.assert_allclose(sum_, expected, rtol=0, atol=1e-14 * np.linalg.norm(expected))


@pytest.mark.parametrize(
    ("normal", "share"), [([1, 0, 0], 1 / 2), ([1, 1, 0], 1 / 2), ([1, 1, 1], 1 / 2), ([1, -1, 0], 1 / 2)]
)
def test_a_plane_through_corners_and_edges_leaves_no_sliver(normal, share):
    corners = [[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    below, above = cut(polyhedron(corners), np.array(normal, float), 0.0)
    assert below.volume == pytest.approx(8 * share, rel=1e-14)
    assert above.volume == pytest.approx(8 * (1 - share), rel=1e-14)
    for half in (below, above):
        a, b, c = half.triangles.transpose(1, 0, 2)
        assert np.all(np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-12)


def test_a_capsule_falls_once_into_a_cylinder_and_two_caps_that_tile_it():
    rng = np.random.default_rng(2)
    whole = capsule(0.1, 0.4, pose(rng))
    pieces = divide(whole)
    assert [piece.shape.kind for piece in pieces] == ["cylinder", "cap", "cap"]
    assert all(inside(piece.shape, whole, rng) for piece in pieces)
    volumes = [piece.shape.volume for piece in pieces]
    assert sum(volumes) == pytest.approx(np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 1e-3, rel=1e-14)
    np.testing.assert_allclose([piece.share for piece in pieces], np.array(volumes) / sum(volumes), rtol=1e-14)


@settings(max_examples=40)
@given(seed=seeds, count=parts, kind=st.sampled_from(["cylinder", "ellipsoid", "sphere", "cap"]), axis=axes)
def test_a_split_is_no_cut_but_stays_between_the_ends_of_its_parent(seed, count, kind, axis):
    shape = random_primitive(kind, np.random.default_rng(seed))
    along = shape.axes[:, longest_axis(shape) if axis is None else axis]
    children = [piece.shape for piece in divide(shape, count, axis)]
    assert max(c.support(along) for c in children) <= shape.support(along) + 1e-12
    assert max(c.support(-along) for c in children) <= shape.support(-along) + 1e-12


def test_the_longest_axis_is_divided_and_the_first_of_equals():
    assert longest_axis(cuboid([0.1, 0.3, 0.2])) == 1
    assert longest_axis(sphere(0.2)) == 0
    assert longest_axis(cylinder(0.1, 0.3)) == 2
    assert longest_axis(Solid("cap", np.array([0.1, 0.1, 0.19]), np.eye(4))) == 0, "a cap is as high as one half axis"
    tall = np.random.default_rng(0).normal(size=(30, 3)) * [0.1, 0.1, 1.0]
    assert longest_axis(polyhedron(tall)) == 2
    low, high = divide(cuboid([0.1, 0.3, 0.2]))
    np.testing.assert_allclose(low.shape.widths, [0.1, 0.15, 0.2])
    np.testing.assert_allclose(high.shape.mean - low.shape.mean, [0, 0.15, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_dividing_again_and_again_makes_everything_small(kind):
    shape = random_primitive(kind, np.random.default_rng(4))
    size = np.linalg.norm(np.subtract(*shape.box))
    for _ in range(40):
        shape = divide(shape)[0].shape
    assert np.linalg.norm(np.subtract(*shape.box)) < 0.01 * size


@pytest.mark.parametrize("parts", [-1, 0, 1, MOST_PARTS + 1])
def test_a_number_of_parts_that_makes_no_sense_is_refused(parts):
    with pytest.raises(ValueError, match=rf"got {parts}"):
        divide(cuboid([1, 1, 1]), parts)


def test_a_cluster_is_divided_into_its_parts_without_those_of_no_mass():
    a, b, c = cuboid([1, 1, 1]), sphere(0.5), cylinder(0.1, 0.2)
    pieces = divide(combine([a, b, c], [3.0, 1.0, 0.0]))
    assert [(piece.share, piece.shape) for piece in pieces] == [(0.75, a), (0.25, b)]


def test_the_criterion_weighs_mass_in_volume_and_density():
    assert criterion(2.0, 0.5, 3.0, 0.0) == 3.0
    assert criterion(2.0, 0.5, 0.0, 3.0) == 12.0
    assert criterion(2.0, 0.5, 1.0, 1.0) == 1.0 + 4.0
