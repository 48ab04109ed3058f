"""Force–torque sensors held against the weight of the described robot: is their sign the contract's?

Drivers and simulators differ in whether a sensor tells the force on the part below or on the part above. The weight of
what hangs on it decides, beside any offset; where something touches below, the weight of what stands on all of them. A
description may be wrong about that weight by any factor, but not in sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import partial
from steelyard.equations.columns import Columns
from steelyard.errors import Finding

EXPLAINED = 0.6  # the prediction must explain this share of what offsets leave, or it says nothing
WHAT = "is the opposite of what the part below exerts on the part above: its sign is reversed"


class SensorSigns(Check):
    """Force–torque sensors whose force is the opposite of what it has to be."""

    rank = 30

    def find(self, subject: Subject) -> list[Finding]:
        """What is wrong, and how to mend it."""
        setup, robot = subject.setup, subject.setup.robot
        below = {int(i) for s in robot.sensors for i in robot.model.subtrees[s.joint]}
        if not robot.sensors or any(f.frame is None or f.frame.joint not in below for f in setup.unknown):
            return []
        columns = Columns(setup.columns.bodies, (), setup.columns.offsets)
        rows = replace(setup, equations="base", columns=columns).rows(subject.segments)
        blocks = list(rows)
        Y, measured = (np.concatenate(x) for x in zip(*((b.Y, b.target) for b in blocks), strict=True))
        bodies = 10 * len(columns.bodies)
        predicted = Y[:, :, :bodies] @ robot.prior
        if setup.unknown:  # their readings take the place of contact forces in the same equations: one sign for all
            channels = {"sensor": list(range(len(rows.names)))}
        else:
            forces = {s.name: [row for row in s.rows if row.rsplit(".", 1)[1].startswith("f")] for s in robot.sensors}
            channels = {f"sensor.{name}": [rows.names.index(row) for row in some] for name, some in forces.items()}
        found = []
        for where, at in channels.items():
            beside = Y[:, at, bodies:].reshape(-1, len(columns.offsets))
            beside = beside[:, np.any(beside != 0, axis=0)]
            slope, explained = partial(predicted[:, at].ravel(), measured[:, at].ravel(), beside)
            if slope < 0 and explained > EXPLAINED:
                found.append(Finding("todo", f"{subject.log.source}, {where}", WHAT, "Negate all its components"))
        return found
