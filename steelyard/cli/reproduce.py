"""``steelyard reproduce``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Folder of papers/, e.g. lee.")],
) -> None:
    """Reproduce the tables and figures of a paper.

    For example `steelyard reproduce lee --quick`; needs a checkout of the repository.
    """
    from steelyard.errors import Finding, UsageError

    root = Path(__file__).resolve().parents[2]
    known = sorted(path.parent.name for path in (root / "papers").glob("*/run.py"))
    if paper not in known:
        what = "cannot be reproduced" if known else "needs the papers folder of a checkout"
        fix = f"Choose from: {', '.join(known)}" if known else "Clone the repository and install it with pip install -e"
        raise UsageError(Finding("option-unknown-choice", f"paper {paper!r}", what, fix))
    sys.path.insert(0, str(root))
    importlib.import_module(f"papers.{paper}.run").main(context.args)
