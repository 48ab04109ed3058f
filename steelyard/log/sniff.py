"""Detects the layout of an unknown table: separator, decimals, header, and the numbers in its columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.csv_text import number
from steelyard.log.format import decode, read_file, table_format
from steelyard.log.formats.csv import MARK, Csv, unpack
from steelyard.log.layout import TableLayout, cells
from steelyard.spatial import Array

MOST_ROWS = 50_000  # that are parsed
SAMPLE = 60  # lines from which the layout is detected
LEAST = 0.3  # fraction of numeric cells in a table
COMMENTS = ("#", "%", "//")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class DetectedTable:
    """A table with its detected layout."""

    path: Path
    text: bool  # separated text; else Parquet or npz, which have names
    layout: TableLayout
    columns: dict[str, Array | None]  # in order; None for columns without numbers
    rows: int
    more: bool = False  # whether the file has more rows than were parsed
    cut: bool = False  # whether the last line is incomplete

    @property
    def named(self) -> bool:
        """Whether the names are the file's and not ``numbered`` ones."""
        return not self.layout.names or list(self.layout.names) != numbered(len(self.layout.names))


def detect_layout(path: Path) -> DetectedTable:
    """Detect the layout of a table; LogError if the file holds none."""
    kind = table_format(path)
    if not isinstance(kind, Csv):  # the format has names and types
        columns = kind.numbers(path)
        rows = max((len(v) for v in columns.values() if v is not None), default=0)
        return DetectedTable(path, False, TableLayout(), columns, rows)
    data = unpack(read_file(path), path)
    if data.startswith(MARK):
        data = data.partition(b"\n")[2]
    layout = _layout(decode(data, str(path)).splitlines())
    if layout is None:
        raise LogError(Finding("table-malformed", str(path), "has no lines of a table", "Give a table of numbers"))
    return _filled(path, data, layout)


def numbered(count: int) -> list[str]:
    """Return names for columns that have none."""
    return [f"c{k}" for k in range(1, count + 1)]


def _layout(lines: Sequence[str]) -> TableLayout | None:
    """The layout under which the first lines have most numbers."""
    comment = next((c for c in COMMENTS for line in lines[:SAMPLE] if line.lstrip().startswith(c)), "")
    kept = [(k, s) for k, s in enumerate(lines) if s.strip() and not (comment and s.lstrip().startswith(comment))]
    sample = kept[:SAMPLE]
    best: tuple[float, int, TableLayout] | None = None
    for separator in (",", ";", "\t", "|", " "):
        for decimal in (".", ","):
            if decimal == separator or not sample:
                continue
            rows = [_split(line, separator) for _, line in sample]
            width = Counter(map(len, rows)).most_common(1)[0][0]
            good = [row for row in rows if len(row) == width]
            share = np.mean([_is_number(cell, decimal) for row in good for cell in row]) * len(good) / len(rows)
            first = next(k for k, row in enumerate(rows) if len(row) == width)
            header = not all(_is_number(cell, decimal) for cell in rows[first])
            candidate = TableLayout(header, (), separator, decimal, sample[first][0] if first else 0, comment)
            if share > (LEAST if best is None else best[0] + 1e-9):
                best = (float(share), width, candidate)
    if best is None:
        return None
    _, width, layout = best
    if layout.header:
        return layout
    comments = [
        s.lstrip().removeprefix(comment) for s in lines[: sample[0][0]] if comment and s.lstrip().startswith(comment)
    ]
    names = [cell.strip() for cell in _split(comments[-1].strip(), layout.separator)] if comments else []
    fits = len(names) == width == len(set(names)) and all(n and not _is_number(n, layout.decimal) for n in names)
    return replace(layout, names=tuple(names if fits else numbered(width)))


def _split(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return [line]


def _is_number(cell: str, decimal: str) -> bool:
    cell = cell.strip()
    if decimal == ",":
        return bool(_COMMA.fullmatch(cell)) or cell.lstrip("+-").isdigit()
    return number(cell) is not None and cell != ""


def _filled(path: Path, data: bytes, layout: TableLayout) -> DetectedTable:
    """Parse every column, up to ``MOST_ROWS`` rows."""
    rows = cells(data, layout)
    names = [name.strip() for name in next(rows, [])] if layout.header else list(layout.names)
    kept: list[list[float]] = [[] for _ in names]
    text, count, more, cut = set[int](), 0, False, False
    for row in rows:
        if count == MOST_ROWS:
            more = True
            break
        cut = len(row) < len(names)
        if len(row) != len(names):
            continue
        count += 1
        for k, cell in enumerate(row):
            value = number(cell if layout.decimal == "." else cell.replace(layout.decimal, "."))
            if value is None:
                text.add(k)
            kept[k].append(np.nan if value is None else value)
    columns = {name: None if k in text else np.array(kept[k]) for k, name in enumerate(names)}
    return DetectedTable(path, True, layout, columns, count, more, cut and not more)
