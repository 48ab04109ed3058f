"""How numbers and verdicts are written: plain words, units, and a dash where there is nothing."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

NOTHING = "—"
HALF_WIDTH = 1.96  # standard deviations to either side of a 95 % interval

VERDICTS = ("identified", "partly", "prior")
SOURCE = {"identified": "data", "partly": "partly", "prior": "prior"}
QUANTITIES = {"mass": "mass", "com": "centre of mass", "inertia": "inertia"}

PARAMETERS = ("m", "m·cx", "m·cy", "m·cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)
OF_QUANTITY = ("mass", *("com",) * 3, *("inertia",) * 6)

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Any) -> float | None:
    """The value as a finite float; None for null, NaN, infinities and whatever is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def numbers(values: Any, count: int) -> list[float | None]:
    """``count`` numbers from a list that may be null, short or hold nulls."""
    given = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []
    return [number(v) for v in (given + [None] * count)[:count]]


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def verdict(value: Any) -> str | None:
    """One of the three verdicts, or None."""
    return value if value in VERDICTS else None


def figure(value: Any, digits: int = 4) -> str:
    """A number to so many significant digits: 3.142, 2.1×10⁻⁹, —."""
    x = number(value)
    if x is None:
        return NOTHING
    if x == 0 or (isinstance(value, int) and abs(x) < 1e15):
        return _signed(f"{x:.0f}")
    exponent = _exponent(x)
    if -4 <= exponent < 6:
        return _signed(f"{x:.{max(0, digits - 1 - exponent)}f}")
    return _signed(f"{x / 10.0**exponent:.{digits - 1}f}") + _power(exponent)


def measure(value: Any, std: Any, digits: int = 4) -> str:
    """Value ± 1.96 standard deviations, both to the digit that the interval supports."""
    x, s = number(value), number(std)
    if x is None or s is None or s <= 0:
        return figure(x, digits)
    half = HALF_WIDTH * s
    exponent = _exponent(max(abs(x), half))
    unit = 1.0 if -3 <= exponent < 6 else 10.0**exponent
    decimals = min(12, max(0, 1 - _exponent(half / unit)))
    text = f"{_signed(f'{x / unit:.{decimals}f}')} ± {half / unit:.{decimals}f}"
    return text if unit == 1.0 else f"({text}){_power(exponent)}"


def half_width(std: Any) -> str:
    """± 1.96 standard deviations on their own."""
    s = number(std)
    return NOTHING if s is None else f"± {figure(HALF_WIDTH * s, 2)}"


def percent(value: Any) -> str:
    """A ratio as percent: 0.0423 → 4.23 %."""
    x = number(value)
    return NOTHING if x is None else f"{figure(100 * x, 3)} %"


def millimetres(values: Any) -> str:
    """A point in metres, written in millimetres."""
    point = numbers(values, 3)
    if all(x is None for x in point):
        return NOTHING
    return ", ".join(NOTHING if x is None else _signed(f"{1000 * x:.1f}") for x in point)


def join(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def meaning(verdicts: Mapping[str, Any]) -> str:
    """What a body's verdicts mean, in plain sentences."""
    of = {v: [f"the {QUANTITIES[q]}" for q in QUANTITIES if verdicts.get(q) == v] for v in VERDICTS}
    said = []
    if of["identified"]:
        said.append(f"The data decide {join(of['identified'])}.")
    if of["partly"]:
        said.append(f"Partly the data, partly the description: {join(of['partly'])}.")
    if names := of["prior"]:
        subject, verb = join(names), "rests" if len(names) == 1 else "rest"
        said.append(f"{subject[:1].upper()}{subject[1:]} {verb} on the prior: the data alone leave the value open.")
    return " ".join(said) or NOTHING


def literal(text: str) -> str:
    """A name as text in a figure, where Plotly would otherwise read it as markup."""
    return html.escape(text, quote=False)


def _exponent(x: float) -> int:
    return math.floor(math.log10(abs(x)))


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _power(exponent: int) -> str:
    return f"×10{str(exponent).translate(_SUPERSCRIPT)}"
