"""What each question about an estimate opens to: bars with a limit, or a table; plain HTML, complete without a script.

Only ``PANELS`` is used from outside: code of the question → function of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.identify.verdict import AWAY, EXPLAINED, MASS, SCALE, STABLE, STRUCTURE, WORSE
from steelyard.output.report.section import Report
from steelyard.output.report.words import NOTHING, figure, mapping, number, numbers, percent
from steelyard.solve.certify import SLOPE, TOLERANCE

AIR = 1.06  # of the longest bar or the limit: the width of the axis


@dataclass(frozen=True)
class Bar:
    """One value of a row."""

    look: str  # class of the style sheet
    width: float | None  # percent of the axis
    text: str


@dataclass(frozen=True)
class Panel:
    """Rows of cells, or rows of bars with a limit; ``note`` explains what is shown."""

    note: str
    columns: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[str]]] = ()  # name, cells
    bars: Sequence[tuple[str, Sequence[Bar], str]] = ()  # name, bars, remark
    limit: float | None = None  # percent of the axis
    key: Sequence[tuple[str, str]] = ()  # class, meaning


def _bars(
    note: str, shares: Mapping[str, Sequence[float | None]], looks: Mapping[str, str], limit: float | None, **more: Any
) -> Panel:
    """Bars of shares, one row a name; ``looks``: class → meaning, one for each value of a row."""
    values = [x for row in shares.values() for x in row if x is not None]
    remarks: Mapping[str, str] = more.get("remarks", {})
    if not values:
        return Panel("The logs are too short to be cut into blocks, or were read once and not kept.")
    end = AIR * (max([*values, limit or 0.0]) or 1.0)
    rows = [
        (
            name,
            [
                Bar(
                    f"{look}{' over' if _over(x, limit) else ''}",
                    None if x is None else round(100 * x / end, 3),
                    percent(x),
                )
                for look, x in zip(looks, row, strict=True)
            ],
            remarks.get(name, ""),
        )
        for name, row in shares.items()
    ]
    key = [*looks.items(), *([("limit", f"limit, {100 * limit:g} %")] if limit is not None else [])]
    return Panel(note, bars=rows, limit=None if limit is None else round(100 * limit / end, 3), key=key)


def _over(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit


def physical(report: Report) -> Panel:
    """Least eigenvalue of every body's density covariance."""
    note = "Physically consistent is a body whose mass and least eigenvalue of the density covariance are positive."
    rows = [
        (
            name,
            (
                figure(body.get("mass")),
                figure(body.get("min_eigenvalue"), 3),
                _yes_or_no(body.get("consistent")),
            ),
        )
        for name, body in _all_bodies(report).items()
    ]
    return Panel(note, ("Body", "Mass, kg", "Least eigenvalue, m²", "Consistent"), rows)


def proved(report: Report) -> Panel:
    """The certificate beside its tolerances."""
    proof, solver = report.part("certificate"), mapping(report.part("provenance").get("solver"))
    rows = [
        ("KKT residual", (figure(proof.get("kkt"), 2), figure(SLOPE, 2))),
        ("duality gap", (figure(proof.get("gap"), 2), figure(TOLERANCE, 2))),
    ]
    who = f" Solved by {solver.get('name')} for {figure(solver.get('unknowns'))} unknowns." if solver else ""
    note = "Both are relative to the objective and are computed from the problem, independently of the solver."
    return Panel(note + who, ("Certificate", "Figure", "Tolerance"), rows)


def log(report: Report) -> Panel:
    """What the diagnosis of the logs doubts, with the fix."""
    if report.estimate.get("findings") is None:
        return Panel("The logs were not diagnosed: run `steelyard check` on them.")
    rows = []
    for f in report.entries("findings"):
        remedy = ", ".join(f"{k}={'…' if v is None else v}" for k, v in mapping(f.get("remedy")).items())
        cells = [str(f.get(k) or NOTHING) for k in ("what", "fix")]
        rows.append((str(f.get("where")), (str(f.get("code")), *cells, remedy or NOTHING)))
    if not rows:
        return Panel("The diagnosis of the logs raises no doubt.")
    return Panel("What the diagnosis of the logs doubts.", ("Where", "Code", "What", "Fix", "Option"), rows)


def explained(report: Report) -> Panel:
    """Unexplained share of each equation."""
    shares = {str(k): number(x) for k, x in mapping(report.part("evidence").get("explained")).items()}
    for entry in report.part("validation").values():
        for name, x in mapping(mapping(entry).get("unexplained")).items():
            known = [y for y in (shares.get(name), number(x)) if y is not None]
            shares[name] = max(known) if known else None
    note = (
        "Residual over measurement, both filtered, of each equation; of training and held-out logs the larger. "
        "Noise that the filter passes is part of it."
    )
    return _bars(note, {name: [x] for name, x in shares.items()}, {"identified": "unexplained"}, EXPLAINED)


