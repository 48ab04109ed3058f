"""The layout of a text table, and its lines split into cells accordingly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TableLayout:
    """The layout of a text table; the defaults are those of the tables that Steelyard writes."""

    header: bool = True  # the first line after the skipped ones holds names
    names: tuple[str, ...] = ()  # of all columns, in place of a header or of its names
    separator: str = ","  # " " means any white space
    decimal: str = "."
    skip_rows: int = 0  # lines before the header, or before the samples
    comment: str = ""  # lines that begin with it are skipped


def plain(data: bytes, layout: TableLayout) -> tuple[bytes, TableLayout]:
    """Blank the lines to be skipped, so that line numbers stay, and replace white space between cells by tabs."""
    if not (layout.skip_rows or layout.comment or layout.separator == " "):
        return data, layout
    lines = data.split(b"\n")
    lines[: layout.skip_rows] = [b""] * min(layout.skip_rows, len(lines))
    if layout.comment:
        mark = layout.comment.encode()
        lines = [b"" if line.lstrip().startswith(mark) else line for line in lines]
    if layout.separator == " ":
        lines = [b"\t".join(line.split()) for line in lines]
    return b"\n".join(lines), replace(layout, separator="\t" if layout.separator == " " else layout.separator)


def rows(data: bytes, layout: TableLayout) -> Iterator[tuple[int, list[str]]]:
    """Yield line number, counted from 0, and cells of every line that is not blank."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=layout.separator)
    last = 0
    for row in reader:
        if row:
            yield last, row
        last = reader.line_num


def cells(data: bytes, layout: TableLayout) -> Iterator[list[str]]:
    """Yield the cells of every line that is not skipped, as text."""
    for _, row in rows(*plain(data, layout)):
        yield row
