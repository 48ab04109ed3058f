"""What was found of single logs, kept until the sum is made: one small file a log, there whole or not at all.

A file is named after all that its content depends on: the log's bytes, the robot, the rows that were made of it, and
the version of this format. So a run that was stopped resumes where it was, a changed log is read anew, and a checkpoint
may serve any number of runs. A file that cannot be read counts as not there.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from steelyard.equations.stream.channels import Blocks, add_blocks, combine, merge_triangles
from steelyard.files import write_bytes
from steelyard.fleet.locations import is_url, opener
from steelyard.spatial import Array

SCHEMA = 1
TOKEN = "shelf.json"  # by which workers see that a checkpoint is the one that was meant


@dataclass(frozen=True)
class Sums:
    """What rows of one or more logs say: ``stream.Channels`` without the robot, as it is sent and kept."""

    found: Blocks  # (m, m) upper triangle of every equation, with the load or without
    lagged: Blocks  # (LAGS, m(m+1)/2) of every equation
    count: int  # rows of each equation
    longest: int  # rows that follow each other without a gap, at most
    seconds: float  # of samples

    def __add__(self, other: Sums) -> Sums:
        found, lagged = (
            combine(merge_triangles, self.found, other.found),
            combine(add_blocks, self.lagged, other.lagged),
        )
        both = self.count + other.count, max(self.longest, other.longest), self.seconds + other.seconds
        return Sums(found, lagged, *both)

    def to_bytes(self) -> bytes:
        """As an npz: plain arrays and one JSON text, no pickle."""
        sizes = {str(int(k)): [len(R) for R in blocks] for k, blocks in self.found.items()}
        about = {
            "schema": SCHEMA,
            "count": self.count,
            "longest": self.longest,
            "seconds": self.seconds,
            "sizes": sizes,
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
        for loaded, blocks in self.found.items():
            arrays[f"triangles_{int(loaded)}"] = np.concatenate([R[np.triu_indices(len(R))] for R in blocks])
            arrays[f"lagged_{int(loaded)}"] = np.concatenate([G.ravel() for G in self.lagged[loaded]])
        out = io.BytesIO()
        np.savez(out, **arrays)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Sums:
        """What ``to_bytes`` wrote; ValueError or the like where it is something else."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            about = json.loads(str(file["about"][()]))
            if about["schema"] != SCHEMA:
                raise ValueError(f"schema {about['schema']}")
            found, lagged = dict[bool, Sequence[Array]](), dict[bool, Sequence[Array]]()
            for key, sizes in about["sizes"].items():
                upper, sums = file[f"triangles_{key}"], file[f"lagged_{key}"]
                halves = [m * (m + 1) // 2 for m in sizes]
                lags = len(sums) // sum(halves)
                ends = np.cumsum(halves)
                found[key == "1"] = [_full(part, m) for part, m in zip(np.split(upper, ends[:-1]), sizes, strict=True)]
                parts = np.split(sums, lags * ends[:-1])
                lagged[key == "1"] = [part.reshape(lags, -1) for part in parts]
            return cls(found, lagged, int(about["count"]), int(about["longest"]), float(about["seconds"]))


def _full(upper: Array, m: int) -> Array:
    R = np.zeros((m, m))
    R[np.triu_indices(m)] = upper
    return R


@dataclass(frozen=True)
class Checkpoint:
    """A folder, or a URL that fsspec can write to."""

    place: str
    token: str = ""  # what TOKEN must hold for a worker to use it; "" before it is set up

    @classmethod
    def set_up(cls, place: str | Path) -> Checkpoint:
        """Make it, for whoever finds its token in it."""
        checkpoint = cls(str(place), uuid4().hex)
        checkpoint._write(TOKEN, json.dumps({"schema": SCHEMA, "token": checkpoint.token}).encode())
        return checkpoint

    def seen(self) -> bool:
        """Whether this process sees the one that was set up."""
        try:
            return bool(json.loads(self._read(TOKEN))["token"] == self.token)
        except Exception:  # not there, not ours, not readable: all the same
            return False

    def load(self, key: str) -> Sums | None:
        """What was kept under a key; None where nothing sound is."""
        try:
            return Sums.from_bytes(self._read(f"{key}.npz"))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, key: str, sums: Sums) -> None:
        """Keep the sums of a log."""
        self._write(f"{key}.npz", sums.to_bytes())

    def clear(self) -> None:
        """Take away what was kept, and the folder if nothing else is in it."""
        if is_url(self.place):
            return
        folder = Path(self.place)
        for file in [*folder.glob("*.npz"), folder / TOKEN]:
            file.unlink(missing_ok=True)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def _read(self, name: str) -> bytes:
        if not is_url(self.place):
            return (Path(self.place) / name).read_bytes()
        with self._open(name, "rb") as file:
            return bytes(file.read())

    def _write(self, name: str, data: bytes) -> None:
        if not is_url(self.place):
            write_bytes(Path(self.place) / name, data)
            return
        with self._open(name, "wb") as file:
            file.write(data)

    def _open(self, name: str, mode: str) -> Any:
        return opener(self.place).open(f"{self.place.rstrip('/')}/{name}", mode)
