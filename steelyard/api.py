"""What ``import steelyard`` gives. Everything heavy is imported when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.identify.identification import Identification
    from steelyard.identify.job import Job
    from steelyard.identify.options import Options
    from steelyard.log.log import Log
    from steelyard.log.mapping import ColumnMap
    from steelyard.robot.description import Description


def identify(
    source: str | Path | Description,
    logs: Sequence[str | Path | Log],
    options: Options | None = None,
    *,
    validate: Sequence[str | Path | Log] = (),
    mapping: str | Path | ColumnMap | None = None,
    job: Job | None = None,
) -> Identification:
    """Identify the inertial parameters of a robot from logs of its motion.

    Args:
        source: URDF or MJCF file, a short name of ``steelyard robots``, or a description that was read.
        logs: Files or ``Log`` objects to learn from.
        options: How to identify; the defaults suit most logs.
        validate: Logs that are held out of the fit and predicted.
        mapping: How foreign files are read, those to validate with included.
        job: What else one run is asked for: guaranteed ranges, a known truth, earlier information, progress.

    Returns:
        The estimate, and what it was made from.
    """
    from steelyard.identify.identification import identify as run

    return run(source, logs, options, validate=validate, mapping=mapping, job=job)
