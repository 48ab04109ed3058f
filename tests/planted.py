"""Faults to plant in good logs, each with what must be said about it: where, what, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.log.log import Log

DEGREES = 180 / np.pi


@dataclass(frozen=True)
class Fault:
    name: str
    plant: Callable[[Log], Log]
    where: tuple[str, ...]  # columns that must be named, and no others; none: the log as a whole
    what: str  # a regular expression
    fix: str

    def __str__(self) -> str:
        return self.name


def changed(log: Log, **columns: np.ndarray) -> Log:
    return replace(log, columns={**log.columns, **columns})


def scaled(prefixes: tuple[str, ...] | str, factor: float) -> Callable[[Log], Log]:
    return lambda log: changed(log, **{c: factor * x for c, x in log.columns.items() if c.startswith(prefixes)})


def timed(factor: float) -> Callable[[Log], Log]:
    return lambda log: replace(log, time=factor * log.time)


def late(seconds: float, drift: float = 0.0) -> Callable[[Log], Log]:
    """Torques that come later than the motion, by more and more as the drift says."""

    def plant(log: Log) -> Log:
        middle = (log.time[0] + log.time[-1]) / 2
        at = log.time - seconds - drift * (log.time - middle)
        driven = {c: x for c, x in log.columns.items() if c.startswith(("tau.", "current."))}
        return changed(log, **{c: np.interp(at, log.time, x) for c, x in driven.items()})

    return plant


def frozen(column: str, seconds: float = 0.5) -> Callable[[Log], Log]:
    """One value kept from the sample on at which the channel changes fastest; ``column`` may be a vector's name."""

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
    unit, thousandth = ("N·m", "N·mm") if kind == "tau" else ("A", "mA")
    rad = "Give rad: divide by 57"
    yield Fault("degrees", scaled("q.", DEGREES), tuple(f"q.{j}" for j in joints), "degrees|°", rad)
    yield Fault("degrees at one joint", scaled(f"q.{loaded}", DEGREES), (f"q.{loaded}",), "degrees|°", rad)
    yield Fault("milliseconds", timed(1e3), ("time",), "milliseconds would be", "divide by 1000")
    yield Fault("nanoseconds", timed(1e9), ("time",), "nanoseconds would be", "divide by 1000000000")
    yield Fault("thousandths", scaled(f"{kind}.", 1e3), (kind,), thousandth, f"Give {unit}: divide by 1000")
    yield Fault(
        "thousandths at one joint", scaled(f"{kind}.{loaded}", 1e3), (f"{kind}.{loaded}",), thousandth,
        f"Give {unit}: divide by 1000",
    )  # fmt: skip
    for joint in (loaded, vertical, rubbing):
        name = f"{kind}.{joint}"
        yield Fault(f"sign of {joint}", scaled(name, -1.0), (name,), "sign", f"Negate {name}")
    yield Fault("every sign", scaled(f"{kind}.", -1.0), everywhere, "sign", "Negate")
    for joint in (loaded, vertical):
        name = f"{kind}.{joint}"
        yield Fault(f"motor side at {joint}", scaled(name, 0.02), (name,), "motor side", "by the gear ratio (about ")
    for seconds in (0.02, 0.04, -0.03):
        word = "after" if seconds > 0 else "before"
        yield Fault(f"delay of {seconds} s", late(seconds), (kind,), f"{word} the motion", "Take it back with --delay ")
    yield Fault("drift of 1e-3", late(0.0, 1e-3), (kind,), "the clocks run apart", "by one clock: the drift is 0.00")
    yield Fault("frozen torque", frozen(f"{kind}.{loaded}"), (f"{kind}.{loaded}",), "keeps the value", "it was frozen")
    yield Fault("frozen position", frozen(f"q.{loaded}"), (f"q.{loaded}",), "keeps the value", "it was frozen")
    yield Fault(
        "saturation", clipped(f"{kind}.{loaded}"), (f"{kind}.{loaded}",), "clipped", "Record within the sensor's range"
    )
    yield Fault("samples lost", lossy(0.15), ("time",), "lacks", "Log without loss")
    yield Fault("samples held", held, (), "50 % of the rows repeat the row before", "Log at the rate of the sensors")


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
    frame = "Name the sensor's frame"
    yield Fault(
        "degrees", scaled("q.", DEGREES), tuple(f"q.{j}" for j in joints), "degrees|°", "Give rad: divide by 57"
    )
    yield Fault("milliseconds", timed(1e3), ("time",), "milliseconds would be", "divide by 1000")
    yield Fault("nanoseconds", timed(1e9), ("time",), "nanoseconds would be", "divide by 1000000000")
    yield Fault("N·mm", scaled("tau.", 1e3), ("tau",), "N·mm", "Give N·m: divide by 1000")
    yield Fault("N·mm at one joint", scaled(f"tau.{joint}", 1e3), (f"tau.{joint}",), "N·mm", "Give N·m: divide by 1000")
    yield Fault("gyro in °/s", scaled("imu.gyro", DEGREES), ("imu.gyro",), "°/s", "Give rad/s: divide by 57")
    yield Fault("acceleration in g", scaled("imu.acc", 1 / 9.81), ("imu.acc",), ": g", "Give m/s²: multiply by 9.81")
    yield Fault("acceleration in mm/s²", scaled("imu.acc", 1e3), ("imu.acc",), "mm/s²", "Give m/s²: divide by 1000")
    yield Fault("position in mm", scaled("base.position", 1e3), ("base.position",), ": mm", "Give m: divide by 1000")
    yield Fault(
        "quaternion not normalised", scaled("base.quaternion", 1.3), ("base.quaternion",), "has length 1.3",
        "Give unit quaternions",
    )  # fmt: skip
    yield Fault("wxyz", _quaternion("wxyz"), ("base.quaternion",), "read as w, x, y, z", "the first is w")
    yield Fault("conjugate", _conjugate, ("base.quaternion",), "turns against the gyro", "negate x, y and z")
    yield Fault("sign of gravity", scaled("imu.acc", -1.0), ("imu.acc",), "sign of gravity is reversed", "negate it")
    yield Fault(
        "sign of gravity without orientation", _without(scaled("imu.acc", -1.0), "base."), ("imu.acc",),
        "sign of gravity is reversed", "negate it",
    )  # fmt: skip
    yield Fault("accelerometer in other axes", _axes("imu.acc", lying), ("imu.acc",), "axes are not the base's", frame)
    yield Fault("gyro in other axes", _axes("imu.gyro", quarter), ("imu.gyro",), "is turned by 90°", frame)
    mirror = [[1, 0, 0], [0, -1, 0], [0, 0, 1]]
    yield Fault("gyro with an axis reversed", _axes("imu.gyro", mirror), ("imu.gyro",), "an axis reversed", "Negate")
    name = f"tau.{joint}"
    yield Fault("sign of one joint", scaled(name, -1.0), (name,), "its sign is reversed", f"Negate {name}")
    yield Fault("motor side at one joint", scaled(name, 1 / 9), (name,), "motor side", f"Multiply {name} by the gear")
    everywhere = tuple(f"tau.{j}" for j in joints)
    yield Fault("motor side", scaled("tau.", 1 / 9), everywhere, "motor side", "by the gear ratio (about ")
    for seconds in (0.02, 0.04, -0.03):
        word = "after" if seconds > 0 else "before"
        yield Fault(f"delay of {seconds} s", late(seconds), ("tau",), f"{word} the motion", "Take it back with --delay")
    yield Fault("drift of 1e-3", late(0.0, 1e-3), ("tau",), "the clocks run apart", "by one clock: the drift is 0.00")
    yield Fault("frozen torque", frozen(name), (name,), "keeps the value", "it was frozen")
    yield Fault("frozen position", frozen(f"q.{joint}"), (f"q.{joint}",), "keeps the value", "it was frozen")
    yield Fault("frozen gyro", frozen("imu.gyro"), ("imu.gyro",), "keeps one value", "it was frozen")
    yield Fault("frozen accelerometer", frozen("imu.acc"), ("imu.acc",), "keeps one value", "it was frozen")
    yield Fault("saturated torque", clipped(name), (name,), "clipped", "Record within the sensor's range")
    yield Fault(
        "saturated accelerometer", clipped("imu.acc.z"), ("imu.acc.z",), "clipped", "Record within the sensor's"
    )
    yield Fault("samples lost", lossy(0.15), ("time",), "lacks", "Log without loss")
    yield Fault("samples held", held, (), "50 % of the rows repeat the row before", "Log at the rate of the sensors")


def assert_told(fault: Fault, findings: list[dict]) -> None:
    """Every finding is about the fault, and names its columns."""
    named = {part[1] if len(part := f["where"].split(", ")) > 1 else "" for f in findings}
    assert named == set(fault.where or ("",)), findings
    for finding in findings:
        assert re.search(fault.what, finding["what"]), finding
        assert fault.fix in finding["fix"], finding
