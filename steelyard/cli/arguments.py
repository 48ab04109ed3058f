"""Arguments and options that several verbs share, and what is made of their text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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


BaseKind = Literal["auto", "fixed", "floating"]
EquationKind = Literal["auto", "joint", "base", "full", "contact-free"]
MethodKind = Literal["lmi", "points", "shapes", "nonlinear", "constrained", "mata", "linear", "least-squares"]
PriorKind = Literal["cad", "box", "none"]
RegularisationKind = Literal["quadratic", "entropic", "pullback"]
NullSpaceKind = Literal["structure", "data"]
PriorSpaceKind = Literal["all", "null"]
PriorWidthKind = Literal["inertia", "box"]
WithinKind = Literal["box", "hull"]
FrictionKind = Literal["none", "viscous", "coulomb", "armature", "all"]
RangeKind = Literal["none", "masses", "com", "all"]
MotionKind = Literal["stand", "sines", "multisine", "trot", "fourier"]
LevelKind = Literal["none", "low", "mid", "high"]
NoiseKind = Literal["none", "low", "mid", "high", "humanoid"]
PerturbKind = Literal["base", "all", "none"]
AlgorithmKind = Literal["cobyla", "genetic", "combined", "gauss-newton"]

RangesOption = Annotated[
    RangeKind, typer.Option(help="Least and greatest values whatever the prior: of masses, of com too, or of all.")
]
InsideOption = Annotated[
    bool, typer.Option("--ranges-inside", help="Ranges: the mass of each body lies in the box of its shapes.")
]
TogetherOption = Annotated[
    bool, typer.Option("--ranges-together", help="Ranges: all hold at once with 95 %, rather than each on its own.")
]


def listed(values: list[str] | None) -> tuple[str, ...]:
    """An option that repeats or has commas."""
    return tuple(part.strip() for value in values or [] for part in value.split(",") if part.strip())


def locks(values: list[str] | None) -> dict[str, float]:
    """J=Q as joint and value."""
    from steelyard.errors import Finding, UsageError

    locks: dict[str, float] = {}
    for value in listed(values):
        joint, sign, number = value.partition("=")
        try:
            locks[joint] = float(number)
        except ValueError:
            raise UsageError(
                Finding(f"--lock {value}", "is not JOINT=VALUE", "Write e.g. --lock finger_joint=0.04")
            ) from None
        if not sign:
            raise UsageError(Finding(f"--lock {value}", "is not JOINT=VALUE", "Write e.g. --lock finger_joint=0.04"))
    return locks


def topics_of(values: list[str] | None) -> dict[str, str]:
    """Kind → topics, separated by commas."""
    from steelyard.errors import Finding, UsageError

    topics: dict[str, str] = {}
    for value in values or []:
        kind, sign, name = value.partition("=")
        if not sign:
            raise UsageError(Finding(f"--topic {value}", "is not KIND=NAME", "Write e.g. --topic imu=/imu/data"))
        topics[kind] = f"{topics[kind]},{name}" if kind in topics else name
    return topics


def bags(paths: Sequence[Path], topics: dict[str, str]) -> list[Path | Log]:
    """Bags read from the chosen topics; whatever needs no choice stays a path."""
    from steelyard.log.table import is_bag, read_log

    return [read_log(path, topics=topics) if topics and is_bag(path) else path for path in paths]


def count(value: str) -> Any:
    """A whole number where it is one; ``Options`` says what else is allowed."""
    return int(value) if value.lstrip("-").isdecimal() else value


def positive(name: str, value: Any) -> float | None:
    """A number above zero, or none."""
    from steelyard.errors import Finding, UsageError

    if value is not None and not value > 0:
        raise UsageError(Finding(name, f"is {value}", "Give a positive frequency in Hz"))
    return value if value is None else float(value)


def written(earlier: Path | None) -> list[Path]:
    """The files of an earlier identification that are read."""
    if earlier is None:
        return []
    folder = earlier if earlier.is_dir() else earlier.parent
    return [folder / "estimate.json", folder / "information.npz"]
