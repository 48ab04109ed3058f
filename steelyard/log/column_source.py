"""Where a column of a log comes from: a column of a table, its unit, scale and sign."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnSource:
    """The source of a column: factor · raw + offset, in SI."""

    name: str  # of a column in the file
    factor: float = 1.0  # sign · scale · unit
    offset: float = 0.0  # SI; on the joint side of a transmission (of a current: before its gain)
    file: str | None = None  # in the log's folder; None: the log itself
