"""What ``import steelyard`` gives. Everything heavy is imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from steelyard.equations.setup import Options
    from steelyard.identify.fit import Progress
    from steelyard.identify.identify import Identification
    from steelyard.information import Information
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
    truth: Mapping[str, np.ndarray] | None = None,
    earlier: Information | None = None,
    progress: Progress = lambda _: None,
) -> Identification:
    """Identify the inertial parameters of a robot from logs of its motion.

    Args:
        source: URDF or MJCF file, a short name of ``steelyard robots``, or a description that was read.
        logs: Files or ``Log`` objects to learn from.
        options: How to identify; the defaults suit most logs.
        validate: Logs that are held out of the fit and predicted.
        mapping: How foreign files are read; those to validate with included.
        truth: Body → true (10,) parameters in SI units, where they are known, to be shown beside the estimate.
        earlier: Information about parameters of the same names, from other logs.
        progress: Called with the name of every stage as it begins.

    Returns:
        The estimate, and what it was made from.
    """
    from steelyard.identify.identify import identify as run

    return run(
        source, logs, options, validate=validate, mapping=mapping, truth=truth, earlier=earlier, progress=progress
    )
