"""Tasks for workers, which they import by name."""

import os
import time
from collections.abc import Sequence

from steelyard.errors import Finding, UsageError
from steelyard.fleet.cluster import Killed


def scaled(item: int, factor: int) -> str:
    return str(item * factor)


def length(item: int, shared: bytes) -> int:
    return len(shared)


def bracketed(parts: Sequence[str]) -> str:
    """A sum that shows its order."""
    return f"({' '.join(parts)})"


def whose(item: int, seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def refused(item: int, _: None) -> int:
    raise UsageError(
        [
            Finding("option-value", "a", "is wrong", "Correct it"),
            Finding("option-value", f"item {item}", "too", "As well"),
        ]
    )


def deadly(item: int, _: None) -> str:
    """Kills the process that runs the third item."""
    if item == 2:
        os._exit(1)
    return str(item)


def harmless(item: int, _: None) -> str:
    """Result of ``deadly`` where ``buried`` replaces the third item."""
    return buried(item, str(Killed())) if item == 2 else str(item)


def buried(item: int, what: str) -> str:
    return f"{item} {what}"


class Held:
    """Counts its living instances."""

    alive, most = 0, 0

    def __init__(self, count: int):
        self.count = count
        Held.alive += 1
        Held.most = max(Held.most, Held.alive)

    def __del__(self) -> None:
        Held.alive -= 1


def held(item: int) -> Held:
    return Held(1)


def together(parts: Sequence[Held]) -> Held:
    return Held(sum(part.count for part in parts))
