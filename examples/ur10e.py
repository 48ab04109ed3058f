"""A real arm: headerless UR10e files → two logs that Steelyard reads.

python examples/ur10e.py FOLDER OUT    # FOLDER holds the data, OUT gets train.parquet and test.parquet
"""

import gzip
import sys
from pathlib import Path

import numpy as np

from steelyard import Log
from steelyard.log.table import write_log

JOINTS = [f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")]
GAINS = [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]  # N·m/A, De Luca
RUNS = {  # file, first and last useful line counted from 1
    "train": ("ur-20_02_10-30sec_12harm.csv.gz", 635, 3510),
    "test": ("ur-20_02_12-40sec_12harm.csv.gz", 500, 4460),
}


def convert(path: Path, first: int, last: int) -> Log:
    """Lines of ``time, q×6, dq×6, i×6, …`` as columns with names."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()[first - 1 : last]
    table = np.array([[float(cell) for cell in line.split(",")[:19]] for line in lines])
    columns = {"time": table[:, 0]}
    for k, joint in enumerate(JOINTS):
        columns[f"q.{joint}"] = table[:, 1 + k]  # rad
        columns[f"v.{joint}"] = table[:, 7 + k]  # rad/s
        columns[f"current.{joint}"] = table[:, 13 + k]  # A
    return Log.from_columns(columns, {"gains": dict(zip(JOINTS, GAINS, strict=True))}, path.name)


folder, out = Path(sys.argv[1]), Path(sys.argv[2])
for name, (file, first, last) in RUNS.items():
    log = convert(folder / file, first, last)
    write_log(out / f"{name}.parquet", log)
    print(f"{out / name}.parquet: {len(log)} samples, {log.time[-1] - log.time[0]:.1f} s")
