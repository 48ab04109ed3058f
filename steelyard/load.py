"""An unknown load: weighed from logs with it, against logs without it, an earlier estimate, or the description.

A load is one more body on the link that carries it, present in some logs and absent in others; it must be physical like
any other. Logs without it (``empty``) are fitted along, so that the robot, its friction and its drive gains are
told by the same sensors. An earlier estimate brings the same in its information, which simply adds up. With neither,
the robot is taken to be exactly as described.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.estimate import Scale, read_estimate
from steelyard.gains import with_gains
from steelyard.identification import Identification, Progress, identify
from steelyard.information import Information
from steelyard.log import Log
from steelyard.plan import Friction, Options
from steelyard.read.mapping import ColumnMap, read_mapping
from steelyard.read.table import read_log
from steelyard.robot import LOAD

SCHEMA = 1


@dataclass(frozen=True)
class Earlier:
    """What an earlier identification of the same robot left behind."""

    information: Information  # about parameters by name; gains that were found are taken as given
    gains: dict[str, float]  # joint → N·m/A
    friction: Friction
    doubt: float | None  # standard deviation of the log of the common scale, where only the description told it

    @classmethod
    def read(cls, path: Path) -> Earlier:
        """From the folder that ``identify`` wrote, or its ``estimate.json``."""
        content = read_estimate(path)
        folder = path if path.is_dir() else path.parent
        file = folder / str(content.get("information"))
        try:
            information = Information.load(file)
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(
                Finding(str(file), f"cannot be read ({error})", "Give a folder that `steelyard identify` wrote")
            ) from None
        found = {j: terms.get("gain") for j, terms in content.get("joints", {}).items()}
        found = {j: float(gain) for j, gain in found.items() if gain is not None}
        relative = np.array([i for i, name in enumerate(information.names) if name.endswith(".gain")], int)
        friction = content.get("provenance", {}).get("options", {}).get("friction", "none")
        if friction not in get_args(Friction):
            raise UsageError(Finding(str(path), f"speaks of friction {friction!r}", "Run `steelyard identify` again"))
        scale = content.get("scale") or {}
        return cls(information.given(relative, np.zeros(len(relative))), found, friction, scale.get("doubt"))


def weigh_load(
    source: str | Path,
    logs: Sequence[str | Path | Log],
    on: str,
    options: Options | None = None,
    *,
    empty: Sequence[str | Path | Log] = (),
    earlier: Path | None = None,
    validate: Sequence[str | Path | Log] = (),
    mapping: str | Path | ColumnMap | None = None,
    command: str = "",
    progress: Progress = lambda _: None,
    save_problem: Path | None = None,
) -> Identification:
    """Weigh what a robot carries on the link ``on``.

    ``logs`` and ``validate`` are with the load, ``empty`` without; ``earlier`` is what ``identify`` wrote without it.
    """
    if empty and earlier is not None:
        raise UsageError(
            Finding(
                "--empty and --from", "both tell of the robot without its load", "Give one of them: the logs tell more"
            )
        )
    options = replace(options or Options(), load=on)
    how = read_mapping(mapping) if isinstance(mapping, str | Path) else mapping
    loaded = [replace(_log(x, how), loaded=True) for x in logs]
    without = [_log(x, how) for x in empty]
    held_out = [replace(_log(x, how), loaded=True) for x in validate]
    known: Information | None = None
    left = None if earlier is None else Earlier.read(earlier)
    if left is not None:
        loaded, held_out = ([with_gains(log, left.gains) for log in part] for part in (loaded, held_out))
        options = replace(options, friction=left.friction)
        known = left.information
    elif not empty:
        options = replace(options, links=(LOAD,))
    result = identify(
        source, [*without, *loaded], options, validate=held_out, command=command, progress=progress,
        save_problem=save_problem, earlier=known,
    )  # fmt: skip
    return result if left is None or left.doubt is None else _doubted(result, left.doubt)


def _doubted(result: Identification, doubt: float) -> Identification:
    """The same with gains whose scale an earlier estimate had from the description alone."""
    estimate = result.estimate
    loads = []
    for load in estimate.loads:
        std = np.hypot(load.std, doubt * load.parameters)
        verdict = replace(load.verdict, mass="prior", inertia="prior")
        loads.append(replace(load, std=std, std_data=(None,) * 10, verdict=verdict))
    scale = Scale(doubt, float(estimate.loads[0].std[0]))
    return replace(result, estimate=replace(estimate, loads=tuple(loads), scale=scale))


def load_report(result: Identification) -> dict[str, Any]:
    """The content of ``load.json``."""
    estimate = result.estimate
    content = estimate.as_json()
    return {
        "schema": SCHEMA,
        "robot": estimate.robot,
        "loads": content["loads"],
        "divisions": [step.body(load.name) for load in estimate.loads for step in estimate.divisions],
        "fixed": {b.name: b.parameters.tolist() for b in estimate.bodies if not b.free},
        "certificate": content["certificate"],
        "scale": content["scale"],
        "gains": {j: terms["gain"] for j, terms in estimate.joints.items() if terms["gain"] is not None},
        "verdict": content["verdict"],
        "provenance": content["provenance"],
    }


def load_text(result: Identification) -> str:
    """Text of ``load.json``."""
    return json.dumps(load_report(result), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _log(item: str | Path | Log, mapping: ColumnMap | None) -> Log:
    return item if isinstance(item, Log) else read_log(item, mapping)
