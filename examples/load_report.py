"""A quadruped carries a cube: the report shows how its back is divided into shapes, and the estimate over time."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard import LoadEstimator, Options, Robot, Shapes, inertia, weigh_load
from steelyard.compose.primitives import cuboid
from steelyard.compose.shape_file import ShapeFile
from steelyard.experiment.simulate.sensors import measure
from steelyard.experiment.simulate.simulate_floating import random_sines, simulate_floating
from steelyard.output.report import courses_of
from steelyard.output.results import write_results

FEET = ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
place, above = np.array([0.11, -0.04, 0.077]), np.eye(4)
above[2, 3] = place[2]
cube = inertia.pack(1.0, place, 0.04**2 / 6 * np.eye(3))  # 1 kg, 4 cm
robot = Robot.load("a1")
truth = {b.name: b.parameters + (cube if b.name == "base" else 0) for b in robot.bodies}
log = simulate_floating(robot, truth, FEET, random_sines(robot, np.random.default_rng(4)))
log = measure(log, "mid", seed=4, keep=("base.",))
log = replace(log, metadata={"truth": {"parameters": {"(load)": cube.tolist()}}})  # for the pictures only

online = LoadEstimator("a1", log, "trunk", (-0.2, 0.2, -0.1, 0.1, 0.057, 0.097), Options(method="shapes", feet=FEET))
samples, loads = np.column_stack([log.columns[name] for name in online.inputs]), []
for start in range(0, len(log.time), 100):  # 0.2 s each
    online.push_window(log.time[start : start + 100], samples[start : start + 100])
    loads += [online.load()] if start else []
parts = [[k.time, k.body.parameters, k.body.std, k.body.com_std] for k in loads]
courses = courses_of(*map(np.array, zip(*parts, strict=True)), name="load", truth=cube)

area = ShapeFile(links={"(load)": (cuboid([0.4, 0.2, 0.04], above),)})
result = weigh_load("a1", [log], "trunk", Options(method=Shapes(start=area), feet=FEET))
files = write_results(result, Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()), courses)
(load,) = result.estimate.loads
print(f"{load.mass:.3f} kg, {1e3 * np.linalg.norm(load.parameters[1:4] / load.mass - place):.1f} mm off: {files[-1]}")
