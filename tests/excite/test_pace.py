"""Retimed motions: as fast as contact and motors allow, more informative, and feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import build_motion
from steelyard.experiment.excite.feasibility import compute_utilisation, find_violations
from steelyard.experiment.excite.improve_motion import improve_motion, retime
from steelyard.experiment.excite.informativeness import LITTLE, Informativeness
from steelyard.experiment.excite.make_feasible import CHECKED
from tests.excite.feasible_motions import feasible, pool
from tests.motions import installed

pytestmark = installed


def slowed(name, factor=1.6):
    """A motion in double support, slowed down."""
    motion = feasible(name, "double")
    return build_motion(motion.stance, motion.candidate, replace(motion.scale, stretch=factor * motion.scale.stretch))


def test_retiming_shortens_a_slow_motion_and_keeps_its_targets():
    motion = slowed("g1")
    other = motion
    for _ in range(3):
        other = retime(other, other.trajectory.sampled(CHECKED))
    assert other.trajectory.duration < 0.8 * motion.trajectory.duration
    np.testing.assert_array_equal(other.candidate.upper, motion.candidate.upper)
    middle = motion.candidate.times[2] * motion.scale.stretch, other.candidate.times[2] * other.scale.stretch
    upper = 6 + motion.stance.upper
    np.testing.assert_allclose(
        motion.trajectory.spline(middle[0])[upper], other.trajectory.spline(middle[1])[upper], atol=1e-3
    )


def test_retiming_slows_down_the_moves_that_exceed_their_limits():
    motion = feasible("g1", "double")
    hasty = build_motion(motion.stance, motion.candidate, replace(motion.scale, stretch=0.6 * motion.scale.stretch))
    samples = hasty.trajectory.sampled(CHECKED)
    assert compute_utilisation(hasty, samples).peak.max() > 1
    assert any(r.constraint == "friction" for r in find_violations(hasty, samples))
    other = retime(hasty, samples)
    ways = [np.diff(b.candidate.times) * b.scale.stretch for b in (hasty, other)]
    assert (ways[1] > 1.01 * ways[0]).any()
    assert (
        compute_utilisation(other, other.trajectory.sampled(CHECKED)).peak.max()
        < compute_utilisation(hasty, samples).peak.max()
    )


def test_motions_with_steps_are_not_retimed():
    motion = feasible("g1", "right")
    assert retime(motion, motion.trajectory.sampled(CHECKED)) is None


@pytest.mark.slow
def test_retiming_makes_a_slow_motion_more_informative_and_keeps_it_feasible():
    p, motion = pool("g1"), slowed("g1")
    informativeness = Informativeness(p.stance, cutoff=4.0)
    rest = criteria.combine(
        criteria.natural_prior(informativeness.identifiable.rank, LITTLE),
        informativeness.root(feasible("g1", "right").trajectory),
    )
    better = improve_motion(p.checker, informativeness, motion, rest)
    assert better.gain > 10
    assert better.motion.trajectory.duration < motion.trajectory.duration
    assert not find_violations(better.motion, better.motion.trajectory.sampled(CHECKED))


def test_the_filter_keeps_the_information_of_slow_motions_and_reduces_that_of_fast_ones():
    p, slow = pool("g1"), slowed("g1")
    quick = build_motion(slow.stance, slow.candidate, replace(slow.scale, stretch=0.25 * slow.scale.stretch))
    plain, filtered = Informativeness(p.stance), Informativeness(p.stance, cutoff=4.0)
    retained = []
    for motion in (slow, quick):
        sizes = [np.linalg.norm(t.base_rows(motion.trajectory)[:, 1:]) for t in (plain, filtered)]
        retained.append(sizes[1] / sizes[0])
        assert filtered.rows(motion.trajectory).shape[0] == pytest.approx(
            plain.rows(motion.trajectory).shape[0], abs=12
        )
    assert retained[0] > 0.97
    assert retained[1] < retained[0]
