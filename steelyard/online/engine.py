"""What the online identifier and the load estimator share: samples in, information with forgetting, change detection.

A window is a number of samples. At its end older information is forgotten a little, the window's rows are added, and
the last windows are tested against all before (``running.py``). If they do not fit, something was picked up or put
down: what was known is dropped, the event is recorded, and learning begins anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

from steelyard.check.opening import open_logs
from steelyard.equations.prepare import inputs_of
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding, UsageError
from steelyard.identify.conclude import judge_bodies
from steelyard.identify.estimate import BodyEstimate
from steelyard.identify.fit import belief
from steelyard.identify.method import Answer, Method, Posed, method_names, method_type
from steelyard.identify.options import Options
from steelyard.identify.sentence import weight
from steelyard.identify.solving import held, pull
from steelyard.inference import noise
from steelyard.inference.noise import Noise
from steelyard.inference.uncertainty import Uncertainty, uncertainty
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.log.timing import GAP, NEAR_STAMPS
from steelyard.online.legged import Fast, Gram
from steelyard.online.row_stream import Stream
from steelyard.online.running import Running
from steelyard.robot.description import Description, read_description
from steelyard.solve.certify import Certificate

Array = np.ndarray

LEARNED, CHANGED = 1, 2  # what a compiled step says
RECENT = 10  # windows that are tested against all before
CAUTION = 0.004  # a window's share in the running mean of χ² per degree of freedom
OUTLYING = 4.0  # χ² per degree of freedom that counts for no more in that mean


@dataclass(frozen=True)
class Change:
    """Something was picked up or put down."""

    time: float  # s, of the sample at which it was noticed
    statistic: float  # χ² of the last windows against all before
    threshold: float  # what it would exceed by chance once in the time asked for
    before: Mapping[str, Array]  # body → (10,) parameters until then


@dataclass(frozen=True)
class OnlineEstimate:
    """What is known at one moment."""

    time: float  # s, of the newest sample
    delay: float  # s by which the newest row is older than that
    bodies: tuple[BodyEstimate, ...]  # the free ones, with intervals and verdicts
    certificate: Certificate
    rows: int  # scalar equations seen since the last change
    changes: tuple[Change, ...]

    def body(self, name: str) -> BodyEstimate:
        """One body by name."""
        return next(b for b in self.bodies if b.name == name or name in b.links)

    def sentence(self) -> str:
        """What may be trusted, in one line."""
        shown = ", ".join(f"{b.name} {weight(b, '.3f')} kg ({b.verdict.worst})" for b in self.bodies)
        kept = self.certificate.holds and all(b.consistent for b in self.bodies)
        changed = f"; {len(self.changes)} changes noticed" if self.changes else ""
        return f"{'Proved and physical' if kept else 'Not proved'}: {shown}; {1e3 * self.delay:.0f} ms late{changed}."


class Engine:
    """Rows of one robot as they come, and what they say about its free bodies."""

    def __init__(
        self,
        source: str | Path | Description,
        like: Log,
        options: Options,
        *,
        window: int,
        memory: float,
        alarm_every: float,
        known: Mapping[str, Array] | None,
        load: str | None = None,
    ):
        _refuse(options, window, memory, alarm_every)
        description = source if isinstance(source, Description) else read_description(source)
        asked = replace(options, filter=replace(options.filter, causal=True))
        setup = open_logs(description, [like], asked, load=load)
        if gains := [j for j, term in setup.columns.joint_terms if term == "gain"]:
            what = f"has currents of {', '.join(gains)} and no drive gains"
            raise UsageError(Finding(like.source, what, "Identify them from a log first, and give them as [gains]"))
        filter = setup.filter
        assert filter is not None and filter.rate is not None
        rate = filter.rate
        if options.filter.cutoff is None:  # rows as they come: a slow filter would be late, and told nothing more
            filter = replace(filter, cutoff=0.5 * rate)
        self.setup = setup = replace(setup, filter=filter)
        self.filter, self.options, self.window = filter, options, window
        rows = setup.rows(setup.segments(like)[0])
        self.prior = belief(setup, options)
        self.noise: Noise = noise.estimate(
            list(rows), setup.columns.names, self.prior.information, full=rows.correlated
        )[0]
        self._whitener = self.noise.whitener
        theta = held(setup, self.prior)
        for name, parameters in (known or {}).items():
            if name in setup.columns.bodies and name not in setup.free_bodies:
                theta[setup.columns.body(name)] = parameters
        self.free = setup.free
        self.bodies = [setup.robot.body(b) for b in setup.free_bodies]
        self.theta = theta
        self.certificate = Certificate(np.inf, np.inf, -np.inf)
        self.stream = Stream(
            rows, inputs_of(setup.robot, like, torques=setup.torques), filter, self.free, theta, loaded=load is not None
        )
        self._slow = Running(self.prior.about(self.free).information)
        period = window / rate
        self.factor = float(np.exp(-period / memory))
        p = period / alarm_every
        self._thresholds = np.append(np.inf, chi2.isf(p, np.arange(1, len(self.free) + 1)))
        self.fast: Fast | None = None
        self._whole: Callable[[Array, Array], int] | None = None  # a whole window in one compiled call
        self._test = np.array([1.0, 0.0, 0.0])  # mean χ² per degree of freedom; the last χ² and its limit
        self._clock = np.zeros(2, np.int64)  # windows in the recent part, windows since the last change
        self.changes: list[Change] = []
        self.rejected = {"not finite": 0, "out of order": 0, "wrong length": 0}
        self.filled = self.gaps = 0
        self._stamp = np.array([-np.inf])
        C = len(self.inputs)
        self._buffer, self._filled, self._last = np.zeros((window, C)), 0, np.zeros(C)
        self._stale = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns of a sample, in order."""
        return self.stream.inputs.columns

    @property
    def delay(self) -> float:
        """s by which what is learned from is older than the newest sample."""
        return self.stream.delay

    @property
    def time(self) -> float:
        """s, of the newest sample."""
        return float(self._stamp[0])

    @property
    def running(self) -> Running | Gram:
        """What is known so far."""
        return self._slow if self.fast is None else self.fast.running

    def push(self, time: float, sample: Array | Sequence[float] | Mapping[str, float]) -> bool:
        """Take one sample, (C,) in the order of ``inputs`` or by column name; False where rejected, and counted."""
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
            for k in range(missing):  # a straight line, which is what the filter takes signals for
                self._take(self._last + (k + 1) / (missing + 1) * (values - self._last))
            self.filled += missing
        self._stamp[0] = time
        self._last[:] = values
        self._take(values)
        return True

    def push_window(self, times: Array, samples: Array) -> int:
        """Take several samples (k, C); gives how many were accepted."""
        if self._whole is not None and not self._filled and not self.stream.turned:
            try:
                done = self._whole(times, samples)
            except TypeError:  # no arrays of floats, one row after another
                done = -1
            if done == LEARNED:
                self._stale = True
                return self.window
            if done == CHANGED:
                self._after(done)
                return self.window
        return sum(self.push(float(t), row) for t, row in zip(times, samples, strict=True))

    def close(self) -> None:
        """Take the samples of a window that is not full yet as a window."""
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
        """The window is full, or a hole in time ends it."""
        samples, self._filled = self._buffer[: self._filled], 0
        if not len(samples):
            return
        if self.fast is not None and self.stream.ready and (done := self.fast.step(samples)) >= 0:
            self._after(done)
            return
        Y, target = self.stream.push(samples)
        n, W = len(self.free), self._whitener
        Y, z = np.einsum("ij,tjn->tin", W, Y).reshape(-1, n), (target @ W.T).ravel()
        self.absorb(Y, z)

    def absorb(self, Y: Array, z: Array) -> None:
        """One window of whitened rows."""
        if self.fast is not None:
            if len(z):
                self._after(self.fast.learn(Y, z))
            return
        self._slow.absorb(Y, z, self.factor)
        if not len(z):
            return
        self._stale = True
        self._clock += 1
        if self._clock[1] > RECENT:
            statistic, freedom = self._slow.change()
            limit = float(self._thresholds[freedom]) * max(self.dispersion, 1.0)
            self._test[1:] = statistic, limit
            if statistic > limit:
                self._change()
                return
            self._test[0] += CAUTION * (min(statistic / max(freedom, 1), OUTLYING) - self._test[0])
        if self._clock[0] == RECENT:
            self._slow.settle()
            self._clock[0] = 0

    def _after(self, done: int) -> None:
        """What is left to do behind a compiled step."""
        self._stale = True
        if done == CHANGED:
            self._change()

    @property
    def dispersion(self) -> float:
        """χ² per degree of freedom of late: above one, noise is larger than it was in the log to begin with."""
        return float(self._test[0])

    def _change(self) -> None:
        """The last windows are of another robot: all starts anew."""
        self.theta[self.free] = self._before()
        before = {b.name: self.theta[self.setup.columns.body(b.name)].copy() for b in self.bodies}
        self.changes.append(Change(self.time, float(self._test[1]), float(self._test[2]), before))
        self.running.reset()
        self.stream.restart_rows()
        self._clock[:] = 0
        self._stale = False  # what was known is as good a guess as any

    def _before(self) -> Array:
        """The answer without the last windows."""
        return self._answer(self.running.old).theta

    @property
    def parameters(self) -> Array:
        """(n,) all parameters by the newest window; physically consistent whatever was seen."""
        self._solve()
        return self.theta

    def _solve(self) -> None:
        if self._stale and self.fast is not None:
            self.theta[self.free] = self.fast.memory["theta"]
            self.certificate = _certificate(self.fast.memory["proof"])
            self._stale = False
        elif self._stale:
            answer = self._answer(self.running.data)
            self.theta[self.free], self.certificate = answer.theta, answer.certificate
            self._stale = False

    def _answer(self, data: Information) -> Answer:
        """The optimum of what is known, and its proof; each kind of identifier has its own."""
        raise NotImplementedError

    def _posed(self, data: Information, method: Method) -> Answer:
        """The optimum and its proof, by the method that offline identification would take."""
        K = pull(self.setup, data, self.prior, self.options)
        return method.solve(
            Posed(
                data,
                replace(self.prior.about(self.free), K=K),
                tuple(self.bodies),
                ~self.setup.columns.signed,
                self.setup,
                self.theta,
            )
        )

    def uncertainty(self) -> Uncertainty:
        """Covariances of the free parameters."""
        data = self.running.data
        scale = self.prior.scale[self.free]
        K = self.prior.K[np.ix_(self.free, self.free)]
        meat = data.R.T @ data.R * max(self.dispersion, 1.0)
        return uncertainty(Subspace.of(data.R, scale), data, meat, K)

    def estimate(self) -> OnlineEstimate:
        """All that is known, with intervals and verdicts."""
        self._solve()
        found = judge_bodies(self.setup, self.prior, self.theta.copy(), self.uncertainty())
        return OnlineEstimate(
            self.time, self.delay, tuple(b for b in found if b.free), self.certificate, self.running.data.rows,
            tuple(self.changes),
        )  # fmt: skip

    @property
    def _memory(self) -> Fast | Running:
        return self.fast if self.fast is not None else self._slow

    def save(self, path: str | Path) -> None:
        """Write all that is remembered as ``.npz``; no pickle."""
        numbers, proof = [self.time, *self._test], self.certificate
        counts = [self._filled, *self._clock, self.filled, self.gaps, *self.rejected.values()]
        events = [
            {"time": c.time, "statistic": c.statistic, "threshold": c.threshold,
             "before": {name: p.tolist() for name, p in c.before.items()}}
            for c in self.changes
        ]  # fmt: skip
        arrays: dict[str, Any] = {f"stream.{k}": v for k, v in self.stream.state.items()}
        arrays |= {f"running.{k}": v for k, v in self._memory.state.items()}
        arrays |= {"buffer": self._buffer, "last": self._last, "theta": self.theta} | self._extra()
        with open(path, "wb") as file:
            np.savez(
                file, fingerprint=self.fingerprint, numbers=np.array(numbers), counts=np.array(counts, np.int64),
                events=json.dumps(events), stale=self._stale,
                proof=np.array([proof.kkt, proof.gap, proof.least_eigenvalue]),
                **arrays,
            )  # fmt: skip

    def restore(self, path: str | Path) -> None:
        """Go on from where ``save`` was called, to the last bit; one made otherwise is refused."""
        with np.load(path, allow_pickle=False) as file:
            saved = dict(file)
        if str(saved["fingerprint"]) != self.fingerprint:
            what = "was saved by an identifier of another robot, other sensors or other options"
            raise UsageError(Finding(str(path), what, "Make this one as that one was made"))
        self.stream.state = {k.removeprefix("stream."): v for k, v in saved.items() if k.startswith("stream.")}
        self._memory.state = {k.removeprefix("running."): v for k, v in saved.items() if k.startswith("running.")}
        self._buffer[:], self._last[:], self.theta[:] = saved["buffer"], saved["last"], saved["theta"]
        self._stamp[:], self._test[:] = saved["numbers"][0], saved["numbers"][1:]
        self._filled, *clock, self.filled, self.gaps = (int(x) for x in saved["counts"][:5])
        self._clock[:], rest = clock, [int(x) for x in saved["counts"][5:]]
        self.rejected = dict(zip(self.rejected, rest, strict=True))
        self._stale, self.certificate = bool(saved["stale"]), _certificate(saved["proof"])
        self.changes = [
            Change(e["time"], e["statistic"], e["threshold"], {k: np.array(p) for k, p in e["before"].items()})
            for e in json.loads(str(saved["events"]))
        ]
        self._take_extra(saved)

    def _extra(self) -> dict[str, Array]:
        return {}

    def _take_extra(self, saved: Mapping[str, Array]) -> None:
        pass

    @property
    def fingerprint(self) -> str:
        """Of all that decides what a saved state means."""
        told = (self.setup.robot.name, self.setup.columns.names, self.inputs, self.window, self.factor, self.options,
                self.filter, self._thresholds.tolist())  # fmt: skip
        digest = hashlib.sha256(repr(told).encode())
        for array in (self._whitener, self.prior.mean, self.prior.K, self.stream.taps):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _refuse(options: Options, window: int, memory: float, alarm_every: float) -> None:
    findings = []
    if not options.solver.online:
        what = "is not solved online: only methods whose every answer can exist are"
        able = [name for name in method_names() if method_type(name).online]
        findings.append(Finding(f"method {options.solver.name!r}", what, f"Choose from: {', '.join(able)}"))
    asked = {"robust": options.robust, "hold_out": options.hold_out is not None}
    findings += [
        Finding(name, "needs a whole log", "Drop it, or identify offline") for name, is_ in asked.items() if is_
    ]
    if window < 1:
        findings.append(Finding(f"window {window}", "is no number of samples", "Give 1 or more"))
    for name, value in (("memory", memory), ("alarm_every", alarm_every)):
        if not value > 0:
            findings.append(Finding(f"{name} {value}", "is no time", "Give seconds, more than 0; inf for never"))
    if findings:
        raise UsageError(findings)


def _certificate(proof: Array) -> Certificate:
    kkt, gap, least = (float(x) for x in proof)
    return Certificate(kkt, gap, least)
