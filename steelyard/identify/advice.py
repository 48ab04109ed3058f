"""What would excite more: friction that was left out, sensors, motion where structure allows and the log is weak."""

from __future__ import annotations

from dataclasses import replace

from steelyard.compose import prior as priors
from steelyard.equations.missing import Missing, grouped
from steelyard.equations.setup import Setup
from steelyard.identify.scoring import Score
from steelyard.inference.uncertainty import CERTAIN, Uncertainty

UNEXPLAINED = 0.05  # filtered relative error beyond which friction is suspected


def advice(setup: Setup, unc: Uncertainty, prior: priors.Prior, fit: Score) -> str:
    """What would tell more: joint friction that was left out, motion where the structure allows and the log is weak."""
    unexplained = fit.relative_filtered or 0.0
    said = ""
    if unexplained > UNEXPLAINED and not setup.columns.joint_terms and setup.equations != "base":
        said = f"Friction was left out and {100 * unexplained:.2g} % of the torque is unexplained: try --friction all. "
    if len(setup.known):
        return said[:-2]
    possible = setup.structure(prior.scale)
    parts = [m for m in setup.unknown if isinstance(m, Missing)]
    with_all = replace(setup, unknown=()).structure(prior.scale) if parts else possible
    if (
        setup.equations != "contact-free" and possible.rank < with_all.rank
    ):  # motion never shows what no sensor measures
        lacking = "; ".join(f"{', '.join(names)} of {which}" for which, names, _ in grouped(parts))
        return f"{said}To learn more, log {lacking}"
    pivots, Z = possible.composition
    weak: dict[str, int] = {}
    for p, z in zip(pivots, Z, strict=True):
        std = unc.std_data(z)
        if std is None or std >= CERTAIN * possible.size(z):
            owner = setup.columns.owner(int(p))
            weak[owner] = weak.get(owner, 0) + 1
    if not weak:
        return said[:-2]
    movers = []
    for owner in sorted(weak, key=lambda name: -weak[name])[:3]:
        if owner in setup.robot.joints:
            movers.append(owner)
            continue
        sensors = {s.name: s.joint for s in setup.robot.sensors}
        above = setup.robot.joints_above(sensors.get(owner) or setup.robot.body(owner).joint)
        movers += above[:1] or ["the base"]
    return f"{said}To learn more, move {', '.join(dict.fromkeys(movers))} faster and further"
