"""Quadrupeds of the index, loaded once, or a skip with its reason."""

from __future__ import annotations

from functools import cache

import pytest

from steelyard.errors import DescriptionError
from steelyard.robot.model import Robot

QUADRUPEDS = ("a1", "go1", "go2", "anymal", "solo12", "laikago")


@cache
def _load(name: str) -> Robot | str:
    try:
        return Robot.load(name)
    except DescriptionError as error:
        return str(error)


def quadruped(name: str) -> Robot:
    loaded = _load(name)
    if isinstance(loaded, str):
        pytest.skip(loaded)
    return loaded
