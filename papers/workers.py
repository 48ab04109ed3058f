"""Options of studies that run on several processes, the same as of the commands (docs/scale.md)."""

from __future__ import annotations

from argparse import ArgumentParser


def add_workers(parser: ArgumentParser) -> None:
    """``--workers N`` and ``--scheduler ADDRESS``, for ``Workers.of``."""
    parser.add_argument("--workers", type=int, metavar="N", help="processes that share the work; needs the extra scale")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="the same by the workers of a Dask scheduler")
