"""The sentence that ends every run: whether the estimate can be trusted, why, and which motion would excite more."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.identify.estimate import BodyEstimate, Estimate, Total
from steelyard.identify.verdict import Check, failed_checks, unexplained
from steelyard.inference.quantity_ranges import format_interval, format_range


def sentence(estimate: Estimate) -> str:
    """Whether the estimate can be trusted, why, and which motion would excite more."""
    parts = [_head(estimate), *_facts(estimate), *_sources(estimate), *_ranges(estimate)]
    return "; ".join(parts) + (f". {estimate.advice}" if estimate.advice else "") + "."


def _head(estimate: Estimate) -> str:
    if failed := failed_checks(estimate):
        return "Not to be trusted: " + "; ".join(_reason(estimate, check) for check in failed)
    are = "is" if estimate.base_identified == 1 else "are"
    return (
        f"Trusted: every body is physically consistent, and {estimate.base_identified} of {estimate.base_count} base "
        f"parameters {are} identified"
    )


def _reason(estimate: Estimate, check: Check) -> str:
    """Why a check fails."""
    match check:
        case "physical":
            bodies = (*estimate.bodies, *estimate.loads)
            bad = [b.name for b in bodies if not b.consistent]
            return f"{len(bad)} of {len(bodies)} bodies are not physically consistent ({_some(bad)}): use method lmi"
        case "certified":
            return "the optimum could not be certified"
        case "informative":
            return "the data identify no base parameter to within 10 %"
        case "explained":
            return f"{100 * unexplained(estimate):.2g} % of the measured {_measured(estimate)} is unexplained"


def _facts(estimate: Estimate) -> Iterator[str]:
    """Logs left out, validation error, total mass, loads, and what was held at the description."""
    if estimate.left_out:
        yield estimate.left_out
    scores = [s.relative for s in estimate.validation.values() if s.relative is not None]
    if scores:
        yield f"the validation error is {100 * max(scores):.2g} % of the measured {_measured(estimate)}"
    if estimate.total is not None:
        yield f"the total mass is {_total(estimate.total)}"
    for load in estimate.loads:
        verdict = "" if estimate.scale else f" ({load.verdict.mass})"
        yield f"the load on {load.carrier} weighs {mass_interval(load, '.3g')} kg{verdict}"
    if estimate.scale is not None:
        percent = f"{100 * 1.96 * estimate.scale.doubt:.0f} %"
        yield (
            f"mass ratios come from the data, their common scale from the description (± {percent}), since no drive "
            "gain is known"
        )
    held = sum(not b.free for b in estimate.bodies)
    if held:
        which = "the robot is" if held == len(estimate.bodies) else f"{held} {'body is' if held == 1 else 'bodies are'}"
        yield f"{which} held at the description, whose errors bias the estimate"


def _sources(estimate: Estimate) -> Iterator[str]:
    """Masses that come from the prior, and why: no motion could identify them, or this one does not."""
    by_prior = [b.name for b in estimate.bodies if b.free and b.verdict.mass == "prior"]
    hidden = [name for name in by_prior if name in estimate.hidden]
    poorly_excited = [name for name in by_prior if name not in estimate.hidden]
    if hidden:
        every = len(hidden) == sum(b.free for b in estimate.bodies)
        which = "any single body" if every else _some(hidden)
        why = "no motion separates it from its neighbours"
        if estimate.blind:
            why = f"{estimate.blind} cannot separate the bodies"
        yield f"the mass of {which} comes from the prior, since {why}"
    if poorly_excited:
        yield f"the mass of {_some(poorly_excited)} comes from the prior, since this motion excites it poorly"


def _ranges(estimate: Estimate) -> Iterator[str]:
    """Masses that are not identified but bounded by the data, the narrowest first."""
    if estimate.ranges is None:
        return
    unidentified = [b for b in (*estimate.bodies, *estimate.loads) if b.free and b.verdict.mass != "identified"]
    bounded = []
    for b in unidentified:
        low, high = estimate.ranges.bodies[b.name].mass
        if low is not None and high is not None:
            name = f"the load on {b.carrier}" if b.carrier else b.name
            bounded.append(((high - low) / max(b.mass, 1e-9), f"{name} {format_range((low, high), 'kg')}"))
    if bounded:
        yield f"{_some([text for _, text in sorted(bounded)], 3)}, whatever the prior"
    elif unidentified:
        yield "without the prior no mass has an upper bound"


def mass_interval(body: BodyEstimate, form: str) -> str:
    """Mass in kg and its 95 % interval: ± 1.96 std, or both ends for a body on the boundary of consistency."""
    low, high = body.interval.mass if body.interval else (None, None)
    if low is None or high is None:
        return f"{body.mass:{form}} ± {1.96 * body.std[0]:.2g}"
    return f"{body.mass:{form}} ({format_interval(low, high)})"


def _measured(estimate: Estimate) -> str:
    return "force" if estimate.equations == "base" else "torque"


def _total(total: Total) -> str:
    text = f"{total.mass:.2f} ± {1.96 * total.std:.2g} kg ({total.verdict})"
    return text if total.above is None else f"{text}, of which {_total(total.above)} above the sensors"


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
