"""Rooms: each says its question and what goes in and out, and gives what others may use when it is first asked for."""

from importlib import import_module
from pathlib import Path

import pytest

import steelyard

HOUSE = Path(steelyard.__file__).parent
ROOMS = sorted(p.parent.name for p in HOUSE.glob("*/__init__.py"))
GIVING = [room for room in ROOMS if room not in ("cli", "experiment", "kernels")]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is(room):
    first, _, rest = (import_module(f"steelyard.{room}").__doc__ or "").partition("\n")
    assert first.endswith(("?", ".", "out."))
    assert len(rest.strip()) > 100


@pytest.mark.parametrize("room", GIVING)
def test_what_a_room_gives_is_there_and_asked_for_by_name(room):
    module = import_module(f"steelyard.{room}")
    assert dir(module)
    for name in dir(module):
        assert getattr(module, name).__module__.startswith(f"steelyard.{room}.") or not callable(getattr(module, name))
    with pytest.raises(AttributeError, match=f"steelyard.{room}.*has no attribute 'nothing'"):
        _ = module.nothing


def test_the_root_holds_leaves_and_the_interface_alone():
    loose = {p.stem for p in HOUSE.glob("*.py")} - {"__init__", "__main__"}
    assert loose == {"api", "errors", "files", "inertia", "information", "spatial"}
