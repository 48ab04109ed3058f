"""``steelyard load``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import (
    JsonOption,
    MappingOption,
    OutOption,
    RobotArgument,
    TopicOption,
    files_of,
    read_bags,
    topics_of,
)
from steelyard.cli.derived_options import takes
from steelyard.cli.identify import problem_file
from steelyard.cli.terminal import command_line, print_bodies, print_end, shown_progress
from steelyard.identify.options import Options, RangeOptions

SHARED = ("base", "equations", "friction", "feet", "lock", "repair_prior", "robust", "despite", "filter")


@takes(Options, panel="Robot and equations", only=SHARED)
@takes(RangeOptions, panel="Ranges", name="ranges")
def load(
    robot: RobotArgument,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs of the robot with the load.")],
    on: Annotated[str, typer.Option(metavar="LINK", help="Link that carries the load.")],
    out: OutOption,
    options: Options,
    ranges: RangeOptions,
    empty: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Log without the load, fitted jointly; repeatable.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Result of `identify` without the load.")
    ] = None,
    area: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(metavar="X0 X1 Y0 Y1 Z0 Z1", help="Cuboid that contains the load, m, in axes of LINK."),
    ] = None,
    top: Annotated[
        float | None, typer.Option(metavar="M", help="The load stands on LINK, and is at most M metres high.")
    ] = None,
    shapes: Annotated[
        Path | None, typer.Option(metavar="F", help="TOML with initial shapes of the load and their division.")
    ] = None,
    divisions: Annotated[int | None, typer.Option(help="Most divisions of the area.")] = None,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="LOG", help="Held-out log with the load, to predict; repeatable.")
    ] = None,
    mapping: MappingOption = None,
    topic: TopicOption = None,
    as_json: JsonOption = False,
) -> None:
    """Identify an unknown load on a link.

    Writes load.json, estimate.json and report.html.
    """
    from steelyard.compose.shape_file import read_shapes
    from steelyard.identify.job import Job
    from steelyard.identify.unknown_load import UnknownLoad
    from steelyard.identify.verdict import exit_code
    from steelyard.identify.weighing import load_text, weigh_load
    from steelyard.output.results import refuse_overwriting, write_results

    carried = UnknownLoad(on, area, top, read_shapes(shapes) if shapes else None, divisions)
    read = [path for path in (mapping, shapes) if path]
    inputs = [*logs, *(empty or []), *(validate or []), *read, *files_of(earlier)]
    refuse_overwriting(out, [*inputs, *([Path(robot)] if Path(robot).exists() else [])])
    chosen = topics_of(topic)
    with shown_progress() as progress:
        result = weigh_load(
            robot,
            read_bags(logs, chosen, mapping),
            carried,
            options,
            empty=read_bags(empty or [], chosen, mapping),
            earlier=earlier,
            validate=read_bags(validate or [], chosen, mapping),
            job=Job(ranges=ranges, command=command_line(), save_problem=problem_file(out), progress=progress),
        )
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(load_text(result), end="")
    else:
        print_bodies(result)
        print_end(result, files, "load")
    raise typer.Exit(exit_code(result.estimate))
