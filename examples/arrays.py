"""Identify an arm from arrays in memory: nothing is read, and nothing is written until you ask for it."""

import numpy as np

import steelyard as sy
from steelyard.experiment.simulate.simulate_arm import simulate_arm

robot = sy.Robot.load("demo_arm")
measured = simulate_arm(robot, {b.name: 1.1 * b.parameters for b in robot.bodies}, seed=1, seconds=20.0)

# Whatever your driver gives: one array a joint, SI units, one row a stamp.
time = np.asarray(measured.time)
positions = {joint: measured.columns[f"q.{joint}"] for joint in measured.names("q")}
torques = {joint: measured.columns[f"tau.{joint}"] for joint in measured.names("tau")}

log = sy.Log.from_arrays(time, q=positions, tau=torques, source="memory")
print(log)

result = sy.identify("demo_arm", log)
print(result.verdict.trusted, result.verdict.sentence)

forearm = result.estimate["forearm_link"]
print(f"{forearm.name}: {forearm.mass:.3f} kg ({forearm.source.mass}), centre {np.round(1e3 * forearm.com, 1)} mm")
