"""Motions at the pace that ground and motors allow: quicker ones tell more, and what is checked stays checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.build_motion import build
from steelyard.experiment.excite.feasible import loads, reasons
from steelyard.experiment.excite.improve import improve, paced
from steelyard.experiment.excite.informativeness import LITTLE, Telling
from steelyard.experiment.excite.rescue import CHECKED
from tests.excite.test_humanoid import pool, possible
from tests.motions import installed

pytestmark = installed


def slowed(name, factor=1.6):
    """A motion on both feet that takes its time."""
    built = possible(name, "double")
    return build(built.stance, built.candidate, replace(built.scale, stretch=factor * built.scale.stretch))


def test_a_slow_motion_is_done_in_less_time_through_the_same_targets():
    built = slowed("g1")
    other = built
    for _ in range(3):
        other = paced(other, other.course.sampled(CHECKED))
    assert other.course.duration < 0.8 * built.course.duration
    np.testing.assert_array_equal(other.candidate.upper, built.candidate.upper)
    middle = built.candidate.times[2] * built.scale.stretch, other.candidate.times[2] * other.scale.stretch
    upper = 6 + built.stance.upper
    np.testing.assert_allclose(built.course.spline(middle[0])[upper], other.course.spline(middle[1])[upper], atol=1e-3)


def test_what_is_too_quick_is_slowed_down_where_it_is():
    built = possible("g1", "double")
    hasty = build(built.stance, built.candidate, replace(built.scale, stretch=0.6 * built.scale.stretch))
    samples = hasty.course.sampled(CHECKED)
    assert loads(hasty, samples).most.max() > 1
    assert any(r.what == "friction" for r in reasons(hasty, samples))
    other = paced(hasty, samples)
    ways = [np.diff(b.candidate.times) * b.scale.stretch for b in (hasty, other)]
    assert (ways[1] > 1.01 * ways[0]).any()
    assert loads(other, other.course.sampled(CHECKED)).most.max() < loads(hasty, samples).most.max()


def test_steps_keep_their_times():
    built = possible("g1", "right")
    assert paced(built, built.course.sampled(CHECKED)) is None


@pytest.mark.slow
def test_a_slow_motion_is_improved_by_its_pace_and_can_be_done():
    p, built = pool("g1"), slowed("g1")
    telling = Telling(p.stance, cutoff=4.0)
    rest = criteria.together(
        criteria.natural_prior(telling.possible.rank, LITTLE), telling.root(possible("g1", "right").course)
    )
    better = improve(p.postures, telling, built, rest)
    assert better.gain > 10
    assert better.built.course.duration < built.course.duration
    assert not reasons(better.built, better.built.course.sampled(CHECKED))


def test_filtered_rows_tell_the_same_of_slow_motions_and_less_of_quick_ones():
    p, slow = pool("g1"), slowed("g1")
    quick = build(slow.stance, slow.candidate, replace(slow.scale, stretch=0.25 * slow.scale.stretch))
    plain, filtered = Telling(p.stance), Telling(p.stance, cutoff=4.0)
    left = []
    for built in (slow, quick):
        sizes = [np.linalg.norm(t.base_rows(built.course)[:, 1:]) for t in (plain, filtered)]
        left.append(sizes[1] / sizes[0])
        assert filtered.rows(built.course).shape[0] == pytest.approx(plain.rows(built.course).shape[0], abs=12)
    assert left[0] > 0.97
    assert left[1] < left[0]
