"""How the measured data sets are read: the UR10e's headerless files, the TX40's mapping in the documentation."""

import gzip
import re
from pathlib import Path

import numpy as np

from steelyard import Log

JOINTS = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # N·m/A, De Luca


def ur10e_log(path, first: int, last: int) -> Log:
    """Rows first to last (1-based) of a headerless file: time, q×6, dq×6, i×6, …"""
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()[first - 1 : last]
    table = np.array([[float(cell) for cell in line.split(",")[:19]] for line in lines])
    columns = {"time": table[:, 0]}
    for k, joint in enumerate(JOINTS):
        columns |= {
            f"q.{joint}": table[:, 1 + k],
            f"v.{joint}": table[:, 7 + k],
            f"tau.{joint}": GAINS[k] * table[:, 13 + k],
        }
    return Log.from_columns(columns, source=path.name)


def guide_mapping():
    """The mapping of the guide, word by word."""
    guide = (Path(__file__).parents[2] / "docs" / "how-to-tx40.md").read_text(encoding="utf-8")
    return re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0]
