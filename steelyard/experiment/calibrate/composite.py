"""Both inertias of a robot that shakes on its feet: effective (``sinusoid.py``), and composite.

The composite inertia is that of the robot frozen in its nominal posture, about its centre of mass. Shaking on feet
that stay in place never turns the legs, so it is not observable from one. The trunk is therefore identified from the
same logs by contact-free equations, the feet's forces projected out (``equations/unknown_forces.py``), and the legs'
inertias are added as described: J = J_trunk + Σ T J_leg Tᵀ, moved to the common centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import Rig
from steelyard.experiment.calibrate.sinusoid import AXES, AxisInertia, Shake, effective, shake
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.spatial import Array


@dataclass(frozen=True)
class Composite:
    """The whole robot as one body, in its nominal posture."""

    mass: float  # kg
    com: Array  # (3,) m, base axes
    inertia: Array  # (3, 3) kg·m², about the centre of mass, base axes
    std: Array  # (3,) kg·m², of the moments about the axes
    trunk: Array  # (10,) parameters of the trunk with its payload
    source: str  # of the trunk

    def as_json(self) -> dict[str, Any]:
        """The contents of ``calibration.json``."""
        return {
            "mass": self.mass,
            "com": self.com.tolist(),
            "inertia": inertia.six(self.inertia).tolist(),
            "std": self.std.tolist(),
            "trunk": self.trunk.tolist(),
            "source": self.source,
        }


@dataclass(frozen=True)
class Inertias:
    """Effective inertias about three axes, and the composite one."""

    effective: tuple[AxisInertia, ...]  # x, y, z
    composite: Composite

    def as_json(self) -> dict[str, Any]:
        """The contents of ``calibration.json``."""
        return {"effective": [one.as_json() for one in self.effective], "composite": self.composite.as_json()}


def find_inertia(rig: Rig, how: Shake | None = None, *, progress: Callable[[str], None] = lambda _: None) -> Inertias:
    """Shake the trunk about each of its axes and estimate effective and composite inertias.

    The composite is estimated first: ``strayed`` needs the parameters of the trunk.

    Args:
        rig: The robot, on four feet.
        how: Frequencies and amplitudes.
        progress: Called with a line of text per axis.

    Returns:
        Effective inertia of each rotation, and the robot's as one body; kg·m², base axes.
    """
    how = how or Shake()
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    logs = {}
    for axis in AXES:
        progress(f"shaking about {axis}")
        logs[axis] = shake(rig, stance, axis, how)
    whole = composite(stance, rig.feet, list(logs.values()))
    known = stance.with_trunk(whole.trunk)
    return Inertias(tuple(effective(known, log, axis, how) for axis, log in logs.items()), whole)


def composite(stance: QuadrupedStance, feet: Sequence[str], logs: Sequence[Log]) -> Composite:
    """Identify the trunk from logs of a robot that shakes on its feet, and add the legs as described."""
    trunk = stance.robot.bodies[0].name
    options = Options(base="floating", equations="contact-free", links=(trunk,), feet=tuple(feet))
    estimate = identify(stance.robot.description, logs, options).estimate
    body = next(b for b in estimate.bodies if b.name == trunk)
    whole = frozen(stance, {trunk: body.parameters})
    mass, com, tensor = inertia.unpack(whole)
    step = np.diag(np.asarray(body.std))
    moments = np.diag(tensor)
    slopes = [np.diag(inertia.unpack(whole + row)[2]) - moments for row in step]
    std = np.sqrt(np.sum(np.square(slopes), axis=0))
    return Composite(mass, com, tensor, std, body.parameters, body.source.worst)


def frozen(stance: QuadrupedStance, parameters: Mapping[str, Array]) -> Array:
    """(10,) about the base's origin: all bodies as one in the nominal posture, those not named as described."""
    data = stance.placed(stance.nominal)
    parts = [
        inertia.transform(parameters.get(body.name, body.parameters), data.oMi[body.joint].homogeneous)
        for body in stance.robot.bodies
    ]
    return np.asarray(np.sum(parts, axis=0))
