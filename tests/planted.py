"""Faults to plant in good logs, each with the finding that it must give: code, columns and remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from steelyard.log.log import Log

DEGREES = 180 / np.pi


@dataclass(frozen=True)
class Fault:
    name: str
    plant: Callable[[Log], Log]
    code: str
    where: tuple[str, ...]  # columns that must be named, and no others; none: the log as a whole
    remedy: Mapping[str, Any] = field(default_factory=dict)  # of every finding, beside ``column`` where it has one
    severity: str = "error"

    def __str__(self) -> str:
        return self.name


def changed(log: Log, **columns: np.ndarray) -> Log:
    return replace(log, columns={**log.columns, **columns})


def scaled(prefixes: tuple[str, ...] | str, factor: float) -> Callable[[Log], Log]:
    return lambda log: changed(log, **{c: factor * x for c, x in log.columns.items() if c.startswith(prefixes)})


def timed(factor: float) -> Callable[[Log], Log]:
    return lambda log: replace(log, time=factor * log.time)


def late(seconds: float, drift: float = 0.0) -> Callable[[Log], Log]:
    """Torques that are delayed relative to the motion, by a delay that drifts in s/s."""

    def plant(log: Log) -> Log:
        middle = (log.time[0] + log.time[-1]) / 2
        at = log.time - seconds - drift * (log.time - middle)
        driven = {c: x for c, x in log.columns.items() if c.startswith(("tau.", "current."))}
        return changed(log, **{c: np.interp(at, log.time, x) for c, x in driven.items()})

    return plant


def frozen(column: str, seconds: float = 0.5) -> Callable[[Log], Log]:
    """A constant value from the sample on at which the channel changes fastest; ``column`` may be a vector's name."""

    def plant(log: Log) -> Log:
        names = [c for c in log.columns if c == column or c.startswith(f"{column}.")]
        steps = round(seconds / float(np.median(np.diff(log.time))))
        joint = column.split(".", 1)[1]
        mover = log.columns.get(f"q.{joint}", log.columns[log_joint(log)])
        k = int(np.argmax([abs(mover[i + steps] - mover[i]) for i in range(len(log) - 2 * steps)]))
        held = {c: log.columns[c].copy() for c in names}
        for x in held.values():
            x[k : k + steps + 1] = x[k]
        return changed(log, **held)

    return plant


def log_joint(log: Log) -> str:
    return f"q.{log.names('q')[0]}"


def clipped(column: str, share: float = 0.7) -> Callable[[Log], Log]:
    """Saturated at a share of the largest value."""

    def plant(log: Log) -> Log:
        x = log.columns[column]
        limit = share * np.abs(x - np.median(x)).max()
        return changed(log, **{column: np.clip(x, np.median(x) - limit, np.median(x) + limit)})

    return plant


def lossy(share: float) -> Callable[[Log], Log]:
    """Samples lost at random."""

    def plant(log: Log) -> Log:
        kept = np.random.default_rng(0).random(len(log)) > share
        return replace(log, time=log.time[kept], columns={c: x[kept] for c, x in log.columns.items()})

    return plant


def held(log: Log) -> Log:
    """Every other sample dropped, the one before it held in its place."""
    rows = np.repeat(np.arange(0, len(log), 2), 2)[: len(log)]
    return replace(log, columns={c: x[rows] for c, x in log.columns.items()})


