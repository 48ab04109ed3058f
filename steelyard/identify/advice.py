"""What would identify more: a friction model, further force components, or motion of poorly excited joints."""

from __future__ import annotations

from dataclasses import replace

from steelyard.compose import prior as priors
from steelyard.equations.missing import Missing, grouped
from steelyard.equations.setup import Setup
from steelyard.identify.scoring import Score
from steelyard.inference.uncertainty import CERTAIN, Uncertainty

UNEXPLAINED = 0.05  # filtered relative error above which unmodelled friction is suspected


def advice(setup: Setup, unc: Uncertainty, prior: priors.Prior, fit: Score) -> str:
    """One or two sentences without the last full stop; empty where all that is identifiable is identified."""
    unexplained = fit.relative_filtered or 0.0
    friction = ""
    if unexplained > UNEXPLAINED and not setup.columns.joint_terms and setup.equations != "base":
        share = f"{100 * unexplained:.2g} % of the torque is unexplained"
        friction = f"Joint friction is not modelled and {share}: identify it too (friction=all). "
    if len(setup.known):
        return friction[:-2]
    possible = setup.structure(prior.scale)
    parts = [m for m in setup.unknown if isinstance(m, Missing)]
    with_all = replace(setup, unknown=()).structure(prior.scale) if parts else possible
    if setup.equations != "contact-free" and possible.rank < with_all.rank:  # no motion makes up for these sensors
        lacking = "; ".join(f"{', '.join(names)} of {which}" for which, names, _ in grouped(parts))
        return f"{friction}To identify more, log {lacking}"
    pivots, Z = possible.composition
    weak: dict[str, int] = {}  # body, joint or sensor → its base parameters that are poorly excited
    for p, z in zip(pivots, Z, strict=True):
        std = unc.std_data(z)
        if std is None or std >= CERTAIN * possible.size(z):
            owner = setup.columns.owner(int(p))
            weak[owner] = weak.get(owner, 0) + 1
    if not weak:
        return friction[:-2]
    movers = []
    for owner in sorted(weak, key=lambda name: -weak[name])[:3]:
        if owner in setup.robot.joints:
            movers.append(owner)
            continue
        sensors = {s.name: s.joint for s in setup.robot.sensors}
        above = setup.robot.joints_above(sensors.get(owner) or setup.robot.body(owner).joint)
        movers += above[:1] or ["the base"]
    return f"{friction}To identify more, move {', '.join(dict.fromkeys(movers))} faster and over a larger range"