def structure(report: Report) -> Panel:
    """Predictable share of each equation's residual, with what predicts it."""
    entries = {str(k): mapping(v) for k, v in mapping(report.part("evidence").get("structure")).items()}
    remarks = {name: f"by {e['cause']}" for name, e in entries.items() if e.get("cause")}
    note = (
        "Part of the residual that speed, load, posture, time or a delay predicts in blocks that they were not fitted "
        "to, over the measurement. A right model leaves nothing to predict."
    )
    shares = {name: [number(e.get("predictable"))] for name, e in entries.items()}
    return _bars(note, shares, {"identified": "predictable"}, STRUCTURE, remarks=remarks)


def stable(report: Report) -> Panel:
    """Spread of the parameters between blocks."""
    spread, held = number(report.part("evidence").get("spread")), report.part("held_out")
    blocks = (
        f" The logs were cut into {figure(held.get('blocks'))} blocks of {figure(held.get('seconds'), 2)} s."
        if held
        else ""
    )
    if spread is None:
        return Panel("The logs are too short to be cut into blocks, or were read once and not kept." + blocks)
    note = (
        f"Body parameters identified without one block or another differ by {figure(spread, 2)} of their standard "
        f"deviations (rms); noise alone makes about 1, and above {STABLE:g} the blocks disagree: the robot "
        f"changed, or the model does not hold in all of them.{blocks}"
    )
    return Panel(note)


def plausible(report: Report) -> Panel:
    """Masses and centres of mass beside the description."""
    prior, outside = report.part("prior"), mapping(report.part("evidence").get("outside"))
    scale = number(report.part("evidence").get("scale"))
    rows = []
    for name, body in _all_bodies(report).items():
        mass, described = number(body.get("mass")), numbers(mapping(prior.get(name)).get("parameters"), 10)[0]
        ratio = mass / described if mass is not None and described else None
        out = mapping(outside.get(str(body.get("key", name))))
        distance, limit = (number(out.get(k)) for k in ("distance", "limit"))
        if body.get("free") is not False:
            rows.append(
                (name, (figure(described), figure(mass), _times(ratio), _millimetres(distance), _millimetres(limit)))
            )
    note = (
        f"Beside the description a mass may be {MASS:g} times as large or small, and a centre of mass may lie "
        f"outside the body's box by half its size, that of a load {AWAY:g} m from its link."
    )
    if scale is not None:
        note += (
            f" Torques of the bodies are {figure(scale, 3)} times those of the description; beyond {SCALE:g} "
            "times, up or down, a unit or a gain is wrong."
        )
    columns = ("Body", "Described, kg", "Estimate, kg", "Ratio", "CoM outside its box, mm", "Limit, mm")
    return Panel(note, columns, rows)


def better(report: Report) -> Panel:
    """Unexplained share of held-out blocks, per equation, by the description and as identified."""
    held = report.part("held_out")
    shares = {
        str(name): [number(mapping(row).get(k)) for k in ("description", "identified")]
        for name, row in mapping(held.get("rows")).items()
    }
    if held:
        shares["all equations"] = [number(held.get(k)) for k in ("description", "identified")]
    note = (
        f"Unexplained share of held-out data before and after: each of {figure(held.get('blocks'))} blocks of "
        f"{figure(held.get('seconds'), 2)} s is predicted by the description and by a fit without the block, "
        "both with joint terms fitted alike."
    )
    worse = number(report.part("evidence").get("worse"))
    if worse is not None:
        note += (
            f" Were both alike, chance would make the fit look so poor with probability {figure(worse, 2)}; it is "
            f"worse where that is below {100 * WORSE:g} %."
        )
    return _bars(note, shares, {"described": "by the description", "identified": "identified"}, None)


PANELS: Mapping[str, Callable[[Report], Panel]] = {
    "physical": physical,
    "proved": proved,
    "log": log,
    "explained": explained,
    "structure": structure,
    "stable": stable,
    "plausible": plausible,
    "better": better,
}


def _all_bodies(report: Report) -> dict[str, Mapping[str, Any]]:
    loads = {f"load on {load.get('link')}": {**load, "key": "(load)"} for load in report.entries("loads")}
    return {**report.bodies, **loads}


def _yes_or_no(value: Any) -> str:
    return {True: "yes", False: "NO"}[value] if isinstance(value, bool) else NOTHING


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{figure(ratio, 3)} ×"


def _millimetres(metres: float | None) -> str:
    return NOTHING if metres is None else f"{1e3 * metres:.0f}"
