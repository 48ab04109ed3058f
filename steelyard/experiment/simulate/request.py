"""From the options of a simulation to its log."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import level
from steelyard.experiment.simulate.simulate_arm import NOISE, Friction, read_motion, simulate_arm
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
from steelyard.experiment.simulate.truth import SHARE, Specimen, perturb_masses
from steelyard.log.log import Log
from steelyard.log.table import read_log
from steelyard.robot.model import Robot

ROUGH = 0.03  # m, default height of rough ground
LEGGED = ("load", "sensor", "feet", "imu", "wrenches")  # options that do not apply to arms


def simulate(robot: Robot, options: SimulationOptions) -> Log:
    """Simulate a humanoid that tracks a motion, an arm, or a robot on ball feet.

    Raises:
        UsageError: An option does not suit the robot, with every reason.
    """
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
    truth = {} if o.perturb == "none" else perturb_masses(robot, draw, share=share)
    friction = leg_friction(robot, o.friction, draw) or "none"
    specimen = Specimen(truth, loads=_loads(o), friction=friction, ground=_ground(o))
    return simulate_humanoid(robot, read_log(o.play), specimen, _recording(o), seed=o.seed, feet=o.feet)


def _arm(robot: Robot, o: SimulationOptions) -> Log:
    legged = {name: value for name in LEGGED if (value := getattr(o, name))}
    findings = [
        Finding("option-conflict", f"{name}={_shown(value)}", "is for legged robots", "Leave it out for an arm")
        for name, value in legged.items()
    ]
    if o.noise not in NOISE:
        fix = f"Choose from {', '.join(NOISE)}"
        findings.append(Finding("option-unknown-choice", f"noise={o.noise}", "is not a level of arms", fix))
    if robot.floating:
        what = "is a motion of arms, and this robot has a floating base"
        fix = "Choose stand, sines, multisine or trot"
        findings.append(Finding("option-conflict", "motion=fourier", what, fix, {"motion": "trot"}))
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
        motion=None if o.play is None else read_motion(robot, read_log(o.play)),
    )


def _draw(o: SimulationOptions) -> np.random.Generator:
    return np.random.default_rng([o.seed if o.truth_seed is None else o.truth_seed, 0])


def _recording(o: SimulationOptions) -> Recording:
    noise = level(o.noise).but(dict(map(_setting, o.sensor))) if o.sensor else o.noise
    return Recording(o.rate, noise, o.imu, o.wrenches)


def _loads(o: SimulationOptions) -> list[Load]:
    return [Load.parse(text) for text in o.load]


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UsageError(
            Finding("option-value", f"sensor={text}", "is not NAME=VALUE with a number", "Write e.g. tau_gain=0.02")
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
        Finding(
            "option-value", f"terrain={o.terrain}", "is not flat, rough or rough:HEIGHT", "Write e.g. rough:0.03 (m)"
        )
    )
