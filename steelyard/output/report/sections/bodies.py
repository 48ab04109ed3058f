"""One row a body: mass, centre of mass and inertia, each with its source.

The ten parameters of each body are in ``parameters.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import (
    NOTHING,
    QUANTITIES,
    figure,
    light,
    mapping,
    meaning,
    millimetres,
    number,
    numbers,
    source,
    with_interval,
)


def bodies(report: Report) -> Section | None:
    """Table of bodies and loads."""
    if not report.bodies:
        return None
    welded = report.part("bodies_welded")
    rows = {name: _row(name, body, welded.get(name)) for name, body in report.bodies.items()}
    held = [row for name, row in rows.items() if report.bodies[name].get("free") is False]
    estimated = [row for row in rows.values() if row not in held]
    estimated += [_row(f"load on {load.get('link')}", load, None) for load in report.entries("loads")]
    return Section("bodies", "Bodies", {"rows": estimated, "held": held})


def _row(name: str, body: Mapping[str, Any], welded: Any) -> dict[str, Any]:
    of = {q: source(mapping(body.get("sources")).get(q)) for q in QUANTITIES}
    xx, _, yy, _, _, zz = numbers(body.get("inertia"), 6)
    known = xx is not None and yy is not None and zz is not None
    links = [str(link) for link in welded if link != name] if isinstance(welded, Sequence) else []
    return {
        "name": name,
        "welded": links,
        "source": source(body.get("source")),
        "moved": _moved(body),
        "of": of,
        "mass": _mass(body),
        "com": millimetres(body.get("com")),
        "trace": figure((xx or 0) + (yy or 0) + (zz or 0) if known else None, 3),
        "consistent": body.get("consistent") if isinstance(body.get("consistent"), bool) else None,
        "eigenvalue": figure(body.get("min_eigenvalue"), 2),
        "meaning": "Held at the description." if body.get("free") is False else meaning(of),
    }


def _moved(body: Mapping[str, Any]) -> str:
    """How far the estimate is from the description, in standard deviations of the prior."""
    moved = number(body.get("moved"))
    return NOTHING if moved is None or "link" in body or body.get("free") is False else f"{moved:.1f}"


def _mass(body: Mapping[str, Any]) -> str:
    """Mass with its interval: both ends for a body at the limit of physical consistency, else ± 1.96 std."""
    if body.get("seen") is False:
        return f"no load is seen: at most {light(body.get('at_most'))}"
    low, high = numbers(mapping(body.get("interval")).get("mass"), 2)
    if low is None or high is None:
        return with_interval(body.get("mass"), numbers(body.get("std"), 10)[0])
    return f"{figure(body.get('mass'), 3)} ({figure(low, 3)} to {figure(high, 3)})"
