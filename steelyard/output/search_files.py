"""Files of a search."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.experiment.search.prediction_search import PredictionSearch
from steelyard.files import Staging
from steelyard.output.urdf_writer import to_urdf

CHECKPOINT, RESULT, ROBOT = "checkpoint.json", "search.json", "robot.urdf"


def write_search(result: PredictionSearch, folder: Path) -> list[Path]:
    """Write ``search.json`` and ``robot.urdf``; their paths."""
    bodies = dict(zip(result.problem.space.bodies, result.optimum.parameters, strict=True))
    comment = f"Inertial parameters by steelyard search ({result.optimum.algorithm}). {result.sentence()} See {RESULT}."
    with Staging(folder) as out:
        out.write_text(RESULT, json.dumps(result.as_json(), indent=1, allow_nan=False) + "\n")
        out.write_text(ROBOT, to_urdf(result.robot.description, result.robot.inertials(bodies), comment))
    return [folder / RESULT, folder / ROBOT]
