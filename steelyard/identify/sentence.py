"""The sentence that ends every run: whether the estimate can be trusted, why, and which motion would excite more."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.identify.estimate import BodyEstimate, Estimate, Total
from steelyard.identify.verdict import Question, answer_questions
from steelyard.inference.quantity_ranges import format_interval, format_range


def sentence(estimate: Estimate) -> str:
    """Whether the estimate can be trusted, why, and which motion would excite more."""
    parts = [_head(estimate), *_facts(estimate), *_sources(estimate), *_ranges(estimate)]
    return "; ".join(parts) + (f". {estimate.advice}" if estimate.advice else "") + "."


def _head(estimate: Estimate) -> str:
    checks = answer_questions(estimate)
    if failed := [q for q in checks if q.result == "fail"]:
        return "Not to be trusted: " + "; ".join(explain(estimate, q) for q in failed)
    unknown = [f"{q.code} ({_some(list(q.where))})" if q.where else q.code for q in checks if q.result == "unknown"]
    open_questions = f", but unknown: {', '.join(unknown)}" if unknown else ""
    return f"Trusted{open_questions}: every body is physically consistent, and {_counted(estimate)}"


def _counted(estimate: Estimate) -> str:
    """How many base parameters come from the data, those of bodies and of joints apart."""
    data, count = estimate.count_base("body")
    text = f"{data} of {count} base parameters of the bodies come{'s' if data == 1 else ''} from the data"
    data, count = estimate.count_base("joint")
    return f"{text}, {data} of {count} of the joints" if count else text


def explain(estimate: Estimate, question: Question) -> str:
    """Why a question fails."""
    where, measured = _some(list(question.where)), _measured(estimate)
    figure = 0.0 if question.figure is None else question.figure
    match question.code:
        case "physical":
            count = len(estimate.bodies) + len(estimate.loads)
            return f"{figure:.0f} of {count} bodies are not physically consistent ({where}): use method lmi"
        case "proved":
            return "the optimum could not be certified"
        case "log":
            return f"the log is doubtful ({where})"
        case "informative":
            asked = "the load" if estimate.loads else "the bodies"
            return f"the data determine no parameter of {asked} to within 10 %"
        case "explained":
            return f"{100 * figure:.2g} % of the measured {measured} is unexplained ({where})"
        case "structure":
            return f"the residuals follow a pattern of {100 * figure:.2g} % of the measured {measured} ({where})"
        case "stable":
            return f"parts of the logs disagree by {figure:.2g} times their standard deviations"
        case "plausible":
            return f"the answer is absurd beside the description ({where})"
        case "better":
            return f"held-out blocks are predicted worse than by the description (error {figure:.3g} times as large)"
    raise ValueError(question.code)


def _facts(estimate: Estimate) -> Iterator[str]:
    """Logs left out, validation error, total mass, loads, and what was held at the description."""
    if estimate.left_out:
        yield estimate.left_out
    scores = [s.relative for s in estimate.validation.values() if s.relative is not None]
    if scores:
        yield f"the validation error is {100 * max(scores):.2g} % of the measured {_measured(estimate)}"
    if (held_out := estimate.evidence.pooled) is not None:
        before, after = 100 * held_out.description, 100 * held_out.identified
        yield f"of held-out blocks {after:.2g} % is unexplained, by the description {before:.2g} %"
    if estimate.total is not None:
        yield f"the total mass is {_total(estimate.total)}"
    for load in estimate.loads:
        if not load.seen:
            yield f"no load is seen on {load.carrier}: at most {1e3 * load.at_most:.2g} g"
            continue
        source = "" if estimate.scale else f" ({load.source.mass})"
        yield f"the load on {load.carrier} weighs {mass_interval(load, '.3g')} kg{source}"
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
    if estimate.contradictions:
        more = len(estimate.contradictions) - 1
        yield f"{estimate.contradictions[0]}" + (f", and {more} more like it" if more else "")


def _sources(estimate: Estimate) -> Iterator[str]:
    """Masses that come from the prior, and why: no motion could identify them, or this one does not."""
    by_prior = [b.name for b in estimate.bodies if b.free and b.source.mass == "prior"]
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
    unidentified = [b for b in (*estimate.bodies, *estimate.loads) if b.free and b.source.mass != "data"]
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
    text = f"{total.mass:.2f} ± {1.96 * total.std:.2g} kg ({total.source})"
    return text if total.above is None else f"{text}, of which {_total(total.above)} above the sensors"


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
