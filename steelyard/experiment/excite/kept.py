"""Work that was done for one question, kept in a file so that nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from steelyard.files import write_text

NAME = "candidates.json"  # in the folder of the results


class _Kind(Protocol):
    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self: ...


One = TypeVar("One", bound=_Kind)


class Kept(Generic[One]):
    """A file of what was done; it is written every so often, whole or not at all. Without a path: in memory alone."""

    def __init__(self, path: Path | None, question: Mapping[str, Any], kind: type[One], every: int = 1):
        self.path, self.question, self.every = path, json.loads(json.dumps(question)), every
        self.done: dict[str, One] = {}
        self._new = 0
        if path is not None and path.is_file():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
                if found["question"] == self.question:
                    self.done = {key: kind.from_json(x) for key, x in found["done"].items()}
            except (ValueError, KeyError, TypeError):  # not ours, or interrupted while it was written: begin again
                self.done = {}

    def add(self, key: str, one: One) -> None:
        """One more."""
        self.done[key] = one
        self._new += 1
        if self._new >= self.every:
            self.write()

    def write(self) -> None:
        """All of them, where there is a file and something is new."""
        if self.path is not None and self._new:
            content = {"question": self.question, "done": {key: self.done[key].as_json() for key in sorted(self.done)}}
            write_text(self.path, json.dumps(content) + "\n")
        self._new = 0
