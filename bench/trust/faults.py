"""The faults: what is planted, in which sizes, and into the logs of which robots.

A fault takes a scene, its size and a generator, and returns the scene with the fault. Those of stage ``exact`` change
what happened, before sensors read it; those of stage ``measured`` change readings, stamps or what ``identify`` gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.interpolate import make_interp_spline

from bench.trust import forces
from bench.trust.robots import LEGGED, Kind, Scene
from steelyard.log.log import Log
from steelyard.spatial import XYZ, Array

Plant = Callable[[Scene, float, np.random.Generator], Scene]
EVERY: tuple[Kind, ...] = ("arm", "quadruped", "humanoid")
DRIVEN: tuple[Kind, ...] = ("arm", "quadruped")


@dataclass(frozen=True)
class Fault:
    """One fault in several sizes."""

    name: str
    sizes: tuple[float, ...]
    size: str  # format of a size, with its unit
    kinds: tuple[Kind, ...]
    stage: Literal["exact", "measured"]
    plant: Plant
    speeds: bool = False  # whether the log has joint velocities


def _scale(scene: Scene, prefixes: tuple[str, ...], factor: float) -> Scene:
    return scene.with_columns({c: factor * x for c, x in scene.log.columns.items() if c.startswith(prefixes)})


def _drive(scene: Scene) -> tuple[str, ...]:
    """Columns of the forces that the equations need: torques, or wrenches of the feet."""
    return ("wrench.",) if scene.subject.kind == "humanoid" else ("tau.",)


def _one(scene: Scene) -> tuple[str, ...]:
    """Those of one joint or one foot."""
    if scene.subject.kind == "humanoid":
        return (f"wrench.{scene.log.names('wrench')[0]}.",)
    return (f"tau.{scene.subject.joint}",)


def _at(log: Log, prefixes: tuple[str, ...], time: Array) -> dict[str, Array]:
    """Columns at other times."""
    inside = np.clip(time, log.time[0], log.time[-1])
    return {c: make_interp_spline(log.time, x, k=3)(inside) for c, x in log.columns.items() if c.startswith(prefixes)}


def _swap(scene: Scene, kinds: tuple[str, ...], a: str, b: str) -> Scene:
    log = scene.log
    pairs = [(f"{k}.{a}", f"{k}.{b}") for k in kinds if log.has(f"{k}.{a}")]
    return scene.with_columns({x: log.columns[y] for p, q in pairs for x, y in ((p, q), (q, p))})


def forces_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _scale(scene, _drive(scene), size)


def force_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _scale(scene, _one(scene), size)


def forces_late(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return scene.with_columns(_at(scene.log, _drive(scene), scene.log.time - size))


def forces_clipped(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    driven = {c: x for c, x in scene.log.columns.items() if c.startswith(_drive(scene))}
    return scene.with_columns({c: np.clip(x, -size * abs(x).max(), size * abs(x).max()) for c, x in driven.items()})


def forces_quantised(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    driven = {c: x for c, x in scene.log.columns.items() if c.startswith(_drive(scene))}
    steps = {c: max(size * float(abs(x).max()), 1e-9) for c, x in driven.items()}
    return scene.with_columns({c: steps[c] * np.round(x / steps[c]) for c, x in driven.items()})


def forces_noisy(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """White noise of a share of each channel's rms."""
    driven = {c: x for c, x in scene.log.columns.items() if c.startswith(_drive(scene))}
    return scene.with_columns(
        {c: x + size * np.sqrt(np.mean(x**2)) * rng.normal(size=len(x)) for c, x in driven.items()}
    )


