"""Every composition passes the battery, and the battery fails those that should not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from steelyard.compose import boxed, mass_points, positive_inertia, positive_mass, pseudo_inertia, shape_set
from tests.compose import battery

pytestmark = pytest.mark.numerical

MAKERS = {
    "linear": positive_mass.composition,
    "mata": positive_inertia.composition,
    "lmi": pseudo_inertia.composition,
    "constrained": boxed.composition,
    "points": mass_points.composition,
    "shapes": shape_set.composition,
    "points, 2 an edge": partial(mass_points.composition, count=2),
    "points, 5 an edge": partial(mass_points.composition, count=5, ridge=0.0),
    "points, in the hull": partial(mass_points.composition, within="hull", ridge=0.0),
    "points, auto": partial(mass_points.composition, count="auto"),
}


@pytest.mark.parametrize("check", battery.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_every_composition_passes(name, check):
    check(MAKERS[name])


def wrong(change):
    """The pseudo-inertia composition with something spoiled."""
    return lambda body, scale: change(pseudo_inertia.composition(body, scale), body)


def with_cone(factor=(1.0,) * 10, added=(0.0,) * 10):
    """Its cone with the matrices of the ten parameters multiplied, or something added to them."""
    return wrong(
        lambda c, b: replace(
            c, cones=(c.cones[0] * np.reshape(factor, (10, 1, 1)) + np.multiply.outer(added, np.eye(4)),)
        )
    )


BROKEN = {
    "a parameter that nothing moves": wrong(lambda c, b: replace(c, map=np.diag([1.0] * 9 + [0.0]))),
    "a start at the edge": wrong(lambda c, b: replace(c, start=c.start * (np.arange(10) == 0))),
    "a cone that is not symmetric": wrong(lambda c, b: replace(c, cones=(c.cones[0] + np.triu(np.ones((4, 4)), 1),))),
    "a scale of zero": wrong(lambda c, b: replace(c, scale=0 * c.scale)),
    "a bound that is not a number": wrong(lambda c, b: replace(c, lower=np.full(10, np.nan))),
    "no cone": wrong(lambda c, b: replace(c, cones=())),
    "no bound on the mass": wrong(lambda c, b: replace(c, lower=np.zeros(0))),
    "a cone too wide": with_cone(added=1e-3 * np.eye(10)[0]),
    "one that calls itself consistent and is not": lambda b, s: replace(
        positive_mass.composition(b, s), consistent=True
    ),
    "one that calls itself inconsistent and is not": wrong(lambda c, b: replace(c, consistent=False)),
    "a cone that looks at the frame's origin": with_cone(factor=[1, 2, 2, 2, *[1] * 6]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_composition_fails(what):
    with pytest.raises(AssertionError):
        battery.check_composition(BROKEN[what])
