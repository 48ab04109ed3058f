"""A TOML file that a person wrote, taken apart key by key; all that is wrong with it is remembered."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import Finding, LogError, did_you_mean
from steelyard.log.format import decode, first_line


def read_toml(path: Path) -> dict[str, Any]:
    """The document in a file, or a LogError that says where it is no TOML."""
    return parse_toml(path.read_bytes(), str(path))


def parse_toml(data: bytes, source: str) -> dict[str, Any]:
    """The document in some bytes, or a LogError that says where it is no TOML."""
    try:
        return tomllib.loads(decode(data, source))
    except (ValueError, RecursionError) as error:
        what = f"is not TOML ({first_line(error)})"
        raise LogError(Finding("todo", source, what, "Correct it; quote names and texts")) from None


class Checker:
    """Takes values out of tables and remembers all that is wrong with them."""

    def __init__(self, source: str):
        self.source = source
        self.findings: list[Finding] = []

    def wrong(self, where: str, what: str, fix: str) -> None:
        """Note a finding."""
        self.findings.append(Finding("todo", f"{self.source}, {where}", what, fix))

    def unknown(self, where: str, table: Mapping[str, Any], known: Iterable[str], kind: str) -> None:
        """Note every name that is not known."""
        for name in table:
            if name not in known:
                hint = did_you_mean(name, known, f"There are: {', '.join(known)}")
                self.wrong(f"{where}, {name}" if where else name, f"is a {kind} that is not known", hint)

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
        """A value of the type of ``kind`` that passes, or None: not there, or noted as wrong."""
        value = table.get(key)
        if value is None:
            return None
        fits = is_number(value) if isinstance(kind, float) else type(value) is type(kind)
        if fits and good(value):
            return float(value) if isinstance(kind, float) else value
        self.wrong(f"{where}, {key}", f"is {shown(value)}, not {what}", fix)
        return None

    def number(self, where: str, value: Any, *, nonzero: bool) -> float:
        """A finite number, or 1 where it is noted as wrong."""
        if is_number(value) and (value != 0 or not nonzero):
            return float(value)
        self.wrong(where, f"is {shown(value)}", f"Give a number{' other than 0' if nonzero else ''}")
        return 1.0


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no boolean."""
    return type(value) in (int, float) and -1e300 < value < 1e300


def shown(value: Any) -> str:
    """A value as messages quote it."""
    if value is None:
        return "missing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
