"""A mapping drafted from a table, to be completed by hand.

Nothing is guessed silently: only columns that already have Steelyard's names are mapped; all else is a proposal in a
comment, with its reason. The draft is a valid mapping without changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.log.layout import TableLayout
from steelyard.log.log import is_column
from steelyard.log.propose import Proposal, groups_by_position, proposals_by_name
from steelyard.log.sniff import DetectedTable, detect_layout
from steelyard.spatial import Array

STEADY = 5.0  # steps of a time column stay below this many times their median
TIME_STEPS = (("s", 0.5), ("ms", 200.0), ("us", 2e5), ("ns", np.inf))  # widest step of each unit: 2 Hz to 5 kHz


@dataclass(frozen=True)
class Clock:
    """A column that is probably time."""

    name: str
    unit: str
    rate: float  # Hz


def draft_mapping(path: str | Path, joints: Sequence[str] = ()) -> str:
    """Draft the TOML text of a mapping; ``joints`` are the robot's, in the order of its description."""
    table = detect_layout(Path(path))
    clock = next((c for name, values in table.columns.items() if (c := _clock(name, values))), None)
    parts = [_opening(table), _table(table, clock), _columns(table, clock, joints), _rest(joints)]
    return "\n".join(line for part in parts for line in [*part, ""])


def _opening(table: DetectedTable) -> list[str]:
    least = " at least" if table.more else ""
    lines = [
        f"# How to read {_comment(table.path.name)}: {table.rows}{least} rows, {len(table.columns)} columns.",
        "# Drafted from the content of the file. Comments are proposals: check and complete them, and remove the #.",
        "# KIND is q, v, a, tau or current. Columns that are not named in [columns] are not read.",
    ]
    if table.cut:
        lines.append("# The last line is incomplete and will be dropped.")
    return lines


def _table(table: DetectedTable, clock: Clock | None) -> list[str]:
    lines, layout, usual = ["[table]"], table.layout, TableLayout()
    if table.text:
        lines.append(f"header = {str(layout.header).lower()}")
        shown = {"separator": layout.separator, "decimal": layout.decimal, "comment": layout.comment}
        lines += [f"{key} = {_quoted(value)}" for key, value in shown.items() if value != getattr(usual, key)]
        if layout.skip_rows:
            lines.append(f"skip_rows = {layout.skip_rows}")
        if layout.names:
            lines.append("names = [  # rename as you like, but keep all of them, in this order")
            lines += [f"  {_quoted(name)},  # {_described(values)}" for name, values in table.columns.items()]
            lines.append("]")
    if clock is None:
        lines.append("# rate = 100.0  # Hz: no column is like time")
    lines.append(f"# rows = [1, {table.rows}]  # keep these only, counted from 1")
    return lines


def _columns(table: DetectedTable, clock: Clock | None, joints: Sequence[str]) -> list[str]:
    lines = ["[columns]"]
    exact = [name for name in table.columns if _is_own(name, joints)]
    lines += [f"{_quoted(name)} = {_quoted(name)}  # {_described(table.columns[name])}" for name in exact]
    if clock is not None and clock.name not in exact:
        unit = "" if clock.unit == "s" else f", unit = {_quoted(clock.unit)}"
        reason = f"increases steadily: probably time in {clock.unit} at {clock.rate:.4g} Hz"
        lines.append(f"# time = {{ name = {_quoted(clock.name)}{unit} }}  # {reason}")
    elif clock is not None and clock.unit != "s":
        lines.append(f"# time is probably in {clock.unit} at {clock.rate:.4g} Hz: set unit = {_quoted(clock.unit)}")
    others = {n: v for n, v in table.columns.items() if n not in exact and (clock is None or n != clock.name)}
    proposed = proposals_by_name(others, joints) if table.named else []
    if not proposed and not exact:
        proposed = groups_by_position(others, joints)
    done, heading = set[str](), ""
    for p in proposed:
        if p.why != heading:
            heading = p.why
            lines.append(f"# {heading}")
        lines.append(_proposed(p, others[p.name]))
        done.add(p.name)
    if table.layout.names:  # described above
        return lines
    if rest := [name for name in others if name not in done]:
        lines.append("# Other columns:")
        lines += [f"#   {_quoted(name)}  {_described(others[name])}" for name in rest]
    return lines


def _rest(joints: Sequence[str]) -> list[str]:
    joint = _quoted(joints[0] if joints else "JOINT")
    return [
        "# [gains]  # N·m/A; a gain that is not given is identified",
        f"# {joint} = 10.0",
        "# [transmission]  # if columns are of motors: q_motor = matrix · q_joint",
        f"# joints = [{joint}]",
        "# matrix = [[100.0]]",
        "# [metadata]",
        '# imu_frame = "imu_link"',
    ]


def _proposed(p: Proposal, values: Array | None) -> str:
    unit = ""
    if p.kind == "q" and values is not None and np.nanmax(np.abs(values), initial=0.0) > 4 * np.pi:
        unit = ', unit = "deg"'
    source = f"{{ name = {_quoted(p.name)}{unit} }}" if unit else _quoted(p.name)
    return f"# {_quoted(f'{p.kind}.{p.joint}')} = {source}  # {_described(values)}"


def _is_own(name: str, joints: Sequence[str]) -> bool:
    """Whether a column has Steelyard's name."""
    kind, _, joint = name.partition(".")
    if kind in ("q", "v", "a", "tau", "current"):
        return is_column(name) and (not joints or joint in joints)
    return is_column(name)


def _clock(name: str, values: Array | None) -> Clock | None:
    if values is None or len(values) < 3:
        return None
    steps = np.diff(values)
    if not np.all(np.isfinite(values)) or not np.all(steps > 0):
        return None
    step = float(np.median(steps))
    if float(np.quantile(steps, 0.95)) > STEADY * step:
        return None
    unit = next(unit for unit, widest in TIME_STEPS if step < widest)
    size = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    return Clock(name, unit, 1 / (step * size))


def _described(values: Array | None) -> str:
    if values is None:
        return "no numbers"
    if values.ndim != 1:
        return f"an array of shape {values.shape}: store one column a name"
    known = values[np.isfinite(values)]
    if not known.size:
        return "empty"
    low, high = float(known.min()), float(known.max())
    text = f"always {low:.6g}"
    if low < high:
        text = f"{low:.6g} to {high:.6g}, steps up to {float(np.max(np.abs(np.diff(known)))):.3g}"
    return text + (f", {len(values) - known.size} empty" if known.size < len(values) else "")


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text) + '"'


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
