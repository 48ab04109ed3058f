"""Steelyard: weigh a robot while it moves.

From a robot description (URDF or MJCF) and a log of its motion to the mass, centre of mass and inertia of every link:
physically consistent, and with a statement of what came from the data and what from the prior.

The examples of the reference start from this: a log of the packaged arm, simulated in memory, and its result.

>>> import numpy as np
>>> import steelyard as sy
>>> from steelyard.experiment.simulate.simulate_arm import simulate_arm
>>> robot = sy.Robot.load("demo_arm")
>>> truth = {body.name: 1.1 * body.parameters for body in robot.bodies}
>>> log = simulate_arm(robot, truth, seed=1, seconds=10.0)
>>> result = sy.identify("demo_arm", log)
>>> result.verdict.trusted
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The rooms first: functions of their names take their places in this package, and nothing puts the rooms back.
import steelyard.check
import steelyard.identify  # noqa: F401
from steelyard.api import check, compare, identify, weigh_load
from steelyard.errors import lazy_names

if TYPE_CHECKING:
    from steelyard.check.survey import Survey
    from steelyard.equations.filters import Filter
    from steelyard.errors import Finding, LogError, SteelyardError, UsageError
    from steelyard.identify.estimate import Estimate
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
    from steelyard.information import Information
    from steelyard.log.log import Log
    from steelyard.online.engine import OnlineOptions
    from steelyard.online.identifier import OnlineIdentifier
    from steelyard.online.load_estimator import LoadEstimator
    from steelyard.output.comparison import Difference
    from steelyard.output.result import Result
    from steelyard.robot.description import Description
    from steelyard.robot.model import Robot

    __version__: str

_MODULES = {
    "check.survey": ("Survey",),
    "equations.filters": ("Filter",),
    "errors": ("Finding", "LogError", "SteelyardError", "UsageError"),
    "identify.estimate": ("Estimate",),
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
    "information": ("Information",),
    "log.log": ("Log",),
    "online": ("LoadEstimator", "OnlineIdentifier", "OnlineOptions"),
    "output.comparison": ("Difference",),
    "output.result": ("Result",),
    "robot.description": ("Description",),
    "robot.model": ("Robot",),
}
__all__ = [
    "Constrained",
    "Description",
    "Difference",
    "Estimate",
    "Filter",
    "Finding",
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
    "Result",
    "Robot",
    "Shapes",
    "SteelyardError",
    "Survey",
    "UnknownLoad",
    "UsageError",
    "__version__",
    "check",
    "compare",
    "identify",
    "weigh_load",
]

_lazy, _ = lazy_names(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("steelyard")
    return _lazy(name)


def __dir__() -> list[str]:
    return list(__all__)
