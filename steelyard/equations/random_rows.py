"""What structure and sensors alone allow to be seen: the rows of random, rich motion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.equations.missing import Missing
from steelyard.equations.segment import Segment
from steelyard.information import Information
from steelyard.log.force_plate import Plate
from steelyard.spatial import Array, rotation_from_quaternion

if TYPE_CHECKING:
    from steelyard.equations.setup import Setup


def random_rows(setup: Setup, seed: int) -> Array:
    """(n, n) R of random, rich motion.

    Feet among the unknown forces are left out where there is no sensor inside the robot: they can only hide, and
    ``contact-free`` rows see what base rows see. What wrenches do not measure does limit it: vertical force alone never
    shows an inertia. So does what touches below a sensor, which hides the part between.
    """
    robot, columns, equations = setup.robot, setup.columns, setup.equations
    rng = np.random.default_rng(seed)
    hiding = tuple(u for u in setup.unknown if isinstance(u, Missing) or robot.sensors)
    J, lead = len(robot.joints), 6 if robot.floating else 0
    kind = equations
    if equations == "contact-free":
        kind = "full" if columns.joint_terms or hiding else "base"
    each = {"joint": J, "base": lead, "full": lead + J}[kind] + len(robot.readings)  # equations a sample, at least
    each -= sum(u.forces for u in hiding)
    rows = max(2, int(2 * np.ceil(columns.n / max(each, 1))))
    segment = Segment(
        time=np.arange(rows, dtype=float),
        rate=1.0,
        q=rng.uniform(-np.pi, np.pi, (rows, J)),
        v=rng.normal(size=(rows, J)),
        a=3 * rng.normal(size=(rows, J)),
        tau=np.zeros((rows, J)),
        current={joint: rng.normal(size=rows) for joint, term in columns.joint_terms if term == "gain"},
        gyro=rng.normal(size=(rows, 3)) if robot.floating else None,
        alpha=3 * rng.normal(size=(rows, 3)) if robot.floating else None,
        acc=5 * rng.normal(size=(rows, 3)) if robot.floating else None,
        up=_unit(rng.normal(size=(rows, 3))) if robot.floating else None,
        wrench={},
        plates={
            m.column.removeprefix("plate."): _somewhere(rng, rows)
            for m in hiding
            if isinstance(m, Missing) and m.frame is None
        },
    )
    segments = [segment, replace(segment, loaded=True)] if any(b.carrier for b in robot.bodies) else [segment]
    stack = replace(setup, equations=kind, unknown=hiding, filter=None).rows(segments)
    bodies = 10 * len(columns.bodies)
    info = Information.none(columns.n)
    for block in stack:
        for k, (joint, term) in enumerate(columns.joint_terms, bodies):
            if term == "gain" and stack.free is None:  # a current is what the motion needs: the common scale is unseen
                row = stack.names.index(joint)
                block.Y[:, row, k] = -block.Y[:, row, :bodies] @ robot.prior
        info = info.extend(block.Y.reshape(-1, columns.n), block.target.ravel())
    return info.R


def _somewhere(rng: np.random.Generator, samples: int) -> Plate:
    pose = np.tile(np.eye(4), (samples, 1, 1))
    pose[:, :3, :3] = rotation_from_quaternion(rng.normal(size=(samples, 4)))
    pose[:, :3, 3] = rng.normal(size=(samples, 3))
    return Plate(pose, np.zeros((samples, 6)))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
