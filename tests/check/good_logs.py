"""What the tests of log findings share: how a log is checked, and the noise of the walking one."""

from steelyard.check.survey import survey
from steelyard.identify.options import Options

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
MID = (3e-4, 0.005, 0.05, 0.2)  # noise of q, gyro, acc and tau


def findings(log, robot="demo_arm"):
    return survey(robot, log, options=Options(feet=FEET if robot == "a1" else ())).findings
