"""The quantity that each column of a log measures, and its units.

A value in SI is the unit's factor times the number in the file. Several spellings of a unit are accepted (``N·m``,
``Nm``, ``N*m``; ``m/s²``, ``m/s^2``), units of another quantity are not: a time given for a position is refused.
"""

from __future__ import annotations

import difflib
import math

from steelyard.errors import Finding, unknown_name

UNITS: dict[str, dict[str, float]] = {  # quantity → unit → factor to SI
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "angle": {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "rev": 2 * math.pi},
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254},
    "angular velocity": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": math.pi / 180,
        "rev/s": 2 * math.pi,
        "rpm": math.pi / 30,
    },
    "velocity": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3},
    "angular acceleration": {"rad/s^2": 1.0, "mrad/s^2": 1e-3, "deg/s^2": math.pi / 180, "rev/s^2": 2 * math.pi},
    "acceleration": {"m/s^2": 1.0, "cm/s^2": 1e-2, "mm/s^2": 1e-3, "g": 9.80665, "mg": 9.80665e-3},
    "torque": {
        "N·m": 1.0,
        "mN·m": 1e-3,
        "kN·m": 1e3,
        "N·cm": 1e-2,
        "N·mm": 1e-3,
        "kgf·m": 9.80665,
        "kgf·cm": 0.0980665,
        "lbf·ft": 1.3558179483314004,
        "lbf·in": 0.1129848290276167,
        "ozf·in": 0.00706155181422604,
    },
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3, "kgf": 9.80665, "gf": 9.80665e-3, "lbf": 4.4482216152605},
    "current": {"A": 1.0, "mA": 1e-3},
    "plain number": {"1": 1.0},
}
ALIASES = {
    "sec": "s",
    "seconds": "s",
    "radians": "rad",
    "degrees": "deg",
    "turns": "rev",
    "turn": "rev",
    "dps": "deg/s",
    "rev/min": "rpm",
}

_JOINT = {
    "q": ("angle", "length"),
    "v": ("angular velocity", "velocity"),
    "a": ("angular acceleration", "acceleration"),
    "tau": ("torque", "force"),
    "current": ("current",),
    "contact": ("plain number",),
}
_VECTORS = {
    "base.position": "length",
    "base.quaternion": "plain number",
    "base.velocity": "velocity",
    "base.angular_velocity": "angular velocity",
    "base.acceleration": "acceleration",
    "base.angular_acceleration": "angular acceleration",
    "imu.gyro": "angular velocity",
    "imu.acc": "acceleration",
}


def quantities(column: str) -> tuple[str, ...]:
    """Return the quantities that a column of the log contract may measure; joints are revolute or prismatic."""
    if column == "time":
        return ("time",)
    first, _, _ = column.partition(".")
    if first in _JOINT:
        return _JOINT[first]
    vector, _, component = column.rpartition(".")
    if vector in _VECTORS:
        return (_VECTORS[vector],)
    return ("force",) if component.startswith("f") else ("torque",)  # wrench, sensor, plate


def factor(column: str, unit: str) -> float | Finding:
    """Return the factor from a unit of a column to SI, or a finding about the unit."""
    wanted = quantities(column)
    allowed = [name for quantity in wanted for name in UNITS[quantity]]
    one_of = f"Give one of {', '.join(allowed)}"
    known = _BY_SPELLING.get(_spelling(unit))
    if known is None:
        near = allowed if difflib.get_close_matches(unit, allowed) else _NAMES
        return unknown_name(column, f"has the unknown unit {unit!r}", unit, near, one_of, code="unit-unknown")
    quantity, size = known
    if quantity not in wanted:
        what = f"has {unit!r}, a unit of {quantity}, but measures {' or '.join(wanted)}"
        return Finding("unit-mismatch", column, what, one_of)
    return size


def _spelling(unit: str) -> str:
    """A unit in its normal spelling."""
    for written, meant in (("°", "deg"), ("µ", "u"), ("μ", "u"), ("²", "2")):
        unit = unit.replace(written, meant)
    unit = "".join(c for c in unit if c not in " ·⋅*.^")
    return ALIASES.get(unit, unit)


_NAMES = [name for units in UNITS.values() for name in units]
_BY_SPELLING = {_spelling(name): (quantity, size) for quantity, units in UNITS.items() for name, size in units.items()}
