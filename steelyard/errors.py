"""What can be wrong with what a user gives us: refused once, with every reason and a fix; and names asked for late."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

Severity = Literal["error", "doubt", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with the input, and what mends it.

    Programs and tests rely on ``code``, ``severity`` and ``remedy``, which are stable; the sentences are for people and
    may change. The library writes them in the words of Python (``delay=0.027``); the command line adds its flags.
    """

    code: str  # stable, kebab-case: ``joint-misspelt``
    where: str  # file and line, link, column and row: as the user's file names them
    what: str  # no full stop at the end
    fix: str  # an imperative; no full stop at the end
    remedy: Mapping[str, Any] = field(
        default_factory=dict
    )  # keyword → value that mends it; None: a value of the user's
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.fix}. [{self.code}]"

    def at(self, where: str) -> Finding:
        """The same at another place."""
        return replace(self, where=where)

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**vars(self), "remedy": dict(self.remedy)}


class SteelyardError(Exception):
    """Root of all errors that Steelyard raises on purpose; ``findings`` holds every reason."""

    exit_code = 3

    def __init__(self, findings: Finding | Sequence[Finding]):
        self.findings: tuple[Finding, ...] = (findings,) if isinstance(findings, Finding) else tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))

    def __reduce__(self) -> tuple[type[SteelyardError], tuple[tuple[Finding, ...]]]:
        """By its findings: an error that comes from another process has them all."""
        return type(self), (self.findings,)


class DescriptionError(SteelyardError):
    """The robot description cannot be used."""


class LogError(SteelyardError):
    """The log cannot be used."""


class UsageError(SteelyardError):
    """The call asks for something that does not exist or does not fit together."""

    exit_code = 2


class SolveError(SteelyardError):
    """No backend produced an answer that passes its certificate."""

    exit_code = 4


def did_you_mean(name: str, known: Iterable[str], otherwise: str, most: int = 1) -> str:
    """A fix that offers the known name nearest to one that is not, or up to ``most`` of them; else another fix."""
    near = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=most)
    if not near:
        return otherwise
    return f"Did you mean {near[0]!r}" if most == 1 else f"Did you mean {' or '.join(near)}"


def unknown_name(
    where: str, what: str, name: str, known: Iterable[str], otherwise: str, most: int = 1, code: str = "name-unknown"
) -> Finding:
    """The finding about a name that does not exist; its remedy is the nearest name that does.

    Args:
        where: Place of the name.
        what: What it is not a name of: ``"is not in a1"``.
        name: As the user wrote it.
        known: Names that exist.
        otherwise: The fix where no known name is near.
        most: How many near names the fix offers.
        code: Of a name that is neither a joint, a link, a frame nor a column.
    """
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=1)
    return Finding(code, where, what, did_you_mean(name, names, otherwise, most), {"name": near[0]} if near else {})


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names are imported when they are first used.

    Args:
        package: Its ``__name__``.
        modules: Module of the package → names that others may take from it.
    """
    where = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in where:
            return getattr(import_module(f"{package}.{where[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(where)
