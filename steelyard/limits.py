"""How far a parameter can be from its estimate: guaranteed ranges, and intervals at the edge of what can exist."""

from __future__ import annotations

import numpy as np

from steelyard import prior as priors
from steelyard import ranges as ranging
from steelyard.fit import Fit, Progress
from steelyard.information import Information
from steelyard.plan import Options, Plan
from steelyard.profile import Interval, Profile
from steelyard.ranges import Allowed, Evidence, Ranges
from steelyard.solve.methods import SIGNED

Array = np.ndarray


def ranges(plan: Plan, options: Options, found: Fit, progress: Progress) -> Ranges | None:
    """Ranges of what the options ask for; None where they ask for none."""
    if options.ranges == "none":
        return None
    prior, free, theta = found.prior, found.free, found.theta
    data = Evidence.of(found.space, found.seen, found.meat)
    allowed = _allowed(plan, prior, free, options.ranges_inside)
    names = {b.name for b in allowed.bodies}
    own = [b.name for b in plan.robot.bodies if b.carrier is None and b.name not in names]
    held = sum(theta[plan.columns.body(name).start] for name in own)
    bounded = ranging.find_ranges(
        data, allowed, options.ranges, held=float(held), together=options.ranges_together, progress=progress
    )
    return bounded.without_scale() if found.drives is not None and found.drives.scale is not None else bounded


def about(bounded: Ranges | None, options: Options) -> list[str]:
    """What is to be said of ranges."""
    if bounded is None:
        return []
    said = []
    if options.ranges_inside and (bare := [b for b in bounded.bodies if b not in bounded.inside]):
        said.append(f"ranges take no box for {', '.join(bare)}: not all of what they are made of has a shape")
    if bounded.refuted:
        misfit = f"misfit {bounded.misfit:.3g}, {bounded.freedom} expected"
        what = "something is not modelled, and ranges are narrower than they should be"
        said.append(f"no physical robot explains the data to their noise ({misfit}): {what}")
    return said


def intervals(plan: Plan, options: Options, found: Fit) -> dict[str, Interval]:
    """Of bodies at the edge of what can exist, where a prior pulled within the cone."""
    if options.method not in ("lmi", "nonlinear") or options.regularisation == "entropic" or options.realisable:
        return {}
    prior, free, theta, seen = found.prior, found.free, found.theta, found.seen
    K = found.pull
    total = seen + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, seen.names)
    allowed = _allowed(plan, prior, free)
    bodies = [(b, 10 * k) for k, b in enumerate(allowed.bodies)]
    profile = Profile.of(total, theta[free], prior.scale[free], bodies, dict(allowed.lowest))
    return {} if profile is None else profile.intervals(found.uncertainty, total)


def _allowed(plan: Plan, prior: priors.Prior, free: Array, inside: bool = False) -> Allowed:
    """What the free parameters may be, apart from what the data say; ``inside``: in the boxes of bodies with shapes."""
    bodies = tuple(plan.robot.body(b) for b in plan.columns.bodies if plan.columns.body(b).start in free)
    rest, offsets = np.arange(10 * len(plan.columns.bodies), plan.columns.n), len(plan.columns.offsets)
    positive = np.array([term not in SIGNED for _, term in plan.columns.joint_terms] + [False] * offsets, bool)
    scale = prior.scale[free]
    first = np.where(positive, np.maximum(prior.mean[rest], 1e-3 * prior.scale[rest]), prior.mean[rest])
    own = [b for b in plan.robot.bodies if b.carrier is None]
    return Allowed(
        bodies,
        {10 * len(bodies) + int(k): 0.0 for k in np.flatnonzero(positive)},
        scale,
        first,
        sum(float(b.parameters[0]) for b in own),
        max(b.size for b in own),
        frozenset(b.name for b in bodies if inside and plan.robot.has_shape(b)),
    )
