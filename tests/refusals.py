"""What a refusal or a notice must hold: code, place and remedy of a finding; never its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from steelyard.errors import Finding, SteelyardError


def noted(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Code and place of each."""
    return [(f.code, f.where) for f in findings]


@contextmanager
def refuses(
    error: type[SteelyardError], code: str, where: str = "", remedy: Mapping[str, Any] | None = None
) -> Iterator[pytest.ExceptionInfo[SteelyardError]]:
    """The body raises ``error`` with a finding of this code at a place that contains ``where``."""
    with pytest.raises(error) as refused:
        yield refused
    findings = [f for f in refused.value.findings if f.code == code and where in f.where]
    assert findings, [(f.code, f.where) for f in refused.value.findings]
    if remedy is not None:
        assert remedy in [dict(f.remedy) for f in findings]
