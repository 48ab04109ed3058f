"""Low-pass filters: cut-off frequencies chosen for a log, and symmetric taps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from steelyard.equations.option_field import option
from steelyard.errors import Finding, UsageError

if TYPE_CHECKING:
    import numpy as np

    from steelyard.log.log import Log

POSE_CUTOFF = 3.0  # Hz, where the base's acceleration is the second derivative of a pose, whose noise grows with f²
GYRO_CUTOFF = 4.5  # Hz, where moments depend on a gyro's derivative, and forces do not have its noise
HAMMING = 0.54  # constant part of the window
OF_BAND = 0.6  # of the motion's median band: least cut-off, so that enough of the motion passes


@dataclass(frozen=True)
class Filter:
    """Cut-off frequencies in Hz (symmetric Hamming low-pass of three periods); None: from the log.

    Attributes:
        cutoff: Hz, low-pass of both sides of the equations; None: min(10, rate/10), lower where the base's
            acceleration is the derivative of its pose or gyro.
        kinematics: Hz, of positions and inertial sensors; None: max(rate/10, 4·motion), at most 0.4·rate.
        rate: Samples a second to resample to; None: the log's own.
        delay: s by which torques lag behind the motion (``check`` estimates it).
        causal: Whether kinematics and forces pass a causal filter, as online.

    Examples:
        Names as in ``help(steelyard)``.

        >>> sy.Filter(delay=0.01).at(rate=200.0)
        Filter(cutoff=10.0, kinematics=20.0, rate=200.0, delay=0.01, causal=False)
        >>> sy.identify("demo_arm", log, sy.Options(filter=sy.Filter(cutoff=8.0))).verdict.trusted
        True
    """

    cutoff: float | None = option(None, "Low-pass of both sides of the equations.", metavar="HZ")
    kinematics: float | None = option(None, "Low-pass of the motion.", flag="--kinematics-cutoff", metavar="HZ")
    rate: float | None = None
    delay: float = option(0.0, "Seconds by which torques lag behind the motion (`check` estimates it).", metavar="S")
    causal: bool = False

    predicted: ClassVar[float | None] = None  # Hz: of predictions compared with raw measurements; None: the cut-off

    def __post_init__(self) -> None:
        given = {"cutoff": self.cutoff, "kinematics": self.kinematics}
        bad = {name: value for name, value in given.items() if value is not None and not value > 0}
        if bad:
            what, fix = "must be > 0", "Give a frequency in Hz"
            raise UsageError([Finding("option-value", f"{name}={value}", what, fix) for name, value in bad.items()])

    def at(self, rate: float, motion: float = 0.0) -> Filter:
        """The same with all defaults set, for a log of this rate whose motion reaches up to ``motion`` Hz."""
        rate = self.rate or rate
        cutoff = self.cutoff or min(10.0, rate / 10)
        kinematics = self.kinematics or min(max(rate / 10, 4 * motion), 0.4 * rate)
        return replace(self, cutoff=cutoff, kinematics=kinematics, rate=rate)

    def for_logs(self, logs: Sequence[Log], equations: str = "") -> Filter:
        """The same with all defaults set, for these logs together and these equations."""
        import numpy as np

        from steelyard.log.timing import log_rate, motion_band

        rate, bands = float(np.median([log_rate(log) for log in logs])), [motion_band(log) for log in logs]
        motion = max(bands)
        if not any(from_pose(log) for log in logs):
            whole = self.at(rate, motion)
            if equations == "base" and self.cutoff is None and any(by_forces(log) for log in logs):
                assert whole.cutoff is not None
                cutoff = min(whole.cutoff, max(GYRO_CUTOFF, OF_BAND * float(np.median(bands))))
                return WidePrediction(
                    cutoff, whole.kinematics, whole.rate, self.delay, self.causal, self.predicted or whole.cutoff
                )
            return whole
        low = replace(self, cutoff=self.cutoff or min(POSE_CUTOFF, (self.rate or rate) / 10)).at(rate, motion)
        assert low.cutoff is not None and low.kinematics is not None
        return replace(low, kinematics=self.kinematics or min(low.kinematics, 4 * low.cutoff))


@dataclass(frozen=True)
class WidePrediction(Filter):
    """A filter with a higher cut-off for predictions than for rows."""

    predicted: float | None = None  # type: ignore[misc]  # Hz


def lowpass(rate: float, cutoff: float) -> np.ndarray:
    """Symmetric taps of a zero-phase low-pass, with sum one; a single tap for a cut-off at or above Nyquist."""
    import numpy as np

    if cutoff >= 0.5 * rate:
        return np.ones(1)
    half = int(np.ceil(1.5 * rate / cutoff))
    share = cutoff / (0.5 * rate)  # of the Nyquist frequency
    taps = share * np.sinc(share * np.arange(-half, half + 1.0))
    taps *= HAMMING + (1 - HAMMING) * np.cos(np.linspace(-np.pi, np.pi, len(taps)))
    return np.asarray(taps / taps.sum())


def sharpened(taps: np.ndarray) -> np.ndarray:
    """Taps with gain H(2 − H): a flatter pass band, twice as long."""
    import numpy as np

    return np.asarray(np.pad(2 * taps, len(taps) // 2) - np.convolve(taps, taps))


def from_pose(log: Log) -> bool:
    """Whether the base's acceleration is available only as the second derivative of its position."""
    from steelyard.log.log import QUATERNION

    measured = any(log.has(f"{name}.x") for name in ("imu.acc", "base.acceleration", "base.velocity"))
    return log.has("base.position.x", *QUATERNION) and not measured


def by_forces(log: Log) -> bool:
    """Whether base equations use contact wrenches and a gyro, whose derivative then enters the moments."""
    return log.has("imu.gyro.x") and bool(log.names("wrench")) and not log.has("base.angular_acceleration.x")
