"""From rows to parameters: gains that are not known, the noise of the rows, a solver, and how sure it all is.

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
from steelyard.identify.drive_gains import Drives, find
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.identify.solving import pull, solve
from steelyard.inference import noise, streamed
from steelyard.inference.noise import Noise
from steelyard.inference.uncertainty import Uncertainty, long_run_covariance, uncertainty
from steelyard.information import Information
from steelyard.solve.certify import Certificate
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.identify.division.dividing import Refined

GAIN_ROUNDS = 8  # unknown drive gains: at most so many rounds of solving and linearising anew
WEIGHED_TOTAL = 0.01  # standard deviation of a total mass that was weighed, as a share of it
CACHE_BYTES = 400e6  # rows are kept in memory up to this size, and made again at every pass beyond it


@dataclass(frozen=True)
class Fit:
    """Parameters, and what they rest on."""

    theta: Array  # (n,); gains as relative changes, zero
    free: Array  # indices that were not held fixed
    certificate: Certificate
    prior: priors.Prior
    information: Information  # of the rows and of what was known earlier
    noise: Noise
    drives: Drives | None  # gains that were found
    space: Subspace  # what the free parameters' rows see
    uncertainty: Uncertainty  # of the free parameters
    seen: Information  # about the free parameters, the others held
    meat: Array  # long-run covariance of its right-hand side
    pull: Array  # square root of the precision with which the prior pulled the free parameters
    notices: tuple[str, ...] = ()  # what the method has to say
    refined: Refined | None = None  # of method shapes


def fit(setup: Setup, training: Training | Channels, options: Options, job: Job | None = None) -> Fit:
    """Fit what is asked for.

    ``training`` are rows, or what is left of rows that were streamed with products of those that follow each other.
    """
    job, names, method = job or Job(), setup.columns.names, options.solver
    prior = belief(setup, options)
    measured: Iterable[Block] = [] if isinstance(training, Channels) else _cached(training)
    blocks, before = measured, known_before(setup, options, job.earlier)
    drives: Drives | None = None
    if any(term == "gain" for _, term in setup.columns.joint_terms):
        job.progress("finding drive gains")
        drives = _drives(setup, measured, prior)
    full = not isinstance(training, Channels) and training.correlated
    channels = None
    if not isinstance(training, Channels) and drives is None and not options.robust and not full:
        channels = training.channels()
    for attempt in range(GAIN_ROUNDS):
        if drives is not None:
            blocks, prior = drives.rows(measured), drives.belief(pinned=attempt == 0)
        job.progress("weighing rows")
        if isinstance(training, Channels):
            model, info = streamed.weighed(training, prior.information + before)
        else:
            weighed = None if channels is None else channels.information
            model, info = noise.estimate(
                blocks, names, prior.information + before, full=full, robust=options.robust, weighed=weighed
            )
        info = info + before
        job.progress("solving")
        theta, proof, said, refined = solve(setup, info, prior, options, job)
        if drives is None or (attempt > 0 and drives.settled(theta)):
            break
        drives = drives.moved(theta)
    if drives is not None:  # judged where the solver ended: only there is the common scale exactly unseen
        drives = drives.moved(theta)
        theta[drives.index] = 0.0
        blocks, prior = drives.rows(measured), drives.belief()
        info = noise.information(blocks, model, names, theta if options.robust else None) + before

    job.progress("judging")
    free, known = setup.free, setup.known
    seen = info.given(known, theta[known])
    space = Subspace.of(seen.R, prior.scale[free])
    if isinstance(training, Channels):
        meat = streamed.long_run_covariance(training, model, theta, free, space)
    else:
        meat = long_run_covariance(_reduced(blocks, free, known, theta), model, theta[free], space, options.robust)
    meat = meat + before.R[:, free].T @ before.R[:, free]
    K = pull(setup, seen, prior, options)
    unc = uncertainty(space, seen, meat, prior.K[np.ix_(free, free)], pulled=method.pulled, pull=K)
    return Fit(theta, free, proof, prior, info, model, drives, space, unc, seen, meat, K, said, refined)


def belief(setup: Setup, options: Options) -> priors.Prior:
    """What is believed before the rows are looked at."""
    return priors.make(
        setup.robot,
        setup.columns,
        options.prior,
        getattr(options.solver, "regularisation", "quadratic"),
        width=options.prior_width,
        weight=options.prior_weight,
    )


def known_before(setup: Setup, options: Options, earlier: Information | None) -> Information:
    """What is known beside the rows: earlier information, and a mass that was weighed."""
    before = _by_name(earlier, setup.columns)
    if options.total_mass is not None and not getattr(options.solver, "hard_mass", False):
        before = before + _weighed(setup, options.total_mass)
    return before


def _weighed(setup: Setup, total: float) -> Information:
    """What scales say: the mass of all bodies, without a load, to one percent."""
    row = np.zeros((1, setup.columns.n))
    own = [setup.columns.body(b.name).start for b in setup.robot.bodies if b.carrier is None]
    row[0, own] = 1 / (WEIGHED_TOTAL * total)
    return Information.of(row, np.array([1 / WEIGHED_TOTAL]), setup.columns.names)


def _by_name(earlier: Information | None, columns: Columns) -> Information:
    """Earlier information in the order of these columns; nothing where there is none."""
    if earlier is None:
        return Information.none(columns.n, columns.names)
    if strangers := [name for name in earlier.names if name not in columns.names]:
        where = f"earlier estimate, {', '.join(strangers[:4])}"
        what = f"{'is' if len(strangers) == 1 else 'are'} not among the parameters of this run"
        fix = "Lock the same joints, and use the same friction as the earlier run"
        raise UsageError(Finding("earlier-parameters-differ", where, what, fix))
    at = np.array([columns.names.index(name) for name in earlier.names], int)
    Y = np.zeros((len(earlier.triangle), columns.n))
    Y[:, at] = earlier.triangle[:, :-1]
    return replace(Information.of(Y, earlier.triangle[:, -1], columns.names), rows=earlier.rows)


def _cached(rows: Training) -> list[Block] | Training:
    """All blocks in a list where they fit in memory."""
    kept, size = [], 0.0
    for block in rows:
        kept.append(block)
        size += block.Y.nbytes
        if size > CACHE_BYTES:
            return rows
    return kept


def _drives(setup: Setup, blocks: Iterable[Block], prior: priors.Prior) -> Drives:
    """Gains that are not known, found along with everything else."""
    own, held = np.zeros(setup.columns.n, bool), np.zeros(setup.columns.n, bool)
    held[setup.known] = True
    for name in setup.columns.bodies:
        own[setup.columns.body(name)] = setup.robot.body(name).carrier is None
    return find(setup.columns, blocks, prior, own, held)


def _reduced(blocks: Iterable[Block], free: Array, known: Array, theta: Array) -> Iterator[Block]:
    """The same rows about the free parameters alone."""
    for b in blocks:
        yield Block(b.time, b.Y[:, :, free], b.target - b.Y[:, :, known] @ theta[known], b.first)
