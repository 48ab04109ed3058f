"""The verdict of the run in one sentence, key figures and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.output.report.section import Report, Section
from steelyard.output.report.words import (
    NOTHING,
    SOURCES,
    figure,
    mapping,
    number,
    percent,
    source,
    with_interval,
)

KINDS = ("relative", "relative_filtered")  # errors of a log


def summary(report: Report) -> Section:
    """Verdict sentence, key figures, notices."""
    counts = {v: sum(source(b.get("source")) == v for b in report.bodies.values()) for v in SOURCES}
    consistent = sum(body.get("consistent") is True for body in report.bodies.values())
    given = report.part("verdict")
    trusted = given.get("trusted")
    sentence = given.get("sentence") or _sentence(counts, consistent, len(report.bodies))
    label = {True: "Trusted", False: "Not trusted"}.get(trusted) if isinstance(trusted, bool) else None
    if label and str(sentence).lower().startswith(label.lower()):
        label = None  # the sentence begins with it
    notices = report.estimate.get("notices")
    return Section(
        "summary",
        "Summary",
        {
            "trusted": trusted if isinstance(trusted, bool) else None,
            "label": label,
            "sentence": sentence,
            "counts": counts,
            "bodies": len(report.bodies),
            "held": sum(body.get("free") is False for body in report.bodies.values()),
            "cards": _cards(report, consistent),
            "notices": [str(n) for n in notices] if isinstance(notices, Sequence) else [],
        },
    )


def _sentence(counts: dict[str, int], consistent: int, bodies: int) -> str:
    every = "every body is" if consistent == bodies else f"{consistent} of {bodies} bodies are"
    return (
        f"{counts['data']} of {bodies} bodies are determined by the data, {counts['narrowed']} narrowed by them, "
        f"{counts['prior']} taken from the description; {every} physically consistent."
    )


def _cards(report: Report, consistent: int) -> list[dict[str, Any]]:
    base = report.part("base_parameters")
    bodies = len(report.bodies)
    joints = f"{_of(base, 'joints')} of the joints; " if mapping(base.get("joints")).get("count") else ""
    cards = [
        {
            "name": "Physically consistent",
            "value": f"{consistent} of {bodies}",
            "note": "bodies",
            "bad": consistent < bodies,
        },
        _before_and_after(report),
        _held_out(report),
        {
            "name": "Base parameters",
            "value": _of(base, "bodies"),
            "note": f"of the bodies from the data; {joints}condition number {figure(base.get('condition'), 3)}",
        },
    ]
    if total := report.part("total"):
        cards.append(
            {
                "name": "Total mass",
                "value": f"{with_interval(total.get('mass'), total.get('std'))} kg",
                "note": f"95 % interval; source: {source(total.get('source')) or NOTHING}",
            }
        )
    return cards


def _of(base: Mapping[str, Any], part: str) -> str:
    """How many base parameters of a part come from the data: 31 of 36."""
    entry = mapping(base.get(part))
    return f"{figure(entry.get('data'))} of {figure(entry.get('count'))}"


def _before_and_after(report: Report) -> dict[str, Any]:
    """What the identified robot leaves unexplained of held-out blocks, and what the description does."""
    held = report.part("held_out")
    note = f"by the description {percent(held.get('description'))}; each block predicted by a fit without it"
    if number(held.get("identified")) is None:
        note = "the logs cannot be cut into blocks"
    return {"name": "Unexplained, held-out blocks", "value": percent(held.get("identified")), "note": note}


def _held_out(report: Report) -> dict[str, Any]:
    logs = [mapping(entry) for entry in report.part("validation").values()]
    errors, filtered = ([x for log in logs if (x := number(log.get(key))) is not None] for key in KINDS)
    fit = f"fit {percent(report.part('fit').get('relative'))}"
    described = [x for log in logs if (x := number(mapping(log.get("description")).get("relative"))) is not None]
    if described:
        fit = f"by the description {percent(max(described))}; {fit}"
    if filtered:
        fit = f"filtered {percent(max(filtered))}; {fit}"
    if not errors:
        return {"name": "Held-out error", "value": NOTHING, "note": f"no held-out log; {fit}"}
    many = f"worst of {len(errors)} held-out logs" if len(errors) > 1 else "relative, one held-out log"
    return {"name": "Held-out error", "value": percent(max(errors)), "note": f"{many}; {fit}"}
