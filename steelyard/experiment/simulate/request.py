"""Simulations as the command line asks for them: text to objects, with every misunderstanding refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.arm import NOISE, Friction, played, simulate_arm
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.humanoid import simulate_humanoid
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.quadruped import FRICTION, Gait, leg_friction, simulate_quadruped, true_robot
from steelyard.experiment.simulate.sensors import level
from steelyard.experiment.simulate.trot import TrotCommand
from steelyard.experiment.simulate.truth import SHARE, reweighed
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.model import Robot

ROUGH = 0.03  # m, where nobody says how rough


def simulate_legged_as_asked(
    robot: Robot,
    motion: str,
    pace: tuple[float, float, float],  # m/s, rad/s, sway
    loads: Sequence[str],
    sensors: Sequence[str],
    noise: str,
    ground: tuple[str, float],  # flat or rough:HEIGHT, grip
    **rest: Any,
) -> Log:
    """A log of a legged robot."""
    forward, turn, sway = pace
    return simulate_quadruped(
        robot,
        Gait(motion, TrotCommand(forward, turn=turn), sway),
        loads=[Load.parse(text) for text in loads],
        noise=level(noise).but(dict(map(_setting, sensors))) if sensors else noise,
        ground=_ground(*ground, seed=rest["seed"]),
        **rest,
    )


def simulate_humanoid_as_asked(
    robot: Robot,
    play: Path,
    loads: Sequence[str],
    sensors: Sequence[str],
    noise: str,
    ground: tuple[str, float],  # flat or rough:HEIGHT, grip
    *,
    seed: int,
    truth_seed: int | None,
    perturb: str,
    friction: str,
    **rest: Any,
) -> Log:
    """A log of a humanoid that plays a motion."""
    draw = np.random.default_rng([seed if truth_seed is None else truth_seed, 0])
    truth = {} if perturb == "none" else reweighed(robot, draw, share=0.0 if perturb == "base" else SHARE)
    return simulate_humanoid(
        robot,
        read_log(play),
        truth=truth,
        loads=[Load.parse(text) for text in loads],
        noise=level(noise).but(dict(map(_setting, sensors))) if sensors else noise,
        ground=_ground(*ground, seed=seed),
        friction=leg_friction(robot, friction, draw),
        seed=seed,
        **rest,
    )


def simulate_arm_as_asked(
    robot: Robot,
    legged: Sequence[str],
    *,
    seed: int,
    truth_seed: int | None,
    perturb: str,
    friction: str,
    play: Path | None = None,
    **rest: Any,
) -> Log:
    """A log of an arm on a Fourier motion, or on one to ``play``; ``legged``: options given that no arm has."""
    findings = [Finding(option, "is for legged robots", "Leave it out with --motion fourier") for option in legged]
    if rest["noise"] not in NOISE:
        findings.append(Finding(f"--noise {rest['noise']}", "is none of an arm's", f"Choose: {', '.join(NOISE)}"))
    if robot.floating:
        what = "is a motion of arms, and this robot has a floating base"
        findings.append(Finding("--motion fourier", what, "Choose stand, sines, multisine or trot"))
    if findings:
        raise UsageError(findings)
    draw = np.random.default_rng([seed if truth_seed is None else truth_seed, 0])
    truth = true_robot(robot, perturb, draw)
    drawn, scale = Friction.random(robot, draw), FRICTION[friction]
    joints = Friction(*(scale * np.asarray(x) for x in vars(drawn).values())) if scale else None
    motion = None if play is None else played(robot, read_log(play))
    return simulate_arm(robot, truth, seed=seed, friction=joints, motion=motion, **rest)


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UsageError(
            Finding(f"--sensor {text}", "is not NAME=VALUE with a number", "Write e.g. --sensor tau_gain=0.02")
        ) from None


def _ground(terrain: str, grip: float, *, seed: int) -> Ground:
    kind, _, height = terrain.partition(":")
    try:
        if kind == "flat" and not height:
            return Ground(grip=grip)
        if kind == "rough":
            return Ground(float(height) if height else ROUGH, grip, seed)
    except ValueError:
        pass
    raise UsageError(Finding(f"--terrain {terrain}", "is not flat, rough or rough:HEIGHT", "Write e.g. rough:0.03 (m)"))
