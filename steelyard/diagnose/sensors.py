"""Force–torque sensors held against what the described robot would press on them: is the sign the contract's?

Drivers and simulators differ in whether a sensor tells the force on the part below or on the part above. The weight of
what hangs on it decides, beside any offset. A description may be wrong about that weight by any factor, not in sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.errors import Finding
from steelyard.gains import partial
from steelyard.log import Log
from steelyard.regressor import Columns, Rows
from steelyard.robot import Robot
from steelyard.samples import Filter, Segment

EXPLAINED = 0.6  # the prediction must explain this share of what offsets leave, or it says nothing


def sign_findings(robot: Robot, log: Log, segments: Sequence[Segment], filter: Filter) -> list[Finding]:
    """Sensors whose force is the opposite of what the part below exerts; nothing unknown may touch there."""
    if not robot.sensors:
        return []
    rows = Rows(robot, segments, Columns(tuple(b.name for b in robot.bodies)), "base", (), filter)
    blocks = list(rows)
    predicted = np.concatenate([b.Y @ robot.prior for b in blocks])
    measured = np.concatenate([b.target for b in blocks])
    found = []
    for sensor in robot.sensors:
        at = [rows.names.index(row) for row in sensor.rows if row.rsplit(".", 1)[1].startswith("f")]
        offsets = np.kron(np.eye(len(at)), np.ones((len(measured), 1)))
        slope, explained = partial(predicted[:, at].T.ravel(), measured[:, at].T.ravel(), offsets)
        if slope < 0 and explained > EXPLAINED:
            what = "is the opposite of what the part below exerts on the part above: its sign is reversed"
            found.append(Finding(f"{log.source}, sensor.{sensor.name}", what, "Negate all its components"))
    return found
