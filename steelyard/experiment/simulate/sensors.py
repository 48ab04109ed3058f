"""Sensor readings from an exact log: noise by named levels, bias, gain error, delay, quantisation.

An exact log can be measured many times, each with its own seed: the motion need not be simulated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from steelyard.errors import Finding, UsageError, unknown_name
from steelyard.log.log import Log
from steelyard.spatial import Array

MEASURED = {"q": "q", "tau": "tau", "imu.gyro": "gyro", "imu.acc": "acc"}
ON_FEET = {"fx": "force", "fy": "force", "fz": "force_z", "mx": "moment", "my": "moment", "mz": "moment"}


@dataclass(frozen=True)
class Sensors:
    """White noise, constant errors, delays and resolutions of sensors; all zero: exact."""

    q: float = 0.0  # rad or m, noise
    gyro: float = 0.0  # rad/s, noise
    acc: float = 0.0  # m/s², noise
    tau: float = 0.0  # N·m or N, noise
    q_bias: float = 0.0  # rad: standard deviation of each encoder's zero
    gyro_bias: float = 0.0  # rad/s: standard deviation of each component's bias
    acc_bias: float = 0.0  # m/s²: standard deviation of each component's bias
    tau_gain: float = 0.0  # relative gain error of all torques
    tau_late: float = 0.0  # s, delay of torques
    imu_late: float = 0.0  # s, delay of gyro and accelerometer
    q_step: float = 0.0  # rad or m, resolution
    tau_step: float = 0.0  # N·m or N, resolution
    force: float = 0.0  # N, noise of forces on feet along x and y of their frames
    force_z: float = 0.0  # N, noise along z
    moment: float = 0.0  # N·m, noise of moments on feet; all three zero: feet have no sensors

    def __post_init__(self) -> None:
        values = asdict(self)
        bad = {k: v for k, v in values.items() if not np.isfinite(v) or (v < 0 and k != "tau_gain") or v <= -1}
        if bad:
            raise UsageError(
                [
                    Finding("option-value", f"sensor={k}={v:g}", "must be ≥ 0 and finite", "Give SI units")
                    for k, v in bad.items()
                ]
            )

    def but(self, changes: Mapping[str, float]) -> Sensors:
        """The same with some values changed, by name."""
        known = [f.name for f in fields(self)]
        unknown = [k for k in changes if k not in known]
        if unknown:
            raise UsageError(
                [
                    unknown_name(f"sensor={k}", "is not a sensor error", k, known, f"Choose from {', '.join(known)}")
                    for k in unknown
                ]
            )
        return replace(self, **changes)


LEVELS = {
    "none": Sensors(),
    "low": Sensors(1e-4, 0.005, 0.05, 0.1),
    "mid": Sensors(3e-4, 0.005, 0.05, 0.2),
    "high": Sensors(1e-3, 0.005, 0.05, 0.3),
    "humanoid": Sensors(1e-4, 0.005, 0.05, 0.5, force=1.0, force_z=2.0, moment=0.1),
}


def level(name: str) -> Sensors:
    """Sensors by the name of their noise."""
    if name not in LEVELS:
        raise UsageError(
            Finding("option-unknown-choice", f"noise={name}", "is not a level", f"Choose from {', '.join(LEVELS)}")
        )
    return LEVELS[name]


def measure(log: Log, sensors: Sensors | str, seed: int, *, keep: tuple[str, ...] = ()) -> Log:
    """Replace the columns of an exact log by sensor readings.

    Args:
        log: Exact.
        sensors: Errors of the sensors, or the name of a level in ``LEVELS``.
        seed: Of noise and biases.
        keep: Prefixes of further columns to copy unchanged, as ``("base.",)`` for an exact pose of the base.

    Returns:
        Joints, torques, IMU and, if they have sensors, wrenches of the feet; the sensors in the metadata.
    """
    known = level(sensors) if isinstance(sensors, str) else sensors
    rng = np.random.default_rng([seed, 1])
    columns: dict[str, Array] = {"time": log.time}
    for name, exact in log.columns.items():
        kind = next((k for begin, k in MEASURED.items() if name.startswith(f"{begin}.")), None)
        if name.startswith("wrench.") and (known.force or known.force_z or known.moment):
            kind = ON_FEET[name.rsplit(".", 1)[1]]
        if name.startswith(keep):
            columns[name] = exact
        elif kind is not None:
            columns[name] = _read(known, kind, log.time, exact, rng)
    metadata: dict[str, Any] = dict(log.metadata)
    label = sensors if isinstance(sensors, str) else next((k for k, s in LEVELS.items() if s == known), "own")
    settings = {"noise": label, "noise_seed": seed, "sensors": asdict(known)}
    metadata["simulation"] = {**metadata.get("simulation", {}), **settings}
    return Log.from_columns(columns, metadata, log.source)


def _read(sensors: Sensors, kind: str, time: Array, exact: Array, rng: np.random.Generator) -> Array:
    """One channel. The number of random values that it draws does not depend on its errors."""
    s = asdict(sensors)
    drawn, noise = rng.normal(), rng.normal(size=len(exact))
    values = exact
    if late := s["tau_late"] if kind == "tau" else s["imu_late"] if kind in ("gyro", "acc") else 0.0:
        values = make_interp_spline(time, exact, k=3)(np.maximum(time - late, time[0]))
    values = values * (1 + (s["tau_gain"] if kind == "tau" else 0.0))
    values = values + s.get(f"{kind}_bias", 0.0) * drawn + s[kind] * noise
    step = s.get(f"{kind}_step", 0.0)
    return np.asarray(np.round(values / step) * step if step else values)
