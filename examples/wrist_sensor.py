"""Identify a tool with the force–torque sensor in the wrist: no joint torques, unknown offsets of the sensor."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from steelyard import Log, Robot, identify, inertia
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.identify.sentence import sentence
from steelyard.robot.index import find_description

GUESS = """<link name="tool0"><inertial><origin xyz="0 0 0.05"/><mass value="1"/>
  <inertia ixx="0.002" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
OFFSET = np.array([4.0, -3.0, 6.0, 0.2, -0.1, 0.3])  # N, N·m: unloaded readings of the sensor

with TemporaryDirectory() as folder:
    path = Path(folder) / "arm.urdf"  # the arm of the demonstration, with a guess of the tool's inertia
    path.write_text(find_description("demo_arm").read_text().replace('<link name="tool0"/>', GUESS))
    robot = Robot.load(path, sensors=["tool_joint"])  # the sensor sits in this fixed joint

    truth = {body.name: body.parameters for body in robot.bodies}
    truth["tool0"] = inertia.pack(1.8, [0.02, -0.01, 0.09], np.diag([0.006, 0.005, 0.002]))
    run = simulate_arm(robot, truth, seed=1, seconds=10.0)
    columns = {"time": run.time, **{name: x for name, x in run.columns.items() if not name.startswith("tau.")}}
    for row, offset in zip(robot.readings, OFFSET, strict=True):
        columns[f"sensor.{row}"] = columns[f"sensor.{row}"] + offset
    estimate = identify(path, [Log.from_columns(columns)]).estimate

tool, sensor = estimate.body("tool0"), estimate.sensors["tool_joint"]
mass, com, _ = inertia.unpack(tool.parameters)
print(f"mass            {mass:.4f} ± {1.96 * tool.std[0]:.4f} kg, true 1.8 ({tool.source.mass})")
print(f"centre of mass  {np.round(1e3 * com, 2)} mm, true [20 -10 90] ({tool.source.com})")
print(f"offset          {np.round(np.array(sensor.offset), 3)} N, N·m, true {OFFSET}")
print(f"\n{sentence(estimate)}")
