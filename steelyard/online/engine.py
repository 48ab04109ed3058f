"""Common part of the online identifier and the load estimator: samples in, information with forgetting.

A window is a number of samples. At its end older information is discounted, the window's rows are added, and the last
windows are tested against all before (``running.py``). If they do not fit, the payload has changed: the information is
dropped, the change is recorded, and identification starts again from the prior.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.check.opening import open_logs
from steelyard.equations.prepare import inputs_of
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding, UsageError
from steelyard.identify.conclude import judge_bodies
from steelyard.identify.fit import build_prior
from steelyard.identify.method import Answer, Method, Posed, method_names, method_type
from steelyard.identify.options import Options
from steelyard.identify.solving import initial_parameters, prior_root
from steelyard.inference import noise
from steelyard.inference.uncertainty import Uncertainty, compute_uncertainty
from steelyard.information import Information
from steelyard.kernels.change_test import CHANGED, LEARNED, NOT_HANDLED
from steelyard.log.log import Log
from steelyard.log.timing import GAP, NEAR_STAMPS
from steelyard.online.change import Change, ChangeTest
from steelyard.online.compiled_step import CompiledStep
from steelyard.online.row_stream import RowStream
from steelyard.online.running import Running
from steelyard.online.state import OnlineEstimate, read_state, write_state
from steelyard.robot.description import RobotSource, read_description
from steelyard.solve.certify import Certificate
from steelyard.spatial import Array


@dataclass(frozen=True)
class OnlineOptions:
    """Window length, forgetting, and rate of false alarms.

    Attributes:
        window: Samples a window.
        memory: s, time constant of forgetting; None: 1 s, of a load inf.
        alarm_every: s, least mean time between false alarms of the change test.

    Examples:
        Names as in ``help(steelyard)``.

        >>> slow = sy.OnlineOptions(window=20, memory=np.inf)
        >>> online = sy.OnlineIdentifier("demo_arm", log, online=slow, known=truth)
        >>> online.window
        20
    """

    window: int = 10
    memory: float | None = None
    alarm_every: float = 3600.0

    def findings(self) -> list[Finding]:
        """Faults of the options."""
        findings = []
        if self.window < 1:
            findings.append(Finding("option-value", f"window={self.window}", "must be ≥ 1", "Give a number of samples"))
        for name, value in (("memory", self.memory), ("alarm_every", self.alarm_every)):
            if value is not None and not value > 0:
                fix = "Give seconds; inf for never"
                findings.append(Finding("option-value", f"{name}={value}", "must be > 0", fix))
        return findings


class OnlineEngine:
    """Rows of one robot as samples arrive, and the information that they give about its free bodies."""

    memory = 1.0  # s, default time constant of forgetting

    def __init__(
        self,
        source: RobotSource,
        like: Log,
        options: Options,
        online: OnlineOptions | None = None,
        known: Mapping[str, Array] | None = None,
        load: str | None = None,
    ):
        online = online or OnlineOptions()
        _refuse(options, online)
        description = read_description(source)
        asked = replace(options, filter=replace(options.filter, causal=True))
        setup = open_logs(description, [like], asked, load=load)
        if gains := [j for j, term in setup.columns.joint_terms if term == "gain"]:
            where, what = (
                f"{like.source}, current.{', '.join(gains)}",
                "has no drive gain, which online identification needs",
            )
            fix = "Identify the gains from a log first, and give them in the mapping ([gains])"
            raise UsageError(Finding("gains-missing", where, what, fix, {"mapping": None}))
        assert setup.filter is not None and setup.filter.rate is not None
        rate = setup.filter.rate
        if options.filter.cutoff is None:  # unfiltered rows: a slow filter would add delay and no information
            setup = replace(setup, filter=replace(setup.filter, cutoff=0.5 * rate))
        self.setup, self.filter, self.options, self.window = setup, setup.filter, options, online.window
        rows = setup.rows(setup.segments(like)[0])
        self.prior = build_prior(setup, options)
        self.noise = noise.estimate_noise(
            list(rows), setup.columns.names, self.prior.information, full=rows.correlated
        )[0]
        self.theta = initial_parameters(setup, self.prior)
        for name, parameters in (known or {}).items():
            if name in setup.columns.bodies and name not in setup.free_bodies:
                self.theta[setup.columns.body(name)] = parameters
        self.free = setup.free
        self.bodies = [setup.robot.body(b) for b in setup.free_bodies]
        self.certificate = Certificate(np.inf, np.inf, -np.inf)
        inputs = inputs_of(setup.robot, like, torques=setup.torques)
        self.stream = RowStream(rows, inputs, self.free, self.theta, self.noise.whitener, loaded=load is not None)
        memory = self.memory if online.memory is None else online.memory
        self.rule = ChangeTest.of(len(self.free), self.window / rate, memory, online.alarm_every)
        self.running: Running | CompiledStep = Running(self.prior.about(self.free).information, self.rule)
        self._whole: Callable[[Array, Array], int] | None = None  # a whole window in one compiled call
        self.changes: list[Change] = []
        self.rejected = {"not finite": 0, "out of order": 0, "wrong length": 0}
        self.filled = self.gaps = 0
        self._stamp = np.array([-np.inf])
        C = len(self.inputs)
        self._buffer, self._filled, self._last = np.zeros((self.window, C)), 0, np.zeros(C)
        self._stale = True

    @property
    def fast(self) -> CompiledStep | None:
        """The compiled step, where one is in use."""
        return self.running if isinstance(self.running, CompiledStep) else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns of a sample, in order."""
        return self.stream.inputs.columns

    @property
    def delay(self) -> float:
        """s by which the newest row is older than the newest sample."""
        return self.stream.delay

    @property
    def time(self) -> float:
        """Time of the newest sample, s."""
        return float(self._stamp[0])

    def push(self, time: float, sample: Array | Sequence[float] | Mapping[str, float]) -> bool:
        """Take in one sample, (C,) in the order of ``inputs`` or by column name; False where rejected and counted."""
        if isinstance(sample, Mapping):
            sample = [sample.get(name, np.nan) for name in self.inputs]
        values = np.asarray(sample, float)
        if values.shape != (len(self.inputs),):
            return self._reject("wrong length")
        if not (np.isfinite(time) and np.isfinite(values).all()):
            return self._reject("not finite")
        rate = self.stream.rate
        step = (time - self.time) * rate
        if step < NEAR_STAMPS:
            return self._reject("out of order")
        values = values * self.stream.inputs.factors
        if step > GAP:
            if np.isfinite(step):
                self.gaps += 1
                self._finish()
                self.stream.restart()
        else:
            missing = max(round(step), 1) - 1
            for k in range(missing):  # first-order hold, as in the filter
                self._take(self._last + (k + 1) / (missing + 1) * (values - self._last))
            self.filled += missing
        self._stamp[0] = time
        self._last[:] = values
        self._take(values)
        return True

    def push_window(self, times: Array, samples: Array) -> int:
        """Take in several samples (k, C); returns how many were accepted."""
        if self._whole is not None and not self._filled and not self.stream.turned:
            try:
                done = self._whole(times, samples)
            except TypeError:  # not contiguous arrays of floats
                done = NOT_HANDLED
            if done != NOT_HANDLED:
                self._after(done)
                return self.window
        return sum(self.push(float(t), row) for t, row in zip(times, samples, strict=True))

    def close(self) -> None:
        """Process the samples of an incomplete window."""
        self._finish()

    def _reject(self, why: str) -> bool:
        self.rejected[why] += 1
        return False

    def _take(self, values: Array) -> None:
        self._buffer[self._filled] = values
        self._filled += 1
        if self._filled == self.window:
            self._finish()

    def _finish(self) -> None:
        """Process the window: it is full, or a gap ends it."""
        samples, self._filled = self._buffer[: self._filled], 0
        if not len(samples):
            return
        if self.fast is not None and self.stream.ready and (done := self.fast.step(samples)) != NOT_HANDLED:
            self._after(done)
        else:
            self.absorb(*self.stream.push(samples))

    def absorb(self, Y: Array, z: Array) -> None:
        """Take in one window of whitened rows."""
        self._after(self.running.learn(Y, z))

    def _after(self, done: int) -> None:
        """Act on the outcome of a window."""
        if done == LEARNED:
            self._stale = True
        elif done == CHANGED:
            self._change()

    @property
    def dispersion(self) -> float:
        """Recent χ² per degree of freedom: above one, noise is larger than in the log ``like``."""
        return float(self.running.test[0])

    def _change(self) -> None:
        """Record a change of payload and start again from the prior."""
        self.theta[self.free] = self._before()
        before = {b.name: self.theta[self.setup.columns.body(b.name)].copy() for b in self.bodies}
        _, statistic, limit = self.running.test.tolist()
        self.changes.append(Change(self.time, statistic, limit, before))
        self.running.reset()
        self.stream.restart_rows()
        self._stale = False  # the last estimate stands until the next window

    def _before(self) -> Array:
        """The free parameters without the last windows."""
        return self._answer(self.running.old).theta

    @property
    def parameters(self) -> Array:
        """(n,) all parameters after the newest window; always physically consistent."""
        self._solve()
        return self.theta

    def _solve(self) -> None:
        if self._stale and self.fast is not None:
            self.theta[self.free], self.certificate = self.fast.theta, Certificate(*self.fast.proof.tolist())
        elif self._stale:
            answer = self._answer(self.running.data)
            self.theta[self.free], self.certificate = answer.theta, answer.certificate
        self._stale = False

    def _answer(self, data: Information) -> Answer:
        """The optimum and its certificate; each subclass has its own."""
        raise NotImplementedError

    def _posed(self, data: Information, method: Method) -> Answer:
        """The optimum and its certificate, by the same method as offline."""
        prior = replace(self.prior.about(self.free), K=prior_root(self.setup, data, self.prior, self.options))
        signed = self.setup.columns.signed
        return method.solve(Posed(data, prior, tuple(self.bodies), ~signed, self.setup, self.theta))

    def uncertainty(self) -> Uncertainty:
        """Covariances of the free parameters."""
        data = self.running.data
        scale = self.prior.scale[self.free]
        K = self.prior.K[np.ix_(self.free, self.free)]
        score_covariance = data.R.T @ data.R * max(self.dispersion, 1.0)
        return compute_uncertainty(Subspace.of(data.R, scale), data, score_covariance, K)

    def estimate(self) -> OnlineEstimate:
        """The estimate of all free bodies, with intervals and sources."""
        self._solve()
        every = judge_bodies(self.setup, self.prior, self.theta.copy(), self.uncertainty())
        bodies, rows = tuple(b for b in every if b.free), self.running.data.rows
        return OnlineEstimate(self.time, self.delay, bodies, self.certificate, rows, tuple(self.changes))

    def save(self, path: str | Path) -> None:
        """Write the state as ``.npz``, without pickle."""
        write_state(path, self.fingerprint, self._state(), self.changes)

    def restore(self, path: str | Path) -> None:
        """Resume from a saved state, to the last bit; a state of other arguments is refused."""
        saved, self.changes = read_state(path, self.fingerprint)
        self._set_state(saved)

    def _set_state(self, saved: Mapping[str, Array]) -> None:
        for part in ("stream", "running"):
            state = {k.removeprefix(f"{part}."): v for k, v in saved.items() if k.startswith(f"{part}.")}
            getattr(self, part).state = state
        self._buffer[:], self._last[:], self.theta[:] = saved["buffer"], saved["last"], saved["theta"]
        self._stamp[:], self._stale = saved["stamp"], bool(saved["stale"])
        self._filled, self.filled, self.gaps, *rejected = saved["counts"].tolist()
        self.rejected = dict(zip(self.rejected, rejected, strict=True))
        self.certificate = Certificate(*saved["proof"].tolist())

    def _state(self) -> dict[str, Array]:
        proof = self.certificate
        return {
            **{f"stream.{name}": array for name, array in self.stream.state.items()},
            **{f"running.{name}": array for name, array in self.running.state.items()},
            "buffer": self._buffer,
            "last": self._last,
            "theta": self.theta,
            "stamp": self._stamp,
            "stale": np.array(self._stale),
            "counts": np.array([self._filled, self.filled, self.gaps, *self.rejected.values()]),
            "proof": np.array([proof.kkt, proof.gap, proof.least_eigenvalue]),
        }

    @property
    def fingerprint(self) -> str:
        """Digest of all that a saved state depends on."""
        setup, rule = self.setup, self.rule
        decided = setup.robot.name, setup.columns.names, self.inputs, self.window, self.options, self.filter
        learning = rule.forgetting, rule.thresholds.tolist(), sorted(self._state())
        digest = hashlib.sha256(repr((decided, learning)).encode())
        for array in (self.stream.whitener, self.prior.mean, self.prior.K, self.stream.taps):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _refuse(options: Options, online: OnlineOptions) -> None:
    findings = []
    if not options.solver.online:
        what = "is not available online, where every estimate must be physically consistent"
        able = [name for name in method_names() if method_type(name).online]
        fix, remedy = f"Choose from: {', '.join(able)}", {"method": "shapes"}
        findings.append(Finding("method-not-online", f"method={options.solver.name}", what, fix, remedy))
    asked = {"robust": options.robust, "hold_out": options.hold_out is not None}
    findings += [
        Finding("option-offline-only", name, "needs a whole log", "Leave it out, or identify offline")
        for name, given in asked.items()
        if given
    ]
    findings += online.findings()
    if findings:
        raise UsageError(findings)
