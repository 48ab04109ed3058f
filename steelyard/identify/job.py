"""One run of identification: inputs and outputs beside the options, and the progress callback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.identify.method import Progress
from steelyard.identify.options import RangeOptions

if TYPE_CHECKING:
    import numpy as np

    from steelyard.identify.unknown_load import UnknownLoad
    from steelyard.information import Information


@dataclass(frozen=True)
class Job:
    """One run; apart from the load and earlier information, nothing here changes how the rows are fitted.

    Attributes:
        load: An unknown load, in logs that are ``loaded``.
        ranges: Guaranteed ranges, whatever the prior.
        earlier: Information about parameters of the same names, from other logs.
        truth: Body → (10,) parameters in its frame where they are known; None: as simulated logs have them.
        command: Recorded in the provenance.
        progress: Called with the name of every stage as it begins.
        save_problem: Where a problem without a certified solution is written.

    Examples:
        Names as in ``help(steelyard)``.

        >>> both = sy.identify("demo_arm", log, job=sy.Job(earlier=result.information))
        >>> both.information.rows == 2 * result.information.rows
        True
    """

    load: UnknownLoad | None = None
    ranges: RangeOptions = field(default_factory=RangeOptions)
    earlier: Information | None = None
    truth: Mapping[str, np.ndarray] | None = None
    command: str = ""
    progress: Progress = field(default=lambda _: None)
    save_problem: Path | None = None
