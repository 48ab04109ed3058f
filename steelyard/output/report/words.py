"""Text of numbers and sources, with units, and a dash for missing values."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

NOTHING = "—"
HALF_WIDTH = 1.96  # standard deviations to either side of a 95 % interval

SOURCES = ("data", "narrowed", "prior")
QUANTITIES = {"mass": "mass", "com": "centre of mass", "inertia": "inertia"}

PARAMETERS = ("m", "m·cx", "m·cy", "m·cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)
OF_QUANTITY = ("mass", *("com",) * 3, *("inertia",) * 6)

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Any) -> float | None:
    """The value as a finite float; None for null, NaN, infinities and other types."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def numbers(values: Any, count: int) -> list[float | None]:
    """``count`` numbers from a list that may be null, too short or contain nulls."""
    given = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []
    return [number(v) for v in (given + [None] * count)[:count]]


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def source(value: Any) -> str | None:
    """One of the three sources, or None."""
    return value if value in SOURCES else None


def figure(value: Any, digits: int = 4) -> str:
    """A number to ``digits`` significant digits: 3.142, 2.1×10⁻⁹, —."""
    x = number(value)
    if x is None:
        return NOTHING
    if x == 0 or (isinstance(value, int) and abs(x) < 1e15):
        return _signed(f"{x:.0f}")
    exponent = _exponent(x)
    if -4 <= exponent < 6:
        return _signed(f"{x:.{max(0, digits - 1 - exponent)}f}")
    return _signed(f"{x / 10.0**exponent:.{digits - 1}f}") + _power(exponent)


def with_interval(value: Any, std: Any, digits: int = 4) -> str:
    """Value ± 1.96 standard deviations, both to the last significant digit of the interval."""
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
    """± 1.96 standard deviations, without the value."""
    s = number(std)
    return NOTHING if s is None else f"± {figure(HALF_WIDTH * s, 2)}"


def percent(value: Any) -> str:
    """A ratio as percent: 0.0423 → 4.23 %."""
    x = number(value)
    return NOTHING if x is None else f"{figure(100 * x, 3)} %"


def light(kilograms: Any) -> str:
    """A mass to two digits, in grams below a kilogram: 30 g, 4.0 kg."""
    kg = number(kilograms)
    if kg is None:
        return NOTHING
    return f"{figure(1e3 * kg, 2)} g" if kg < 1 else f"{figure(kg, 2)} kg"


def millimetres(values: Any) -> str:
    """A point given in metres, as text in millimetres."""
    point = numbers(values, 3)
    if all(x is None for x in point):
        return NOTHING
    return ", ".join(NOTHING if x is None else _signed(f"{1000 * x:.1f}") for x in point)


def join(names: Sequence[str]) -> str:
    """Names as an enumeration: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def meaning(sources: Mapping[str, Any]) -> str:
    """The sources of a body's quantities, as sentences."""
    of = {v: [f"the {QUANTITIES[q]}" for q in QUANTITIES if sources.get(q) == v] for v in SOURCES}
    phrases = {
        "data": "determined by the data",
        "narrowed": "narrowed by the data, but not determined without the description",
        "prior": "taken from the description, since the data do not determine it",
    }
    sentences = []
    for v, names in of.items():
        if names:
            subject, verb = join(names), "is" if len(names) == 1 else "are"
            phrase = phrases[v] if len(names) == 1 else phrases[v].replace("determine it", "determine them")
            sentences.append(f"{subject[:1].upper()}{subject[1:]} {verb} {phrase}.")
    return " ".join(sentences) or NOTHING


def literal(text: str) -> str:
    """A name escaped for a figure, where Plotly would read it as markup."""
    return html.escape(text, quote=False)


def _exponent(x: float) -> int:
    return math.floor(math.log10(abs(x)))


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _power(exponent: int) -> str:
    return f"×10{str(exponent).translate(_SUPERSCRIPT)}"
