"""From rows to parameters: unknown drive gains, residual noise, the method's optimum, and its uncertainty.

Reweighting and linearising go back to the rows and live here, outside the solvers, which see only ``Information``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.holdout import Training
from steelyard.equations.rows import Block
from steelyard.equations.setup import Setup
from steelyard.equations.stream import Channels
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding, UsageError
from steelyard.identify.drive_gains import Drives, estimate_gains
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.solving import prior_root, solve
from steelyard.inference import noise, streamed
from steelyard.inference.noise import Noise
from steelyard.inference.uncertainty import Uncertainty, compute_uncertainty, long_run_covariance
from steelyard.information import Information
from steelyard.solve.certify import Certificate
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.identify.division.dividing import Refined

GAIN_ROUNDS = 8  # unknown drive gains: at most so many iterations of solving and relinearising
SCALE_STD = 0.01  # standard deviation of a total mass from a scale, relative
CACHE_BYTES = 400e6  # rows are kept in memory up to this size, and recomputed at every pass beyond it


@dataclass(frozen=True)
class Fit:
    """Parameters, and all that was computed to get them."""

    theta: Array  # (n,); gains as relative changes, zero
    free: Array  # indices that were not held fixed
    certificate: Certificate
    prior: priors.Prior
    information: Information  # of the rows, of an earlier estimate and of a total mass from a scale
    noise: Noise
    drives: Drives | None  # unknown drive gains, identified along
    space: Subspace  # row space of the free parameters
    uncertainty: Uncertainty  # of the free parameters
    seen: Information  # about the free parameters, the others held
    score_covariance: Array  # long-run covariance of the score, the middle of the sandwich estimator
    side: Information  # of an earlier estimate and of a total mass from a scale alone
    prior_root: Array  # square root of the precision of the prior on the free parameters, as it regularises
    blocks: Iterable[Block] | None = None  # rows, linearised at the gains; None where they were streamed
    notices: tuple[Finding, ...] = ()  # of the method
    refined: Refined | None = None  # of method shapes


def fit(setup: Setup, training: Training | Channels, options: Options, job: Job | None = None) -> Fit:
    """Estimate the parameters and their uncertainty.

    ``training`` are rows, or the channels of rows that were streamed with their lagged products.
    """
    job, names, method = job or Job(), setup.columns.names, options.solver
    prior = build_prior(setup, options)
    measured: Iterable[Block] = [] if isinstance(training, Channels) else _cached(training)
    blocks, side = measured, side_information(setup, options, job.earlier)
    drives: Drives | None = None
    if any(term == "gain" for _, term in setup.columns.joint_terms):
        job.progress("identifying drive gains")
        drives = _drives(setup, measured, prior)
    full = not isinstance(training, Channels) and training.correlated
    channels = None
    if not isinstance(training, Channels) and drives is None and not options.robust and not full:
        channels = training.channels()
    for attempt in range(GAIN_ROUNDS):
        if drives is not None:
            blocks, prior = drives.rows(measured), drives.extended_prior(pinned=attempt == 0)
        job.progress("weighting rows")
        if isinstance(training, Channels):
            model, info = streamed.estimate_noise(training, prior.information + side)
        else:
            weighted = None if channels is None else channels.information
            model, info = noise.estimate_noise(
                blocks, names, prior.information + side, full=full, robust=options.robust, weight_channels=weighted
            )
        info = info + side
        job.progress("solving")
        theta, proof, notices, refined = solve(setup, info, prior, options, job)
        if drives is None or (attempt > 0 and drives.is_converged(theta)):
            break
        drives = drives.relinearised(theta)
    if drives is not None:  # linearised at the optimum: only there is the common scale exactly unexcited
        drives = drives.relinearised(theta)
        theta[drives.index] = 0.0
        blocks, prior = drives.rows(measured), drives.extended_prior()
        info = noise.weight_rows(blocks, model, names, theta if options.robust else None) + side

    job.progress("computing uncertainty")
    free, known = setup.free, setup.known
    seen = info.given(known, theta[known])
    space = Subspace.of(seen.R, prior.scale[free])
    if isinstance(training, Channels):
        score = streamed.long_run_covariance(training, model, theta, free, space)
    else:
        score = long_run_covariance(_reduced(blocks, free, known, theta), model, theta[free], space, options.robust)
    score = score + side.R[:, free].T @ side.R[:, free]
    K = prior_root(setup, seen, prior, options)
    unc = compute_uncertainty(
        space, seen, score, prior.K[np.ix_(free, free)], regularised=method.regularised, prior_root=K
    )
    kept = None if isinstance(training, Channels) else blocks
    return Fit(theta, free, proof, prior, info, model, drives, space, unc, seen, score, side, K, kept, notices, refined)


def build_prior(setup: Setup, options: Options) -> priors.Prior:
    """The prior on all parameters, from the description and the options."""
    return priors.make(
        setup.robot,
        setup.columns,
        options.prior,
        getattr(options.solver, "regularisation", "quadratic"),
        width=options.prior_width,
        weight=options.prior_weight,
    )


def side_information(setup: Setup, options: Options, earlier: Information | None) -> Information:
    """Information beside that of the rows: of an earlier estimate, and of a total mass from a scale."""
    side = _by_name(earlier, setup.columns)
    if options.total_mass is not None and not getattr(options.solver, "hard_mass", False):
        side = side + _total_mass(setup, options.total_mass)
    return side


def _total_mass(setup: Setup, total: float) -> Information:
    """Of the total mass of all bodies, without a load, from a scale."""
    row = np.zeros((1, setup.columns.n))
    own = [setup.columns.body(b.name).start for b in setup.robot.bodies if b.carrier is None]
    row[0, own] = 1 / (SCALE_STD * total)
    return Information.of(row, np.array([1 / SCALE_STD]), setup.columns.names)


def _by_name(earlier: Information | None, columns: Columns) -> Information:
    """Earlier information in the order of these columns; nothing where there is none."""
    if earlier is None:
        return Information.none(columns.n, columns.names)
    if unknown := [name for name in earlier.names if name not in columns.names]:
        where = f"earlier estimate, {', '.join(unknown[:4])}"
        what = f"{'is' if len(unknown) == 1 else 'are'} not among the parameters of this run"
        fix = "Lock the same joints, and use the same friction as the earlier run"
        raise UsageError(Finding("earlier-parameters-differ", where, what, fix))
    at = np.array([columns.names.index(name) for name in earlier.names], int)
    Y = np.zeros((len(earlier.triangle), columns.n))
    Y[:, at] = earlier.triangle[:, :-1]
    return replace(Information.of(Y, earlier.triangle[:, -1], columns.names), rows=earlier.rows)


def _cached(rows: Training) -> list[Block] | Training:
    """All blocks in a list where that fits in memory."""
    kept, size = [], 0.0
    for block in rows:
        kept.append(block)
        size += block.Y.nbytes
        if size > CACHE_BYTES:
            return rows
    return kept


def _drives(setup: Setup, blocks: Iterable[Block], prior: priors.Prior) -> Drives:
    """Unknown drive gains, identified along with all other parameters."""
    own, held = np.zeros(setup.columns.n, bool), np.zeros(setup.columns.n, bool)
    held[setup.known] = True
    for name in setup.columns.bodies:
        own[setup.columns.body(name)] = setup.robot.body(name).carrier is None
    return estimate_gains(setup.columns, blocks, prior, own, held)


def _reduced(blocks: Iterable[Block], free: Array, known: Array, theta: Array) -> Iterator[Block]:
    """The same rows about the free parameters alone."""
    for b in blocks:
        yield Block(b.time, b.Y[:, :, free], b.target - b.Y[:, :, known] @ theta[known], b.first)
