"""Bags of ROS 2 (folders, SQLite) and MCAP: recognised here, read in ``steelyard/log/bag``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.log.format import LogFormat
from steelyard.log.log import Log


class Bag(LogFormat):
    """Messages by topic, each topic on its own clock."""

    suffixes = (".db3", ".mcap")

    def recognises(self, path: Path) -> bool:
        """By the name, or a folder with one in it; bags of ROS 1 to be refused with a way out."""
        if path.is_dir():
            return any(file.name == "metadata.yaml" or self._is_bag(file) for file in path.iterdir())
        return self._is_bag(path)

    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """The checked log on the clock of the joint states."""
        from steelyard.log.bag.reader import read_bag

        return read_bag(path, topics)

    def _is_bag(self, path: Path) -> bool:
        return path.suffix.lower() in (*self.suffixes, ".bag")
