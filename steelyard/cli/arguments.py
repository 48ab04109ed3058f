"""Arguments and options that several verbs share, and what is made of their text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.log.log import Log


RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="URDF or MJCF file, or a name of `steelyard robots`.")
]
OutOption = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the results.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
MappingOption = Annotated[
    Path | None, typer.Option("--mapping", metavar="F", help="TOML that tells how to read foreign logs.")
]
TopicOption = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="KIND=NAME", help="Topic of a bag for joints, imu, odometry or wrench; repeats."),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes of this machine that share the work.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="The same by the workers of a Dask scheduler, tcp://HOST:PORT."
    ),
]


def topics_of(values: list[str] | None) -> dict[str, str]:
    """Kind → topics, separated by commas."""
    from steelyard.errors import Finding, UsageError

    topics: dict[str, str] = {}
    for value in values or []:
        kind, sign, name = value.partition("=")
        if not sign:
            raise UsageError(
                Finding("todo", f"--topic {value}", "is not KIND=NAME", "Write e.g. --topic imu=/imu/data")
            )
        topics[kind] = f"{topics[kind]},{name}" if kind in topics else name
    return topics


def bags(paths: Sequence[Path], topics: dict[str, str], mapping: Path | None = None) -> list[Path | Log]:
    """Bags read from the chosen topics, and what a mapping tells how to read; whatever needs neither stays a path."""
    from steelyard.log.mapping import read_mapping
    from steelyard.log.table import is_bag, read_log

    if mapping is not None:
        columns = read_mapping(mapping)
        return [read_log(path, columns, topics=topics) for path in paths]
    return [read_log(path, topics=topics) if topics and is_bag(path) else path for path in paths]


def written(earlier: Path | None) -> list[Path]:
    """The files of an earlier identification that are read."""
    if earlier is None:
        return []
    folder = earlier if earlier.is_dir() else earlier.parent
    return [folder / "estimate.json", folder / "information.npz"]
