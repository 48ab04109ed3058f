"""The prepared log that checks inspect, and the interface of a check."""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from steelyard.check.delay import Delay, estimate_delay
from steelyard.check.free_fit import FreeFit
from steelyard.check.torque_balance import TorqueBalance, balance, slowed, thinned
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, LogError
from steelyard.log.log import Log
from steelyard.log.timing import MOVES

LEAST_MOVING = 0.2  # of the time that a joint must move …
LEAST_SPEED = 0.01  # … faster than this, rad/s or m/s: the noise of an encoder at rest is below


@dataclass(frozen=True)
class Subject:
    """A log that matches its robot, prepared once for all checks."""

    setup: Setup
    log: Log
    segments: Sequence[Segment]

    @cached_property
    def balance(self) -> TorqueBalance | None:
        """Rows with the torque of each joint separate, at a low cut-off; None where no row has torques."""
        if not self.setup.torques:
            return None
        assert self.setup.filter is not None
        log, filter = thinned(self.log, slowed(self.setup.filter, self.log))
        slow = replace(self.setup, filter=filter)
        try:
            segments, _ = slow.segments(log, level=True)
        except LogError:  # no segment is long enough for the low cut-off
            return None
        return balance(slow, segments)

    @cached_property
    def moves(self) -> bool:
        """Whether at least half of the joints move for a fifth of the time: gravity and delay need as much."""
        travel = np.ptp(np.vstack([s.q for s in self.segments]), axis=0) > MOVES
        shares = np.mean(np.vstack([np.abs(s.v) > LEAST_SPEED for s in self.segments]), axis=0)
        return not shares.size or bool(np.mean((shares >= LEAST_MOVING) & travel) >= 0.5)

    @cached_property
    def free_balance(self) -> FreeFit | None:
        """Fit of the torque balance with all parameters free; None where gains of drives are unknown."""
        balance = self.balance
        if balance is None or not balance.pieces or self.setup.robot.sensors:
            return None
        if any(p.segment.current for p in balance.pieces):
            return None
        return FreeFit.of(balance)

    @cached_property
    def free_fit(self) -> FreeFit | None:
        """The same of a fixed robot with one row a joint; else None."""
        fit = self.free_balance
        separate = fit is not None and fit.balance.separate and not self.setup.robot.floating
        return fit if fit and separate and len(fit.balance.names) == len(fit.balance.robot.joints) else None

    @cached_property
    def lag(self) -> Delay | None:
        """Delay of the torques; None where it cannot be measured."""
        return None if self.balance is None else estimate_delay(self.balance)


class Check(ABC):
    """A search for one kind of fault in a log of valid numbers."""

    rank: ClassVar[int] = 50  # checks run in this order
    after_others: ClassVar[bool] = False  # whether it is skipped after an error of an earlier check

    @abstractmethod
    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""

    def facts(self, subject: Subject) -> dict[str, str]:
        """Quantities that it measured, as text."""
        return {}

    def data(self, subject: Subject) -> dict[str, Any]:
        """The same as data, for ``--json``."""
        return {}


def all_checks() -> Iterator[Check]:
    """A check for each file in ``checks/``, in the order of their ranks."""
    from steelyard.check import checks

    classes: list[type[Check]] = classes_in(checks, Check)
    return (check() for check in sorted(classes, key=lambda check: (check.rank, check.__name__)))


def classes_in(package: ModuleType, kind: type) -> list[Any]:
    """Subclasses of ``kind`` that the files of a package define."""
    classes = list[Any]()
    for module in pkgutil.iter_modules(package.__path__):
        names = vars(import_module(f"{package.__name__}.{module.name}"))
        classes += [x for x in names.values() if isinstance(x, type) and issubclass(x, kind) and x is not kind]
    return list(dict.fromkeys(classes))
