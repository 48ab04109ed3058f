"""Options of the command line that derive from the classes that use them: declared once, with their help.

A command names the classes; it gets objects of them, made of what was typed. Options of methods come from the files in
``identify/methods``: a new method brings its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from steelyard.equations.option_field import hints_of
from steelyard.errors import Finding, UsageError
from steelyard.identify.method import Method, method_names, method_type

METHOD_PANEL = "Options of one method"


@dataclass(frozen=True)
class Flag:
    """One option of the command line: which field of which class it sets."""

    name: str  # of the parameter
    field: Field[Any]
    hint: Any  # type of the field
    panel: str

    @property
    def text(self) -> str:
        """As it is typed."""
        return str(self.field.metadata.get("flag", "--" + self.field.name.replace("_", "-")))

    @property
    def default(self) -> Any:
        """Of the parameter; None where it is a list."""
        if self.kind == list[str] | None or self.field.default is MISSING:
            return None
        if self.kind is bool:
            return bool(self.field.default)
        return str(self.field.default) if self.kind is str else self.field.default

    @property
    def kind(self) -> Any:
        """Type of the parameter."""
        if (given := self.field.metadata.get("type")) is not None:
            return given if given in (bool, str) else given | None
        origin = get_origin(self.hint)
        several = origin is tuple and get_args(self.hint)[-1] is Ellipsis
        return list[str] | None if several or origin is Mapping else self.hint

    @property
    def parameter(self) -> inspect.Parameter:
        """As typer reads it."""
        about = self.field.metadata
        declared = typer.Option(self.text, help=about["help"], metavar=about.get("metavar"), rich_help_panel=self.panel)
        kind = Annotated[self.kind, declared]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=kind)

    def value(self, given: Any) -> Any:
        """What the field gets of what was typed."""
        if (parse := self.field.metadata.get("parse")) is not None:
            return parse(given)
        if self.kind == list[str] | None:
            return listed(given) if get_origin(self.hint) is tuple else numbered(self.text, given)
        return given


def flags_of(cls: type, panel: str, only: tuple[str, ...] | None = None) -> Iterator[Flag]:
    """Options of a class, and of the classes of its fields."""
    hints = hints_of(cls)
    for each in fields(cls):
        if only is not None and each.name not in only:
            continue
        if each.metadata.get("help"):
            yield Flag(each.metadata.get("flag", each.name).strip("-").replace("-", "_"), each, hints[each.name], panel)
        elif is_dataclass(hints[each.name]):
            yield from flags_of(hints[each.name], panel)


def made_of(cls: type, given: Mapping[str, Any], only: tuple[str, ...] | None = None) -> Any:
    """An object of a class from what was typed for its options."""
    hints, values = hints_of(cls), {}
    flags = {flag.field.name: flag for flag in flags_of(cls, "", only) if flag.field in fields(cls)}
    for each in fields(cls):
        if each.name in flags:
            flag = flags[each.name]
            if given.get(flag.name, flag.default) != flag.default:
                values[each.name] = flag.value(given[flag.name])
        elif is_dataclass(hints[each.name]) and (only is None or each.name in only):
            values[each.name] = made_of(hints[each.name], given)
    return cls(**values)


def method_flags() -> dict[str, list[Flag]]:
    """Flag → the same option of every method that has it, the one with the widest choice first."""
    found: dict[str, list[Flag]] = {}
    for name in method_names():
        for flag in flags_of(method_type(name), METHOD_PANEL):
            found.setdefault(flag.name, []).append(flag)
    return {name: sorted(same, key=lambda flag: -len(get_args(flag.hint))) for name, same in found.items()}


def method_of(name: str, given: Mapping[str, Any]) -> Method:
    """The method that was asked for, with its own options; those of other methods are refused."""
    cls = method_type(name)
    own = {flag.name for flag in flags_of(cls, METHOD_PANEL)}
    findings = []
    for flag, same in method_flags().items():
        if flag not in own and given[flag] != same[0].default:
            having = " or ".join(n for n in method_names() if any(f.name == flag for f in flags_of(method_type(n), "")))
            what = f"is for method {having}, not {name}"
            findings.append(Finding(same[0].text, what, f"Drop it, or use --method {having.split(' ')[0]}"))
    if findings:
        raise UsageError(findings)
    method: Method = made_of(cls, given)
    return method


def takes(cls: type, *, panel: str, name: str = "options", only: tuple[str, ...] | None = None) -> Callable[..., Any]:
    """A command takes the options of a class beside its own, and gets the object made of them as ``name``."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        flags = [f for f in flags_of(cls, panel, only) if f.name != "method"]
        own = inspect.signature(command, eval_str=True)
        kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for k, p in own.parameters.items() if k != name]

        @wraps(command)
        def run(**given: Any) -> None:
            mine = {flag.name: given.pop(flag.name) for flag in flags}
            command(**given, **{name: made_of(cls, mine, only)})

        run.__signature__ = own.replace(parameters=[*kept, *(f.parameter for f in flags)])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
        return run

    return decorated


def takes_method(command: Callable[..., None]) -> Callable[..., None]:
    """A command takes ``--method`` and the options of all methods, and gets the method as ``method``."""
    table = method_flags()
    own = inspect.signature(command, eval_str=True)
    kept = [p for k, p in own.parameters.items() if k != "method"]
    choice = Annotated[
        Literal[method_names()],  # type: ignore[valid-type]
        typer.Option("--method", help="What a link may be.", rich_help_panel="What is identified"),
    ]
    asked = inspect.Parameter("method", inspect.Parameter.KEYWORD_ONLY, default="lmi", annotation=choice)

    @wraps(command)
    def run(**given: Any) -> None:
        mine = {flag: given.pop(flag) for flag in table}
        command(**{**given, "method": method_of(given["method"], mine)})

    run.__signature__ = own.replace(parameters=[*kept, asked, *(same[0].parameter for same in table.values())])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
    return run


def listed(values: list[str] | None) -> tuple[str, ...]:
    """An option that repeats or has commas."""
    return tuple(part.strip() for value in values or [] for part in value.split(",") if part.strip())


def numbered(flag: str, values: list[str] | None) -> dict[str, float]:
    """NAME=VALUE, repeated or with commas, as names and numbers."""
    found: dict[str, float] = {}
    for text in listed(values):
        name, sign, number = text.partition("=")
        try:
            found[name] = float(number if sign else "")
        except ValueError:
            fix = f"Write e.g. {flag} finger_joint=0.04"
            raise UsageError(Finding(f"{flag} {text}", "is not JOINT=VALUE", fix)) from None
    return found
