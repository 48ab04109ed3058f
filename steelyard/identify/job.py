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
    """One run; apart from the load and earlier information, nothing here changes how the rows are fitted."""

    load: UnknownLoad | None = None  # an unknown load, in logs that are ``loaded``
    ranges: RangeOptions = field(default_factory=RangeOptions)  # guaranteed ranges, whatever the prior
    earlier: Information | None = None  # about parameters of the same names, from other logs
    truth: Mapping[str, np.ndarray] | None = None  # body → (10,) where it is known; else as simulated logs have it
    command: str = ""  # recorded in the provenance
    progress: Progress = field(default=lambda _: None)  # called with the name of every stage as it begins
    save_problem: Path | None = None  # where a problem without a certified solution is written
