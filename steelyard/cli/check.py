"""``steelyard check``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, MappingOption, RobotArgument, TopicOption, topics_of
from steelyard.cli.derived_options import takes
from steelyard.cli.finding_text import finding_text
from steelyard.cli.terminal import print_table, shown_progress
from steelyard.equations.equation_options import EquationOptions


@takes(
    EquationOptions,
    panel="Robot and equations",
    only=("base", "equations", "feet", "lock", "filter", "gravity", "repair_prior"),
)
def check(
    robot: RobotArgument,
    options: EquationOptions,
    log: Annotated[
        Path | None,
        typer.Argument(
            metavar="[LOG]", help="Table (.parquet, .csv, .npz) or bag of the motion; without it the robot is checked."
        ),
    ] = None,
    mapping: MappingOption = None,
    write_mapping: Annotated[
        Path | None, typer.Option(metavar="F", help="Write a draft of a mapping for this log, and exit.")
    ] = None,
    topic: TopicOption = None,
    list_topics: Annotated[bool, typer.Option("--topics", help="List the topics of a bag, and exit.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a robot description, and a log of its motion: units, signs, delays and excitation.

    Takes seconds, and identifies nothing. Exit code 3 if something has to be corrected, 4 if there are doubts only.
    """
    from steelyard.check.survey import survey
    from steelyard.errors import Finding, UsageError

    for flag, given in (("--topics", list_topics), ("--write-mapping", write_mapping), ("--mapping", mapping)):
        if log is None and given:
            raise UsageError(Finding("argument-missing", flag, "needs a log", "Give LOG"))
    if list_topics and log is not None:
        _list_topics(log, as_json)
        return
    if write_mapping is not None and log is not None:
        _write_draft(robot, log, write_mapping, as_json, mapping)
        return
    with shown_progress() as progress:
        result = survey(robot, log, progress, mapping, topics_of(topic), options)
    if as_json:
        print(json.dumps(result.as_json(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        for line in result.lines(lambda finding: finding_text(finding, "check")):
            print(line)
    raise typer.Exit(result.exit_code)


def _write_draft(robot: str, log: Path, file: Path, as_json: bool, mapping: Path | None) -> None:
    from steelyard.errors import Finding, UsageError
    from steelyard.files import write_text
    from steelyard.log.draft import draft_mapping
    from steelyard.robot.description import read_description
    from steelyard.robot.model import ONE_DOF

    if mapping is not None:
        what, fix = "excludes --mapping", "Give one of them"
        raise UsageError(Finding("option-conflict", f"--write-mapping {file}", what, fix))
    if file.exists():
        fix = "Give another name, or use the file with --mapping"
        raise UsageError(Finding("file-exists", f"--write-mapping {file}", "exists already", fix))
    joints = read_description(robot).joints.values()
    text = draft_mapping(log, [j.name for j in joints if j.kind in ONE_DOF and j.mimic is None])
    write_text(file, text)
    if as_json:
        print(json.dumps({"schema": 1, "mapping": str(file)}))
        return
    print(f"written: {file}")
    print(f"Complete it, then run: {shlex.join(['steelyard', 'check', robot, str(log), '--mapping', str(file)])}")


def _list_topics(path: Path, as_json: bool) -> None:
    from steelyard.log.bag.reader import bag_topics

    topics = bag_topics(path)
    if as_json:
        print(json.dumps([vars(topic) for topic in topics], indent=1, ensure_ascii=False))
        return
    print_table(["topic", "type", "messages", "Hz"], [[t.name, t.type, str(t.count), f"{t.rate:.1f}"] for t in topics])
