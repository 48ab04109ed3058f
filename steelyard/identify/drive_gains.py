"""Unknown drive gains: motor currents instead of torques.

A row reads Yθ = τ + Σ Kⱼiⱼ with unknown gains K. With K as plain columns, least squares shrinks gains and masses
together, since then the noise is in the columns (errors in variables). So gains are estimated by Gauss–Newton on
(θ, log K), and the derivative by log Kⱼ is taken at the current less its share of the residual, such that

    Y θ̂ = τ + Σ Kⱼ îⱼ    holds exactly.

Then twice the gains with twice the masses explain a log exactly as well: only ratios are identifiable. Their common
scale is identified by joints whose torque or gain is known. Where there is none, it comes from the description: the
robot's torques are as large as those of the described robot, within the prior's uncertainty. The gain columns stay in
the problem that the method solves, so that their uncertainty widens every interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.compose.prior import Prior
from steelyard.equations.columns import Columns
from steelyard.equations.rows import Block
from steelyard.equations.segment import Segment
from steelyard.spatial import Array

NOISE = 0.05  # of each row's rms torque: initial guess, which weights joints alike
FLOOR = 1e-4  # of the rms torque: least noise assumed
ALIKE = 0.3  # prior standard deviation of log(gain / mean of the others): drives of one robot are similar
SURE = 1e6  # factor of the prior's precision root that holds a parameter
STEP = 0.3  # largest change of a log gain in an iteration
ITERATIONS, CONVERGED = 100, 1e-6
MOVED = 1e-3  # relative change of a gain by the solver from which rows are linearised again


def as_torques(segment: Segment, joints: Sequence[str], gains: Mapping[str, float]) -> Segment:
    """The same samples with currents multiplied by gains into torques."""
    assert segment.tau is not None
    tau = segment.tau.copy()
    for joint, current in segment.current.items():
        tau[:, joints.index(joint)] = gains[joint] * current
    return replace(segment, tau=tau, current={})


@dataclass(frozen=True)
class Drives:
    """Estimated gains, and rows and prior linearised at them: gain columns are *relative* changes."""

    joints: tuple[str, ...]
    gains: Array  # (G,) N·m/A
    theta: Array  # (n,) point of linearisation; zero at the gains
    index: Array  # (G,) columns of the gains
    grams: Array  # (C, n+1, n+1) of [Y τ] of each channel, Y's gain columns holding −current
    prior: Prior  # about θ
    scale: _Scale | None  # None where a known torque, gain or body identifies the common scale

    @cached_property
    def maps(self) -> Array:
        """(C, n+1, n+1): [Y τ] of channel c times maps[c] is the row linearised at the gains."""
        return np.stack([_map(G, self.theta, self.gains, self.index) for G in self.grams])

    @property
    def gauge(self) -> Array:
        """(n,) gradient by θ of the logarithm of the common scale, where it comes from the description alone."""
        assert self.scale is not None
        return self.scale.gradient(self.theta)

    def rows(self, blocks: Iterable[Block]) -> Iterable[Block]:
        """The same rows linearised at the gains."""
        return [self._row(b) for b in blocks] if isinstance(blocks, list) else _LinearisedRows(self, blocks)

    def extended_prior(self, *, pinned: bool = False) -> Prior:
        """The prior on all parameters, gains included; ``pinned``: gains are held."""
        K, z = _extended_prior(self.prior, self.index, self.gains, self.theta, self.scale)
        if pinned:
            K, z = np.vstack([K, SURE * np.eye(len(self.theta))[self.index]]), np.append(z, np.zeros(len(self.index)))
        n = len(self.theta)
        R = np.asarray(np.linalg.qr(np.column_stack([K, z]), mode="r"))
        return replace(self.prior, mean=np.linalg.solve(R[:n, :n], R[:n, n]), K=R[:n, :n])

    def relinearised(self, theta: Array) -> Drives:
        """Linearised at the optimum θ: only there does a change of the common scale cost exactly nothing."""
        x = theta.copy()
        x[self.index] = 0.0
        return replace(self, gains=self.gains * np.exp(np.clip(theta[self.index], -STEP, STEP)), theta=x)

    def is_converged(self, theta: Array) -> bool:
        """Whether the solver changed no gain by more than ``MOVED``."""
        return float(np.max(np.abs(theta[self.index]))) < MOVED

    def named(self) -> dict[str, float]:
        """Gains by joint, N·m/A."""
        return dict(zip(self.joints, self.gains.tolist(), strict=True))

    def _row(self, block: Block) -> Block:
        both = np.concatenate([block.Y, block.target[:, :, None]], axis=2)
        both = (both.transpose(1, 0, 2) @ self.maps).transpose(1, 0, 2)
        return Block(block.time, both[:, :, :-1], both[:, :, -1], block.first, block.log)


@dataclass(frozen=True)
class _LinearisedRows:
    """Rows too large to keep in memory, linearised again at every pass."""

    drives: Drives
    blocks: Iterable[Block]

    def __iter__(self) -> Iterator[Block]:
        return (self.drives._row(b) for b in self.blocks)


def estimate_gains(columns: Columns, blocks: Iterable[Block], prior: Prior, robot: Array, held: Array) -> Drives:
    """Gains of all joints with a gain column, whose values are −current.

    ``robot`` (n,) marks the parameters of the robot's own bodies, ``held`` (n,) those that are known exactly.
    """
    n = columns.n
    at = {j: k for k, (j, term) in enumerate(columns.joint_terms, 10 * len(columns.bodies)) if term == "gain"}
    index = np.array(list(at.values()))
    rest = np.setdiff1d(np.arange(n), index)
    grams, samples = _grams(blocks, n)
    absolute = bool(np.any(grams[:, n, n] > 0) or np.any(held))
    prior = replace(prior, K=np.where(held, SURE, 1.0)[:, None] * prior.K)
    torque = np.sum(grams[:, :n, :n], axis=0) * np.outer(robot, robot)
    scale = None if absolute else _Scale.of(torque, prior, robot)
    start = _start(grams, prior, robot, index, rest)
    drives = Drives(tuple(at), start, prior.mean, index, grams, prior, scale)
    sigma = None
    for _ in range(ITERATIONS):
        put = drives.maps.transpose(0, 2, 1) @ grams @ drives.maps
        if sigma is None:
            sigma = NOISE * np.sqrt(put[:, n, n] / samples)
        weighted = np.sum(put / np.maximum(sigma, 1e-300)[:, None, None] ** 2, axis=0)
        K, z = _extended_prior(prior, index, drives.gains, drives.theta, scale)
        theta = _solve(weighted[:n, :n] + K.T @ K, weighted[:n, n] + K.T @ z)
        both = np.append(theta, -1.0)
        sigma = np.sqrt(np.maximum(np.einsum("i,cij,j->c", both, put, both), FLOOR**2 * put[:, n, n]) / samples)
        drives = drives.relinearised(theta)
        if np.max(np.abs(theta[index])) < CONVERGED:
            break
    return drives


@dataclass(frozen=True)
class _Scale:
    """Size of the described robot's torques on this motion, and its uncertainty by the prior."""

    torque: Array  # (n, n) A: θᵀAθ is the sum of the squares of the robot's own torques
    size: float  # of the described robot
    doubt: float  # standard deviation of half its logarithm, by the prior

    @classmethod
    def of(cls, torque: Array, prior: Prior, robot: Array) -> _Scale:
        described = prior.mean * robot
        size = float(described @ torque @ described)
        return cls(torque, size, float(np.linalg.norm(np.linalg.solve(prior.K.T, torque @ described / size))))

    def gradient(self, theta: Array) -> Array:
        """(n,) of ½ log θᵀAθ."""
        return np.asarray(self.torque @ theta / float(theta @ self.torque @ theta))


