"""Identify a robot that is a pinocchio.Model, and put the identified inertias back into a model of your own."""

import pinocchio as pin

import steelyard as sy
from steelyard.experiment.simulate.simulate_arm import simulate_arm

model = pin.buildSampleModelManipulator()  # six revolute joints; yours comes from wherever you have it
robot = sy.Robot.load(model)
truth = {b.name: 1.2 * b.parameters for b in robot.bodies}
log = simulate_arm(robot, truth, seed=3, seconds=20.0)

result = sy.identify(model, log)
print(result.verdict.sentence)

identified = model.copy()
for body in result.estimate.bodies:
    joint = identified.frames[identified.getFrameId(body.name)].parentJoint
    identified.inertias[joint] = pin.Inertia.FromDynamicParameters(body.parameters)
    print(f"{body.name}: {model.inertias[joint].mass:.3f} -> {identified.inertias[joint].mass:.3f} kg")
