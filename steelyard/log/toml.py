"""A TOML file written by hand, checked key by key; all its faults are collected."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import Finding, LogError, unknown_name
from steelyard.log.format import decode, first_line


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file; LogError with the line if it is malformed."""
    return parse_toml(path.read_bytes(), str(path))


def parse_toml(data: bytes, source: str) -> dict[str, Any]:
    """Parse TOML given as bytes; LogError with the line if it is malformed."""
    try:
        return tomllib.loads(decode(data, source))
    except (ValueError, RecursionError) as error:
        what = f"is not TOML ({first_line(error)})"
        raise LogError(Finding("toml-malformed", source, what, "Correct it; quote names and texts")) from None


class Checker:
    """Takes values out of tables and collects all their faults."""

    def __init__(self, source: str):
        self.source = source
        self.findings: list[Finding] = []

    def wrong(self, where: str, what: str, fix: str, code: str = "value-invalid") -> None:
        """Add a finding."""
        self.findings.append(Finding(code, f"{self.source}, {where}", what, fix))

    def unknown(self, where: str, table: Mapping[str, Any], known: Iterable[str], kind: str) -> None:
        """Add a finding for every name that is not known."""
        names = list(known)
        for name in table:
            if name not in names:
                place = ", ".join(filter(None, (self.source, where, name)))
                fix = f"Choose from {', '.join(names)}"
                self.findings.append(unknown_name(place, f"is an unknown {kind}", name, names, fix, code="key-unknown"))

    def take(
        self,
        where: str,
        table: Mapping[str, Any],
        key: str,
        kind: Any,
        good: Callable[[Any], bool],
        what: str,
        fix: str,
    ) -> Any:
        """Return a value of the type of ``kind`` that is ``good``; None if it is absent or refused."""
        value = table.get(key)
        if value is None:
            return None
        fits = is_number(value) if isinstance(kind, float) else type(value) is type(kind)
        if fits and good(value):
            return float(value) if isinstance(kind, float) else value
        self.wrong(f"{where}, {key}", f"is {shown(value)}, not {what}", fix)
        return None

    def number(self, where: str, value: Any, *, nonzero: bool) -> float:
        """Return a finite number, or 1 after adding a finding."""
        if is_number(value) and (value != 0 or not nonzero):
            return float(value)
        self.wrong(where, f"is {shown(value)}", f"Give a number{' other than 0' if nonzero else ''}")
        return 1.0


def is_number(value: Any) -> bool:
    """Whether a value is a finite number and not a boolean."""
    return type(value) in (int, float) and -1e300 < value < 1e300


def shown(value: Any) -> str:
    """Quote a value for a message."""
    if value is None:
        return "missing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
