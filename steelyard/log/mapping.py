"""A mapping: how a foreign table becomes a log. Names, units, scales, signs, drive gains and transmissions, as TOML.

A column that it does not name is not read: nothing is ever guessed from positions. A mapping is refused once, with
every reason; ``mapped.py`` checks it against a log, ``equations/match.py`` against a robot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, LogError, unknown_name
from steelyard.log.column_source import ColumnSource
from steelyard.log.drive_law import KEYS, LIKE, DriveLaw, law_findings
from steelyard.log.format import refuse_absent
from steelyard.log.layout import TableLayout
from steelyard.log.log import BASE_VECTORS, QUATERNION, is_column
from steelyard.log.toml import Checker, is_number, parse_toml, shown
from steelyard.log.transmission import SINGULAR, Transmission
from steelyard.log.units_table import factor
from steelyard.spatial import XYZ

SECTIONS = {
    "table": ("header", "names", "separator", "decimal", "skip_rows", "rows", "rate", "comment"),
    "columns": (),
    "gains": (),
    "transmission": ("joints", "matrix"),
    "metadata": (),
}
SPECIFICATION = ("name", "unit", "scale", "offset", "sign", "file")
LAW = "pd"  # key of a column that is computed by the drive's law
RESERVED = ("gains", "transmission")  # metadata that has a section of its own
SEPARATORS = (",", ";", "\t", "|", " ")


@dataclass(frozen=True)
class ColumnMap:
    """How a foreign table becomes a log."""

    source: str = "mapping"  # its name in messages and provenance
    layout: TableLayout = field(default_factory=TableLayout)  # of text tables
    columns: Mapping[str, ColumnSource] = field(default_factory=dict)  # column of the log → source; empty: same names
    rows: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None  # first and last kept, from 1; or by file
    rate: float | None = None  # Hz, of a table without time
    gains: Mapping[str, float] = field(default_factory=dict)  # joint → N·m/A
    transmission: Transmission | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    laws: Mapping[str, DriveLaw] = field(default_factory=dict)  # joint → law of its drive, where no torque is logged
    digest: str = field(default="", compare=False, repr=False)  # SHA-256 of the file's bytes


def read_mapping(path: str | Path) -> ColumnMap:
    """Read and check a mapping file; LogError with every reason against it."""
    path = Path(path)
    refuse_absent(path, "Draft one: steelyard check ROBOT LOG --write-mapping")
    data = path.read_bytes()
    return replace(_Mapping(str(path)).check(parse_toml(data, str(path))), digest=hashlib.sha256(data).hexdigest())


class _Mapping(Checker):
    """The sections of a mapping."""

    def check(self, document: Mapping[str, Any]) -> ColumnMap:
        self.unknown("", document, SECTIONS, "section")
        sections = {name: self.section(document, name) for name in SECTIONS}
        table = sections["table"]
        names = self.names(table)
        columns = self.columns(sections["columns"], names)
        checked = ColumnMap(
            self.source,
            self.layout(table, names),
            columns,
            self.rows(table.get("rows")),
            self.take("table", table, "rate", 0.0, lambda x: x > 0, "a positive number", "Give samples a second"),
            {j: self.number(f"gains, {j}", x, nonzero=True) for j, x in sections["gains"].items()},
            self.transmission(sections["transmission"]) if isinstance(document.get("transmission"), dict) else None,
            self.metadata(sections["metadata"]),
            self.laws(sections["columns"], columns, names),
        )
        if self.findings:
            raise LogError(self.findings)
        return checked

    def section(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        section = document.get(name, {})
        if not isinstance(section, dict):
            self.wrong(name, f"is {shown(section)}, not a section", f"Write [{name}] once, and its keys below")
            return {}
        if SECTIONS[name]:
            self.unknown(name, section, SECTIONS[name], "key")
        return section

    def names(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        names = table.get("names", [])
        if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
            self.wrong("table, names", f"is {shown(names)}", 'Give a list of names: ["t", "q1", …]')
            return ()
        return tuple(name.strip() for name in names)

    def layout(self, table: Mapping[str, Any], names: tuple[str, ...]) -> TableLayout:
        any_of = " ".join(map(repr, SEPARATORS))
        header = self.take("table", table, "header", True, lambda _: True, "true or false", "Give true or false")
        separator = self.take("table", table, "separator", "", SEPARATORS.__contains__, "a separator", f"Use {any_of}")
        decimal = self.take("table", table, "decimal", "", (".", ",").__contains__, "'.' or ','", "Use '.' or ','")
        skip = self.take("table", table, "skip_rows", 0, lambda n: n >= 0, "a count", "Give the number of lines")
        comment = self.take("table", table, "comment", "", bool, "a text", 'Give the mark of comments: "#"')
        if header is False and "names" not in table:
            what, fix = "is missing, and header is false", "Name all columns of the table in order"
            self.wrong("table, names", what, fix, "header-missing")
        separator, decimal = separator or ",", decimal or "."
        if separator == decimal:
            what, fix = f"is {decimal!r}, as is the separator", 'Set separator, such as ";"'
            self.wrong("table, decimal", what, fix, "separator-is-decimal")
        return TableLayout(header is not False, names, separator, decimal, skip or 0, comment or "")

    def rows(self, value: Any) -> tuple[int, int] | dict[str, tuple[int, int]] | None:
        if isinstance(value, dict):
            return {file: self.span(f"table, rows, {file}", span) for file, span in value.items()}
        return None if value is None else self.span("table, rows", value)

    def span(self, where: str, value: Any) -> tuple[int, int]:
        if isinstance(value, list) and len(value) == 2 and all(type(x) is int for x in value):
            first, last = value
            if 1 <= first < last:
                return first, last
        self.wrong(where, f"is {shown(value)}", "Give [first, last], counted from 1, both kept")
        return 1, 2

    def columns(self, section: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, ColumnSource]:
        sources = {}
        for column, value in _flat(section):
            where = f"columns, {column}"
            if not is_column(column):
                fix = "Use time, q.JOINT, v.JOINT, tau.JOINT, current.JOINT, …"
                place = f"{self.source}, {where}"
                self.findings.append(unknown_name(place, "is not a column of a log", column, _EXAMPLES, fix))
            elif isinstance(value, dict) and LAW in value:
                continue
            elif (source := self.column(where, column, value)) is not None:
                sources[column] = source
                self.among(names, where, source)
        return sources

    def among(self, names: tuple[str, ...], where: str, source: ColumnSource) -> None:
        """Add a finding about a source that is not among the names of the table, where these are given."""
        if names and source.name not in names:
            what, fix = f"{source.name!r} is not in [table] names", "Choose from [table] names"
            self.findings.append(unknown_name(f"{self.source}, {where}", what, source.name, names, fix))

    def laws(
        self, section: Mapping[str, Any], columns: Mapping[str, ColumnSource], names: tuple[str, ...]
    ) -> dict[str, DriveLaw]:
        """Laws of the drives whose torque is computed."""
        laws = {}
        for column, value in _flat(section):
            if not isinstance(value, dict) or LAW not in value or not is_column(column):
                continue
            kind, _, joint = column.partition(".")
            where = f"columns, {column}"
            if kind != "tau":
                self.wrong(where, "has a law of a drive, and is no torque", f"Give {LAW} to tau.JOINT", "key-misplaced")
                continue
            for key in value.keys() - {LAW}:
                what, fix = f"is given beside {LAW}, which has columns of its own", "Remove one of them"
                self.wrong(f"{where}, {key}", what, fix, "option-conflict")
            if (law := self.law(f"{where}, {LAW}", joint, value[LAW], columns)) is not None:
                laws[joint] = law
                for role, source in law.columns.items():
                    self.among(names, f"{where}, {LAW}, {role}", source)
        self.findings += law_findings(laws, columns, f"{self.source}, columns")
        return laws

    def law(self, where: str, joint: str, table: Any, columns: Mapping[str, ColumnSource]) -> DriveLaw | None:
        if not isinstance(table, dict):
            self.wrong(where, f"is {shown(table)}", "Give { target, kp, kd }")
            return None
        self.unknown(where, table, KEYS, "key")
        if missing := [key for key in KEYS[:3] if key not in table]:
            fix = "Give the target's column and both gains of the drive"
            what = f"lacks {', '.join(missing)}"
            place, remedy = f"{self.source}, {where}", {"columns": missing}
            self.findings.append(Finding("drive-law-incomplete", place, what, fix, remedy))
            return None
        gains = [self.number(f"{where}, {key}", table[key], nonzero=False) for key in ("kp", "kd")]
        for key, gain in zip(("kp", "kd"), gains, strict=True):
            if gain < 0:
                what, fix = f"must be ≥ 0 (got {gain:g})", "Give the drive's gain; a reversed axis has sign = -1"
                self.wrong(f"{where}, {key}", what, fix)
        sources = {}
        for role in table.keys() & LIKE.keys():
            like = f"{LIKE[role]}.{joint}"
            source = self.column(f"{where}, {role}", like, table[role])
            if source is not None and isinstance(table[role], str) and like in columns:  # as what it is compared with
                source = replace(source, factor=columns[like].factor, offset=columns[like].offset)
            if source is not None:
                sources[role] = source
        return DriveLaw(gains[0], gains[1], sources) if "target" in sources else None

    def column(self, where: str, column: str, value: Any) -> ColumnSource | None:
        spec = {"name": value} if isinstance(value, str) else value
        if not isinstance(spec, dict):
            self.wrong(where, f"is {shown(value)}", "Give a name, or { name, unit, scale, offset, sign, file }")
            return None
        self.unknown(where, spec, SPECIFICATION, "key")
        name = spec.get("name")
        if not isinstance(name, str) or not name.strip():
            self.wrong(f"{where}, name", f"is {shown(name)}", "Give the name of a column in the table")
            return None
        scale = self.unit(where, column, spec["unit"]) if "unit" in spec else 1.0
        scale *= self.number(f"{where}, scale", spec.get("scale", 1.0), nonzero=True)
        offset = self.number(f"{where}, offset", spec.get("offset", 0.0), nonzero=False)
        sign = spec.get("sign", 1)
        if type(sign) is not int or sign not in (1, -1):
            self.wrong(f"{where}, sign", f"is {shown(sign)}", "Give 1 or -1")
            sign = 1
        file = spec.get("file")
        if file is not None and not _is_beside(file):
            self.wrong(f"{where}, file", f"is {shown(file)}", "Name a file in the folder of the log, without a path")
            file = None
        return ColumnSource(name.strip(), sign * scale, offset, file)

    def unit(self, where: str, column: str, unit: Any) -> float:
        """Return the factor from a unit of a column to SI, or 1 after adding a finding."""
        if not isinstance(unit, str):
            self.wrong(f"{where}, unit", f"is {shown(unit)}", 'Give a unit in quotes, such as "deg"')
            return 1.0
        size = factor(column, unit)
        if isinstance(size, float):
            return size
        self.findings.append(size.at(f"{self.source}, {where}"))
        return 1.0

    def transmission(self, section: Mapping[str, Any]) -> Transmission | None:
        joints: Any = section.get("joints")
        matrix: Any = section.get("matrix")
        named = isinstance(joints, list) and joints and all(isinstance(j, str) and j for j in joints)
        if not named or len(set(joints)) < len(joints):
            self.wrong("transmission, joints", f"is {shown(joints)}", "Give a list of joints, each once")
            return None
        n = len(joints)
        square = isinstance(matrix, list) and len(matrix) == n
        if not square or any(not isinstance(r, list) or len(r) != n or not all(map(is_number, r)) for r in matrix):
            what = f"is {shown(matrix)}, not {n} rows of {n} numbers"
            self.wrong("transmission, matrix", what, "Give one row a motor and one column a joint")
            return None
        if not np.linalg.cond(np.array(matrix, float)) < SINGULAR:
            what = "is singular: motor positions do not determine joint positions"
            self.wrong("transmission, matrix", what, "Give q_motor = matrix · q_joint", "transmission-singular")
            return None
        return Transmission(tuple(joints), tuple(tuple(map(float, row)) for row in matrix))

    def metadata(self, section: Mapping[str, Any]) -> dict[str, Any]:
        for key in RESERVED:
            if key in section:
                self.wrong(f"metadata, {key}", "has a section of its own", f"Move it to [{key}]", "key-misplaced")
        try:
            plain = json.dumps(section, allow_nan=False, default=lambda moment: moment.isoformat())
        except ValueError:
            self.wrong("metadata", "holds nan or inf", "Give finite numbers", "metadata-invalid")
            return {}
        return dict(json.loads(plain))


_EXAMPLES = ("time", *(f"{vector}.{c}" for vector in BASE_VECTORS for c in XYZ), *QUATERNION)


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Entries of a section; names with unquoted dots, which are nested tables in TOML, are joined."""
    for key, value in section.items():
        column = prefix + key
        if isinstance(value, dict) and not is_column(column) and not set(value) <= {*SPECIFICATION, LAW}:
            yield from _flat(value, f"{column}.")
        else:
            yield column, value


def _is_beside(file: Any) -> bool:
    """Whether a value is a file name without a path, on any system."""
    return isinstance(file, str) and file not in ("", ".", "..") and not any(c in file for c in "/\\:\0")
