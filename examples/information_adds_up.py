"""Information is additive: the sum over four parts of a log, in any order, is that of the whole log."""

import numpy as np

from steelyard import Information, Options, Robot
from steelyard.compose import prior
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.inference.noise import Noise, weight_rows
from steelyard.log.timing import log_rate
from steelyard.robot.description import read_description

robot = Robot.load("demo_arm")
log = simulate_arm(robot, {body.name: body.parameters for body in robot.bodies}, seed=1)
parts = [log.cut(k * len(log) // 4, (k + 1) * len(log) // 4) for k in range(4)]

setup = Setup.of(read_description("demo_arm"), [log], Options())
filter = Options().filter.at(log_rate(log))
weights = Noise.unit(np.ones(len(robot.joints)))  # 1 N·m on every joint
names = setup.columns.names


def rows(piece):
    """Filtered equations Y θ = τ of a piece of the log."""
    segments, _ = prepare(setup.robot, piece, filter, torques=True)
    return list(Setup(setup.robot, setup.equations, setup.columns, filter=filter).rows(segments))


each = [weight_rows(rows(part), weights, names) for part in parts]  # could be four machines
summed = sum((each[k] for k in (2, 0, 3, 1)), Information.none(len(names), names))
at_once = weight_rows([block for part in parts for block in rows(part)], weights, names)

belief = prior.make(setup.robot, setup.columns).information
a, b = (summed + belief).solve(), (at_once + belief).solve()
print(f"{summed.rows} rows about {summed.n} parameters, kept in {summed.triangle.nbytes / 1024:.0f} kB")
print(f"largest difference between the two answers: {np.max(np.abs(a - b)):.0e} (SI)")
