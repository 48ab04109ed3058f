"""A finding in the words of the command line: keywords of Python become flags, and what mends it stands behind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from steelyard.errors import Finding

BESIDE = ("despite", "divisions", "format", "logs", "mapping", "method", "overwrite", "topics", "validate", "workers")
FLAGS = {"topics": "topic", "earlier": "from"}  # keyword → flag, where it has another name


def finding_text(finding: Finding) -> str:
    """One line: place, fault, fix, the flags that carry it out, and the code."""
    keyword = re.fullmatch(r"(\w+)=(.*)", finding.where, re.DOTALL)
    where = f"{_flag(keyword[1])} {keyword[2]}".rstrip() if keyword else finding.where
    added = " ".join(_flags(finding.remedy))
    return f"{where}: {finding.what}. {finding.fix}{f': {added}' if added else ''}. [{finding.code}]"


def _flags(remedy: Mapping[str, Any]) -> Iterator[str]:
    """Of what the command line has an option for; the rest is for programs."""
    for name, value in remedy.items():
        if name not in _declared() and name not in BESIDE:
            continue
        if value is True:
            yield _flag(name)
        elif value is None:
            yield f"{_flag(name)} …"
        elif isinstance(value, Mapping):
            yield from (f"{_flag(name)} {shlex.quote(f'{key}={x}')}" for key, x in value.items())
        else:
            values = value if isinstance(value, list | tuple) else [value]
            yield f"{_flag(name)} {shlex.quote(','.join(map(str, values)))}"


def _flag(name: str) -> str:
    return _declared().get(name) or f"--{FLAGS.get(name, name).replace('_', '-')}"


@cache
def _declared() -> dict[str, str]:
    """Field of the options, of the filter or of a method → its flag."""
    from steelyard.cli.derived_options import flags_of, method_flags
    from steelyard.identify.options import Options

    of_methods = [flag for flags in method_flags().values() for flag in flags]
    return {flag.field.name: flag.text for flag in (*of_methods, *flags_of(Options))}
