"""Checkpoint of a fleet run: the sums of each log in a small file of its own, written atomically.

A file is named by the digest of all that its content depends on: the log's bytes, the robot, the rows and the version
of this format. So an interrupted run resumes, a changed log is read again, and a checkpoint may serve any number of
runs. An unreadable file counts as absent.
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
from steelyard.fleet.locations import import_fsspec, is_url
from steelyard.spatial import Array

SCHEMA = 1
TOKEN = "shelf.json"  # by which workers recognise the checkpoint of the run


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of one or more logs: ``stream.Channels`` without the robot, to be sent and stored."""

    triangles: Blocks  # (m, m) upper triangle of every equation, with the load or without
    lagged: Blocks  # (LAGS, m(m+1)/2) of every equation
    count: int  # rows of each equation
    longest: int  # rows of the longest stretch without gaps
    seconds: float  # duration of the samples

    def __add__(self, other: Sums) -> Sums:
        triangles = combine(merge_triangles, self.triangles, other.triangles)
        lagged = combine(add_blocks, self.lagged, other.lagged)
        both = self.count + other.count, max(self.longest, other.longest), self.seconds + other.seconds
        return Sums(triangles, lagged, *both)

    def to_bytes(self) -> bytes:
        """As an npz: plain arrays and one JSON text, no pickle."""
        sizes = {str(int(k)): [len(R) for R in blocks] for k, blocks in self.triangles.items()}
        about = {
            "schema": SCHEMA,
            "count": self.count,
            "longest": self.longest,
            "seconds": self.seconds,
            "sizes": sizes,
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
        for loaded, blocks in self.triangles.items():
            arrays[f"triangles_{int(loaded)}"] = np.concatenate([R[np.triu_indices(len(R))] for R in blocks])
            arrays[f"lagged_{int(loaded)}"] = np.concatenate([G.ravel() for G in self.lagged[loaded]])
        out = io.BytesIO()
        np.savez(out, **arrays)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Sums:
        """Inverse of ``to_bytes``; raises ValueError, KeyError or the like for other content."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            about = json.loads(str(file["about"][()]))
            if about["schema"] != SCHEMA:
                raise ValueError(f"schema {about['schema']}")
            triangles, lagged = dict[bool, Sequence[Array]](), dict[bool, Sequence[Array]]()
            for key, sizes in about["sizes"].items():
                upper, sums = file[f"triangles_{key}"], file[f"lagged_{key}"]
                halves = [m * (m + 1) // 2 for m in sizes]
                lags = len(sums) // sum(halves)
                ends = np.cumsum(halves)
                halves_of = zip(np.split(upper, ends[:-1]), sizes, strict=True)
                triangles[key == "1"] = [_full(part, m) for part, m in halves_of]
                parts = np.split(sums, lags * ends[:-1])
                lagged[key == "1"] = [part.reshape(lags, -1) for part in parts]
            return cls(triangles, lagged, int(about["count"]), int(about["longest"]), float(about["seconds"]))


def _full(upper: Array, m: int) -> Array:
    R = np.zeros((m, m))
    R[np.triu_indices(m)] = upper
    return R


@dataclass(frozen=True)
class Checkpoint:
    """A folder, or a URL that fsspec can write to."""

    place: str
    token: str = ""  # content of TOKEN by which a worker recognises it; "" before it is created

    @classmethod
    def create(cls, place: str | Path) -> Checkpoint:
        """Create the checkpoint, with a new token in it."""
        checkpoint = cls(str(place), uuid4().hex)
        checkpoint._write(TOKEN, json.dumps({"schema": SCHEMA, "token": checkpoint.token}).encode())
        return checkpoint

    def is_visible(self) -> bool:
        """Whether this process can read the checkpoint that was created."""
        try:
            return bool(json.loads(self._read(TOKEN))["token"] == self.token)
        except Exception:  # absent, another one or unreadable: all the same
            return False

    def load(self, key: str) -> Sums | None:
        """Sums stored under a key; None where there are none, or unreadable ones."""
        try:
            return Sums.from_bytes(self._read(f"{key}.npz"))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, key: str, sums: Sums) -> None:
        """Store the sums of a log."""
        self._write(f"{key}.npz", sums.to_bytes())

    def clear(self) -> None:
        """Remove the stored sums, and the folder if nothing else is in it."""
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
        return import_fsspec(self.place).open(f"{self.place.rstrip('/')}/{name}", mode)
