"""``steelyard demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, OutOption
from steelyard.cli.terminal import print_bodies, print_end, shown_progress


def demo(
    robot: Annotated[str, typer.Option(help="Which demonstration: a1 (a quadruped that trots), ur10 (an arm).")] = "a1",
    out: OutOption = Path("demo"),
    as_json: JsonOption = False,
) -> None:
    """Weigh a simulated robot that differs from its description, and what it carries; compare with the truth."""
    from steelyard.cli.demonstration import ROBOTS, run_arm, run_quadruped
    from steelyard.errors import Finding, UsageError
    from steelyard.identify.estimate_json import estimate_json, estimate_text
    from steelyard.output.results import write_results

    if robot not in ROBOTS:
        raise UsageError(Finding("todo", f"demo {robot!r}", "does not exist", f"Demos: {', '.join(ROBOTS)}"))
    with shown_progress() as progress:
        arm = run_arm(robot, out, progress=progress) if robot == "ur10" else None
        result = arm.result if arm else run_quadruped(robot, out, progress=progress)
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(estimate_text(estimate_json(result.estimate)), end="")
        return
    if arm:
        print("Arm demonstration: simulated, so the truth is known. Nothing below was told to the identification.\n")
    else:
        print("A quadruped trots, first alone, then with a load. Its trunk is not as described, and nobody says what")
        print("it carries: joint angles, joint torques and an inertial sensor are all there is. Simulated, so the")
        print("truth is known; it was not told to the identification.\n")
    print_bodies(result, truth=True)
    if arm:
        print(
            f"\nDistance from the truth in base parameters (all that motion can show): description "
            f"{100 * arm.description_error:.1f} %, identified {100 * arm.estimate_error:.2f} %."
        )
    print_end(result, files)
    for page in (f for f in files if f.suffix == ".html"):
        print(f"\nReport: {page}")