def forces_burst(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """A second of noise as large as the largest force, ``size`` times in the log."""
    out = {c: x.copy() for c, x in scene.log.columns.items() if c.startswith(_drive(scene))}
    for start in rng.uniform(scene.log.time[0], scene.log.time[-1] - 1, round(size)):
        inside = (scene.log.time >= start) & (scene.log.time < start + 1)
        for x in out.values():
            x[inside] += abs(x).max() * rng.normal(size=inside.sum())
    return scene.with_columns(out)


def limb_without_torques(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    """A leg, or the joint of an arm, or a foot, whose forces read zero."""
    if scene.subject.kind != "quadruped":
        return _scale(scene, _one(scene), 0.0)
    leg = scene.subject.joint.split("_")[0]
    return _scale(scene, (f"tau.{leg}_",), 0.0)


def position_reversed(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    return _scale(scene, (f"q.{scene.subject.joint}",), -1.0)


def axis_reversed(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    return _scale(scene, (f"q.{scene.subject.joint}", f"tau.{scene.subject.joint}"), -1.0)


def joints_swapped(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    return _swap(scene, ("q", "tau"), *scene.subject.swapped)


def torques_swapped(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    return _swap(scene, ("tau",), *scene.subject.swapped)


def encoder_zero(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    name = f"q.{scene.subject.joint}"
    return scene.with_columns({name: scene.log.columns[name] + np.deg2rad(size)})


def position_frozen(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    name, log = f"q.{scene.subject.joint}", scene.log
    x, start = log.columns[name].copy(), len(log) // 3
    frozen = slice(start, start + int(np.searchsorted(log.time, log.time[0] + size)))
    x[frozen] = x[start]
    return scene.with_columns({name: x})


def column_misspelt(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    joint = scene.subject.joint
    wrong = joint.replace("_joint", "") if "_joint" in joint and joint.endswith("_joint") else f"{joint}_"
    columns = {c.replace(f".{joint}", f".{wrong}") if c.endswith(f".{joint}") else c: x
               for c, x in scene.log.columns.items()}  # fmt: skip
    return replace(scene, log=replace(scene.log, columns=columns))


def speeds_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _scale(scene, ("v.",), size)


def rate_wrong(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """Stamps by a wrong rate beside velocities that are right."""
    return replace(scene, log=replace(scene.log, time=size * scene.log.time))


def joint_elastic(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """A position that lags by a first order of this time constant."""
    name, log = f"q.{scene.subject.joint}", scene.log
    step, x = float(np.median(np.diff(log.time))), log.columns[name].copy()
    for k in range(1, len(x)):
        x[k] = x[k - 1] + (log.columns[name][k] - x[k - 1]) * step / (size + step)
    return scene.with_columns({name: x})


def joint_backlash(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """A position that follows only at the ends of the play."""
    name = f"q.{scene.subject.joint}"
    x = scene.log.columns[name].copy()
    for k in range(1, len(x)):
        x[k] = np.clip(x[k - 1], x[k] - size / 2, x[k] + size / 2)
    return scene.with_columns({name: x})


def others_still(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """Only the joint of this number moves; the others hold the posture of the first sample."""
    keep = round(size)
    for kind in "qva":
        x = scene.matrix(kind)
        held = np.tile(x[0] if kind == "q" else 0 * x[0], (len(x), 1))
        held[:, keep] = x[:, keep]
        scene = scene.with_matrix(kind, held)
    return scene.with_matrix("tau", forces.arm_torques(scene))


def time_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return replace(scene, log=replace(scene.log, time=size * scene.log.time))


def stamps_jitter(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """Samples at irregular times under even stamps."""
    shift = size * rng.normal(size=len(scene.log))
    return scene.with_columns(_at(scene.log, ("",), scene.log.time + shift))


def samples_lost(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """Rows lost, with the stamps of the others as they were."""
    kept = rng.random(len(scene.log)) >= size
    log = scene.log
    return replace(scene, log=replace(log, time=log.time[kept], columns={c: x[kept] for c, x in log.columns.items()}))


def samples_lost_unseen(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """Rows lost, and the others stamped evenly by their number."""
    time, lost = scene.log.time, samples_lost(scene, size, rng)
    return replace(lost, log=replace(lost.log, time=time[: len(lost.log)]))


def rows_repeated(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    """Rows that repeat the one before under a new stamp."""
    rows = np.arange(len(scene.log))
    rows[1:][rng.random(len(rows) - 1) < size] -= 1
    return scene.with_columns({c: x[rows] for c, x in scene.log.columns.items()})


def stamp_wrong(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """One stamp too late by this share of the interval to the next."""
    time, k = scene.log.time.copy(), len(scene.log) // 2
    time[k] += size * (time[k + 1] - time[k])
    return replace(scene, log=replace(scene.log, time=time))


def base_tilted(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    angle = np.deg2rad(size)
    gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    return scene.with_matrix("tau", forces.arm_torques(scene, gravity=gravity))


def load_in_half(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """A load of a share of the robot's mass that is there in the second half."""
    return forces.carry(scene, size, scene.log.time > (scene.log.time[0] + scene.log.time[-1]) / 2)


def hand_pushes(scene: Scene, size: float, rng: np.random.Generator) -> Scene:
    return forces.push(scene, size, rng)


def friction_drifts(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """Viscous friction that falls by this share while the joints warm up."""
    t = scene.log.time - scene.log.time[0]
    less = size * (t / t[-1])[:, None] * scene.friction.viscous * scene.matrix("v")
    return scene.with_matrix("tau", scene.matrix("tau") - less)


def lengths_wrong(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """A description in which links between two joints are longer or shorter."""
    return _described(scene, scene.subject.lengthened, size)


def robot_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """The description of a sibling of other size, with inertias as they were."""
    return _described(scene, tuple(scene.description.joints), size)


def _described(scene: Scene, joints: tuple[str, ...], factor: float) -> Scene:
    changed = dict(scene.description.joints)
    for name in joints:
        placement = changed[name].placement.copy()
        placement[:3, 3] *= factor
        changed[name] = replace(changed[name], placement=placement)
    return replace(scene, description=replace(scene.description, joints=changed))


def foot_missing(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    """One foot that is not named."""
    return replace(scene, options={**scene.options, "feet": scene.options["feet"][1:]})


def _vector(scene: Scene, name: str, change: Callable[[Array], Array]) -> Scene:
    x = scene.log.vector(name)
    assert x is not None
    return scene.with_columns({f"{name}.{c}": y for c, y in zip(XYZ, change(x).T, strict=True)})


def gyro_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _vector(scene, "imu.gyro", lambda x: size * x)


def accelerometer_scaled(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _vector(scene, "imu.acc", lambda x: size * x)


def accelerometer_biased(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return _vector(scene, "imu.acc", lambda x: x + size * np.array([1.0, 0.0, 0.0]))


def imu_displaced(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    """An IMU that sits higher than described: gravity shows the centre of mass in the other directions."""
    gyro = scene.log.vector("imu.gyro")
    assert gyro is not None
    lever, turn = np.array([0.0, 0.0, size]), np.gradient(gyro, scene.log.time, axis=0)
    return _vector(scene, "imu.acc", lambda x: x + np.cross(turn, lever) + np.cross(gyro, np.cross(gyro, lever)))


def imu_tilted(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    c, s = np.cos(np.deg2rad(size)), np.sin(np.deg2rad(size))
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return _vector(_vector(scene, "imu.gyro", lambda x: x @ R), "imu.acc", lambda x: x @ R)


def imu_late(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    return scene.with_columns(_at(scene.log, ("imu.",), scene.log.time - size))


def feet_swapped(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    left, right = scene.log.names("wrench")
    other = {f"wrench.{a}.": f"wrench.{b}." for a, b in ((left, right), (right, left))}
    named = {c: next((new for old, new in other.items() if c.startswith(old)), None) for c in scene.log.columns}
    return scene.with_columns({new + c.rsplit(".", 1)[1]: scene.log.columns[c] for c, new in named.items() if new})


def moments_zero(scene: Scene, _: float, __: np.random.Generator) -> Scene:
    wrenches = [c for c in scene.log.columns if c.startswith("wrench.")]
    return scene.with_columns({c: 0 * scene.log.columns[c] for c in wrenches if c[-2:] in ("mx", "my", "mz")})


def foot_biased(scene: Scene, size: float, _: np.random.Generator) -> Scene:
    name = f"wrench.{scene.log.names('wrench')[0]}.fx"
    return scene.with_columns({name: scene.log.columns[name] + size})


FAULTS = {
    f.name: f
    for f in (
        Fault("forces-scaled", (1 / 101, 0.5, 1.1, 2, 4, 9.81), "× {:.3g}", EVERY, "measured", forces_scaled),
        Fault("force-scaled", (1 / 101, 0.5, 1.1, 1.3, 2, 4), "× {:.3g}", EVERY, "measured", force_scaled),
        Fault("force-reversed", (-1,), "", EVERY, "measured", force_scaled),
        Fault("forces-reversed", (-1,), "", EVERY, "measured", forces_scaled),
        Fault("forces-late", (0.15, 0.1, 0.06, 0.03, 0.015), "{:.3g} s", EVERY, "exact", forces_late),
        Fault("forces-clipped", (0.4, 0.7), "at {:.2g} of the largest", EVERY, "measured", forces_clipped),
        Fault("forces-quantised", (0.3, 0.1), "{:.2g} of the largest", EVERY, "measured", forces_quantised),
        Fault("forces-noisy", (0.5, 0.1), "{:.2g} of rms", EVERY, "measured", forces_noisy),
        Fault("forces-burst", (3, 1), "{:.0f} s", EVERY, "measured", forces_burst),
        Fault("limb-without-forces", (0,), "", EVERY, "measured", limb_without_torques),
        Fault("position-reversed", (-1,), "", EVERY, "measured", position_reversed),
        Fault("axis-reversed", (-1,), "", DRIVEN, "measured", axis_reversed),
        Fault("joints-swapped", (0,), "", EVERY, "measured", joints_swapped),
        Fault("torques-swapped", (0,), "", DRIVEN, "measured", torques_swapped),
        Fault("encoder-zero", (10, 3, 1), "{:.2g}°", EVERY, "measured", encoder_zero),
        Fault("position-frozen", (5, 1), "{:.2g} s", EVERY, "measured", position_frozen),
        Fault("column-misspelt", (0,), "", EVERY, "measured", column_misspelt),
        Fault("speeds-scaled", (57.3, 2, 0.5), "× {:.3g}", ("arm",), "measured", speeds_scaled, speeds=True),
        Fault("rate-wrong", (10, 0.1), "× {:.3g}", ("arm",), "measured", rate_wrong, speeds=True),
        Fault("joint-elastic", (0.1, 0.03), "{:.3g} s", EVERY, "exact", joint_elastic),
        Fault("joint-backlash", (0.1, 0.02), "{:.3g} rad", EVERY, "exact", joint_backlash),
        Fault("others-still", (1, 2, 3), "joint {:.0f} moves", ("arm",), "exact", others_still),
        Fault("time-scaled", (2, 0.5, 1.1), "× {:.3g}", EVERY, "measured", time_scaled),
        Fault("stamps-jitter", (5e-3, 2e-3, 1e-3, 5e-4), "{:.2g} s", EVERY, "exact", stamps_jitter),
        Fault("samples-lost", (0.5, 0.2), "{:.2g} of all", EVERY, "measured", samples_lost),
        Fault("samples-lost-unseen", (0.3, 0.05, 0.01), "{:.2g} of all", EVERY, "measured", samples_lost_unseen),
        Fault("rows-repeated", (0.3, 0.05, 0.01), "{:.2g} of all", EVERY, "measured", rows_repeated),
        Fault("stamp-wrong", (0.9,), "{:.2g} of an interval", EVERY, "measured", stamp_wrong),
        Fault("base-tilted", (180, 15, 5, 2), "{:.3g}°", ("arm",), "exact", base_tilted),
        Fault("load-in-half", (0.15, 0.03), "{:.2g} of the mass", EVERY, "exact", load_in_half),
        Fault("hand-pushes", (0.3, 0.1), "{:.2g} of the weight", EVERY, "exact", hand_pushes),
        Fault("friction-drifts", (0.7, 0.3), "{:.2g} of viscous", DRIVEN, "exact", friction_drifts),
        Fault("lengths-wrong", (1.2, 1.05, 0.95, 0.9), "× {:.3g}", EVERY, "measured", lengths_wrong),
        Fault("robot-scaled", (0.7,), "× {:.3g}", EVERY, "measured", robot_scaled),
        Fault("foot-missing", (0,), "", ("quadruped",), "measured", foot_missing),
        Fault("gyro-scaled", (0, 0.5, 1.1), "× {:.3g}", LEGGED, "measured", gyro_scaled),
        Fault("accelerometer-scaled", (1.3, 1.1, 0.9), "× {:.3g}", LEGGED, "measured", accelerometer_scaled),
        Fault("accelerometer-biased", (1, 0.5), "{:.2g} m/s²", LEGGED, "measured", accelerometer_biased),
        Fault("imu-displaced", (0.1, 0.03), "{:.2g} m", LEGGED, "exact", imu_displaced),
        Fault("imu-tilted", (15, 5, 2), "{:.2g}°", LEGGED, "exact", imu_tilted),
        Fault("imu-late", (0.03, 0.01), "{:.2g} s", LEGGED, "exact", imu_late),
        Fault("feet-swapped", (0,), "", ("humanoid",), "measured", feet_swapped),
        Fault("moments-zero", (0,), "", ("humanoid",), "measured", moments_zero),
        Fault("foot-biased", (50, 15), "{:.2g} N", ("humanoid",), "measured", foot_biased),
    )
}
# Faults that no log can show, each with the other robot whose unharmed log is the same.
UNFINDABLE = {
    ("forces-scaled", 1.1): "a robot (on held legs: a trunk) that is heavier by as much, with a tenth more friction",
    (
        "robot-scaled",
        0.7,
    ): "the robot at another size, with masses that give the same torques at the same angles",
}
