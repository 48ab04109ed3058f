"""Sign convention of force–torque sensors, inferred from the weight of the described robot.

Drivers and simulators differ in whether a sensor reports the force on the part below or on the part above. The weight
of the part below decides, with the offset estimated along; where that part is in contact, the weight of the whole robot
on all sensors. A description may be wrong about that weight by any factor, but not in sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.check.subject import Check, Subject
from steelyard.check.torque_balance import partial
from steelyard.equations.columns import Columns
from steelyard.errors import Finding, UsageError

EXPLAINED = 0.6  # least share of the offset-free signal that the prediction must explain to infer a sign
WHAT = "is the opposite of the force that the part below exerts on the part above: its sign is reversed"


class SensorSigns(Check):
    """Force–torque sensors with a reversed sign."""

    rank = 30

    def find(self, subject: Subject) -> list[Finding]:
        """Findings of this check."""
        setup, robot = subject.setup, subject.setup.robot
        below = {int(i) for s in robot.sensors for i in robot.model.subtrees[s.joint]}
        if not robot.sensors or any(f.frame is None or f.frame.joint not in below for f in setup.unknown):
            return []
        columns = Columns(setup.columns.bodies, (), setup.columns.offsets)
        try:
            rows = replace(setup, equations="base", columns=columns).rows(subject.segments)
        except UsageError:  # the feet leave no equation of the base
            return []
        blocks = list(rows)
        Y, measured = (np.concatenate(x) for x in zip(*((b.Y, b.target) for b in blocks), strict=True))
        bodies = 10 * len(columns.bodies)
        predicted = Y[:, :, :bodies] @ robot.prior
        if setup.unknown:  # their forces replace contact forces in the same equations: one sign for all
            channels = {"sensor": list(range(len(rows.names)))}
        else:
            forces = {s.name: [row for row in s.rows if row.rsplit(".", 1)[1].startswith("f")] for s in robot.sensors}
            channels = {f"sensor.{name}": [rows.names.index(row) for row in some] for name, some in forces.items()}
        findings = []
        for where, at in channels.items():
            offsets = Y[:, at, bodies:].reshape(-1, len(columns.offsets))
            offsets = offsets[:, np.any(offsets != 0, axis=0)]
            slope, explained = partial(predicted[:, at].ravel(), measured[:, at].ravel(), offsets)
            if slope < 0 and explained > EXPLAINED:
                place = f"{subject.log.source}, {where}"
                findings.append(Finding("sign-reversed", place, WHAT, "Negate all its components", {"negate": where}))
        return findings
