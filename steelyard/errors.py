"""Errors: every reason why an input is refused, each with a stable code and a fix, raised together.

A function that reads untrusted input collects ``Finding``s and raises them in one ``SteelyardError``. This module also
has ``lazy_names``, by which packages import their public names at first use.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

Severity = Literal["error", "doubt", "note"]


@dataclass(frozen=True)
class Finding:
    """One fault of the input, and how to mend it.

    ``code``, ``severity`` and ``remedy`` are stable, for programs and tests; the sentences are for people and may
    change. The library writes them in terms of Python (``delay=0.027``); the command line adds its flags.

    Attributes:
        code: Stable, kebab-case: ``joint-misspelt``.
        where: File and line, link, column and row, as the user's file names them; of an option ``name=value``.
        what: The fault; no full stop at the end.
        fix: An imperative; no full stop at the end.
        remedy: Keyword → value that mends it; None: the user's own value.
        severity: ``error``: the input is refused; ``doubt`` or ``note``: it is not.

    Examples:
        Names as in ``help(steelyard)``.

        >>> survey = sy.check("demo_arm", log.cut(0, 100))
        >>> finding = survey.findings[0]
        >>> finding.code, finding.severity
        ('log-too-short', 'error')
    """

    code: str
    where: str
    what: str
    fix: str
    remedy: Mapping[str, Any] = field(default_factory=dict, hash=False)
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.fix}. [{self.code}]" if self.fix else self.what

    def at(self, where: str) -> Finding:
        """Return the same finding with another ``where``."""
        return replace(self, where=where)

    def as_json(self) -> dict[str, Any]:
        """Return the finding as a dictionary of plain values."""
        return {**vars(self), "remedy": dict(self.remedy)}


def note(code: str, where: str, sentence: str, **values: Any) -> Finding:
    """Return a notice: a finding that needs no fix.

    Args:
        code: Stable, as that of any finding.
        where: What it is about.
        sentence: The whole text, which names the place itself.
        values: Those that the sentence states, in place of a remedy.
    """
    return Finding(code, where, sentence, "", values, "note")


class SteelyardError(Exception):
    """Root of all errors that Steelyard raises on purpose.

    Attributes:
        findings: Every reason, as a ``Finding``.
        exit_code: What the command line exits with.

    Examples:
        Names as in ``help(steelyard)``.

        >>> try:
        ...     sy.identify("demo_arm", log, friction="vicous", total_mass=-1.0)
        ... except sy.SteelyardError as error:
        ...     [finding.code for finding in error.findings]
        ['option-unknown-choice', 'option-value']
    """

    exit_code = 3

    def __init__(self, findings: Finding | Sequence[Finding]):
        self.findings: tuple[Finding, ...] = (findings,) if isinstance(findings, Finding) else tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))

    def __reduce__(self) -> tuple[type[SteelyardError], tuple[tuple[Finding, ...]]]:
        """Pickle by the findings, so that none is lost between processes."""
        return type(self), (self.findings,)


class DescriptionError(SteelyardError):
    """The robot description cannot be used."""


class LogError(SteelyardError):
    """The log cannot be used.

    Examples:
        Names as in ``help(steelyard)``.

        >>> try:
        ...     sy.Log.from_arrays([0.0, 0.02, 0.01], q={"elbow_joint": [0.0, 0.1, 0.2]})
        ... except sy.LogError as error:
        ...     error.findings[0].code
        'time-not-increasing'
    """


class UsageError(SteelyardError):
    """An argument is unknown, out of range, or excluded by another argument.

    Examples:
        Names as in ``help(steelyard)``.

        >>> try:
        ...     sy.Points(per_edge=1)
        ... except sy.UsageError as error:
        ...     error.findings[0].where
        'per_edge=1'
    """

    exit_code = 2


class SolveError(SteelyardError):
    """No solver returned a solution that passes its certificate."""

    exit_code = 4


def did_you_mean(name: str, known: Iterable[str], otherwise: str, most: int = 1) -> str:
    """Return a fix that offers up to ``most`` known names similar to ``name``; ``otherwise`` if none is similar."""
    similar = _similar(name, known, most)
    if not similar:
        return otherwise
    return f"Did you mean {similar[0]!r}" if most == 1 else f"Did you mean {' or '.join(similar)}"


def _similar(name: str, known: Iterable[str], most: int) -> list[str]:
    return difflib.get_close_matches(name, list(dict.fromkeys(known)), n=most)


def unknown_name(
    where: str, what: str, name: str, known: Iterable[str], otherwise: str, most: int = 1, code: str = "name-unknown"
) -> Finding:
    """Return the finding about a name that does not exist; its remedy is the most similar name that does.

    Args:
        where: Place of the name.
        what: What it is not a name of: ``"is not in a1"``.
        name: As the user wrote it.
        known: Names that exist.
        otherwise: The fix if no known name is similar.
        most: How many similar names the fix offers.
        code: Of a name that is neither a joint, a link, a frame nor a column.
    """
    names = list(known)
    remedy = {"name": similar[0]} if (similar := _similar(name, names, 1)) else {}
    return Finding(code, where, what, did_you_mean(name, names, otherwise, most), remedy)


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose public names are imported at first use.

    Args:
        package: The package's ``__name__``.
        modules: Module of the package → its public names.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in module_of:
            return getattr(import_module(f"{package}.{module_of[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(module_of)
