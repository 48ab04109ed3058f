"""What the tests of log findings share: how a log is checked, and the noise of the walking one."""

import numpy as np

from steelyard.check.survey import survey
from steelyard.identify.options import Options
from tests.planted import changed

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
MID = (3e-4, 0.005, 0.05, 0.2)  # noise of q, gyro, acc and tau


def findings(log, robot="demo_arm"):
    return survey(robot, log, options=Options(feet=FEET if robot == "a1" else ())).findings


def with_velocities(log, sigma=0.01):
    """Velocities of the joints, with the noise of a drive's own estimate."""
    rng = np.random.default_rng(0)
    smooth = np.hanning(13) / np.hanning(13).sum()
    columns = {}
    for joint in log.names("q"):
        q = np.convolve(np.pad(log.columns[f"q.{joint}"], 6, mode="edge"), smooth, mode="valid")
        columns[f"v.{joint}"] = np.gradient(q, log.time) + sigma * rng.normal(size=len(log))
    return changed(log, **columns)
