"""Verbs that look, before and after: check, compare, report, view, robots."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, MappingOption, RobotArgument, TopicOption, topics_of
from steelyard.cli.options import takes
from steelyard.cli.terminal import print_table, shown_progress
from steelyard.equations.options import EquationOptions


@takes(EquationOptions, panel="What is looked at", only=("base", "equations", "feet", "lock", "filter", "gravity"))
def check(
    robot: RobotArgument,
    log: Annotated[Path, typer.Argument(metavar="LOG")],
    options: EquationOptions,
    mapping: MappingOption = None,
    write_mapping: Annotated[
        Path | None, typer.Option(metavar="F", help="Draft a mapping from what the log looks like, and stop there.")
    ] = None,
    topic: TopicOption = None,
    topics: Annotated[bool, typer.Option("--topics", help="List the topics of a bag, and stop there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is wrong with a log and what its motion excites, in seconds; identifies nothing."""
    from steelyard.check.survey import survey

    if topics:
        _list_topics(log, as_json)
        return
    if write_mapping is not None:
        _draft(robot, log, write_mapping, as_json, mapping)
        return
    with shown_progress() as progress:
        found = survey(robot, log, progress, mapping, topics_of(topic), options)
    if as_json:
        print(json.dumps(found.as_json(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        for line in found.lines():
            print(line)
    raise typer.Exit(3 if found.findings else 0)


def compare(
    a: Annotated[Path, typer.Argument(help="Folder or estimate.json of `identify`, or a robot description.")],
    b: Annotated[Path, typer.Argument(help="The other.")],
    as_json: JsonOption = False,
) -> None:
    """Show how two estimates differ, in units of their own uncertainty."""
    from steelyard.output.compare import compare as compared

    differences = compared(a, b)
    if as_json:
        print(json.dumps([d.as_json() for d in differences], indent=1, allow_nan=False))
        return
    rows = [
        [
            d.body,
            f"{d.mass[0]:.3f} ({d.verdicts[0]})",
            f"{d.mass[1]:.3f} ({d.verdicts[1]})",
            f"{1e3 * d.com_distance:.1f}",
            f"{100 * d.inertia_distance:.0f} %",
            "—" if d.deviations is None else f"{d.deviations:.1f} σ",
        ]
        for d in differences
    ]
    print_table(
        ["body", f"mass in A, kg ({a})", f"mass in B, kg ({b})", "CoM apart, mm", "inertia apart", "worst parameter"],
        rows,
    )
    widths = [d.deviations for d in differences if d.deviations is not None]
    if widths:
        print(f"\n{sum(w <= 3 for w in widths)} of {len(widths)} bodies agree within three standard deviations.")


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `identify` wrote.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="HTML file; default DIR/report.html.")] = None,
) -> None:
    """Write the report of a finished identification again."""
    from steelyard.files import write_text
    from steelyard.identify.estimate_json import read_estimate
    from steelyard.output.report import load_series, render
    from steelyard.output.scene import read_scene

    estimate = read_estimate(folder)
    series = load_series(folder / "series.npz") if (folder / "series.npz").exists() else []
    path = out or folder / "report.html"
    write_text(path, render(estimate, series, scene=read_scene(folder)))
    print(path)


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `identify` or `load` wrote.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen; the next free one if taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Look at a finished identification in three dimensions and move its joints; served to this machine alone."""
    import webbrowser
    from contextlib import redirect_stdout

    from steelyard.output.view import LOOPBACK, serve

    with redirect_stdout(sys.stderr):  # viser greets
        server = serve(folder, port)
    url = f"http://{LOOPBACK}:{server.get_port()}"
    print(f"{url} (Ctrl+C ends it)", flush=True)
    if browser:
        webbrowser.open(url)
    try:
        server.sleep_forever()
    except KeyboardInterrupt:
        with redirect_stdout(sys.stderr):
            server.stop()


def robots(as_json: JsonOption = False) -> None:
    """List the robots that can be named instead of giving a file."""
    from steelyard.robot.index import robots as index

    entries = index()
    if as_json:
        print(json.dumps([{**e._asdict(), "path": str(e.path) if e.path else None} for e in entries], indent=1))
        return
    print_table(
        ["name", "kind", "base", "joints", "from"],
        [
            [
                e.name,
                e.kind,
                e.base,
                "—" if e.joints is None else str(e.joints),
                e.source if e.path else f"{e.source} (not installed)",
            ]
            for e in entries
        ],
    )
    if any(e.path is None for e in entries):
        print('\nInstall the robots that are missing: pip install "steelyard[robots]"')


def _draft(robot: str, log: Path, file: Path, as_json: bool, mapping: Path | None) -> None:
    """Draft a mapping; a file that is there stays as it is."""
    from steelyard.errors import Finding, UsageError
    from steelyard.files import write_text
    from steelyard.log.draft import draft_mapping
    from steelyard.robot.description import read_description
    from steelyard.robot.model import ONE_DOF

    if mapping is not None:
        raise UsageError(Finding("--write-mapping", "does not go with --mapping", "Give one of them"))
    if file.exists():
        raise UsageError(Finding(f"--write-mapping {file}", "exists", "Give another name, or --mapping to use it"))
    joints = read_description(robot).joints.values()
    text = draft_mapping(log, [j.name for j in joints if j.kind in ONE_DOF and j.mimic is None])
    write_text(file, text)
    if as_json:
        print(json.dumps({"schema": 1, "mapping": str(file)}))
        return
    print(f"written: {file}")
    print(f"Complete it, then: {shlex.join(['steelyard', 'check', robot, str(log), '--mapping', str(file)])}")


def _list_topics(path: Path, as_json: bool) -> None:
    from steelyard.log.bag.reader import bag_topics

    found = bag_topics(path)
    if as_json:
        print(json.dumps([vars(topic) for topic in found], indent=1, ensure_ascii=False))
        return
    print_table(["topic", "type", "messages", "Hz"], [[t.name, t.type, str(t.count), f"{t.rate:.1f}"] for t in found])
