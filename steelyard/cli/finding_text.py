"""A finding as the command line prints it: keywords of the Python interface become flags of the verb that runs.

``delay=0.027`` in a sentence becomes ``--delay 0.027``; a remedy that its sentence does not mention is appended. The
flags are those that the verb declares, so that a message never names one that the verb does not have.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from steelyard.errors import Finding

ALIASES = {"topics": "topic"}  # keyword of Python → parameter of the verb, where they differ
ASSIGNMENT = re.compile(r"(?<![\w.-])(\w+)=(\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|'[^']*'|\"[^\"]*\"|[\w/+-]+(?:\.\w+)*|…)")


def finding_text(finding: Finding, verb: str) -> str:
    """One line: place, fault, fix with the flags that carry it out, and the code.

    Args:
        finding: What is wrong, in the words of Python.
        verb: The subcommand that reports it, e.g. ``identify``.
    """
    options = options_of(verb)
    place = re.fullmatch(r"(\w+)=(.*)", finding.where, re.DOTALL)
    where = finding.where
    if place and place[1] in options:
        where = f"{_flag(options[place[1]])} {'' if place[2] == 'True' else place[2]}".rstrip()
    what, fix = (_with_flags(text, options) for text in (finding.what, finding.fix))
    remedy = {options[name]: value for name, value in finding.remedy.items() if name in options}
    if added := [
        text for option, value in remedy.items() if _flag(option) not in fix for text in _flag_texts(option, value)
    ]:
        fix += f": {' '.join(added)}"
    return f"{where}: {what}. {fix}. [{finding.code}]" if fix else f"{where}: {what}. [{finding.code}]"


@cache
def options_of(verb: str) -> dict[str, Any]:
    """Keyword of Python → option of a verb (and of its own subcommands), as typer declares it."""
    from typer.main import get_command

    from steelyard.cli.derived_options import flags_of, method_flags
    from steelyard.cli.main import VERBS, make_app
    from steelyard.identify.options import Options

    if verb not in VERBS:
        return {}
    parameters = [p for command in _commands(get_command(make_app((verb,)))) for p in command.params]
    options = {p.name: p for p in parameters if p.param_type_name == "option"}
    by_flag = {_flag(p): p for p in options.values()}
    of_methods = [flag for flags in method_flags().values() for flag in flags]
    fields = {flag.field.name: by_flag[flag.text] for flag in (*of_methods, *flags_of(Options)) if flag.text in by_flag}
    aliases = {keyword: options[name] for keyword, name in ALIASES.items() if name in options}
    return {**fields, **options, **aliases}


def _commands(command: Any) -> Iterator[Any]:
    below = getattr(command, "commands", None)
    if below is None:
        yield command
    else:
        for each in below.values():
            yield from _commands(each)


def _with_flags(sentence: str, options: Mapping[str, Any]) -> str:
    """A sentence with every ``name=value`` of an option as it is typed."""

    def typed(match: re.Match[str]) -> str:
        name, text = match.groups()
        if name not in options:
            return match[0]
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):  # a placeholder: ``lock={joint: q}``
            value = re.sub(r"[{}\[\]()]", "", text).replace(": ", "=")
            return f"{_flag(options[name])} {value}"
        return " ".join(_flag_texts(options[name], value)) or match[0]

    return ASSIGNMENT.sub(typed, sentence)


def _flag_texts(option: Any, value: Any) -> Iterator[str]:
    """An option with a value, as it is typed; None stands for a value of the user's."""
    flag = _flag(option)
    if value is True:
        yield flag
    elif value is False:
        yield from option.secondary_opts[:1]
    elif value is None:
        yield f"{flag} …"
    elif isinstance(value, Mapping):
        yield from (f"{flag} {shlex.quote(f'{key}={x}')}" for key, x in value.items())
    elif isinstance(value, list | tuple) and option.nargs > 1:
        yield f"{flag} {' '.join(f'{x:g}' for x in value)}"
    elif isinstance(value, list | tuple) and option.multiple and not str(option.metavar).endswith(",…"):
        yield from (f"{flag} {shlex.quote(str(x))}" for x in value)
    else:
        values = value if isinstance(value, list | tuple) else [value]
        yield f"{flag} {shlex.quote(','.join(map(str, values)))}"


def _flag(option: Any) -> str:
    """The long form: ``--out`` of ``-o, --out``."""
    return str(max(option.opts, key=len))
