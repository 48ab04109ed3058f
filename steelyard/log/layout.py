"""How a text table looks, and its lines cut into cells accordingly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TableLayout:
    """How a text table looks; the defaults are what Steelyard writes itself."""

    header: bool = True  # the first line that is left holds names
    names: tuple[str, ...] = ()  # of all columns, in place of a header or of its names
    separator: str = ","  # " " means any white space
    decimal: str = "."
    skip_rows: int = 0  # lines before the header, or before the samples
    comment: str = ""  # lines that begin with it are left out


def plain(data: bytes, layout: TableLayout) -> tuple[bytes, TableLayout]:
    """Lines that are to be left out made blank, so that line numbers stay; white space made tabs."""
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
    """Line number, counted from 0, and cells of every line that is not blank."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=layout.separator)
    last = 0
    for row in reader:
        if row:
            yield last, row
        last = reader.line_num


def cells(data: bytes, layout: TableLayout) -> Iterator[list[str]]:
    """Cells of every line that counts, as they stand."""
    for _, row in rows(*plain(data, layout)):
        yield row
