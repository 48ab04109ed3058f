"""Options of the command line, derived from the fields of the classes that use them, with their help.

A command names the classes, and receives objects of them. Options of methods come from the files in
``identify/methods``: a new method brings its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from steelyard.equations.option_field import hints_of
from steelyard.errors import Finding, UsageError
from steelyard.identify.method import Method, method_names, method_type

METHOD_PANEL = "Options of one method"
WIDEST = 15  # characters of choices that --help shows in place of a metavar
Command = Callable[..., None]
Panels = Mapping[str, Sequence[str]]  # panel → names of its flags, without dashes


@dataclass(frozen=True)
class Flag:
    """An option of the command line, and the field that it sets."""

    name: str  # of the parameter
    field: Field[Any]
    hint: Any  # type of the field
    panel: str | None = None

    @property
    def text(self) -> str:
        """As it is typed."""
        return str(self.field.metadata.get("flag", "--" + self.field.name.replace("_", "-")))

    @property
    def default(self) -> Any:
        """Of the parameter; None where it repeats."""
        if self.repeats or self.field.default is MISSING:
            return None
        if self.kind is bool:
            return bool(self.field.default)
        return str(self.field.default) if self.kind is str else self.field.default

    @property
    def repeats(self) -> bool:
        """Whether it may be typed several times."""
        return self.kind in (list[str] | None, list[float] | None)

    @property
    def kind(self) -> Any:
        """Type of the parameter."""
        if (given := self.field.metadata.get("type")) is not None:
            return given if given in (bool, str) else given | None
        origin, inner = get_origin(self.hint), get_args(self.hint)
        if origin is Mapping:
            return list[str] | None
        if origin is tuple and inner[-1] is Ellipsis:
            return list[float] | None if inner[0] is float else list[str] | None
        return self.hint

    @property
    def parameter(self) -> inspect.Parameter:
        """As typer reads it."""
        about = self.field.metadata
        metavar, help = with_choices(self.name, self.kind, about["help"], about.get("metavar"))
        declared = typer.Option(self.text, help=help, metavar=metavar, rich_help_panel=self.panel)
        kind = Annotated[self.kind, declared]  # type: ignore[name-defined]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=kind)

    def value(self, given: Any) -> Any:
        """Value of the field, parsed from the argument."""
        if (parse := self.field.metadata.get("parse")) is not None:
            return parse(given)
        if self.kind == list[str] | None:
            return listed(given) if get_origin(self.hint) is tuple else numbered(self.text, given)
        return tuple(given) if self.repeats else given


def with_choices(name: str, kind: Any, help: str, metavar: str | None = None) -> tuple[str | None, str]:
    """Metavar and help of an option: choices that would widen the column of metavars are listed in the help."""
    choices = ", ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else ""
    if metavar is not None or len(choices) <= WIDEST:
        return metavar, help
    return name.replace("_", "-").upper(), f"{help.removesuffix('.')}; one of {choices}."


def flags_of(cls: type, panel: str | None = None, only: Sequence[str] | None = None) -> Iterator[Flag]:
    """Options of a class, and of the classes of its fields."""
    hints = hints_of(cls)
    for each in fields(cls):
        if only is not None and each.name not in only:
            continue
        if each.metadata.get("help"):
            yield Flag(each.metadata.get("flag", each.name).strip("-").replace("-", "_"), each, hints[each.name], panel)
        elif is_dataclass(hints[each.name]):
            yield from flags_of(hints[each.name], panel)


def construct(cls: type, given: Mapping[str, Any], only: Sequence[str] | None = None) -> Any:
    """An object of a class from the arguments of its options."""
    hints, values = hints_of(cls), {}
    flags = {flag.field.name: flag for flag in flags_of(cls, only=only) if flag.field in fields(cls)}
    for each in fields(cls):
        if each.name in flags:
            flag = flags[each.name]
            if given.get(flag.name, flag.default) != flag.default:
                values[each.name] = flag.value(given[flag.name])
        elif is_dataclass(hints[each.name]) and (only is None or each.name in only):
            values[each.name] = construct(hints[each.name], given)
    return cls(**values)


def method_flags() -> dict[str, list[Flag]]:
    """Flag → the same option of every method that has it, the one with the widest choice first."""
    flags: dict[str, list[Flag]] = {}
    for name in method_names():
        for flag in flags_of(method_type(name), METHOD_PANEL):
            flags.setdefault(flag.name, []).append(flag)
    return {name: sorted(same, key=lambda flag: -len(get_args(flag.hint))) for name, same in flags.items()}


def method_of(name: str, given: Mapping[str, Any]) -> Method:
    """The chosen method with its own options; options of other methods are refused."""
    cls = method_type(name)
    own = {flag.name for flag in flags_of(cls)}
    findings = []
    for flag, same in method_flags().items():
        if flag not in own and given[flag] != same[0].default:
            having = " or ".join(n for n in method_names() if any(f.name == flag for f in flags_of(method_type(n))))
            other = having.split(" ")[0]
            what, fix = f"is an option of method {having}, not {name}", f"Drop it, or use --method {other}"
            findings.append(Finding("option-conflict", same[0].text, what, fix, {"method": other}))
    if findings:
        raise UsageError(findings)
    method: Method = construct(cls, given)
    return method


def takes(
    cls: type, *, panel: str | None = None, name: str = "options", only: Sequence[str] | None = None
) -> Callable[[Command], Command]:
    """Decorator: a command takes the options of a class too, and receives the object as ``name``."""
    flags = [flag for flag in flags_of(cls, panel, only) if flag.name != "method"]

    def make(given: dict[str, Any]) -> dict[str, Any]:
        mine = {flag.name: given.pop(flag.name) for flag in flags}
        return given | {name: construct(cls, mine, only)}

    return lambda command: _extended(command, name, [flag.parameter for flag in flags], make)


def takes_method(command: Command) -> Command:
    """Decorator: a command takes ``--method`` and the options of all methods, and receives the object as ``method``."""
    table = method_flags()
    kind: Any = Literal[method_names()]
    metavar, help = with_choices("method", kind, "Method of identification.")
    choice = Annotated[kind, typer.Option("--method", help=help, metavar=metavar)]
    asked = inspect.Parameter("method", inspect.Parameter.KEYWORD_ONLY, default="lmi", annotation=choice)

    def make(given: dict[str, Any]) -> dict[str, Any]:
        mine = {flag: given.pop(flag) for flag in table}
        return given | {"method": method_of(given["method"], mine)}

    return _extended(command, "method", [asked, *(same[0].parameter for same in table.values())], make)


def in_panels(panels: Panels) -> Callable[[Command], Command]:
    """Decorator: group the options of a command in panels; those not named come first in the panel they declare.

    An empty title is the panel above all others.
    """
    titles = {name: panel for panel, names in panels.items() for name in names}
    order = list(titles)

    def place(parameter: inspect.Parameter) -> tuple[int, int]:
        name, declared = parameter.name, parameter.annotation.__metadata__[0]
        panel = list(panels).index(titles.get(name, declared.rich_help_panel or ""))
        return panel, order.index(name) if name in titles else -1

    def titled(parameter: inspect.Parameter) -> inspect.Parameter:
        if parameter.name not in titles:
            return parameter
        kind, declared = get_args(parameter.annotation)
        declared = copy(declared)  # other commands may share it
        declared.rich_help_panel = titles[parameter.name] or None
        return parameter.replace(annotation=Annotated[kind, declared])

    def decorated(command: Command) -> Command:
        parameters = sorted(inspect.signature(command).parameters.values(), key=place)
        return _signed(command, [titled(parameter) for parameter in parameters])

    return decorated


def _extended(
    command: Command,
    name: str,
    parameters: Sequence[inspect.Parameter],
    make: Callable[[dict[str, Any]], dict[str, Any]],
) -> Command:
    """A command with further parameters in place of ``name``, whose object ``make`` adds to the arguments."""
    own = inspect.signature(command, eval_str=True).parameters
    kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.values() if p.name != name]

    @wraps(command)
    def run(**given: Any) -> None:
        command(**make(given))

    return _signed(run, [*kept, *parameters])


def _signed(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def listed(values: list[str] | None) -> tuple[str, ...]:
    """Values of an option that repeats or has commas."""
    return tuple(part.strip() for value in values or [] for part in value.split(",") if part.strip())


def numbered(flag: str, values: list[str] | None) -> dict[str, float]:
    """Names and numbers of NAME=VALUE, repeated or with commas."""
    numbers: dict[str, float] = {}
    for text in listed(values):
        name, sign, number = text.partition("=")
        try:
            numbers[name] = float(number if sign else "")
        except ValueError:
            fix = f"Write e.g. {flag} finger_joint=0.04"
            raise UsageError(Finding("option-value", f"{flag} {text}", "is not JOINT=VALUE", fix)) from None
    return numbers
