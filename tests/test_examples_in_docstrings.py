"""Examples in the docstrings of public names run, and print what they show."""

import dataclasses
import doctest
import inspect

import pytest

import steelyard as sy

NAMES = sorted(set(dir(sy)) - {"__version__"})
METHODS = ("Information.of", "Log.from_arrays", "Log.from_frame", "Log.read", "Result.save", "Robot.load")
CLASSES = [name for name in NAMES if inspect.isclass(getattr(sy, name))]


def run(text, names, name):
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert test.examples, f"{name} has no example"
    assert not [e for e in test.examples if doctest.SKIP in e.options]
    shown = []
    doctest.DocTestRunner().run(test, out=shown.append, clear_globs=False)
    assert not shown, "".join(shown)
    return test.globs


def docstring(path):
    """Its own, not that of a base class."""
    name, _, method = path.partition(".")
    thing = getattr(sy, name)
    return (vars(thing)[method] if method else thing).__doc__ or ""


@pytest.fixture(scope="module")
def start():
    return run(sy.__doc__, {}, "steelyard")


@pytest.mark.parametrize("path", [*NAMES, *METHODS])
def test_the_example_runs(path, start):
    text = docstring(path)
    assert "Examples:\n" in text
    run(text, dict(start), path)


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_and_argument_of_a_class_is_described(name):
    cls = getattr(sy, name)
    if dataclasses.is_dataclass(cls):
        described = [f.name for f in dataclasses.fields(cls)]
    else:
        described = [] if issubclass(cls, Exception) else list(inspect.signature(cls).parameters)
    lines = [line.strip() for line in docstring(name).splitlines()]
    assert [d for d in described if not any(line.startswith(f"{d}: ") for line in lines)] == []
