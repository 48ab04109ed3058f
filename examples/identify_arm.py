"""Weigh a simulated arm that is not quite as its description says, and see which numbers the data decided."""

import numpy as np

from steelyard import Options, Robot, identify
from steelyard.simulate.arm import Friction, simulate_arm
from steelyard.simulate.truth import perturbed

robot = Robot.load("demo_arm")  # comes with Steelyard
rng = np.random.default_rng(1)
truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
train = simulate_arm(robot, truth, seed=2, friction=friction, source="train")  # 20 s at 200 Hz, with noise
test = simulate_arm(robot, truth, seed=3, friction=friction, source="test")

estimate = identify("demo_arm", [train], Options(friction="all"), validate=[test]).estimate

print("body              true kg   described   estimated   verdict on mass, CoM, inertia")
for body in estimate.bodies:
    verdicts = f"{body.verdict.mass}, {body.verdict.com}, {body.verdict.inertia}"
    print(f"{body.name:16} {truth[body.name][0]:8.3f} {body.prior[0]:11.3f} {body.mass:11.3f}   {verdicts}")

# Single masses of an arm stay open, whatever the motion. What the data do know are combinations: base parameters.
print(f"\n{estimate.base_identified} of {estimate.base_count} base parameters are identified; the three surest:")
exact = {f"{name}.{p}": v for name in truth for p, v in zip(NAMES, truth[name], strict=True)}
