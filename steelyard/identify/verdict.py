"""Whether an estimate deserves to be used."""

from __future__ import annotations

from steelyard.identify.estimate import Estimate

UNEXPLAINED = 0.25  # filtered relative error from which nothing is to be trusted


def unexplained(estimate: Estimate) -> float:
    """The largest relative error of the fit and of held-out logs, filtered."""
    scores = [estimate.fit, *estimate.validation.values()]
    return max((s.relative_filtered for s in scores if s.relative_filtered is not None), default=0.0)


def exit_code(estimate: Estimate) -> int:
    """0, or 4: an inconsistent body, a failed certificate, or no identified base parameter."""
    return 0 if estimate.consistent and estimate.certificate.holds and estimate.base_identified > 0 else 4


def is_trusted(estimate: Estimate) -> bool:
    """Whether the answer deserves to be used: physical, proved, learned from the data, and explaining them."""
    return exit_code(estimate) == 0 and unexplained(estimate) < UNEXPLAINED
