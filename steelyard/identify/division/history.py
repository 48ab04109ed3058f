"""The recorded history of divisions: every objective, and the shapes themselves at a few steps of a few bodies.

A humanoid is divided a hundred times in twenty places at once; all of that would be megabytes. Recorded are loads and
the bodies that were divided most, each at steps that lie closer together in the beginning, where most changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard import inertia
from steelyard.compose.primitives import Primitive
from steelyard.robot.geometry import extreme_points

if TYPE_CHECKING:
    from steelyard.identify.division.dividing import Step

BODIES = 6  # whose shapes are recorded
PICTURES = 8  # of each


def recorded(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Entries of ``estimate.json``'s divisions; ``bodies`` and, at some steps, ``cells`` of those that are recorded."""
    names = _divided_most(steps)
    at = {name: _pictured(steps, name) for name in names}
    return [
        {
            **step.as_json(),
            "bodies": {name: _seen(step, name) for name in names},
            "cells": {name: cells(step, name) for name in names if step.k in at[name]},
        }
        for step in steps
    ]


def recorded_body(steps: Sequence[Step], name: str) -> list[dict[str, Any]]:
    """Entries of ``load.json``'s divisions; ``cells`` at some steps."""
    at = _pictured(steps, name)
    return [{**step.body(name), **({"cells": cells(step, name)} if step.k in at else {})} for step in steps]


def cells(step: Step, name: str) -> list[dict[str, Any]]:
    """The shapes of a body with their masses; round corners of meshes left out."""
    shapes, masses = step.shape_sets[name], step.masses[name]
    every = zip((*shapes.parts, *shapes.removed), (*masses, *shapes.removed_masses), strict=True)
    return [{**simple(part), "mass": float(mass)} for part, mass in every]


def simple(part: Primitive) -> dict[str, Any]:
    """A shape as JSON has it, a polyhedron with fewer corners."""
    return _simple(part.as_json())


def _simple(shape: dict[str, Any]) -> dict[str, Any]:
    if "parts" in shape:
        return {**shape, "parts": [_simple(part) for part in shape["parts"]]}
    if "corners" in shape:
        return {**shape, "corners": extreme_points(np.array(shape["corners"])).round(5).tolist()}
    return shape


def _seen(step: Step, name: str) -> dict[str, Any]:
    mass, com, _ = inertia.unpack(step.bodies[name])
    return {"mass": mass, "com": com.tolist()}


def _changed(steps: Sequence[Step], name: str) -> list[int]:
    """The steps at which a body's shapes changed, the first included."""
    return (
        [steps[0].k, *(b.k for a, b in pairwise(steps) if a.shape_sets[name] is not b.shape_sets[name])]
        if steps
        else []
    )


def _divided_most(steps: Sequence[Step]) -> list[str]:
    shapes = steps[0].shape_sets
    rank = {name: (shapes[name].body.carrier is None, -len(_changed(steps, name))) for name in shapes}
    return sorted((name for name in shapes if rank[name] < (True, -1)), key=lambda name: rank[name])[:BODIES]


def _pictured(steps: Sequence[Step], name: str) -> set[int]:
    changed = _changed(steps, name)
    if not changed:
        return set()
    spread = np.linspace(0.0, 1.0, PICTURES) ** 1.5 * (len(changed) - 1)
    return {changed[k] for k in np.unique(np.rint(spread).astype(int))}
