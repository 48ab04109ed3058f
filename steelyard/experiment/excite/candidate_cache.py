"""Cache of evaluated candidates in a file, so that an interrupted search resumes and nothing is computed twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from steelyard.files import write_text

NAME = "candidates.json"  # in the folder of the results


class _Storable(Protocol):
    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self: ...


Entry = TypeVar("Entry", bound=_Storable)


class CandidateCache(Generic[Entry]):
    """Entries by key, valid for one question (robot, request, versions); without a path they live in memory alone.

    The file is written after every ``every`` new entries, atomically. A file of another question is ignored.
    """

    def __init__(self, path: Path | None, question: Mapping[str, Any], kind: type[Entry], every: int = 1):
        self.path, self.question, self.every = path, json.loads(json.dumps(question)), every
        self.entries: dict[str, Entry] = {}
        self._new = 0
        if path is not None and path.is_file():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                if content["question"] == self.question:
                    self.entries = {key: kind.from_json(x) for key, x in content["done"].items()}
            except (ValueError, KeyError, TypeError):  # not a cache of ours, or truncated: start empty
                self.entries = {}

    def add(self, key: str, entry: Entry) -> None:
        """Add an entry, and write the file when enough are new."""
        self.entries[key] = entry
        self._new += 1
        if self._new >= self.every:
            self.write()

    def write(self) -> None:
        """Write all entries, if there is a file and any is new."""
        if self.path is not None and self._new:
            entries = {key: self.entries[key].as_json() for key in sorted(self.entries)}
            write_text(self.path, json.dumps({"question": self.question, "done": entries}) + "\n")
        self._new = 0
