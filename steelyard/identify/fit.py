"""From rows to parameters: gains that are not known, the noise of the rows, a solver, and how sure it all is.

Reweighting and linearising go back to the rows and live here, outside the solvers, which see only ``Information``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.holdout import Training
from steelyard.equations.rows import Block, Columns
from steelyard.equations.setup import Options, Plan
from steelyard.equations.stream import Channels
from steelyard.errors import Finding, UsageError
from steelyard.identify.drive_gains import Drives, find
from steelyard.identify.methods.constrained import weighed
from steelyard.identify.methods.dividing import Refined
from steelyard.identify.methods.solving import pull, solve
from steelyard.inference import noise, streamed
from steelyard.inference.noise import Noise
from steelyard.inference.uncertainty import Subspace, Uncertainty, long_run_covariance, uncertainty
from steelyard.information import Information
from steelyard.solve.certify import Certificate

Array = np.ndarray
Progress = Callable[[str], None]

GAIN_ROUNDS = 8  # unknown drive gains: at most so many rounds of solving and linearising anew
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


def fit(
    plan: Plan,
    training: Training | Channels,
    options: Options,
    *,
    earlier: Information | None = None,
    progress: Progress = lambda _: None,
    save: Path | None = None,
) -> Fit:
    """Fit what a plan asks for; ``earlier`` is information about parameters of the same names.

    ``training`` are rows, or what is left of rows that were streamed with their memory.
    """
    names = plan.columns.names
    prior = priors.make(
        plan.robot, plan.columns, options.prior, options.regularisation, width=options.prior_width,
        weight=options.prior_weight,
    )  # fmt: skip
    measured: Iterable[Block] = [] if isinstance(training, Channels) else _cached(training)
    blocks, before = measured, known_before(plan, options, earlier)
    drives: Drives | None = None
    if any(term == "gain" for _, term in plan.columns.joint_terms):
        progress("finding drive gains")
        drives = _drives(plan, measured, prior, options)
    full = not isinstance(training, Channels) and (training.projected or plan.equations == "base")  # go together
    channels = None
    if not isinstance(training, Channels) and drives is None and not options.robust and not full:
        channels = training.channels()
    for attempt in range(GAIN_ROUNDS):
        if drives is not None:
            blocks, prior = drives.rows(measured), drives.belief(pinned=attempt == 0)
        progress("weighing rows")
        if isinstance(training, Channels):
            model, info = streamed.weighed(training, prior.information + before)
        else:
            model, info = noise.estimate(
                blocks, names, prior.information + before, full=full, robust=options.robust,
                weighed=None if channels is None else channels.information,
            )  # fmt: skip
        info = info + before
        progress("solving")
        theta, proof, free, said, refined = solve(plan, info, prior, options, save, progress)
        if drives is None or (attempt > 0 and drives.settled(theta)):
            break
        drives = drives.moved(theta)
    if drives is not None:  # judged where the solver ended: only there is the common scale exactly unseen
        drives = drives.moved(theta)
        theta[drives.index] = 0.0
        blocks, prior = drives.rows(measured), drives.belief()
        info = noise.information(blocks, model, names) + before

    progress("judging")
    known = np.setdiff1d(np.arange(plan.columns.n), free)
    seen = info.given(known, theta[known])
    space = Subspace.of(seen.R, prior.scale[free])
    if isinstance(training, Channels):
        meat = streamed.long_run_covariance(training, model, theta, free, space)
    else:
        meat = long_run_covariance(_reduced(blocks, free, known, theta), model, theta[free], space, options.robust)
    meat = meat + before.R[:, free].T @ before.R[:, free]
    pulled = options.method != "least-squares"
    K = pull(plan, seen, prior, options, free)
    unc = uncertainty(space, seen, meat, prior.K[np.ix_(free, free)], pulled=pulled, pull=K)
    return Fit(theta, free, proof, prior, info, model, drives, space, unc, seen, meat, K, said, refined)


def known_before(plan: Plan, options: Options, earlier: Information | None) -> Information:
    """What is known beside the rows: earlier information, and a mass that was weighed."""
    before = _by_name(earlier, plan.columns)
    if options.total_mass is not None and not options.hard_mass:
        before = before + weighed(plan.columns, plan.robot, options.total_mass)
    return before


def _by_name(earlier: Information | None, columns: Columns) -> Information:
    """Earlier information in the order of these columns; nothing where there is none."""
    if earlier is None:
        return Information.none(columns.n, columns.names)
    if strangers := [name for name in earlier.names if name not in columns.names]:
        what = f"speaks of {', '.join(strangers[:4])}, which {'is' if len(strangers) == 1 else 'are'} not asked for now"
        raise UsageError(Finding("earlier estimate", what, "Lock the same joints, and use the same --friction"))
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


def _drives(plan: Plan, blocks: Iterable[Block], prior: priors.Prior, options: Options) -> Drives:
    """Gains that are not known, found along with everything else."""
    own, held = np.zeros(plan.columns.n, bool), np.zeros(plan.columns.n, bool)
    chosen = {plan.robot.body(link).name for link in options.links}
    for name in plan.columns.bodies:
        own[plan.columns.body(name)] = plan.robot.body(name).carrier is None
        held[plan.columns.body(name)] = bool(chosen) and name not in chosen
    return find(plan.columns, blocks, prior, own, held)


def _reduced(blocks: Iterable[Block], free: Array, known: Array, theta: Array) -> Iterator[Block]:
    """The same rows about the free parameters alone."""
    for b in blocks:
        yield Block(b.time, b.Y[:, :, free], b.target - b.Y[:, :, known] @ theta[known], b.first)
