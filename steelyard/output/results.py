"""All files of an identification, written atomically; inputs are never overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import Finding, SteelyardError, UsageError
from steelyard.files import Staging
from steelyard.identify.estimate_json import estimate_json, estimate_text
from steelyard.identify.identification import Identification
from steelyard.identify.sentence import sentence
from steelyard.identify.series import save_series
from steelyard.output.mjcf_writer import to_mjcf
from steelyard.output.scene_file import make_scene, scene_text
from steelyard.output.urdf_writer import to_urdf
from steelyard.output.xml_text import Inertials
from steelyard.robot.model import Robot

if TYPE_CHECKING:
    from steelyard.output.report.time_courses import TimeCourse

FILES = (
    "load.json",
    "estimate.json",
    "robot.urdf",
    "robot.xml",
    "information.npz",
    "series.npz",
    "scene.json",
    "report.html",
)


def write_results(
    result: Identification, folder: Path, courses: Sequence[TimeCourse] = (), report: bool = True
) -> list[Path]:
    """Write the estimate, the robot as URDF and MJCF, the information, the series, the scene and the report.

    Args:
        result: The identification.
        folder: Where to write.
        courses: Estimates over time, of an online identification, for the report.
        report: Whether to write ``report.html``; if not, one of an earlier run is removed.

    Returns:
        Paths of the files.

    Raises:
        UsageError: A file would overwrite an input.
    """
    estimate, robot = result.estimate, result.robot
    refuse_overwriting(folder, [Path(p) for p in estimate.provenance["inputs"]])
    inertials = robot.inertials({b.name: b.parameters for b in estimate.bodies if b.free})
    comment = f"Inertial parameters by Steelyard ({estimate.method}). {sentence(estimate)} See estimate.json."
    with Staging(folder) as out:
        content = estimate_json(estimate) | ({"courses": [c.as_json() for c in courses]} if courses else {})
        out.write_text("estimate.json", estimate_text(content))
        if estimate.loads:
            from steelyard.identify.weighing import load_text

            out.write_text("load.json", load_text(result))
        try:
            out.write_text("robot.urdf", to_urdf(robot.description, inertials, comment))
        except SteelyardError:  # URDF has no ball joints
            if robot.description.format == "urdf":
                raise
        out.write_text("robot.xml", _mjcf(robot, inertials, comment))
        result.information.save(out.path("information.npz"))
        out.write_bytes("series.npz", save_series(result.series))
        scene = make_scene(robot, result.posture)
        out.write_text("scene.json", scene_text(scene))
        if report and has_report():
            from steelyard.output.report.page import render

            out.write_text("report.html", render(content, result.series, scene=scene))
    if not report:
        (folder / "report.html").unlink(missing_ok=True)
    return [folder / name for name in FILES if (folder / name).exists()]


def _mjcf(robot: Robot, inertials: Inertials, comment: str) -> str:
    """The source with new inertials if it is MJCF, else a generated model."""
    edited = None
    if robot.description.format == "mjcf":
        from steelyard.output.mjcf_edit import edit_mjcf

        edited = edit_mjcf(robot.description, inertials, comment)
    return edited or to_mjcf(robot.description, inertials, base=robot.base, comment=comment)


def has_report() -> bool:
    """Whether the packages of the ``report`` extra are installed."""
    return find_spec("plotly") is not None and find_spec("jinja2") is not None


def refuse_overwriting(folder: Path, inputs: Sequence[Path]) -> None:
    """Raise UsageError if a result would overwrite an input, or the folder is a file."""
    blocked = next((p for p in (folder, *folder.parents) if p.exists()), folder)
    if not blocked.is_dir():
        raise UsageError(Finding("folder-is-file", f"out={folder}", f"{blocked} is a file", "Give a folder"))
    results = {(folder / name).resolve() for name in FILES}
    for path in inputs:
        if path.resolve() in results:
            what = f"is an input and would be overwritten by results in {folder}"
            raise UsageError(Finding("input-overwritten", str(path), what, "Give another folder", {"out": None}))
