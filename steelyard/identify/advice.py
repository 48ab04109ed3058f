"""What would identify more: a friction model, further force components, or motion of poorly excited joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.check.excitation import assess_excitation
from steelyard.compose import prior as priors
from steelyard.equations.missing import Missing, grouped
from steelyard.equations.segment import Segment
from steelyard.equations.setup import Setup
from steelyard.identify.scoring import Score

UNEXPLAINED = 0.05  # filtered relative error above which unmodelled friction is suspected


def advice(setup: Setup, segments: Sequence[Segment], fit: Score) -> str:
    """One or two sentences without the last full stop; empty where all that is identifiable is excited.

    The motions are those that ``check`` advises for the same log.
    """
    unexplained = fit.relative_filtered or 0.0
    friction = ""
    if unexplained > UNEXPLAINED and not setup.columns.joint_terms and setup.equations != "base":
        share = f"{100 * unexplained:.2g} % of the torque is unexplained"
        friction = f"Joint friction is not modelled and {share}: identify it too (friction=all). "
    if len(setup.known):
        return friction[:-2]
    parts = [m for m in setup.unknown if isinstance(m, Missing)]
    if parts and setup.equations != "contact-free":
        scale = priors.make(setup.robot, setup.columns).scale
        with_all = replace(setup, unknown=()).structure(scale)
        if setup.structure(scale).rank < with_all.rank:  # no motion makes up for these sensors
            lacking = "; ".join(f"{', '.join(names)} of {which}" for which, names, _ in grouped(parts))
            return f"{friction}To identify more, log {lacking}"
    motions = assess_excitation(setup, segments).advice
    if not motions:
        return friction[:-2]
    return f"{friction}To identify more, {'; '.join(motion.help for motion in motions)}"
