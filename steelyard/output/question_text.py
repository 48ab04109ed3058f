"""Figures and limits of the nine questions as text with units, for terminal and report alike."""

from __future__ import annotations

from typing import Any

from steelyard.output.report.words import NOTHING, figure, number, percent

SHARES = ("explained", "structure")  # of what was measured
UNITS = {"stable": " σ", "better": " ×", "proved": " ×", "plausible": " ×"}


def question_figure(code: str, value: Any) -> str:
    """What was measured for a question: a share in percent, a count, standard deviations, or a ratio."""
    x = number(value)
    if x is None:
        return NOTHING
    if code in SHARES:
        return percent(x)
    if code in UNITS:
        return figure(x, 2) + UNITS[code]
    return f"{x:.0f}"


def question_limit(code: str, value: Any) -> str:
    """What the figure is compared with: the most it may be, of ``informative`` the least."""
    x = number(value)
    if x is None:
        return NOTHING
    sign = "≥" if code == "informative" else "≤"
    text = f"{100 * x:.3g} %" if code in SHARES else f"{x:.3g}{UNITS.get(code, '')}"
    return f"{sign} {text}"
