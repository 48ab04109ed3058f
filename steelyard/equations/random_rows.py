"""Structural identifiability: rows of random motion, which excite all that structure and sensors allow."""

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
    """(n, n) R of random motion.

    Unknown forces of feet are left out where the robot has no internal sensor: then ``contact-free`` rows excite what
    base rows excite. Components that wrenches do not measure do matter: vertical force alone excites no inertia. So do
    contacts below a sensor, which hide the part in between.
    """
    robot, columns, equations = setup.robot, setup.columns, setup.equations
    rng = np.random.default_rng(seed)
    projected = tuple(u for u in setup.unknown if isinstance(u, Missing) or robot.sensors)
    J, lead = len(robot.joints), 6 if robot.floating else 0
    kind = equations
    if equations == "contact-free":
        kind = "full" if columns.joint_terms or projected else "base"
    each = {"joint": J, "base": lead, "full": lead + J}[kind] + len(robot.readings)  # least number a sample
    each -= sum(u.forces for u in projected)
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
            for m in projected
            if isinstance(m, Missing) and m.frame is None
        },
    )
    segments = [segment, replace(segment, loaded=True)] if any(b.carrier for b in robot.bodies) else [segment]
    stack = replace(setup, equations=kind, unknown=projected, filter=None).rows(segments)
    bodies = 10 * len(columns.bodies)
    info = Information.none(columns.n)
    for block in stack:
        for k, (joint, term) in enumerate(columns.joint_terms, bodies):
            if term == "gain" and stack.free is None:  # currents as the motion requires: no common scale
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
