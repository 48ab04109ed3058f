"""What is looked at by checks, and what a check is."""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

from steelyard.check.delay import Delay, find_delay
from steelyard.check.torque_balance import TorqueBalance, balance, slowed
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.errors import Finding, LogError
from steelyard.log.log import Log


@dataclass(frozen=True)
class Subject:
    """A log that fits a robot, prepared once for all checks."""

    setup: Setup
    log: Log
    segments: Sequence[Segment]

    @cached_property
    def balance(self) -> TorqueBalance | None:
        """Rows with every joint's torque apart, slowly filtered; None where there are none."""
        if not self.setup.torques:
            return None
        assert self.setup.filter is not None
        slow = replace(self.setup, filter=slowed(self.setup.filter, self.log))
        try:
            segments, _ = slow.segments(self.log, level=True)
        except LogError:  # no piece is long enough for slow rows
            return None
        return balance(slow, segments)

    @cached_property
    def lag(self) -> Delay | None:
        """By how much torques come after the motion; None where no row tells."""
        return None if self.balance is None else find_delay(self.balance)


class Check(ABC):
    """One kind of fault that a log can have although every number in it is a number."""

    rank: ClassVar[int] = 50  # checks run in this order
    after_others: ClassVar[bool] = False  # whether it says nothing where others found something

    @abstractmethod
    def find(self, subject: Subject) -> list[Finding]:
        """What is wrong, and how to mend it."""

    def facts(self, subject: Subject) -> dict[str, str]:
        """What it measured on the way, for people."""
        return {}

    def data(self, subject: Subject) -> dict[str, Any]:
        """The same for machines."""
        return {}


def all_checks() -> Iterator[Check]:
    """A check for each file in ``checks/``, in the order of their ranks."""
    from steelyard.check import checks

    found = list[type[Check]]()
    for module in pkgutil.iter_modules(checks.__path__):
        names = vars(import_module(f"{checks.__name__}.{module.name}"))
        found += [x for x in names.values() if isinstance(x, type) and issubclass(x, Check) and x is not Check]
    return (check() for check in sorted(dict.fromkeys(found), key=lambda check: (check.rank, check.__name__)))