def _extended_prior(prior: Prior, index: Array, gains: Array, x: Array, scale: _Scale | None) -> tuple[Array, Array]:
    """Kθ ≈ z: the prior, similarity of the drives, and the scale where it comes from the description alone."""
    K, z = prior.K, prior.K @ prior.mean
    centred = (np.eye(len(index)) - 1 / len(index)) / ALIKE
    alike = np.zeros((len(index), len(x)))
    alike[:, index] = centred
    more, targets = [alike], [-centred @ np.log(gains)]
    if scale is not None:
        u = K @ x  # the prior does not constrain the length of θ …
        u = u / max(float(np.linalg.norm(u)), 1e-300)
        K, z = K - np.outer(u, u @ K), z - u * (u @ z)
        gauge = scale.gradient(x)  # … but the size of the torques, linearised
        more.append(gauge[None] / scale.doubt)
        targets.append(np.array([1 + 0.5 * np.log(scale.size / float(x @ scale.torque @ x))]) / scale.doubt)
    return np.vstack([K, *more]), np.concatenate([z, *targets])


def _grams(blocks: Iterable[Block], n: int) -> tuple[Array, int]:
    """(C, n+1, n+1) sum of yyᵀ over all samples, y = [Y τ] of one channel, and the number of samples."""
    total, count = np.zeros(()), 0
    for block in blocks:
        both = np.concatenate([block.Y, block.target[:, :, None]], axis=2).transpose(1, 0, 2)
        total, count = total + both.transpose(0, 2, 1) @ both, count + len(block.time)
    return np.asarray(total), count


def _map(G: Array, x: Array, gains: Array, index: Array) -> Array:
    """(n+1, n+1) that linearises a channel with Gram matrix G at gains: target τ + Σ Kⱼiⱼ, columns −Kⱼîⱼ.

    Σ Kⱼîⱼ = Yθ̂ − τ: the residual is assigned to the currents in proportion to their shares of the channel.
    """
    n = len(G) - 1
    M = np.eye(n + 1)
    M[index, n] = -gains  # the columns hold −i
    residual = M[:, n] - np.append(x, 0.0)
    loads = gains**2 * np.diag(G)[index]
    shares = loads / loads.sum() if loads.sum() > 0 else np.zeros(len(index))
    for k, (i, gain, share) in enumerate(zip(index, gains, shares, strict=True)):
        M[:, i] = 0.0
        M[i, i] = gain
        if loads[k] > 0:
            M[:, i] += share * residual
    return M


def _start(grams: Array, prior: Prior, robot: Array, index: Array, rest: Array) -> Array:
    """Initial gains: currents and friction together explain the described robot's torques."""
    n = len(prior.mean)
    beside = np.array([i for i in rest if not robot[i]], int)
    known = np.append(prior.mean * robot, -1.0)
    H, g = np.zeros((n, n)), np.zeros(n)
    for G in grams:
        wanted = float(known @ G @ known)
        if wanted > 0:
            H += G[:n, :n] / wanted
            g -= G[:n] @ known / wanted
    free = np.append(beside, index)
    H, g = H[np.ix_(free, free)], g[free]
    size = np.diag(H)[len(beside) :]
    H = H + 1e-6 * np.diag(np.diag(H))
    gains = _solve(H, g)[len(beside) :]
    good = gains[(gains > 0) & (size > 0)]
    typical = float(np.median(good)) if good.size else 1.0
    return np.asarray(np.clip(gains, typical / 4, typical * 4))


def _solve(H: Array, g: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    return np.asarray(np.linalg.lstsq(H / np.outer(scale, scale), g / scale, rcond=1e-15)[0] / scale)
