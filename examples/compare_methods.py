"""Physical consistency costs no accuracy: ``lmi`` beside plain least squares on the same simulated log."""

import numpy as np

from steelyard import Options, Robot, identify
from steelyard.cli.demonstration import reference_motion
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.scoring import base_error

robot = Robot.load("demo_arm")
rng = np.random.default_rng(1)
truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
train, test = (simulate_arm(robot, truth, seed=seed, friction=friction, source=f"run {seed}") for seed in (2, 3))
exact = np.concatenate([truth[body.name] for body in robot.bodies])

print("method          physical bodies   held-out error   base-parameter error")
for method in ("lmi", "least-squares"):
    result = identify("demo_arm", [train], Options(method=method, friction="all"), validate=[test])
    physical = sum(body.consistent for body in result.estimate.bodies)
    held_out = result.estimate.validation["run 3"].relative
    yardstick = reference_motion(robot, result.columns)  # one fixed, rich motion
    distance = base_error(yardstick, result.theta[: len(exact)], exact)
    print(f"{method:16}{physical} of {len(robot.bodies)}{100 * held_out:18.2f} %{100 * distance:21.2f} %")
