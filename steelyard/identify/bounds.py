"""How far a parameter can be from its estimate: guaranteed ranges, and intervals at the edge of what can exist."""

from __future__ import annotations

from steelyard.equations.setup import Setup
from steelyard.identify.fit import Fit
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.inference import quantity_ranges as ranging
from steelyard.inference.feasible_set import Allowed, Evidence
from steelyard.inference.profile_likelihood import Interval, Profile
from steelyard.inference.quantity_ranges import Ranges
from steelyard.information import Information


def ranges(setup: Setup, found: Fit, job: Job) -> Ranges | None:
    """Ranges of what is asked for; None where nothing is."""
    asked = job.ranges
    if asked.of == "none":
        return None
    prior, theta = found.prior, found.theta
    data = Evidence.of(found.space, found.seen, found.meat)
    allowed = Allowed.of(setup, prior, asked.inside)
    names = {b.name for b in allowed.bodies}
    own = [b.name for b in setup.robot.bodies if b.carrier is None and b.name not in names]
    held = sum(theta[setup.columns.body(name).start] for name in own)
    bounded = ranging.find_ranges(
        data, allowed, asked.of, held=float(held), together=asked.together, progress=job.progress
    )
    return bounded.without_scale() if found.drives is not None and found.drives.scale is not None else bounded


def intervals(setup: Setup, options: Options, found: Fit) -> dict[str, Interval]:
    """Of bodies at the edge of what can exist, where a prior pulled within the cone."""
    if not options.solver.has_profile:
        return {}
    prior, free, theta, seen = found.prior, found.free, found.theta, found.seen
    K = found.pull
    total = seen + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, seen.names)
    allowed = Allowed.of(setup, prior)
    bodies = [(b, 10 * k) for k, b in enumerate(allowed.bodies)]
    profile = Profile.of(total, theta[free], prior.scale[free], bodies, dict(allowed.lowest))
    return {} if profile is None else profile.intervals(found.uncertainty, total)
