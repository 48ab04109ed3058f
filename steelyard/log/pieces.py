"""A log file in pieces, for files that do not fit in memory: consecutive parts of the table, each a checked ``Log``.

How a format is read in parts is in its own file; a bag comes whole. What is wrong is said as ``read_log`` says it, by
line of the file or by row of the piece, which names its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.format import FEW, TableFormat, TablePart, format_of, refuse_absent
from steelyard.log.log import Log

PIECE_BYTES = 8_000_000  # of a table in memory at a time, before it is made to numbers


@dataclass(frozen=True)
class LogPiece:
    """Rows of a log that follow each other."""

    log: Log
    share: float  # of the file that has been read with it


def read_pieces(path: str | Path, piece_bytes: int = PIECE_BYTES) -> Iterator[LogPiece]:
    """The pieces of a log whose columns follow the log contract, in order; LogError names what is wrong."""
    path = Path(path)
    kind = format_of(path)
    if not isinstance(kind, TableFormat):
        yield LogPiece(kind.read(path, {}), 1.0)
        return
    refuse_absent(path)
    last: float | None = None
    for part in _long_enough(kind.parts(path, piece_bytes)):
        log = Log.from_columns(part.columns, part.metadata, part.where)
        if last is not None and log.time[0] <= last:
            what = f"does not increase ({last:.9g} then {log.time[0]:.9g})"
            raise LogError(Finding("todo", f"{part.where}, time", what, "Sort by time and drop repeated stamps"))
        last = float(log.time[-1])
        yield LogPiece(log, part.share)


def _long_enough(parts: Iterable[TablePart]) -> Iterator[TablePart]:
    """The same, with a part of few rows joined to the one before: two rows make the shortest log."""
    held: TablePart | None = None
    for part in parts:
        if held is not None and part.rows < FEW:
            columns = {name: np.concatenate([x, part.columns[name]]) for name, x in held.columns.items()}
            held = held._replace(columns=columns, share=part.share)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held
