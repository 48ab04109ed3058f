"""What is costly to make, on its way to workers: sent as what it was made of, made once where it arrives.

Solids, compiled trees and simulators stay where they are; robots, logs and options travel, packed once however often
they are sent. Files that are read again by whoever makes the thing anew are compared by their bytes first, so no worker
answers for another robot than was meant.
"""

from __future__ import annotations

import hashlib
import pickle
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from uuid import uuid4

from steelyard.errors import Finding, UsageError

Made = TypeVar("Made")

_HERE = threading.local()  # what each thread made last: a thing is not for two of them at once


class Sent(Generic[Made]):
    """``make(*given)``, which is ``made`` here; ``files`` names those that are read on the way."""

    def __init__(
        self, made: Made, make: Callable[..., Made], *given: object, files: Callable[[], Sequence[Path]] = tuple
    ):
        self._made: Made | None = made
        self._parts = make, given, files
        self._packed: tuple[str, bytes] | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._packed is None:  # the name says which thing it is; no result depends on it
            self._packed = uuid4().hex, pickle.dumps((*self._parts, _digest(self._parts[2]())))
        return {"_made": None, "_packed": self._packed}

    @property
    def here(self) -> Made:
        """The thing; made by the first task of a thread that needs it."""
        if self._made is not None:
            return self._made
        assert self._packed is not None  # it was sent
        name, packed = self._packed
        if getattr(_HERE, "name", None) != name:
            make, given, files, digest = pickle.loads(packed)
            if _digest(files()) != digest:
                where, what = f"worker on {socket.gethostname()}", "sees other meshes, or another SRDF, than were meant"
                raise UsageError(Finding("todo", where, what, "Give every machine the same files under the same paths"))
            _HERE.made, _HERE.name = make(*given), name
        return cast(Made, _HERE.made)


def _digest(files: Sequence[Path]) -> str:
    content = [hashlib.sha256(f.read_bytes()).hexdigest() if f.is_file() else "not there" for f in files]
    return hashlib.sha256(" ".join(content).encode()).hexdigest()
