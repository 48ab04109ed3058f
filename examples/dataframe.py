"""Check and identify a log that is a pandas DataFrame (polars works alike), and keep the result."""

import tempfile

import pandas as pd

import steelyard as sy
from steelyard.experiment.simulate.simulate_arm import simulate_arm

robot = sy.Robot.load("demo_arm")
truth = {b.name: 0.9 * b.parameters for b in robot.bodies}
train, test = (simulate_arm(robot, truth, seed=seed, seconds=20.0) for seed in (1, 2))
frame, other = (pd.DataFrame({"time": log.time, **log.columns}) for log in (train, test))

survey = sy.check("demo_arm", frame)
for finding in survey.findings:
    print(finding.code, finding.where, finding.remedy)
print(survey.sentence)

result = sy.identify("demo_arm", frame, validate=other, method=sy.Points(per_edge=3))
print(result)

folder = tempfile.mkdtemp()
print([path.name for path in result.save(folder, report=False)])
for difference in sy.compare(result, "demo_arm"):
    print(f"{difference.body}: {difference.mass[0]:.3f} kg, described {difference.mass[1]:.3f} kg")
