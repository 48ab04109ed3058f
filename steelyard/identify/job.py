"""One run of identification: what is asked beside how to identify, and who wants to know how far it is."""

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
    """What one run is asked for; nothing of it changes how the rows are fitted, but for the load and what is known."""

    load: UnknownLoad | None = None  # an unknown load, in logs that are ``loaded``
    ranges: RangeOptions = field(default_factory=RangeOptions)  # guaranteed ranges, whatever the prior
    earlier: Information | None = None  # about parameters of the same names, from other logs
    truth: Mapping[str, np.ndarray] | None = None  # body → (10,) where it is known; else as simulated logs have it
    command: str = ""  # that provenance names
    progress: Progress = field(default=lambda _: None)  # is told the name of every stage as it begins
    save_problem: Path | None = None  # where a problem without a proved answer is written
