"""Simulations as they are asked for: text to objects, with every misunderstanding refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import level
from steelyard.experiment.simulate.simulate_arm import NOISE, Friction, played, simulate_arm
from steelyard.experiment.simulate.simulate_humanoid import simulate_humanoid
from steelyard.experiment.simulate.simulate_quadruped import (
    FRICTION,
    Gait,
    leg_friction,
    simulate_quadruped,
    true_robot,
)
from steelyard.experiment.simulate.simulation_options import SimulationOptions
from steelyard.experiment.simulate.trot import TrotCommand
from steelyard.experiment.simulate.truth import SHARE, Specimen, reweighed
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.model import Robot

ROUGH = 0.03  # m, where nobody says how rough
LEGGED = ("load", "sensor", "feet", "imu", "wrenches")  # options that no arm has


def simulate(robot: Robot, options: SimulationOptions) -> Log:
    """The log of a humanoid that plays a motion, of an arm, or of a robot on ball feet."""
    if options.play is not None and robot.floating:
        return _humanoid(robot, options)
    if options.motion == "fourier" or options.play is not None:
        return _arm(robot, options)
    return _legged(robot, options)


def _legged(robot: Robot, o: SimulationOptions) -> Log:
    return simulate_quadruped(
        robot,
        Gait(o.motion, TrotCommand(o.speed, turn=o.turn), o.sway),
        Specimen(None, o.perturb or "base", o.truth_seed, _loads(o), o.friction, _ground(o)),
        _recording(o),
        seconds=o.seconds,
        seed=o.seed,
        feet=o.feet,
    )


def _humanoid(robot: Robot, o: SimulationOptions) -> Log:
    assert o.play is not None
    draw = _draw(o)
    share = 0.0 if o.perturb == "base" else SHARE
    truth = {} if o.perturb == "none" else reweighed(robot, draw, share=share)
    friction = leg_friction(robot, o.friction, draw) or "none"
    specimen = Specimen(truth, loads=_loads(o), friction=friction, ground=_ground(o))
    return simulate_humanoid(robot, read_log(o.play), specimen, _recording(o), seed=o.seed, feet=o.feet)


def _arm(robot: Robot, o: SimulationOptions) -> Log:
    legged = [f"--{name}" for name in LEGGED if getattr(o, name)]
    findings = [
        Finding("todo", option, "is for legged robots", "Leave it out with --motion fourier") for option in legged
    ]
    if o.noise not in NOISE:
        findings.append(Finding("todo", f"--noise {o.noise}", "is none of an arm's", f"Choose: {', '.join(NOISE)}"))
    if robot.floating:
        what = "is a motion of arms, and this robot has a floating base"
        findings.append(Finding("todo", "--motion fourier", what, "Choose stand, sines, multisine or trot"))
    if findings:
        raise UsageError(findings)
    draw = _draw(o)
    truth = true_robot(robot, o.perturb or "all", draw)
    drawn, scale = Friction.random(robot, draw), FRICTION[o.friction]
    return simulate_arm(
        robot,
        truth,
        seed=o.seed,
        seconds=o.seconds,
        rate=o.rate or 200.0,
        noise=o.noise,
        friction=Friction(*(scale * getattr(drawn, f.name) for f in fields(drawn))) if scale else None,
        motion=None if o.play is None else played(robot, read_log(o.play)),
    )


def _draw(o: SimulationOptions) -> np.random.Generator:
    return np.random.default_rng([o.seed if o.truth_seed is None else o.truth_seed, 0])


def _recording(o: SimulationOptions) -> Recording:
    noise = level(o.noise).but(dict(map(_setting, o.sensor))) if o.sensor else o.noise
    return Recording(o.rate, noise, o.imu, o.wrenches)


def _loads(o: SimulationOptions) -> list[Load]:
    return [Load.parse(text) for text in o.load]


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UsageError(
            Finding("todo", f"--sensor {text}", "is not NAME=VALUE with a number", "Write e.g. --sensor tau_gain=0.02")
        ) from None


def _ground(o: SimulationOptions) -> Ground:
    kind, _, height = o.terrain.partition(":")
    try:
        if kind == "flat" and not height:
            return Ground(grip=o.grip)
        if kind == "rough":
            return Ground(float(height) if height else ROUGH, o.grip, o.seed)
    except ValueError:
        pass
    raise UsageError(
        Finding("todo", f"--terrain {o.terrain}", "is not flat, rough or rough:HEIGHT", "Write e.g. rough:0.03 (m)")
    )
