"""Comma-separated text → columns of numbers, or every reason why not, by line and column.

PyArrow reads a good table. When it stumbles, the table is read again cell by cell, so that the refusal can name
all that is wrong and not only what PyArrow met first; types are never guessed from the first rows. A mapping may say
that a table looks otherwise than ours (``TableLayout``); only then a line that was cut off at the end is dropped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log.format import Columns, Table, Wanted, decode, refuse_repeats
from steelyard.log.layout import TableLayout, plain, rows
from steelyard.log.log import is_column

DRAFT = "or draft a mapping: steelyard check ROBOT LOG --write-mapping FILE"
MOST_LINES = 5  # of the wrong width that a refusal names

_EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "nan"})
_BOOLEAN = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_HEADER = f"Add a header line with Steelyard's column names (time, q.JOINT, tau.JOINT, …), {DRAFT}"
_LAYOUT = "Say in [table] of the mapping what the file looks like: header, names, separator, decimal"
_POINT = "Write decimals with a point (0.5) and separate columns by commas"


def read_csv(
    data: bytes,
    source: str,
    first_line: int = 1,
    layout: TableLayout | None = None,
    wanted: Wanted = is_column,
) -> Table:
    """Columns of a table; ``first_line`` is the number of the data's first line in its file.

    ``wanted`` tells the columns that are read; the others are listed, whatever they hold.
    """
    decode(data, source)
    looks = layout or TableLayout()
    data, looks = plain(data, looks)
    try:
        names, skipped = _header(data, looks)
    except csv.Error as error:
        raise LogError(Finding("todo", source, f"is not a table ({error})", _LAYOUT if layout else _HEADER)) from None
    line = first_line + skipped
    _check_header(names, f"{source}, line {line}", source, layout)
    refuse_repeats(f"{source}, line {line}", names, wanted)
    whole, cut = _without_cut_line(data, names, looks, wanted) if layout else (data, None)
    columns = _fast(whole, names, looks, wanted)
    if columns is None:
        columns = _careful(whole, names, source, first_line, looks, wanted)
    return Table(columns, cut=None if cut is None else first_line + cut)


def number(text: str) -> float | None:
    """The number in a cell, NaN where it is empty, None where it is anything else."""
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
    """A cell as messages quote it."""
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


def cell_fix(cell: str) -> str:
    """What to do about a cell that is no number."""
    return _POINT if _DECIMAL_COMMA.fullmatch(cell.strip()) else "Correct the cell, or drop its row"


def quoted(name: str) -> str:
    """A column name as it stands in a header."""
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n\r') else name


def _header(data: bytes, layout: TableLayout) -> tuple[list[str], int]:
    """Names of the columns, and the line of the header or of the first sample."""
    line, row = next(rows(data, layout), (0, []))
    return (list(layout.names) if row and layout.names else [name.strip() for name in row]), line


def _without_cut_line(data: bytes, names: list[str], layout: TableLayout, wanted: Wanted) -> tuple[bytes, int | None]:
    """The table without its last line, where the writer stopped in the middle of it; and that line's number, from 0."""
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
        raise LogError(Finding("todo", source, "is empty", "Give a table with a header line and samples"))
    if layout and layout.names:
        return
    if len(names) == 1:
        for separator, word in _SEPARATORS.items():
            if separator in names[0]:
                told = _SEPARATORS.get(layout.separator, "commas") if layout else "commas"
                raise LogError(
                    Finding("todo", where, f"is separated by {word}, not by {told}", _LAYOUT if layout else _POINT)
                )
    if all(number(name) is not None for name in names):
        what = f"is numbers: the table has no header for its {len(names)} columns"
        raise LogError(Finding("todo", where, what, _LAYOUT if layout else _HEADER))


def _number(cell: str, layout: TableLayout) -> float | None:
    return number(cell if layout.decimal == "." else cell.replace(".", "?").replace(layout.decimal, "."))


def _fast(data: bytes, names: list[str], layout: TableLayout, wanted_name: Wanted) -> Columns | None:
    import pyarrow as pa
    import pyarrow.csv as pc

    own = [str(k) for k in range(len(names))]  # by place: names may repeat or carry spaces
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
    found = {k: table[k].to_numpy().astype(float) for k in wanted}
    return {
        name: found[k] if k in found else np.zeros(table.num_rows)  # the rest is only listed as ignored
        for k, name in zip(own, names, strict=True)
    }


def _careful(
    data: bytes, names: list[str], source: str, first_line: int, layout: TableLayout, wanted: Wanted
) -> Columns:
    """Cell by cell; refused with all that is wrong."""
    cells: dict[int, list[float]] = {k: [] for k, name in enumerate(names) if wanted(name)}
    wrong: dict[int, tuple[int, str, int]] = {}  # column → line and cell of the first, how many
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
        raise LogError(Finding("todo", source, f"cannot be read ({error})", "Write the file again")) from None
    told = f"the mapping names {len(names)}" if layout.names else f"the header has {len(names)}"
    findings = list(_ragged(ragged, count, last, len(names), source, first_line, told))
    for k, (line, cell, times) in wrong.items():
        more = f" ({times} such cells in the column)" if times > 1 else ""
        where = f"{source}, line {first_line + line}, {names[k]}"
        findings.append(Finding("todo", where, f"{shown(cell)} is not a number{more}", cell_fix(cell)))
    if findings:
        raise LogError(findings)
    return {name: np.array(cells[k]) if k in cells else np.zeros(count) for k, name in enumerate(names)}


def _ragged(
    ragged: Sequence[tuple[int, int]], count: int, last: int, width: int, source: str, first_line: int, told: str
) -> Iterable[Finding]:
    """Lines that have more or fewer cells than the header."""
    if count > 1 and len(ragged) == count:
        found = " or ".join(map(str, sorted({cells for _, cells in ragged})[:3]))
        if told.startswith("the mapping"):
            yield Finding("todo", source, f"{told} columns, and no line has as many; they have {found}", _LAYOUT)
            return
        what = f"no line has the header's {width} cells; they have {found}"
        yield Finding("todo", source, what, f"{_POINT}; name every column in the header")
        return
    for line, cells in ragged[:MOST_LINES]:
        where, what = f"{source}, line {first_line + line}", f"has {cells} cells, {told}"
        if line == last and cells < width:
            yield Finding("todo", where, f"{what}: the log was cut off while it was written", "Drop this last line")
        else:
            yield Finding("todo", where, what, "Correct or drop the line")
    if len(ragged) > MOST_LINES:
        yield Finding(
            "todo", source, f"{len(ragged) - MOST_LINES} more lines have the wrong number of cells", "See above"
        )
