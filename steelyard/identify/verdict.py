"""Whether an estimate can be trusted: four checks, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.identify.estimate import Estimate

Check = Literal["physical", "certified", "informative", "explained"]

UNEXPLAINED = 0.25  # filtered relative error from which an estimate is not to be trusted


@dataclass(frozen=True)
class RunVerdict:
    """The conclusion of one run."""

    trusted: bool
    sentence: str  # the reasons, and which motion would help


def unexplained(estimate: Estimate) -> float:
    """The largest filtered relative error, of the fit and of all validation logs."""
    scores = [estimate.fit, *estimate.validation.values()]
    return max((s.relative_filtered for s in scores if s.relative_filtered is not None), default=0.0)


def failed_checks(estimate: Estimate) -> tuple[Check, ...]:
    """The checks that an estimate fails.

    ``physical``: every body is physically consistent. ``certified``: the optimum has a certificate. ``informative``:
    the data identify at least one base parameter. ``explained``: the relative error is below ``UNEXPLAINED``.
    """
    passed: dict[Check, bool] = {
        "physical": estimate.consistent,
        "certified": estimate.certificate.holds,
        "informative": estimate.base_identified > 0,
        "explained": unexplained(estimate) < UNEXPLAINED,
    }
    return tuple(check for check, holds in passed.items() if not holds)


def exit_code(estimate: Estimate) -> int:
    """0, or 4: an inconsistent body, a failed certificate, or no identified base parameter."""
    return 4 if set(failed_checks(estimate)) - {"explained"} else 0


def is_trusted(estimate: Estimate) -> bool:
    """Whether all checks pass."""
    return not failed_checks(estimate)
