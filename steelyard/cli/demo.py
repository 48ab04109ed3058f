"""``steelyard demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.arguments import JsonOption, OutOption
from steelyard.cli.terminal import print_bodies, print_end, shown_progress


def demo(
    robot: Annotated[str, typer.Option(help="Demonstration: a1 (a trotting quadruped) or ur10 (an arm).")] = "a1",
    out: OutOption = Path("demo"),
    as_json: JsonOption = False,
) -> None:
    """Identify a simulated robot and its load; compare with the truth."""
    from steelyard.cli.demonstration import ROBOTS, run_arm, run_quadruped
    from steelyard.errors import Finding, UsageError
    from steelyard.identify.estimate_json import estimate_json, estimate_text
    from steelyard.output.results import write_results

    if robot not in ROBOTS:
        fix = f"Choose from: {', '.join(ROBOTS)}"
        raise UsageError(Finding("option-unknown-choice", f"--robot {robot}", "is not a demonstration", fix))
    with shown_progress() as progress:
        arm = run_arm(robot, out, progress=progress) if robot == "ur10" else None
        result = arm.result if arm else run_quadruped(robot, out, progress=progress)
        progress("writing")
        files = write_results(result, out)
    if as_json:
        print(estimate_text(estimate_json(result.estimate)), end="")
        return
    if arm:
        print("Arm demonstration, simulated: the truth is known, and was not used for the identification.\n")
    else:
        print("Quadruped demonstration, simulated: it trots without and with an unknown payload, and its trunk differs")
        print("from the description. Measured are joint angles, joint torques and an IMU. The truth is known, and was")
        print("not used for the identification.\n")
    print_bodies(result, truth=True)
    if arm:
        print(
            f"\nBase-parameter error: description "
            f"{100 * arm.description_error:.1f} %, estimate {100 * arm.estimate_error:.2f} %."
        )
    print_end(result, files)
    for page in (f for f in files if f.suffix == ".html"):
        print(f"\nReport: {page}")
