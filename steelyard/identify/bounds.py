"""How far a parameter can be from its estimate: guaranteed ranges, and profile intervals on the cone's boundary."""

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


def compute_ranges(setup: Setup, fit: Fit, job: Job) -> Ranges | None:
    """Guaranteed ranges of the quantities that the job names; None where it names none."""
    asked = job.ranges
    if asked.of == "none":
        return None
    prior, theta = fit.prior, fit.theta
    data = Evidence.of(fit.space, fit.seen, fit.score_covariance)
    allowed = Allowed.of(setup, prior, asked.inside)
    names = {b.name for b in allowed.bodies}
    own = [b.name for b in setup.robot.bodies if b.carrier is None and b.name not in names]
    held = sum(theta[setup.columns.body(name).start] for name in own)
    bounded = ranging.find_ranges(
        data, allowed, asked.of, held=float(held), together=asked.together, progress=job.progress
    )
    return bounded.without_scale() if fit.drives is not None and fit.drives.scale is not None else bounded


def compute_intervals(setup: Setup, options: Options, fit: Fit) -> dict[str, Interval]:
    """Profile intervals of bodies on the boundary of physical consistency; body → interval."""
    if not options.solver.has_profile:
        return {}
    prior, free, theta, seen = fit.prior, fit.free, fit.theta, fit.seen
    K = fit.prior_root
    total = seen + Information(Information.of(K, K @ prior.mean[free]).triangle, 0, seen.names)
    allowed = Allowed.of(setup, prior)
    bodies = [(b, 10 * k) for k, b in enumerate(allowed.bodies)]
    profile = Profile.of(total, theta[free], prior.scale[free], bodies, dict(allowed.lowest))
    return {} if profile is None else profile.intervals(fit.uncertainty, total)