def arm_faults(joints: list[str], kind: str, *, loaded: str, vertical: str, rubbing: str) -> Iterator[Fault]:
    """Faults of a log of an arm with ``tau`` or ``current`` columns (``kind``).

    ``loaded``: a joint that carries weight; ``vertical``: one whose axis is upright; ``rubbing``: mostly friction.
    """
    everywhere = tuple(f"{kind}.{j}" for j in joints)
    name = f"{kind}.{loaded}"
    degrees = {"unit": "deg", "scale": 1 / DEGREES}
    thousandths = {"unit": "N·mm" if kind == "tau" else "mA", "scale": 1e-3}
    yield Fault("degrees", scaled("q.", DEGREES), "column-unit", tuple(f"q.{j}" for j in joints), degrees)
    yield Fault("degrees at one joint", scaled(f"q.{loaded}", DEGREES), "column-unit", (f"q.{loaded}",), degrees)
    yield from time_faults()
    yield Fault("thousandths", scaled(f"{kind}.", 1e3), "column-unit", (kind,), thousandths)
    yield Fault("thousandths at one joint", scaled(name, 1e3), "column-unit", (name,), thousandths)
    for column in (f"{kind}.{joint}" for joint in (loaded, vertical, rubbing)):
        yield Fault(f"sign of {column}", scaled(column, -1.0), "sign-reversed", (column,), {"negate": column})
    yield Fault("every sign", scaled(f"{kind}.", -1.0), "sign-reversed", everywhere)
    for column in (f"{kind}.{joint}" for joint in (loaded, vertical)):
        yield Fault(f"motor side at {column}", scaled(column, 0.02), "torque-too-small", (column,))
    yield from delay_faults(kind)
    yield Fault("frozen torque", frozen(name), "channel-frozen", (name,))
    yield Fault("frozen position", frozen(f"q.{loaded}"), "position-frozen", (f"q.{loaded}",))
    yield Fault("saturation", clipped(name), "channel-clipped", (name,))
    yield from loss_faults()


def time_faults() -> Iterator[Fault]:
    for name, unit, factor in (("milliseconds", "ms", 1e3), ("nanoseconds", "ns", 1e9)):
        yield Fault(name, timed(factor), "column-unit", ("time",), {"unit": unit, "scale": 1 / factor})


def delay_faults(kind: str) -> Iterator[Fault]:
    for seconds, severity in ((0.02, "doubt"), (0.04, "doubt"), (-0.03, "doubt"), (0.08, "error")):
        close = pytest.approx(seconds, abs=8e-3)
        yield Fault(f"delay of {seconds} s", late(seconds), "torque-delayed", (kind,), {"delay": close}, severity)
    drift = {"drift": pytest.approx(1e-3, abs=5e-4)}
    yield Fault("drift of 1e-3", late(0.0, 1e-3), "clock-drift", (kind,), drift, "doubt")


def loss_faults() -> Iterator[Fault]:
    yield Fault("samples lost", lossy(0.3), "samples-lost", ("time",), severity="doubt")
    yield Fault("samples held", held, "rows-repeated", ())


def _quaternion(order: str) -> Callable[[Log], Log]:
    """The components of ``order`` in the columns x, y, z and w."""
    return lambda log: changed(
        log, **{f"base.quaternion.{c}": log.columns[f"base.quaternion.{o}"] for c, o in zip("xyzw", order, strict=True)}
    )


def _axes(vector: str, rows: list[list[float]]) -> Callable[[Log], Log]:
    """A vector in other axes."""

    def plant(log: Log) -> Log:
        x = np.asarray(rows, float) @ np.array([log.columns[f"{vector}.{c}"] for c in "xyz"])
        return changed(log, **{f"{vector}.{c}": y for c, y in zip("xyz", x, strict=True)})

    return plant


def _conjugate(log: Log) -> Log:
    return changed(log, **{f"base.quaternion.{c}": -log.columns[f"base.quaternion.{c}"] for c in "xyz"})


def _without(plant: Callable[[Log], Log], prefix: str) -> Callable[[Log], Log]:
    """Planted in a log without some columns."""

    def both(log: Log) -> Log:
        return plant(replace(log, columns={c: x for c, x in log.columns.items() if not c.startswith(prefix)}))

    return both


