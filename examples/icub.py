"""A real humanoid: iCub's MATLAB files → logs with joints, base pose and the feet's vertical force.

python examples/icub.py FOLDER OUT    # FOLDER holds the data, OUT gets walking.parquet and com-sinusoid.parquet
"""

import sys
from pathlib import Path

import h5py
import numpy as np
from scipy.spatial.transform import Rotation

from steelyard import Log
from steelyard.log.table import write_log

ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
JOINTS = [f"neck_{axis}" for axis in ("pitch", "roll", "yaw")] + [f"torso_{axis}" for axis in ("pitch", "roll", "yaw")]
JOINTS += [f"{side}_{joint}" for limb in (ARM, LEG) for side in "lr" for joint in limb]


def convert(path: Path) -> Log:
    """One run; the z axes of the soles point up, and lfForceZ pushes the robot up."""
    with h5py.File(path) as file:
        data = {name: np.array(file[name]).T for name in file if name.startswith(("est", "link", "lf", "rf"))}
    columns = {"time": data["estimatorJointsTime"][:, 0] - data["estimatorJointsTime"][0, 0]}
    columns |= {f"q.{joint}": data["estimatorJointsPos"][:, k] for k, joint in enumerate(JOINTS)}
    columns |= {f"base.position.{c}": data["linkBasePos"][:, k] for k, c in enumerate("xyz")}
    turned = Rotation.from_euler("xyz", data["linkBaseRot"]).as_quat()  # roll, pitch, yaw → x, y, z, w
    columns |= {f"base.quaternion.{c}": turned[:, k] for k, c in enumerate("xyzw")}
    columns |= {f"wrench.{side}_sole.fz": data[f"{side}fForceZ"][:, 0] for side in "lr"}
    return Log.from_columns(columns, source=path.name)


folder, out = Path(sys.argv[1]), Path(sys.argv[2])
for name in ("walking", "com-sinusoid"):
    log = convert(folder / f"{name}.mat")
    write_log(out / f"{name}.parquet", log)
    print(f"{out / name}.parquet: {len(log)} samples, {log.time[-1] - log.time[0]:.1f} s")
