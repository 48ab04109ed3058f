"""One sentence about an estimate: trusted or not, why, what motion would help."""

from __future__ import annotations

from steelyard.identify.estimate import BodyEstimate, Estimate, Total
from steelyard.identify.verdict import UNEXPLAINED, unexplained
from steelyard.inference.quantity_ranges import between, spoken


def sentence(estimate: Estimate) -> str:
    """One sentence: trusted or not, why, what motion would help."""
    parts, measured = list[str](), "force" if estimate.equations == "base" else "torque"
    if not estimate.consistent:
        everything = (*estimate.bodies, *estimate.loads)
        bad = [b.name for b in everything if not b.consistent]
        parts.append(f"{len(bad)} of {len(everything)} bodies are not physical ({_some(bad)}): use --method lmi")
    if not estimate.certificate.holds:
        parts.append("the solver's answer could not be proved")
    if estimate.base_identified == 0:
        parts.append("the data know no base parameter to a tenth of its size")
    if unexplained(estimate) >= UNEXPLAINED:
        parts.append(f"{100 * unexplained(estimate):.2g} % of the measured {measured} is not explained")
    if parts:
        head = "Not to be trusted: " + "; ".join(parts)
    else:
        come = "comes" if estimate.base_identified == 1 else "come"
        head = (
            f"Trusted: every body is physical, and {estimate.base_identified} of {estimate.base_count} base parameters "
            f"{come} from the data"
        )
    if estimate.left_out:
        head += f"; {estimate.left_out}"
    scores = [s.relative for s in estimate.validation.values() if s.relative is not None]
    if scores:
        head += f"; held-out {measured} is predicted to {100 * max(scores):.2g} %"
    if estimate.total is not None:
        head += f"; the whole robot weighs {_total(estimate.total)}"
    for load in estimate.loads:
        head += f"; the load on {load.carrier} weighs {weight(load, '.3g')} kg"
        head += "" if estimate.scale else f" ({load.verdict.mass})"
    if estimate.scale is not None:
        said = f", give or take {100 * 1.96 * estimate.scale.doubt:.0f} %, since no drive gain is known"
        head += f"; ratios of masses come from the data, their common scale from the description{said}"
    free = [b for b in estimate.bodies if b.free]
    if len(free) < len(estimate.bodies):
        which = "the robot was" if not free else f"{len(estimate.bodies) - len(free)} bodies were"
        head += f"; {which} held exactly as described, and any error in that is in the answer"
    by_structure = [b.name for b in free if b.verdict.mass == "prior" and b.name in estimate.hidden]
    by_motion = [b.name for b in free if b.verdict.mass == "prior" and b.name not in estimate.hidden]
    if by_structure:
        which = "any single body" if len(by_structure) == len(free) else _some(by_structure)
        why = "since no motion shows it apart from its neighbours"
        if estimate.blind:
            why = f"since {estimate.blind} cannot tell one body from another"
        head += f"; the mass of {which} is the prior's share, {why}"
    if by_motion:
        head += f"; the mass of {_some(by_motion)} is the prior's, since this motion does not show it"
    head += _whatever_the_prior(estimate)
    return head + (f". {estimate.advice}" if estimate.advice else "") + "."


def _whatever_the_prior(estimate: Estimate) -> str:
    """Masses that the data leave open but not without limit, the narrowest first."""
    if estimate.ranges is None:
        return ""
    left = [b for b in (*estimate.bodies, *estimate.loads) if b.free and b.verdict.mass != "identified"]
    closed = []
    for b in left:
        low, high = estimate.ranges.bodies[b.name].mass
        if low is not None and high is not None:
            name = f"the load on {b.carrier}" if b.carrier else b.name
            closed.append(((high - low) / max(b.mass, 1e-9), f"{name} {spoken((low, high), 'kg')}"))
    if closed:
        return f"; {_some([text for _, text in sorted(closed)], 3)}, whatever the prior"
    return "; no mass has an upper limit but by the prior" if left else ""


def weight(body: BodyEstimate, form: str) -> str:
    """Mass in kg and its 95 % interval: ± 1.96 std, or both ends for a body at the edge of what can exist."""
    low, high = body.interval.mass if body.interval else (None, None)
    if low is None or high is None:
        return f"{body.mass:{form}} ± {1.96 * body.std[0]:.2g}"
    return f"{body.mass:{form}} ({between(low, high)})"


def _total(total: Total) -> str:
    text = f"{total.mass:.2f} ± {1.96 * total.std:.2g} kg ({total.verdict})"
    return text if total.above is None else f"{text}, of which {_total(total.above)} above the sensors"


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
