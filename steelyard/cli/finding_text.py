"""A finding in the words of the command line: keywords of Python become flags, and what mends it stands behind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from steelyard.errors import Finding

BESIDE = ("despite", "divisions", "format", "logs", "mapping", "method", "overwrite", "topics", "validate", "workers")
ONE_EACH = {"topics": "topic"}  # keyword → flag that is repeated for each entry


def finding_text(finding: Finding) -> str:
    """One line: place, fault, fix, the flags that carry it out, and the code."""
    keyword = re.fullmatch(r"(\w+)=(.*)", finding.where, re.DOTALL)
    where = f"{_flag(keyword[1])} {keyword[2]}".rstrip() if keyword else finding.where
    added = " ".join(_flags(finding.remedy))
    return f"{where}: {finding.what}. {finding.fix}{f': {added}' if added else ''}. [{finding.code}]"


def _flags(remedy: Mapping[str, Any]) -> Iterator[str]:
    """Of what the command line has an option for; the rest is for programs."""
    from steelyard.identify.options import Options

    known = {field.name for field in fields(Options)} | set(BESIDE)
    for name, value in remedy.items():
        if name not in known:
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
    return f"--{ONE_EACH.get(name, name).replace('_', '-')}"
