"""How far a parameter can be from its estimate: guaranteed ranges, and intervals at the edge of what can exist."""

from __future__ import annotations

from steelyard.equations.setup import Options, Plan
from steelyard.identify.fit import Fit, Progress
from steelyard.inference import ranges as ranging
from steelyard.inference.feasible_set import Allowed, Evidence
from steelyard.inference.profile_likelihood import Interval, Profile
from steelyard.inference.ranges import Ranges
from steelyard.information import Information


def ranges(plan: Plan, options: Options, found: Fit, progress: Progress) -> Ranges | None:
    """Ranges of what the options ask for; None where they ask for none."""
    if options.ranges == "none":
        return None
    prior, free, theta = found.prior, found.free, found.theta
    data = Evidence.of(found.space, found.seen, found.meat)
    allowed = Allowed.of(plan, prior, free, options.ranges_inside)
    names = {b.name for b in allowed.bodies}
    own = [b.name for b in plan.robot.bodies if b.carrier is None and b.name not in names]
    held = sum(theta[plan.columns.body(name).start] for name in own)
    bounded = ranging.find_ranges(
        data, allowed, options.ranges, held=float(held), together=options.ranges_together, progress=progress
    )
    return bounded.without_scale() if found.drives is not None and found.drives.scale is not None else bounded


def intervals(plan: Plan, options: Options, found: Fit) -> dict[str, Interval]:
    """Of bodies at the edge of what can exist, where a prior pulled within the cone."""
    if options.method not in ("lmi", "nonlinear") or options.regularisation == "entropic" or options.realisable:
        return {}
    prior, free, theta, seen = found.prior, found.free, found.theta, found.seen
    K = found.pull
    total = seen + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, seen.names)
    allowed = Allowed.of(plan, prior, free)
    bodies = [(b, 10 * k) for k, b in enumerate(allowed.bodies)]
    profile = Profile.of(total, theta[free], prior.scale[free], bodies, dict(allowed.lowest))
    return {} if profile is None else profile.intervals(found.uncertainty, total)
