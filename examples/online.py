"""A quadruped identifies its trunk while it moves, detects a payload put on its back, and locates and weighs it."""

import numpy as np

from steelyard import LoadEstimator, Log, OnlineIdentifier, Options, Robot, inertia
from steelyard.experiment.simulate.sensors import measure
from steelyard.experiment.simulate.simulate_floating import random_sines, simulate_floating

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
robot = Robot.load("a1")


def record(truth, seed, seconds):  # noise in joints, torques and IMU; an exact pose of the base
    motion = random_sines(robot, np.random.default_rng(seed), seconds=seconds)
    return measure(simulate_floating(robot, truth, FEET, motion), "mid", seed, keep=("base.",))


empty = {body.name: body.parameters for body in robot.bodies}
loaded = empty | {"base": empty["base"] + inertia.pack(1.0, [0.05, -0.03, 0.08], 0.04**2 / 6 * np.eye(3))}  # 4 cm cube
like = record(empty, seed=1, seconds=4)  # the same sensors, recorded before
before, after = (record(truth, seed=2, seconds=6) for truth in (empty, loaded))
columns = {c: np.where(after.time < 3.0, before.columns[c], x) for c, x in after.columns.items()}
log = Log.from_columns({"time": after.time, **columns})

online = OnlineIdentifier("a1", like, Options(method="shapes", feet=FEET, links=("trunk",)))
samples = np.column_stack([log.columns[name] for name in online.inputs])
print(f"rows are {1e3 * online.delay:.1f} ms late")
windows = [(log.time[k : k + 10], samples[k : k + 10]) for k in range(0, 3000, 10)]  # of 20 ms
for window in windows[:150]:
    online.push_window(*window)
print(online.estimate().sentence())

load = LoadEstimator("a1", like, "trunk", (-0.13, 0.13, -0.1, 0.1, 0.05, 0.15), Options(method="shapes", feet=FEET))
for window in windows[150:]:
    online.push_window(*window)
    if online.changes:  # from now on there is a payload
        load.push_window(*window)
print(f"something was picked up at 3.000 s, noticed at {online.changes[0].time:.3f} s")
cube = load.load()
print(f"it weighs {cube.mass:.3f} kg, lies at {np.round(1e3 * cube.com).astype(int)} mm ({cube.body.source.mass})")
