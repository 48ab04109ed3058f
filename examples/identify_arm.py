"""Identify a simulated arm that differs from its description, and show which values come from the data."""

import numpy as np

from steelyard import Options, Robot, identify
from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.sentence import sentence
from steelyard.inertia import NAMES

robot = Robot.load("demo_arm")  # comes with Steelyard
rng = np.random.default_rng(1)
truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
train = simulate_arm(robot, truth, seed=2, friction=friction, source="train")  # 20 s at 200 Hz, with noise
test = simulate_arm(robot, truth, seed=3, friction=friction, source="test")

estimate = identify("demo_arm", [train], Options(friction="all"), validate=[test]).estimate

print("body             true mass   described   estimated   source")
for body in estimate.bodies:
    masses = truth[body.name][0], body.prior[0], body.mass
    print(f"{body.name:16}" + "".join(f"{kg:10.3f}  " for kg in masses) + f" {body.source.mass}")

# No motion of an arm determines its masses one by one. Identifiable are combinations of them: base parameters.
exact = {f"{name}.{p}": value for name in truth for p, value in zip(NAMES, truth[name], strict=True)}
links = [p for p in estimate.base if exact.keys() >= p.terms.keys()]
print("\nthe three surest base parameters of the links:")
for p in sorted(links, key=lambda p: p.std / abs(p.value))[:3]:
    terms = " ".join(f"{factor:+.3g}·{name}" for name, factor in p.terms.items() if abs(factor) > 1e-6)
    true = sum(factor * exact[name] for name, factor in p.terms.items())
    print(f"{p.value:8.4f} ± {1.96 * p.std:.4f}, true {true:.4f}:  {terms}")

print(f"\n{sentence(estimate)}")
