"""Measured and predicted forces, sample by sample: drawn by the report and saved beside the estimate.

Saved as an npz without pickle: plain arrays, and the names as one JSON string, so that a file from an
untrusted source can be opened safely.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from steelyard.errors import Finding, SteelyardError
from steelyard.spatial import Array

Role = Literal["fit", "validation"]
SCHEMA = 1


@dataclass(frozen=True)
class Series:
    """One log's rows; NaN where a sample was masked or lies in a gap, and the drawn line breaks there."""

    log: str  # path as given
    role: Role
    rows: tuple[str, ...]  # C names: joints, base.fx … base.mz
    units: tuple[str, ...]  # C units: N·m, N
    time: Array  # (T,) s
    measured: Array  # (T, C) unfiltered
    predicted: Array  # (T, C)

    def __post_init__(self) -> None:
        for name in ("time", "measured", "predicted"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "units", tuple(self.units))
        if findings := list(_findings(self)):
            raise SteelyardError(findings)


def save_series(series: Sequence[Series]) -> bytes:
    """All series as the bytes of one npz; the same series give the same bytes."""
    names = [{"log": s.log, "role": s.role, "rows": s.rows, "units": s.units} for s in series]
    arrays: dict[str, Any] = {"names": np.array(json.dumps({"schema": SCHEMA, "series": names}))}
    for k, s in enumerate(series):
        arrays |= {f"time_{k}": s.time, f"measured_{k}": s.measured, f"predicted_{k}": s.predicted}
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def load_series(path: str | Path) -> list[Series]:
    """The series that ``save_series`` wrote, or SteelyardError if the file is not one of its own."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = json.loads(str(file["names"][()]))
            if names["schema"] != SCHEMA:
                raise ValueError(f"schema {names['schema']}, this version reads {SCHEMA}")
            return [
                Series(
                    log=str(entry["log"]),
                    role=entry["role"],
                    rows=tuple(map(str, entry["rows"])),
                    units=tuple(map(str, entry["units"])),
                    time=file[f"time_{k}"],
                    measured=file[f"measured_{k}"],
                    predicted=file[f"predicted_{k}"],
                )
                for k, entry in enumerate(names["series"])
            ]
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        fix = "Run identify again to write it anew"
        raise SteelyardError(
            Finding("file-unreadable", str(path), f"is not a readable series file ({reason})", fix)
        ) from error


def _findings(s: Series) -> Iterator[Finding]:
    where = f"series of {s.log}"
    shape = (len(s.time), len(s.rows))
    if s.role not in get_args(Role):
        yield Finding(
            "series-malformed", f"{where}, role", f"has role {s.role!r}", f"Use one of: {', '.join(get_args(Role))}"
        )
    if len(s.units) != len(s.rows):
        yield Finding(
            "series-malformed", f"{where}, units", f"has {len(s.rows)} rows and {len(s.units)} units", "Give one each"
        )
    if s.time.ndim != 1:
        yield Finding("series-malformed", f"{where}, time", f"has shape {s.time.shape}", "Give one dimension")
    for name, values in (("measured", s.measured), ("predicted", s.predicted)):
        if values.shape != shape:
            what, fix = f"has shape {values.shape}", f"Give shape {shape}, samples × rows"
            yield Finding("series-malformed", f"{where}, {name}", what, fix)
