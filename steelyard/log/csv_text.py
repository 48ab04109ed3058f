"""Separated text → columns of numbers, or every reason why not, by line and column.

PyArrow reads a good table. If it fails, the table is parsed again cell by cell, so that the refusal names all faults,
not only the first; types are never guessed from the first rows. A mapping may give another layout (``TableLayout``);
only then an incomplete last line is dropped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.format import Columns, Table, Wanted, decode, numbers_of, refuse_repeats
from steelyard.log.layout import TableLayout, plain, rows
from steelyard.log.log import is_column

DRAFT = "or draft a mapping: steelyard check ROBOT LOG --write-mapping FILE"
MOST_LINES = 5  # with a wrong number of cells that a refusal lists

_EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "nan"})
_BOOLEAN = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_HEADER = f"Add a header line with Steelyard's column names (time, q.JOINT, tau.JOINT, …), {DRAFT}"
_LAYOUT = "Give the layout in [table] of the mapping: header, names, separator, decimal"
_POINT = "Write decimals with a point (0.5) and separate columns by commas"


def read_csv(
    data: bytes,
    source: str,
    first_line: int = 1,
    layout: TableLayout | None = None,
    wanted: Wanted = is_column,
) -> Table:
    """Parse a text table.

    Args:
        data: The text.
        source: Its name in messages.
        first_line: Number of the first line of ``data`` in its file.
        layout: Layout of the table; None: Steelyard's own, and an incomplete last line is refused.
        wanted: Whether a column is read; the others are only listed.

    Raises:
        LogError: With every reason against it.
    """
    decode(data, source)
    data, used = plain(data, layout or TableLayout())
    try:
        names, skipped = _header(data, used)
    except csv.Error as error:
        fix = _LAYOUT if layout else _HEADER
        raise LogError(Finding("table-malformed", source, f"is not a table ({error})", fix)) from None
    line = first_line + skipped
    _check_header(names, f"{source}, line {line}", source, layout)
    refuse_repeats(f"{source}, line {line}", names, wanted)
    whole, cut = _without_cut_line(data, names, used, wanted) if layout else (data, None)
    columns = _fast(whole, names, used, wanted)
    if columns is None:
        columns = _careful(whole, names, source, first_line, used, wanted)
    return Table(columns, cut=None if cut is None else first_line + cut)


def number(text: str) -> float | None:
    """Parse the number in a cell; NaN if it is empty, None if it is anything else."""
    text = text.strip().lower()
    if text in _EMPTY:
        return np.nan
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def shown(cell: str) -> str:
    """Quote a cell for a message."""
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


def cell_fix(cell: str) -> str:
    """Return the fix for a cell that is not a number."""
    return _POINT if _DECIMAL_COMMA.fullmatch(cell.strip()) else "Correct the cell, or drop its row"


def quoted(name: str) -> str:
    """Quote a column name for a header."""
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n\r') else name


def _header(data: bytes, layout: TableLayout) -> tuple[list[str], int]:
    """Names of the columns, and the line of the header or of the first sample."""
    line, row = next(rows(data, layout), (0, []))
    return (list(layout.names) if row and layout.names else [name.strip() for name in row]), line


def _without_cut_line(data: bytes, names: list[str], layout: TableLayout, wanted: Wanted) -> tuple[bytes, int | None]:
    """The table without its last line if that is incomplete, and the number of that line, from 0."""
    end = data.rstrip()
    start = end.rfind(b"\n") + 1
    cells = next((row for _, row in rows(end[start:], layout)), [])
    number_of = data.count(b"\n", 0, start)
    if start == 0 or (layout.header and number_of == _header(data, layout)[1]):
        return data, None
    short = len(cells) < len(names)
    broken = len(cells) == len(names) and wanted(names[-1]) and _number(cells[-1], layout) is None
    if short or (broken and not data.endswith((b"\n", b"\r"))):
        return data[:start], number_of
    return data, None


def _check_header(names: list[str], where: str, source: str, layout: TableLayout | None) -> None:
    if not any(names):
        raise LogError(Finding("file-empty", source, "is empty", "Give a table with a header line and samples"))
    if layout and layout.names:
        return
    if len(names) == 1:
        for separator, word in _SEPARATORS.items():
            if separator in names[0]:
                expected = _SEPARATORS.get(layout.separator, "commas") if layout else "commas"
                what, fix = f"is separated by {word}, not by {expected}", _LAYOUT if layout else _POINT
                raise LogError(Finding("separator-wrong", where, what, fix))
    if all(number(name) is not None for name in names):
        what = f"is numbers: the table has no header for its {len(names)} columns"
        raise LogError(Finding("header-missing", where, what, _LAYOUT if layout else _HEADER))


def _number(cell: str, layout: TableLayout) -> float | None:
    return number(cell if layout.decimal == "." else cell.replace(".", "?").replace(layout.decimal, "."))


def _fast(data: bytes, names: list[str], layout: TableLayout, wanted_name: Wanted) -> Columns | None:
    import pyarrow as pa
    import pyarrow.csv as pc

    own = [str(k) for k in range(len(names))]  # by position: names may repeat or contain spaces
    wanted = [k for k, name in zip(own, names, strict=True) if wanted_name(name)]
    skipped = next(rows(data, layout))[0] + 1 if layout.header else 0
    if not wanted or any("\n" in name for name in names):
        return None
    try:
        table = pc.read_csv(
            io.BytesIO(data),
            read_options=pc.ReadOptions(column_names=own, skip_rows=skipped),
            parse_options=pc.ParseOptions(delimiter=layout.separator),
            convert_options=pc.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.float64()), include_columns=wanted, decimal_point=layout.decimal
            ),
        )
    except pa.ArrowInvalid:
        return None
    parsed = {k: numbers_of(table[k]) for k in wanted}
    return {
        name: parsed[k] if k in parsed else np.zeros(table.num_rows)  # only listed as ignored
        for k, name in zip(own, names, strict=True)
    }


def _careful(
    data: bytes, names: list[str], source: str, first_line: int, layout: TableLayout, wanted: Wanted
) -> Columns:
    """Parse cell by cell; refuse with every fault."""
    cells: dict[int, list[float]] = {k: [] for k, name in enumerate(names) if wanted(name)}
    wrong: dict[int, tuple[int, str, int]] = {}  # column → line and cell of the first, count
    ragged: list[tuple[int, int]] = []  # line, cells
    lines = rows(data, layout)
    if layout.header:
        next(lines)
    count = last = 0
    try:
        for line, row in lines:
            count, last = count + 1, line
            if len(row) != len(names):
                ragged.append((line, len(row)))
                continue
            for k, values in cells.items():
                value = _number(row[k], layout)
                if value is None:
                    line_k, cell, times = wrong.get(k, (line, row[k], 0))
                    wrong[k] = line_k, cell, times + 1
                values.append(np.nan if value is None else value)
    except csv.Error as error:
        raise LogError(
            Finding("table-malformed", source, f"cannot be read ({error})", "Write the file again")
        ) from None
    findings = list(_ragged(ragged, count, last, len(names), source, first_line, bool(layout.names)))
    for k, (line, cell, times) in wrong.items():
        more = f" ({times} such cells in the column)" if times > 1 else ""
        where = f"{source}, line {first_line + line}, {names[k]}"
        findings.append(Finding("cell-not-number", where, f"{shown(cell)} is not a number{more}", cell_fix(cell)))
    if findings:
        raise LogError(findings)
    return {name: np.array(cells[k]) if k in cells else np.zeros(count) for k, name in enumerate(names)}


def _ragged(
    ragged: Sequence[tuple[int, int]], count: int, last: int, width: int, source: str, first_line: int, mapped: bool
) -> Iterable[Finding]:
    """Lines that have more or fewer cells than the header, or than the ``mapped`` names."""
    expected = f"the mapping names {width}" if mapped else f"the header has {width}"
    if count > 1 and len(ragged) == count:
        widths = " or ".join(map(str, sorted({cells for _, cells in ragged})[:3]))
        what, fix = f"{expected} columns, but all lines have {widths}", f"{_POINT}; name every column in the header"
        yield Finding("header-width", source, what, _LAYOUT if mapped else fix)
        return
    for line, cells in ragged[:MOST_LINES]:
        where, what = f"{source}, line {first_line + line}", f"has {cells} cells, {expected}"
        if line == last and cells < width:
            what = f"{what}: recording was interrupted in this line"
            yield Finding("line-incomplete", where, what, "Drop this last line")
        else:
            yield Finding("line-width", where, what, "Correct or drop the line")
    if len(ragged) > MOST_LINES:
        what = f"{len(ragged) - MOST_LINES} more lines have the wrong number of cells"
        yield Finding("line-width", source, what, "Correct or drop the lines")
