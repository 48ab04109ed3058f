"""The command line: verbs, results on stdout, progress on stderr, and a verdict of one sentence at the end.

Heavy imports are inside the verbs, so that ``--help`` is immediate.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

VERBS = (  # a file each, in the order of --help
    "identify",
    "load",
    "gather",
    "check",
    "demo",
    "simulate",
    "excite",
    "search",
    "compare",
    "report",
    "view",
    "robots",
    "calibrate",
    "reproduce",
)
OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}  # the papers' own options


def make_app(verbs: tuple[str, ...] = VERBS) -> typer.Typer:
    """The program with some of its verbs."""
    app = typer.Typer(
        name="steelyard",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        help="Identify mass, centre of mass and inertia of every link of a robot from logs of its motion.",
    )

    @app.callback()
    def only_verbs() -> None:
        """Keep a single verb a verb, where typer would make it the program."""

    for name in verbs:
        verb = getattr(import_module(f"steelyard.cli.{name}"), name)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name, context_settings=OWN_OPTIONS if name == "reproduce" else None)(verb)
    return app


def main() -> None:
    """Entry point: errors of the package become one message with every finding, and an exit code."""
    # Factorisations are small: a second BLAS thread costs more time than it saves, and results would depend on the
    # number of cores. Read when NumPy loads, which no verb has done yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    verb = tuple(sys.argv[1:2])
    app = make_app(verb if set(verb) & set(VERBS) else VERBS)  # the other verbs' files are not needed
    try:
        app()
    except OSError as error:
        print(f"steelyard: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        from steelyard.cli.finding_text import finding_text
        from steelyard.errors import SteelyardError

        if not isinstance(error, SteelyardError):
            raise
        count = len(error.findings)
        print(f"steelyard: {count} thing{'s' if count > 1 else ''} to correct:", file=sys.stderr)
        for finding in error.findings:
            print(f"  {finding_text(finding, sys.argv[1])}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
