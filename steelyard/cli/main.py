"""The command line: verbs, results on stdout, progress on stderr, one sentence of verdict at the end.

Everything heavy is imported inside the verbs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from steelyard.cli.calibrate import calibrate
from steelyard.cli.check import check
from steelyard.cli.compare import compare
from steelyard.cli.demo import demo
from steelyard.cli.excite import excite
from steelyard.cli.gather import gather
from steelyard.cli.identify import identify
from steelyard.cli.load import load
from steelyard.cli.report import report
from steelyard.cli.reproduce import reproduce
from steelyard.cli.robots import robots
from steelyard.cli.search import search
from steelyard.cli.simulate import simulate
from steelyard.cli.view import view

app = typer.Typer(
    name="steelyard",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Weigh a robot while it moves: mass, centre of mass and inertia of every link from a log of its motion.",
)
VERBS: tuple[Callable[..., None], ...] = (
    identify,
    load,
    gather,
    check,
    demo,
    simulate,
    excite,
    search,
    compare,
    report,
    view,
    robots,
)
for verb in VERBS:
    app.command()(verb)
app.add_typer(calibrate, name="calibrate")
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(reproduce)


def main() -> None:
    """Entry point: known errors become one message with every reason, and an exit code."""
    try:
        app()
    except OSError as error:
        print(f"steelyard: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        from steelyard.errors import SteelyardError

        if not isinstance(error, SteelyardError):
            raise
        count = len(error.findings)
        print(f"steelyard: {count} thing{'s' if count > 1 else ''} to correct:", file=sys.stderr)
        for finding in error.findings:
            print(f"  {finding}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
