"""A log file in pieces, for files that do not fit in memory: consecutive parts of the table, each a checked ``Log``.

Each format's module reads its files in parts; a bag is one piece. Findings are those of ``read_log``, by line of the
file or by row of the piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.format import FEW, TableFormat, TablePart, format_of, refuse_absent
from steelyard.log.log import Log

PIECE_BYTES = 8_000_000  # of a table in memory at a time, before parsing


@dataclass(frozen=True)
class LogPiece:
    """Consecutive rows of a log."""

    log: Log
    share: float  # fraction of the file read up to and including them


def read_pieces(path: str | Path, piece_bytes: int = PIECE_BYTES) -> Iterator[LogPiece]:
    """Yield the pieces of a log whose columns follow the log contract, in order; LogError with every reason."""
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
            fix = "Sort by time and drop repeated stamps"
            raise LogError(Finding("time-not-increasing", f"{part.where}, time", what, fix))
        last = float(log.time[-1])
        yield LogPiece(log, part.share)


def _long_enough(parts: Iterable[TablePart]) -> Iterator[TablePart]:
    """Join parts of fewer than ``FEW`` rows to the one before: a log needs two rows at least."""
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
