"""True robots that differ from their description, so that an estimate equal to the prior is never correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from steelyard import inertia
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.simulate_arm import Friction
from steelyard.experiment.simulate.simulation_options import Perturb
from steelyard.robot import geometry
from steelyard.robot.build import build
from steelyard.robot.model import Body, Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import Array

SHARE = 0.3  # largest relative error of a described mass
EXTRA = 5.0  # kg on the torso that the description lacks
LIMB = 0.01  # known mass in a hand, over that of the robot
# Extra mass on the torso and other masses of links, either of them, both with a known mass in a hand, other shapes.
KINDS = ("both", "torso", "links", "limb", "shapes")
CUBE = 0.2  # m, edge of the extra mass on a torso
OFF = 0.05  # m, its largest distance from the torso's centre of mass along each axis


def perturbed(robot: Robot, rng: np.random.Generator, spread: float = 0.15) -> dict[str, Array]:
    """Draw physically consistent parameters (10,) of every body, off by about 2·``spread`` in mass and in every length.

    Σ′ = T Σ Tᵀ with T = exp(random matrix): a mass distribution stretched, sheared, shifted and made
    heavier or lighter stays one.
    """
    truth = {}
    for body in robot.bodies:
        _, com, _ = inertia.unpack(body.parameters)
        to_com = np.eye(4)
        to_com[:3, 3] = -com
        G = rng.normal(size=(4, 4)) * spread
        G[:3, 3] *= 0.3 * body.size  # a shift, m
        G[3, :3] = 0.0
        T = np.linalg.inv(to_com) @ expm(G) @ to_com
        truth[body.name] = inertia.from_pseudo(T @ inertia.pseudo(body.parameters) @ T.T)
    return truth


def perturb_masses(
    robot: Robot, rng: np.random.Generator, *, share: float = SHARE, extra: float = EXTRA, on: str | None = None
) -> dict[str, Array]:
    """Draw physically consistent parameters (10,): each mass off by up to ``share``, and ``extra`` kg on the torso.

    Mass, first moments and inertia of a body scale alike and its mass shifts by a few per cent of its size:
    Σ′ = s T Σ Tᵀ. ``on``: the link of the extra mass; default the heaviest body.
    """
    truth = {}
    for body in robot.bodies:
        T = np.eye(4)
        T[:3, 3] = rng.uniform(-1, 1, 3) * 0.1 * share * body.size
        scale = 1 + rng.uniform(-share, share)
        truth[body.name] = inertia.from_pseudo(scale * T @ inertia.pseudo(body.parameters) @ T.T)
    if extra:
        carrier = torso(robot) if on is None else robot.body(on)
        at = inertia.unpack(carrier.parameters)[1] + rng.uniform(-1, 1, 3) * OFF
        half = np.full(3, CUBE / 2)
        truth[carrier.name] = truth[carrier.name] + geometry.box_inertia(extra, (at - half, at + half))
    return truth


@dataclass(frozen=True)
class Specimen:
    """The true robot: how it differs from its description, its payloads, and the ground."""

    truth: Mapping[str, Array] | None = None  # (10,) of bodies that are not as described; None: drawn
    perturb: Perturb = "base"  # which bodies are drawn
    truth_seed: int | None = None  # of the drawn parameters; None: that of the simulation
    loads: Sequence[Load] = ()
    friction: Friction | str = "none"  # of the joints, or the level at which it is drawn
    ground: Ground | None = None  # None: level


@dataclass(frozen=True)
class Truth:
    """A true robot."""

    name: str
    parameters: Mapping[str, Array]  # (10,) of every body, without payload
    loads: tuple[Load, ...] = ()  # payloads of known mass


def truths(robot: Robot, count: int, seed: int) -> tuple[Truth, ...]:
    """Draw true humanoids, of each kind of ``KINDS`` in turn."""
    drawn = []
    for k in range(count):
        rng, kind = np.random.default_rng([seed, k]), KINDS[k % len(KINDS)]
        loads: tuple[Load, ...] = ()
        if kind == "shapes":
            parameters = perturbed(robot, rng, SHARE / 3)
        else:
            parameters = perturb_masses(
                robot, rng, share=0.0 if kind == "torso" else SHARE, extra=0.0 if kind == "links" else EXTRA
            )
        if kind == "limb":
            whole = sum(float(b.parameters[0]) for b in robot.bodies)
            hand = robot.body(wrist(robot))
            loads = (Load.cuboid(hand.name, LIMB * whole, hand.box[0] / 2 + hand.box[1] / 2, (0.06, 0.06, 0.06)),)
        drawn.append(Truth(f"{kind} {k}", parameters, loads))
    return tuple(drawn)


def torso(robot: Robot) -> Body:
    """The heaviest body."""
    return max(robot.bodies, key=lambda b: float(b.parameters[0]))


def wrist(robot: Robot) -> str:
    """The body at the end of the longest chain of joints without a foot: a hand."""
    feet = {s.joint for s in find_soles(robot)}
    ends = [b for b in robot.bodies if b.joint not in set(robot.model.parents) | feet]
    return max(ends, key=lambda b: len(robot.joints_above(b.joint))).name


def without_joint(robot: Robot, joint: str) -> Robot:
    """The robot with one joint locked at zero, as a description that lacks it."""
    return build(robot.description, base=robot.base, lock={**robot.locked, joint: 0.0}, gravity=robot.gravity.tolist())
