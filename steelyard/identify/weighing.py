"""An unknown load, identified from logs with it, against logs without it, an earlier estimate, or the description.

A load is one more body on the link that carries it, present in some logs and absent in others; it must be physically
consistent like any other. Logs without it (``empty``) are fitted along, so that the robot, its friction and its drive
gains are identified with the same sensors. The information of an earlier estimate simply adds up. With neither, the
robot is held at its description.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import Finding, UsageError
from steelyard.identify.division.history import recorded_body
from steelyard.identify.estimate_json import estimate_json
from steelyard.identify.identification import Identification, identify
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.resume import identify_further
from steelyard.identify.unknown_load import UnknownLoad
from steelyard.log.log_source import LogSources, MappingSource, as_logs, as_mapping
from steelyard.robot.description import RobotSource
from steelyard.robot.model import LOAD

SCHEMA = 2


def weigh_load(
    source: RobotSource,
    logs: LogSources,
    on: str | UnknownLoad,
    options: Options | None = None,
    *,
    empty: LogSources = (),
    earlier: Path | None = None,
    validate: LogSources = (),
    mapping: MappingSource | None = None,
    job: Job | None = None,
) -> Identification:
    """Identify an unknown load that a robot carries.

    Args:
        source: URDF or MJCF file, or a short name.
        logs: Logs of the robot with the load.
        on: The link that carries it, or an ``UnknownLoad`` that also gives the region in which it lies.
        options: How to identify; the defaults suit most logs.
        empty: Logs without the load, fitted along.
        earlier: Folder that ``identify`` wrote without the load.
        validate: Validation logs with the load.
        mapping: How foreign files are read.
        job: Inputs and outputs of this run beside the options.

    Returns:
        The identification; the load is ``estimate.loads[0]``, in the axes of the link that carries it.

    Raises:
        UsageError: Arguments conflict, or an option is out of its range.
        LogError: A log cannot be used.
    """
    if empty and earlier is not None:
        what = "conflicts with empty: each describes the robot without its load"
        fix = "Give one of them; logs are more informative than an estimate"
        raise UsageError(Finding("option-conflict", f"earlier={earlier}", what, fix))
    options = options or Options()
    job = replace(job or Job(), load=UnknownLoad(on) if isinstance(on, str) else on)
    mapping = as_mapping(mapping)
    loaded, held_out = ([replace(log, loaded=True) for log in as_logs(part, mapping)] for part in (logs, validate))
    if earlier is not None:
        return identify_further(source, loaded, earlier, options, validate=held_out, job=job)
    options = options if empty else replace(options, links=(LOAD,))
    return identify(source, [*as_logs(empty, mapping), *loaded], options, validate=held_out, job=job)


def load_report(result: Identification) -> dict[str, Any]:
    """The content of ``load.json``."""
    estimate = result.estimate
    content = estimate_json(estimate)
    return {
        "schema": SCHEMA,
        "robot": estimate.robot,
        "loads": content["loads"],
        "divisions": [entry for load in estimate.loads for entry in recorded_body(estimate.divisions, load.name)],
        "fixed": {b.name: b.parameters.tolist() for b in estimate.bodies if not b.free},
        "certificate": content["certificate"],
        "scale": content["scale"],
        **({"ranges": content["ranges"].get(LOAD)} if estimate.ranges else {}),
        "gains": {j: gain.value for j, terms in estimate.joints.items() if (gain := terms["gain"]) is not None},
        "verdict": content["verdict"],
        "provenance": content["provenance"],
    }


def load_text(result: Identification) -> str:
    """Text of ``load.json``."""
    return json.dumps(load_report(result), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
