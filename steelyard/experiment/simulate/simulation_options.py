"""Options of a simulation; light, so that the command line can show them without loading anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from steelyard.equations.option_field import option

MotionKind = Literal["stand", "sines", "multisine", "trot", "fourier"]
Level = Literal["none", "low", "mid", "high"]
NoiseKind = Literal["none", "low", "mid", "high", "humanoid"]
Perturb = Literal["base", "all", "none"]
LOAD = "KG@LINK:x,y,z[:sx,sy,sz]"


@dataclass(frozen=True)
class SimulationOptions:
    """Motion, true robot, ground and sensors of a simulation."""

    motion: MotionKind = option("trot", "Motion; fourier is for arms.")
    play: Path | None = option(
        None, "A motion of an arm or humanoid to track, as `steelyard excite` writes it.", metavar="LOG"
    )
    seconds: float = option(10.0, "Duration.", metavar="S")
    noise: NoiseKind = option("mid", "Of encoders, torques and IMU; humanoid: also of force sensors on the feet.")
    seed: int = option(0, "Of noise and motion, and of the true robot unless --truth-seed.")
    truth_seed: int | None = option(None, "Of how the true robot differs from its description.")
    perturb: Perturb | None = option(
        None, "Bodies not as described: base (legged; of humanoids the torso), all (arms, humanoids)."
    )
    load: tuple[str, ...] = option((), "A cuboid welded to a link, m; may be repeated.", metavar=LOAD, parse=tuple)
    friction: Level = option("none", "Of the joints, with rotor inertia.")
    sensor: tuple[str, ...] = option(
        (), "A further error of sensors, e.g. tau_gain=0.02; may be repeated.", metavar="NAME=VALUE", parse=tuple
    )
    terrain: str = option("flat", "flat, rough or rough:HEIGHT in m.", metavar="T")
    grip: float = option(0.8, "Coefficient of friction of the ground.")
    speed: float = option(0.3, "Of a trot, forward.", metavar="M/S")
    turn: float = option(0.0, "Of a trot, to the left.", metavar="RAD/S")
    sway: float = option(0.8, "Amplitude of the trunk in a trot or multisine, 0 to 1.")
    rate: float | None = option(None, "Samples per second; default 500, of arms 200.", metavar="HZ")
    feet: tuple[str, ...] = option((), "Ball feet, F:point:RADIUS; default from the description.", metavar="F,…")
    imu: str | None = option(None, "Frame of the IMU; default from the description.", metavar="FRAME")
    wrenches: bool = option(False, "Record the wrenches of the ground on the feet (--noise none).")
