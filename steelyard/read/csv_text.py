"""Comma-separated text → columns of numbers, or every reason why not, by line and column.

PyArrow reads a good table. When it stumbles, the table is read again cell by cell, so that the refusal can name
all that is wrong and not only what PyArrow met first; types are never guessed from the first rows.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from steelyard.errors import Finding, LogError
from steelyard.log import is_column

Columns = dict[str, np.ndarray]

MOST_LINES = 5  # of the wrong width that a refusal names

_EMPTY = frozenset({"", "na", "n/a", "#n/a", "null", "none", "nan"})
_BOOLEAN = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_HEADER = "Add a header line with Steelyard's column names (time, q.JOINT, tau.JOINT, …)"
_POINT = "Write decimals with a point (0.5) and separate columns by commas"


def read_csv(data: bytes, source: str, first_line: int = 1) -> Columns:
    """Columns of a table with a header; ``first_line`` is the number of the data's first line in its file."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or not _is_utf8(data):
        raise LogError(Finding(source, "is not UTF-8 text", "Save it as UTF-8"))
    try:
        names, skipped = _header(data)
    except csv.Error as error:
        raise LogError(Finding(source, f"is not a table ({error})", _HEADER)) from None
    line = first_line + skipped
    _check_header(names, f"{source}, line {line}", source)
    refuse_repeats(f"{source}, line {line}", names)
    columns = _fast(data, names)
    return columns if columns is not None else _careful(data, names, source, first_line)


def refuse_repeats(where: str, names: Sequence[str]) -> None:
    """Refuse a table that has some contract column twice."""
    if repeated := sorted({name for name in names if names.count(name) > 1 and is_column(name)}):
        raise LogError(Finding(where, f"repeats {', '.join(repeated)}", "Keep one column of each name"))


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


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Line number, counted from 0, and cells of every line that is not blank."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""))
    last = 0
    for row in reader:
        if row:
            yield last, row
        last = reader.line_num


def _header(data: bytes) -> tuple[list[str], int]:
    line, row = next(_rows(data), (0, []))
    return [name.strip() for name in row], line


def _check_header(names: list[str], where: str, source: str) -> None:
    if not any(names):
        raise LogError(Finding(source, "is empty", "Give a table with a header line and samples"))
    if len(names) == 1:
        for separator, word in _SEPARATORS.items():
            if separator in names[0]:
                raise LogError(Finding(where, f"is separated by {word}, not by commas", _POINT))
    if all(number(name) is not None for name in names):
        what = f"is numbers: the table has no header for its {len(names)} columns"
        raise LogError(Finding(where, what, _HEADER))


def _fast(data: bytes, names: list[str]) -> Columns | None:
    import pyarrow as pa
    import pyarrow.csv as pc

    own = [str(k) for k in range(len(names))]  # by place: names may repeat or carry spaces
    wanted = [k for k, name in zip(own, names, strict=True) if is_column(name)]
    skipped = next(_rows(data))[0] + 1
    if not wanted or any("\n" in name for name in names):
        return None
    try:
        table = pc.read_csv(
            io.BytesIO(data),
            read_options=pc.ReadOptions(column_names=own, skip_rows=skipped),
            convert_options=pc.ConvertOptions(column_types=dict.fromkeys(wanted, pa.float64()), include_columns=wanted),
        )
    except pa.ArrowInvalid:
        return None
    found = {k: table[k].to_numpy().astype(float) for k in wanted}
    return {
        name: found[k] if k in found else np.zeros(table.num_rows)  # the rest is only listed as ignored
        for k, name in zip(own, names, strict=True)
    }


def _careful(data: bytes, names: list[str], source: str, first_line: int) -> Columns:
    """Cell by cell; refused with all that is wrong."""
    cells: dict[int, list[float]] = {k: [] for k, name in enumerate(names) if is_column(name)}
    wrong: dict[int, tuple[int, str, int]] = {}  # column → line and cell of the first, how many
    ragged: list[tuple[int, int]] = []  # line, cells
    rows = _rows(data)
    next(rows)
    count = last = 0
    try:
        for line, row in rows:
            count, last = count + 1, line
            if len(row) != len(names):
                ragged.append((line, len(row)))
                continue
            for k, values in cells.items():
                value = number(row[k])
                if value is None:
                    line_k, cell, times = wrong.get(k, (line, row[k], 0))
                    wrong[k] = line_k, cell, times + 1
                values.append(np.nan if value is None else value)
    except csv.Error as error:
        raise LogError(Finding(source, f"cannot be read ({error})", "Write the file again")) from None
    findings = list(_ragged(ragged, count, last, len(names), source, first_line))
    for k, (line, cell, times) in wrong.items():
        more = f" ({times} such cells in the column)" if times > 1 else ""
        where = f"{source}, line {first_line + line}, {names[k]}"
        findings.append(Finding(where, f"{shown(cell)} is not a number{more}", cell_fix(cell)))
    if findings:
        raise LogError(findings)
    return {name: np.array(cells[k]) if k in cells else np.zeros(count) for k, name in enumerate(names)}


def _ragged(
    ragged: Sequence[tuple[int, int]], count: int, last: int, width: int, source: str, first_line: int
) -> Iterable[Finding]:
    """Lines that have more or fewer cells than the header."""
    if count > 1 and len(ragged) == count:
        found = " or ".join(map(str, sorted({cells for _, cells in ragged})[:3]))
        what = f"no line has the header's {width} cells; they have {found}"
        yield Finding(source, what, f"{_POINT}; name every column in the header")
        return
    for line, cells in ragged[:MOST_LINES]:
        where, what = f"{source}, line {first_line + line}", f"has {cells} cells, the header has {width}"
        if line == last and cells < width:
            yield Finding(where, f"{what}: the log was cut off while it was written", "Drop this last line")
        else:
            yield Finding(where, what, "Correct or drop the line")
    if len(ragged) > MOST_LINES:
        yield Finding(source, f"{len(ragged) - MOST_LINES} more lines have the wrong number of cells", "See above")
