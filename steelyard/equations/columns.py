"""The entries of θ: parameters of bodies, terms of joints, offsets of sensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from steelyard import inertia
from steelyard.equations.coupled_motors import Motor
from steelyard.spatial import Array

Kind = Literal["body", "joint", "sensor", "gain"]

FRICTION = {
    "none": (),
    "viscous": ("viscous",),
    "coulomb": ("viscous", "coulomb"),
    "armature": ("viscous", "coulomb", "armature"),
    "all": ("viscous", "coulomb", "armature", "offset"),
}
COULOMB_SPEED = 0.004  # rad/s or m/s: dry friction is v / (|v| + this), half its coefficient at this speed


@dataclass(frozen=True)
class Columns:
    """The entries of θ: ten parameters a body, then terms of joints, then offsets of sensors."""

    bodies: tuple[str, ...]
    joint_terms: tuple[tuple[str, str], ...] = ()  # (joint, viscous | coulomb | armature | offset | gain | motor.…)
    offsets: tuple[tuple[str, str], ...] = ()  # (sensor, fx … mz)
    motors: tuple[Motor, ...] = ()  # coupled motors, of the terms motor.viscous, motor.coulomb, motor.armature

    @property
    def n(self) -> int:
        """Length of θ."""
        return 10 * len(self.bodies) + len(self.joint_terms) + len(self.offsets)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each entry: ``BODY.m`` … ``BODY.Izz``, ``JOINT.viscous`` …, ``SENSOR.offset.fx`` …"""
        return (
            tuple(f"{b}.{p}" for b in self.bodies for p in inertia.NAMES)
            + tuple(f"{joint}.{term}" for joint, term in self.joint_terms)
            + tuple(f"{sensor}.offset.{component}" for sensor, component in self.offsets)
        )

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """What each entry belongs to; a drive gain scales bodies and joints alike, so that it is a kind of its own."""
        kinds: list[Kind] = ["body"] * (10 * len(self.bodies))
        kinds += ["gain" if term == "gain" else "joint" for _, term in self.joint_terms]
        kinds += ["sensor"] * len(self.offsets)
        return tuple(kinds)

    @property
    def signed(self) -> Array:
        """(n − 10·bodies,) which entries after the bodies' may be negative: offsets and relative gains."""
        return np.array([t in ("offset", "gain") for _, t in self.joint_terms] + [True] * len(self.offsets), bool)

    @property
    def offset_index(self) -> range:
        """Indices of the sensors' offsets."""
        return range(self.n - len(self.offsets), self.n)

    def owner(self, k: int) -> str:
        """The body, joint or sensor that entry k belongs to."""
        bodies = 10 * len(self.bodies)
        if k < bodies:
            return self.bodies[k // 10]
        return (*self.joint_terms, *self.offsets)[k - bodies][0]

    def body(self, name: str) -> slice:
        """Indices of a body's ten parameters."""
        k = self.bodies.index(name)
        return slice(10 * k, 10 * k + 10)


def law(term: str, v: Array, a: Array) -> Array:
    """Force of a unit coefficient of friction or armature at speed v and acceleration a."""
    match term:
        case "viscous":
            return v
        case "coulomb":
            return np.asarray(v / (np.abs(v) + COULOMB_SPEED))
        case "armature":
            return a
    raise ValueError(term)
