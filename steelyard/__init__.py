"""Steelyard: weigh a robot while it moves.

From a robot description (URDF or MJCF) and a log of its motion to the mass, centre of mass and inertia of every
link, physically consistent, and with a statement of what the data said and what the prior said.

>>> from steelyard import identify
>>> result = identify("ur10", ["log.parquet"])       # doctest: +SKIP
>>> print(result.sentence)                # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import steelyard.identify  # noqa: F401 - the room first: a function of its name takes its place, and nothing puts it back
from steelyard.api import identify
from steelyard.errors import lazy_names

if TYPE_CHECKING:
    from steelyard.equations.filters import Filter
    from steelyard.errors import Finding, LogError, SteelyardError, UsageError
    from steelyard.identify.estimate import Estimate
    from steelyard.identify.identification import Identification
    from steelyard.identify.job import Job
    from steelyard.identify.methods.constrained import Constrained
    from steelyard.identify.methods.least_squares import LeastSquares
    from steelyard.identify.methods.linear import Linear
    from steelyard.identify.methods.lmi import Lmi
    from steelyard.identify.methods.mata import Mata
    from steelyard.identify.methods.nonlinear import Nonlinear
    from steelyard.identify.methods.points import Points
    from steelyard.identify.methods.shapes import Shapes
    from steelyard.identify.options import Options, RangeOptions
    from steelyard.identify.unknown_load import UnknownLoad
    from steelyard.identify.weighing import weigh_load
    from steelyard.information import Information
    from steelyard.log.log import Log
    from steelyard.online.engine import OnlineOptions
    from steelyard.online.identifier import OnlineIdentifier
    from steelyard.online.load_estimator import LoadEstimator
    from steelyard.robot.model import Robot

_MODULES = {
    "equations.filters": ("Filter",),
    "errors": ("Finding", "LogError", "SteelyardError", "UsageError"),
    "identify.estimate": ("Estimate",),
    "identify.identification": ("Identification",),
    "identify.job": ("Job",),
    "identify.unknown_load": ("UnknownLoad",),
    "identify.methods.constrained": ("Constrained",),
    "identify.methods.least_squares": ("LeastSquares",),
    "identify.methods.linear": ("Linear",),
    "identify.methods.lmi": ("Lmi",),
    "identify.methods.mata": ("Mata",),
    "identify.methods.nonlinear": ("Nonlinear",),
    "identify.methods.points": ("Points",),
    "identify.methods.shapes": ("Shapes",),
    "identify.options": ("Options", "RangeOptions"),
    "identify.weighing": ("weigh_load",),
    "information": ("Information",),
    "log.log": ("Log",),
    "online": ("LoadEstimator", "OnlineIdentifier", "OnlineOptions"),
    "robot.model": ("Robot",),
}
__all__ = [
    "Constrained",
    "Estimate",
    "Filter",
    "Finding",
    "Identification",
    "Information",
    "Job",
    "LeastSquares",
    "Linear",
    "Lmi",
    "LoadEstimator",
    "Log",
    "LogError",
    "Mata",
    "Nonlinear",
    "OnlineIdentifier",
    "OnlineOptions",
    "Options",
    "Points",
    "RangeOptions",
    "Robot",
    "Shapes",
    "SteelyardError",
    "UnknownLoad",
    "UsageError",
    "identify",
    "weigh_load",
]

__getattr__, _lazy = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
