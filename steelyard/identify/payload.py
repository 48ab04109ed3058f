"""An unknown load: weighed from logs with it, against logs without it, an earlier estimate, or the description.

A load is one more body on the link that carries it, present in some logs and absent in others; it must be physical like
any other. Logs without it (``empty``) are fitted along, so that the robot, its friction and its drive gains are
told by the same sensors. An earlier estimate brings the same in its information, which simply adds up. With neither,
the robot is taken to be exactly as described.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.equations.setup import Options
from steelyard.errors import Finding, UsageError
from steelyard.identify.division_history import recorded_body
from steelyard.identify.fit import Progress
from steelyard.identify.identify import Identification, identify
from steelyard.identify.resume import identify_further
from steelyard.log.log import Log
from steelyard.log.mapping import ColumnMap, read_mapping
from steelyard.log.table import read_log
from steelyard.robot.model import LOAD

SCHEMA = 1


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
    if earlier is not None:
        return identify_further(
            source, loaded, earlier, options, validate=held_out, command=command, progress=progress,
            save_problem=save_problem,
        )  # fmt: skip
    if not empty:
        options = replace(options, links=(LOAD,))
    return identify(
        source, [*without, *loaded], options, validate=held_out, command=command, progress=progress,
        save_problem=save_problem,
    )  # fmt: skip


def load_report(result: Identification) -> dict[str, Any]:
    """The content of ``load.json``."""
    estimate = result.estimate
    content = estimate.as_json()
    return {
        "schema": SCHEMA,
        "robot": estimate.robot,
        "loads": content["loads"],
        "divisions": [entry for load in estimate.loads for entry in recorded_body(estimate.divisions, load.name)],
        "fixed": {b.name: b.parameters.tolist() for b in estimate.bodies if not b.free},
        "certificate": content["certificate"],
        "scale": content["scale"],
        **({"ranges": content["ranges"].get(LOAD)} if estimate.ranges else {}),
        "gains": {j: terms["gain"] for j, terms in estimate.joints.items() if terms["gain"] is not None},
        "verdict": content["verdict"],
        "provenance": content["provenance"],
    }


def load_text(result: Identification) -> str:
    """Text of ``load.json``."""
    return json.dumps(load_report(result), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _log(item: str | Path | Log, mapping: ColumnMap | None) -> Log:
    return item if isinstance(item, Log) else read_log(item, mapping)
