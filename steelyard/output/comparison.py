"""Differences of two estimates (or of an estimate and a description), in standard deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.identify.estimate_json import estimate_json, read_estimate
from steelyard.identify.identification import Identification


@dataclass(frozen=True)
class Difference:
    """Difference of one body between A and B.

    Attributes:
        body: Name of the moving body.
        mass: kg, of A and of B.
        com_distance: m.
        inertia_distance: Of the density covariances' traces, relative.
        deviations: Largest |difference| of a parameter in standard deviations; None: there are none.
        sources: Of A and of B: ``data``, ``narrowed``, ``prior``, or ``description``.

    Examples:
        Names as in ``help(steelyard)``.

        >>> difference = sy.compare(result, "demo_arm")[2]
        >>> difference.body, difference.mass[1]  # kg in the description
        ('forearm_link', 4.27)
    """

    body: str
    mass: tuple[float, float]
    com_distance: float
    inertia_distance: float
    deviations: float | None
    sources: tuple[str, str]

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**vars(self), "mass": list(self.mass), "sources": list(self.sources)}


ComparisonSource: TypeAlias = str | Path | Identification


def compare(a: ComparisonSource, b: ComparisonSource) -> list[Difference]:
    """Compare two results: of ``identify``, folders or files that it wrote, or robot descriptions."""
    left, right = _parameters(a, b), _parameters(b, a)
    shared = [name for name in left if name in right]
    if not shared:
        what = f"have no body in common ({', '.join(left)} against {', '.join(right)})"
        where = f"{_name(a)} and {_name(b)}"
        raise UsageError(Finding("nothing-to-compare", where, what, "Compare estimates of the same robot"))
    return [_difference(name, left[name], right[name]) for name in shared]


def _name(source: ComparisonSource) -> str:
    return source.estimate.robot if isinstance(source, Identification) else str(source)


def _estimate(source: ComparisonSource) -> Mapping[str, Any] | None:
    """Content of ``estimate.json``; None where the source is a robot description."""
    if isinstance(source, Identification):
        return estimate_json(source.estimate)
    path = Path(source)
    return read_estimate(path) if path.is_dir() or path.suffix == ".json" else None


def _parameters(source: ComparisonSource, other: ComparisonSource) -> Mapping[str, Mapping[str, Any]]:
    """body → {parameters, std, source}."""
    if (own := _estimate(source)) is not None:
        return dict(own["links"])
    from steelyard.robot.build import build, default_base
    from steelyard.robot.description import read_description

    assert isinstance(source, str | Path)
    description = read_description(source)
    base, lock = default_base(source, description), dict[str, float]()
    if (estimate := _estimate(other)) is not None:  # use the bodies of the estimate
        welded, at = estimate["bodies_welded"], estimate.get("locked") or {}
        base = "floating" if any(description.root in links for links in welded.values()) else "fixed"
        inside = {link for name, links in welded.items() for link in links if link != name}
        locked = [j.name for j in description.joints.values() if j.child in inside and j.kind != "fixed"]
        lock = {name: float(at.get(name, 0.0)) for name in locked}
    robot = build(description, base=base, lock=lock, repair=True)
    return {b.name: {"parameters": b.parameters.tolist(), "std": None, "source": "description"} for b in robot.bodies}


def _difference(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Difference:
    p, q = np.array(a["parameters"]), np.array(b["parameters"])
    (m1, c1, I1), (m2, c2, I2) = inertia.unpack(p), inertia.unpack(q)
    widths = [np.array(x["std"]) for x in (a, b) if x.get("std") is not None]
    deviations = None
    if widths:
        width = np.sqrt(np.sum(np.square(widths), axis=0))
        off = np.abs(p - q)
        known = width > 0
        deviations = float(np.max(off[known] / width[known])) if known.any() else None
    scale = max(abs(float(np.trace(I1))), abs(float(np.trace(I2))), 1e-12)
    return Difference(
        body=name,
        mass=(m1, m2),
        com_distance=float(np.linalg.norm(c1 - c2)),
        inertia_distance=float(np.linalg.norm(I1 - I2) / scale),
        deviations=deviations,
        sources=(str(a["source"]), str(b["source"])),
    )