def floating_faults(joint: str, joints: list[str]) -> Iterator[Fault]:
    """Faults of a log of a floating robot with gyro, accelerometer and orientation."""
    quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    lying = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    mirror = [[1, 0, 0], [0, -1, 0], [0, 0, 1]]
    name, everywhere = f"tau.{joint}", tuple(f"tau.{j}" for j in joints)
    degrees, thousandths = {"unit": "deg", "scale": 1 / DEGREES}, {"unit": "N·mm", "scale": 1e-3}
    negated = {"negate": "imu.acc"}
    yield Fault("degrees", scaled("q.", DEGREES), "column-unit", tuple(f"q.{j}" for j in joints), degrees)
    yield from time_faults()
    yield Fault("N·mm", scaled("tau.", 1e3), "column-unit", ("tau",), thousandths)
    yield Fault("N·mm at one joint", scaled(name, 1e3), "column-unit", (name,), thousandths)
    for vector, unit, factor in (
        ("imu.gyro", "deg/s", DEGREES),
        ("imu.acc", "g", 1 / 9.81),
        ("imu.acc", "mm/s^2", 1e3),
        ("base.position", "mm", 1e3),
    ):
        plant, remedy = scaled(vector, factor), {"unit": unit, "scale": pytest.approx(1 / factor)}
        yield Fault(f"{vector} in {unit}", plant, "column-unit", (vector,), remedy)
    yield Fault(
        "quaternion not normalised", scaled("base.quaternion", 1.3), "quaternion-not-unit", ("base.quaternion",)
    )
    order = {"order": "wxyz"}
    yield Fault("wxyz", _quaternion("wxyz"), "quaternion-order", ("base.quaternion",), order)
    vector = {"negate": [f"base.quaternion.{c}" for c in "xyz"]}
    yield Fault("conjugate", _conjugate, "quaternion-inverse", ("base.quaternion",), vector)
    yield Fault("sign of gravity", scaled("imu.acc", -1.0), "sign-reversed", ("imu.acc",), negated)
    blind = _without(scaled("imu.acc", -1.0), "base.")
    yield Fault("sign of gravity without orientation", blind, "sign-reversed", ("imu.acc",), negated)
    frame = {"imu_frame": None}
    yield Fault("accelerometer in other axes", _axes("imu.acc", lying), "sensor-frame", ("imu.acc",), frame)
    yield Fault("gyro in other axes", _axes("imu.gyro", quarter), "sensor-frame", ("imu.gyro",), frame)
    reversed_y = {"negate": "imu.gyro.y"}
    yield Fault("gyro with an axis reversed", _axes("imu.gyro", mirror), "axis-reversed", ("imu.gyro",), reversed_y)
    yield Fault("sign of one joint", scaled(name, -1.0), "sign-reversed", (name,), {"negate": name})
    yield Fault("motor side at one joint", scaled(name, 1 / 9), "torque-too-small", (name,))
    yield Fault("motor side", scaled("tau.", 1 / 9), "torque-too-small", everywhere)
    yield from delay_faults("tau")
    for column in (name, f"q.{joint}", "imu.gyro", "imu.acc"):
        code = "position-frozen" if column.startswith("q.") else "channel-frozen"
        yield Fault(f"frozen {column}", frozen(column), code, (column,))
    for column in (name, "imu.acc.z"):
        yield Fault(f"saturated {column}", clipped(column), "channel-clipped", (column,))
    yield from loss_faults()


def assert_reported(fault: Fault, findings: list[dict]) -> None:
    """Every finding has the fault's code and remedy, and they name its columns."""
    named = [part[1] if len(part := f["where"].split(", ")) > 1 else "" for f in findings]
    assert set(named) == set(fault.where or ("",)), findings
    for column, finding in zip(named, findings, strict=True):
        assert finding["code"] == fault.code
        assert finding["severity"] == fault.severity
        remedy = finding["remedy"]
        assert remedy.get("column", column) == column
        assert {key: remedy[key] for key in fault.remedy} == fault.remedy, finding
        if fault.code == "sign-reversed":
            assert remedy["negate"] == column
        if fault.code == "torque-too-small":
            assert remedy["scale"] > 4  # the described robot is not the true one: the gear ratio is a rough figure
