"""Fields of options, declared once with the help text that the command line and the reference show."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import field, fields
from typing import Any, get_args

from steelyard.errors import Finding


def option(default: Any, help: str, **more: Any) -> Any:
    """A dataclass field with its help.

    Args:
        default: Default value, or a function that returns it.
        help: One line for the command line and the reference.
        more: ``flag``, ``metavar`` and ``type`` of the command line, where they are not the field's name and type;
            ``parse``, which converts what was typed into the value.
    """
    how = {"default_factory": default} if callable(default) else {"default": default}
    return field(metadata={"help": help, **more}, **how)


def hints_of(cls: type) -> dict[str, Any]:
    """Types of a class's fields; Any where one names a class that only type checkers import."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        space = vars(sys.modules[base.__module__])
        for name, text in vars(base).get("__annotations__", {}).items():
            try:
                hints[name] = eval(text, space) if isinstance(text, str) else text
            except NameError:
                hints[name] = Any
    return hints


def unknown_choices(options: Any) -> Iterator[Finding]:
    """Findings about values that a field's ``Literal`` does not allow."""
    hints = hints_of(type(options))
    for name in (f.name for f in fields(options)):
        allowed, value = get_args(hints[name]), getattr(options, name)
        if allowed and all(isinstance(x, str) for x in allowed) and value not in allowed:
            yield unknown_choice(name, value, allowed)


def unknown_choice(name: str, value: Any, allowed: Sequence[str]) -> Finding:
    """The value of an option that is none of its choices; the remedy is the nearest one, where one is near."""
    near = difflib.get_close_matches(str(value), allowed, n=1)
    fix = f"Choose from: {', '.join(allowed)}"
    return Finding("option-unknown-choice", f"{name}={value}", "is not known", fix, {name: near[0]} if near else {})
