"""Handle to an object that is costly to build: it travels to workers as its arguments, and is built once by each.

Collision geometry, compiled trees and simulators stay where they are; robots, logs and options travel, pickled once.
Files that are read again on the worker are first compared by their bytes, so that no worker computes with another
robot's meshes.
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

Built = TypeVar("Built")

_THREAD = threading.local()  # the object that each thread built last: objects are not shared between threads


class RemoteHandle(Generic[Built]):
    """Handle to ``build(*arguments)``, which in this process is ``value``; ``files`` lists what ``build`` reads."""

    def __init__(
        self,
        value: Built,
        build: Callable[..., Built],
        *arguments: object,
        files: Callable[[], Sequence[Path]] = tuple,
    ):
        self._value: Built | None = value
        self._recipe = build, arguments, files
        self._pickled: tuple[str, bytes] | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._pickled is None:  # the key is random: it only distinguishes objects, no result depends on it
            self._pickled = uuid4().hex, pickle.dumps((*self._recipe, _digest(self._recipe[2]())))
        return {"_value": None, "_pickled": self._pickled}

    @property
    def local(self) -> Built:
        """The object in this process; a worker's thread builds it at first use."""
        if self._value is not None:
            return self._value
        assert self._pickled is not None  # set by __getstate__
        key, pickled = self._pickled
        if getattr(_THREAD, "key", None) != key:
            build, arguments, files, digest = pickle.loads(pickled)
            if _digest(files()) != digest:
                where, what = f"worker on {socket.gethostname()}", "has other meshes, or another SRDF, than the driver"
                fix = "Give every machine the same files under the same paths"
                raise UsageError(Finding("worker-files-differ", where, what, fix))
            _THREAD.value, _THREAD.key = build(*arguments), key
        return cast(Built, _THREAD.value)


def _digest(files: Sequence[Path]) -> str:
    content = [hashlib.sha256(f.read_bytes()).hexdigest() if f.is_file() else "missing" for f in files]
    return hashlib.sha256(" ".join(content).encode()).hexdigest()
