"""``steelyard calibrate``: the procedures on a simulated robot, trial by trial, the truth beside what was found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.experiment.calibrate.bisection import Method
from steelyard.experiment.calibrate.com import CentreOfMass, find_com
from steelyard.experiment.calibrate.composite import Inertias, find_inertia, frozen
from steelyard.experiment.calibrate.simulated import SimulatedRig, simulated_rig, true_stance
from steelyard.experiment.calibrate.sinusoid import AXES, Shake, effective_of
from steelyard.experiment.calibrate.stance import QuadrupedStance
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.sensors import level
from steelyard.files import Staging
from steelyard.output.calibration import picture
from steelyard.robot.model import Robot

Array = np.ndarray


def rig_as_asked(
    robot: str, loads: Sequence[str], noise: str, seed: int, zero_error: float, perturb: str, friction: str
) -> SimulatedRig:
    """A simulated robot that differs from its description."""
    carried = [Load.parse(text) for text in loads]
    sensors = level(noise).but({"q_bias": zero_error})
    return simulated_rig(Robot.load(robot), seed=seed, loads=carried, noise=sensors, perturb=perturb, friction=friction)


def calibrate_com(
    rig: SimulatedRig,
    out: Path | None,
    *,
    zero_error: float,
    method: Method,
    tilt: bool,
    most: int,
    said: Callable[[str], None],
) -> tuple[CentreOfMass, dict[str, Any], list[Path]]:
    """Find the centre of mass; the result, ``calibration.json`` with the truth, and the files written."""
    found = find_com(rig, zero_error=zero_error, method=method, tilt=tilt, most=most, said=said)
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    exact = true_stance(rig)
    true = exact.com(exact.nominal)
    result = {
        "schema": 1,
        "robot": rig.robot.name,
        "posture": dict(rig.posture),
        **found.as_json(),
        "truth": {"com": true.tolist(), "mass": exact.mass},
    }
    drawn = picture(found, stance, true)
    return found, result, _written(out, result, {"com.svg": drawn})


def calibrate_inertia(
    rig: SimulatedRig, out: Path | None, *, periods: int, said: Callable[[str], None]
) -> tuple[Inertias, dict[str, Any], list[Path]]:
    """Find both inertias; the result, ``calibration.json`` with the truth, and the files written."""
    found = find_inertia(rig, Shake(periods=periods), said=said)
    exact = true_stance(rig)
    whole = inertia.unpack(frozen(exact, rig.world.truth))[2]
    truth = {
        "effective": [effective_of(exact.model, exact, axis) for axis in AXES],
        "composite": inertia.six(whole).tolist(),
    }
    result = {"schema": 1, "robot": rig.robot.name, "posture": dict(rig.posture), **found.as_json(), "truth": truth}
    return found, result, _written(out, result, {})


def _written(out: Path | None, result: dict[str, Any], drawings: dict[str, str]) -> list[Path]:
    if out is None:
        return []
    with Staging(out) as staging:
        for name, text in {"calibration.json": json.dumps(result, indent=1) + "\n", **drawings}.items():
            staging.path(name).write_text(text, encoding="utf-8")
    return [out / name for name in ("calibration.json", *drawings)]
