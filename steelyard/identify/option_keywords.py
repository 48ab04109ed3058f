"""Options as keywords of a call: ``identify(robot, log, friction="all", delay=0.01)``.

The typed dictionaries repeat the fields of ``Options``, ``EquationOptions`` and ``Filter``, so that editors complete
them and type checkers check them; a test holds names and types equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, TypedDict, TypeVar

from steelyard.equations.equation_options import EquationOptions, Friction
from steelyard.equations.filters import Filter
from steelyard.errors import Finding, UsageError, did_you_mean
from steelyard.identify.method import Method
from steelyard.identify.options import Options

AnyOptions = TypeVar("AnyOptions", bound=EquationOptions)


class EquationKeywords(TypedDict, total=False):
    """Fields of ``EquationOptions`` and of its filter."""

    base: Literal["auto", "fixed", "floating"]
    equations: Literal["auto", "joint", "base", "full", "contact-free"]
    friction: Friction
    links: tuple[str, ...]
    feet: tuple[str, ...]
    lock: Mapping[str, float]
    filter: Filter
    gravity: tuple[float, float, float] | None
    repair_prior: bool
    cutoff: float | None
    kinematics: float | None
    rate: float | None
    delay: float
    causal: bool


class OptionKeywords(EquationKeywords, total=False):
    """Fields of ``Options``, and of its filter."""

    method: Method | str
    prior: Literal["cad", "box", "none"]
    prior_space: Literal["all", "structure", "data"]
    prior_width: Literal["inertia", "box"]
    prior_weight: float
    total_mass: float | None
    robust: bool
    hold_out: float | None
    despite: tuple[str, ...]


def options_from(options: Options | None, keywords: OptionKeywords) -> Options:
    """The options with some of them replaced.

    Raises:
        UsageError: For keywords that no option has, and values that do not fit.
    """
    return _replaced(options or Options(), dict(keywords))


def equations_from(keywords: EquationKeywords) -> EquationOptions:
    """The same for the options that decide which equations a log gives."""
    return _replaced(EquationOptions(), dict(keywords))


def _replaced(options: AnyOptions, keywords: dict[str, Any]) -> AnyOptions:
    of_filter = {f.name for f in fields(Filter)}
    known = {f.name for f in fields(options)} | of_filter
    findings = [
        Finding("name-unknown", f"{name}={value!r}", "is not an option", did_you_mean(name, known, "Leave it out"))
        for name, value in keywords.items()
        if name not in known
    ]
    if findings:
        raise UsageError(findings)
    for name in ("links", "feet", "despite"):
        if isinstance(keywords.get(name), str):  # one name
            keywords[name] = (keywords[name],)
    filter = replace(keywords.pop("filter", options.filter), **{k: keywords.pop(k) for k in of_filter & set(keywords)})
    return replace(options, filter=filter, **keywords)
