"""Arguments and options that several verbs share, and their parsers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.log.log import Log


RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="URDF or MJCF file, or a name from `steelyard robots`.")
]
OutOption = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the results.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
MappingOption = Annotated[
    Path | None, typer.Option("--mapping", metavar="F", help="TOML file that maps foreign columns to joints and units.")
]
TopicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="KIND=NAME", help="Topic of a bag for joints, imu, odometry or wrench; repeatable."
    ),
]
WorkersOption = Annotated[int | None, typer.Option("--workers", metavar="N", help="Number of local processes to use.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Use the workers of a Dask scheduler, tcp://HOST:PORT."),
]


def topics_of(values: list[str] | None) -> dict[str, str]:
    """Kind → topics, separated by commas, from ``KIND=NAME`` options."""
    from steelyard.errors import Finding, UsageError

    topics: dict[str, str] = {}
    for value in values or []:
        kind, sign, name = value.partition("=")
        if not sign:
            fix = "Write e.g. --topic imu=/imu/data"
            raise UsageError(Finding("option-value", f"--topic {value}", "is not KIND=NAME", fix))
        topics[kind] = f"{topics[kind]},{name}" if kind in topics else name
    return topics


def read_bags(paths: Sequence[Path], topics: dict[str, str], mapping: Path | None = None) -> list[Path | Log]:
    """Read bags with the chosen topics, and all logs if there is a mapping; other logs stay paths."""
    from steelyard.log.mapping import read_mapping
    from steelyard.log.table import is_bag, read_log

    if mapping is not None:
        columns = read_mapping(mapping)
        return [read_log(path, columns, topics=topics) for path in paths]
    return [read_log(path, topics=topics) if topics and is_bag(path) else path for path in paths]


def files_of(earlier: Path | None) -> list[Path]:
    """Files that are read from the results of an earlier identification."""
    if earlier is None:
        return []
    folder = earlier if earlier.is_dir() else earlier.parent
    return [folder / "estimate.json", folder / "information.npz"]
