"""A table and a mapping → a checked log: names, units, rows, time, several files, conversion to the joint side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError, note, unknown_name
from steelyard.log.column_source import ColumnSource
from steelyard.log.drive_law import law_sources
from steelyard.log.format import Table, table_format
from steelyard.log.log import Log, is_column
from steelyard.log.mapping import ColumnMap
from steelyard.log.transmission import to_joint_side, transmission_findings
from steelyard.spatial import Array


def mapped_log(path: Path, mapping: ColumnMap) -> Log:
    """Read a log, and the files beside it that the mapping names."""
    tables = _tables(path, mapping)
    own = tables[None]
    sources = dict(mapping.columns) or {name: ColumnSource(name) for name in own.columns if is_column(name)}
    if findings := list(_mapping_findings(path, mapping, sources, own)):
        raise LogError(findings)
    sources |= law_sources(mapping.laws)
    columns = _picked(path, mapping, tables, sources)
    count, notices = _count(path, tables, sources, columns)
    kept, remarks = _rows(path, mapping, count)
    columns = {name: values[:count][kept] for name, values in columns.items()}
    if mapping.rate is not None:
        columns["time"] = np.arange(count)[kept] / mapping.rate
    columns = _drive_torques(mapping, sources, columns)
    columns, metadata = _joint_side(mapping, sources, columns, own.metadata)
    used = {(source.file, source.name) for source in sources.values()}
    read_along = {mapping.source: mapping.digest} if mapping.digest else {}
    return replace(
        Log.from_columns(columns, metadata, str(path)),
        ignored=tuple(
            name if file is None else f"{file}: {name}"
            for file, raw in tables.items()
            for name in raw.columns
            if (file, name) not in used
        ),
        notices=(*notices, *remarks),
        files={str(path): own.digest, **read_along, **{str(_place(path, f)): tables[f].digest for f in tables if f}},
    )


def _place(path: Path, file: str | None) -> Path:
    return path if file is None else path.with_name(file)


def _tables(path: Path, mapping: ColumnMap) -> dict[str | None, Table]:
    """The tables of the log (key None) and of the files beside it; refused with the faults of all."""
    names: dict[str | None, set[str]] = {None: set()}
    for source in (*mapping.columns.values(), *law_sources(mapping.laws).values()):
        names.setdefault(source.file, set()).add(source.name)
    tables, findings = {}, list[Finding]()
    for file, wanted in names.items():
        try:
            place = _place(path, file)
            chosen = wanted.__contains__ if mapping.columns else is_column
            tables[file] = table_format(place).open(place, chosen, mapping.layout)
        except LogError as error:
            findings += error.findings
    if findings:
        raise LogError(findings)
    return tables


def _picked(
    path: Path, mapping: ColumnMap, tables: Mapping[str | None, Table], sources: Mapping[str, ColumnSource]
) -> dict[str, Array]:
    """Columns in SI, without offsets, on the side (motor or joint) where they were measured."""
    columns, findings = {}, []
    for column, source in sources.items():
        table, place = tables[source.file].columns, _place(path, source.file)
        if source.name not in table:
            where, what = f"{mapping.source}, columns, {column}", f"{place} has no column {source.name!r}"
            fix = f"The table has: {', '.join(list(table)[:12])}"
            findings.append(unknown_name(where, what, source.name, table, fix))
            continue
        raw = np.asarray(table[source.name])
        if raw.ndim != 1 or raw.dtype.kind not in "biuf":
            what = f"is not a column of numbers: shape {raw.shape}, {raw.dtype}"
            findings.append(Finding("column-not-numeric", f"{place}, {source.name}", what, "Give one number a row"))
            continue
        columns[column] = source.factor * raw.astype(float)
        if column.startswith("current."):  # in A, before any gain
            columns[column] = columns[column] + source.offset
    if findings:
        raise LogError(findings)
    return columns


def _count(
    path: Path, tables: Mapping[str | None, Table], sources: Mapping[str, ColumnSource], columns: Mapping[str, Array]
) -> tuple[int, list[Finding]]:
    """The number of rows of all tables, and notices; tables may differ by one incomplete line."""
    notices = [
        note("line-incomplete", where := f"{_place(path, file)}, line {raw.cut}", f"{where}: incomplete, dropped")
        for file, raw in tables.items()
        if raw.cut is not None
    ]
    rows = {(sources[column].file, len(values)) for column, values in columns.items()}
    least, most = min(n for _, n in rows), max(n for _, n in rows)
    if least == most:
        return least, notices
    cut = [file for file, n in rows if n == least and tables[file].cut is not None]
    longer = [_place(path, file) for file, n in rows if n > least]
    if cut and most == least + 1 and len({file for file, _ in rows}) == len(rows):
        text = "its last row has no counterpart, dropped"
        notices += [note("row-without-counterpart", str(place), f"{place}: {text}") for place in sorted(longer)]
        return least, notices
    lengths = ", ".join(sorted(f"{_place(path, file).name} {n}" for file, n in rows))
    what = f"has columns of different length: {lengths} rows"
    raise LogError(Finding("column-length", str(path), what, "Give tables of equal length"))


def _rows(path: Path, mapping: ColumnMap, count: int) -> tuple[slice, list[Finding]]:
    """Rows that the mapping keeps, and a notice if it gives none for this file."""
    span = mapping.rows
    if isinstance(span, Mapping):
        if path.name not in span:
            text = f"{path}: {mapping.source} gives no rows for it, all are kept"
            return slice(None), [note("rows-not-given", str(path), text, mapping=mapping.source)]
        span = span[path.name]
    if span is None:
        return slice(None), []
    first, last = span
    if last > count:
        where = f"{mapping.source}, table, rows"
        what = f"end at {last}, {path} has {count}"
        raise LogError(Finding("rows-out-of-range", where, what, "Give rows that the table has"))
    return slice(first - 1, last), []


def _mapping_findings(
    path: Path, mapping: ColumnMap, columns: Mapping[str, ColumnSource], own: Table
) -> Iterator[Finding]:
    """Columns that the mapping needs and does not have."""
    if not columns:
        names = ", ".join(list(own.columns)[:12]) or "nothing"
        what = f"is empty; {path} has: {names}"
        yield Finding("columns-missing", f"{mapping.source}, columns", what, "Map the columns of the table")
        return
    if "time" not in columns and mapping.rate is None:
        fix = "Map it in [columns], or give a rate in [table]"
        yield Finding("time-missing", f"{mapping.source}, columns, time", "is missing, and so is a rate", fix)
    if "time" in columns and mapping.rate is not None:
        where, what = f"{mapping.source}, table, rate", f"is given, and {path} has a column time"
        yield Finding("time-given-twice", where, what, "Remove the rate")
    currents = [c.removeprefix("current.") for c in columns if c.startswith("current.")]
    for joint in mapping.gains:
        if joint not in currents:
            where, fix = f"{mapping.source}, gains, {joint}", "Map its current, or remove the gain"
            yield unknown_name(where, "has no column of current", joint, currents, fix)
    if mapping.transmission is not None:
        gains = _gains(mapping, own.metadata)
        every = dict.fromkeys([*columns, *(f"tau.{joint}" for joint in mapping.laws)])
        yield from transmission_findings(mapping.transmission, every, gains, f"{mapping.source}, transmission")


def _gains(mapping: ColumnMap, metadata: Mapping[str, Any]) -> dict[str, Any]:
    known = metadata.get("gains")
    return {**(known if isinstance(known, Mapping) else {}), **mapping.gains}


def _drive_torques(
    mapping: ColumnMap, sources: Mapping[str, ColumnSource], columns: Mapping[str, Array]
) -> dict[str, Array]:
    """The columns, with torques in place of the columns of the drives' laws.

    A law is that of the motor: behind a transmission it compares the motor's columns, which have no offset.
    """
    motors = mapping.transmission.joints if mapping.transmission else ()
    offsets = {column: source.offset for column, source in sources.items()}
    torques = {
        f"tau.{joint}": law.torque(joint, columns, {} if joint in motors else offsets)
        for joint, law in mapping.laws.items()
    }
    unused = law_sources(mapping.laws)
    return {**{name: values for name, values in columns.items() if name not in unused}, **torques}


def _joint_side(
    mapping: ColumnMap, sources: Mapping[str, ColumnSource], columns: dict[str, Array], given: Mapping[str, Any]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Columns on the joint side, offsets included, and the log's metadata."""
    gains = _gains(mapping, given)
    metadata = {**given, **mapping.metadata}
    if mapping.transmission is not None:
        columns, unused = to_joint_side(mapping.transmission, columns, gains)
        metadata["transmission"] = mapping.transmission.as_metadata()
        if used := {joint: gain for joint, gain in gains.items() if joint not in unused}:
            metadata["transmission"]["gains"] = used
        gains = unused
    if gains or "gains" in metadata:
        metadata["gains"] = gains
    if mapping.laws:
        known = metadata.get("commanded")
        metadata["commanded"] = list(dict.fromkeys([*(known if isinstance(known, list) else []), *mapping.laws]))
    for column, source in sources.items():
        if source.offset and column in columns and not column.startswith("current."):
            columns[column] = columns[column] + source.offset
    return columns, metadata
