"""Steelyard: weigh a robot while it moves.

From a robot description (URDF or MJCF) and a log of its motion to the mass, centre of mass and inertia of every
link, physically consistent, and with a statement of what the data said and what the prior said.

>>> from steelyard import identify
>>> result = identify("ur10", ["log.parquet"])       # doctest: +SKIP
>>> print(result.estimate.sentence())                # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.errors import Finding, LogError, SteelyardError, UsageError
    from steelyard.estimate import Estimate
    from steelyard.identification import Identification, identify
    from steelyard.information import Information
    from steelyard.load import weigh_load
    from steelyard.log import Log
    from steelyard.online import LoadEstimator, OnlineIdentifier
    from steelyard.plan import Options
    from steelyard.robot import Robot
    from steelyard.samples import Filter

_ROOMS = {
    "errors": ("Finding", "LogError", "SteelyardError", "UsageError"),
    "estimate": ("Estimate",),
    "identification": ("Identification", "identify"),
    "information": ("Information",),
    "load": ("weigh_load",),
    "log": ("Log",),
    "online": ("LoadEstimator", "OnlineIdentifier"),
    "plan": ("Options",),
    "robot": ("Robot",),
    "samples": ("Filter",),
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Estimate", "Filter", "Finding", "Identification", "Information", "LoadEstimator", "Log", "LogError",
    "OnlineIdentifier", "Options", "Robot", "SteelyardError", "UsageError", "identify", "weigh_load",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import on first use: ``import steelyard`` stays instant."""
    if name in _WHERE:
        return getattr(import_module(f"steelyard.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
