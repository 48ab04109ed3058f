"""A quadruped weighs its trunk while it moves, notices that something was put on its back, and says what and where."""

import numpy as np

from steelyard import LoadEstimator, Log, OnlineIdentifier, Options, Robot, inertia
from tests.floating import floating_log

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
NOISE = (3e-4, 0.005, 0.05, 0.2)  # joint angles rad, gyro rad/s, accelerometer m/s², torques N·m

robot = Robot.load("a1")
empty = {body.name: body.parameters for body in robot.bodies}
cube = inertia.pack(1.0, np.array([0.05, -0.03, 0.08]), 1.0 * 0.04**2 / 6 * np.eye(3))  # 1 kg, 4 cm
loaded = empty | {"base": empty["base"] + cube}
like = floating_log(robot, empty, FEET, seed=1, seconds=4, noise=NOISE)  # the same sensors, recorded before
without, laden = (floating_log(robot, r, FEET, seed=2, seconds=6, noise=NOISE) for r in (empty, loaded))
put = without.time >= 3.0
log = Log.from_columns(
    {"time": laden.time} | {c: np.where(put, x, without.columns[c]) for c, x in laden.columns.items()}
)

online = OnlineIdentifier("a1", like, Options(method="shapes", feet=FEET, links=("trunk",)))
samples = np.column_stack([log.columns[name] for name in online.inputs])
print(f"rows are {1e3 * online.delay:.1f} ms late")
for start in range(0, 1500, 10):  # windows of 20 ms
    online.push_window(log.time[start : start + 10], samples[start : start + 10])
print(online.estimate().sentence())

load = LoadEstimator("a1", like, "trunk", (-0.13, 0.13, -0.1, 0.1, 0.05, 0.15), Options(method="shapes", feet=FEET))
for start in range(1500, 3000, 10):
    online.push_window(log.time[start : start + 10], samples[start : start + 10])
    if online.changes:  # from now on there is something to weigh
        load.push_window(log.time[start : start + 10], samples[start : start + 10])
print(f"something was picked up at 3.000 s, noticed at {online.changes[0].time:.3f} s")
found = load.load()
print(f"it weighs {found.mass:.3f} kg, lies at {np.round(1e3 * found.com).astype(int)} mm ({found.body.verdict.mass})")
