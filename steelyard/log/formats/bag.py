"""Bags of ROS 2 (folders, SQLite) and MCAP files; ``steelyard/log/bag`` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.log.format import LogFormat
from steelyard.log.log import Log


class Bag(LogFormat):
    """Messages by topic, each topic with its own stamps."""

    suffixes = (".db3", ".mcap")

    def recognises(self, path: Path) -> bool:
        """By suffix, or a folder that contains one; bags of ROS 1 too, to be refused with how to convert them."""
        if path.is_dir():
            return any(file.name == "metadata.yaml" or self._is_bag(file) for file in path.iterdir())
        return self._is_bag(path)

    def read(self, path: Path, topics: Mapping[str, str]) -> Log:
        """Read a checked log at the stamps of the joint states."""
        from steelyard.log.bag.reader import read_bag

        return read_bag(path, topics)

    def _is_bag(self, path: Path) -> bool:
        return path.suffix.lower() in (*self.suffixes, ".bag")
