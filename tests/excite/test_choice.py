"""Which motions are played: they tell more than others, what is weak is named, and nothing is tried twice."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard.cli.main import make_app
from steelyard.errors import UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.excite_humanoid import as_log
from steelyard.experiment.excite.improve import gradient, improve
from steelyard.experiment.excite.informativeness import (
    LITTLE,
    Telling,
    Told,
    best_for_links,
    focus,
    most_telling,
    weakest,
)
from steelyard.experiment.excite.kept import Kept
from steelyard.experiment.excite.motion_request import HumanoidRequest
from steelyard.experiment.excite.pool import Tried, kinds
from steelyard.experiment.excite.schedule import joined
from steelyard.experiment.excite.trajectory import STEP, Trajectory
from tests.excite.test_humanoid import pool, possible
from tests.motions import installed


def random_told(rng, links=4, rank=12):
    return Told(np.triu(rng.normal(size=(rank, rank))), {f"link{i}": float(rng.uniform(5, 500)) for i in range(links)})


def test_the_best_three_of_each_link_are_chosen():
    told = [random_told(np.random.default_rng(k)) for k in range(40)]
    chosen = best_for_links(told)
    for name in told[0].links:
        order = sorted(range(40), key=lambda k: told[k].links[name])
        assert set(order[:3]) <= set(chosen)
    assert all(any(told[k].links[n] <= sorted(t.links[n] for t in told)[2] for n in told[0].links) for k in chosen)


def test_the_most_telling_motions_have_a_larger_determinant_than_random_ones():
    rng = np.random.default_rng(3)
    told = [random_told(rng) for _ in range(30)]
    best = criteria.log_det(criteria.together(*[told[k].root for k in most_telling(told, 5)]))
    for _ in range(50):
        some = rng.choice(30, 5, replace=False)
        assert best >= criteria.log_det(criteria.together(*[told[k].root for k in some]))
    assert most_telling([], 3) == []


@installed
def test_a_robot_that_never_lifts_its_left_foot_is_told_to():
    telling = Telling(pool("g1").stance)
    prior = criteria.natural_prior(telling.possible.rank, LITTLE)
    root = criteria.together(
        prior, telling.root(possible("g1", "double").course), telling.root(possible("g1", "left").course)
    )
    worst = weakest(telling, root)
    assert worst[0].name.startswith("left_ankle")  # it stands on it: only its weight is felt
    assert worst[0].joints[0].startswith("left_ankle")
    assert any(j.startswith("left_ankle") for j in focus(telling, root)[:4])
    assert all(a.deviation >= b.deviation for a, b in pairwise(worst))


@installed
def test_the_gradient_is_that_of_log_det_while_base_and_legs_stay():
    telling, built = Telling(pool("g1").stance), possible("g1", "double")
    rest = criteria.together(
        criteria.natural_prior(telling.possible.rank, LITTLE), telling.root(possible("g1", "right").course)
    )
    slope = gradient(telling, built, rest)
    k, j = np.unravel_index(np.abs(slope).argmax(), slope.shape)
    knots = np.arange(round(built.course.duration / STEP) + 1) * STEP
    values, h = [], 1e-4
    for sign in (1, -1):
        bump = np.zeros((len(built.candidate.times), 1))
        bump[k] = sign * h
        x = built.course.spline(knots)
        x[:, 6 + built.stance.upper[j]] += joined(built.candidate.times, bump, knots / built.scale.stretch)[:, 0]
        values.append(
            criteria.log_det(criteria.together(rest, telling.root(Trajectory.through(built.stance.robot, x))))
        )
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(slope[k, j], rel=0.02)


@installed
def test_an_improved_motion_tells_more_and_can_still_be_done():
    p = pool("g1")
    telling = Telling(p.stance)
    built = possible("g1", "double")
    rest = criteria.together(
        criteria.natural_prior(telling.possible.rank, LITTLE), telling.root(possible("g1", "right").course)
    )
    better = improve(p.postures, telling, built, rest)
    assert better.gain >= 0
    before, after = (criteria.log_det(criteria.together(rest, telling.root(b.course))) for b in (built, better.built))
    assert after - before == pytest.approx(better.gain, abs=1e-6)
    assert p.postures.blame(better.built.course) == ()


@installed
def test_what_was_tried_is_not_tried_again(tmp_path, monkeypatch):
    p, path = pool("g1"), tmp_path / "candidates.json"
    wanted = [("double", 1, ()), ("walk", 2, ()), ("double", 3, ("left_elbow_joint",))]
    first = p.screen(wanted, Kept(path, {"robot": "g1"}, Tried))
    assert {t.kind for t in first} == {"double", "walk"}
    again = Kept(path, {"robot": "g1"}, Tried)
    monkeypatch.setattr(type(p), "attempt", lambda *_: pytest.fail("was tried already"))
    assert p.screen(wanted, again) == first
    assert Kept(path, {"robot": "another"}, Tried).done == {}
    path.write_text(path.read_text()[:100])
    assert Kept(path, {"robot": "g1"}, Tried).done == {}


@installed
def test_a_motion_is_built_again_from_what_was_kept():
    p = pool("g1")
    tried, built = p.attempt("step", 4)
    assert built is not None
    again = p.built(tried)
    assert np.array_equal(again.course.spline.c, built.course.spline.c)
    log = as_log(again, 1)
    assert log.metadata["motion"]["kind"] == "step"
    assert set(log.names("contact")) == {"left_ankle_roll_link", "right_ankle_roll_link"}
    assert set(np.unique(log.columns["contact.left_ankle_roll_link"])) == {0.0, 1.0}
    assert log.names("tau") == []


def test_every_kind_has_its_share():
    assert set(kinds(300, 0)) == {"double", "left", "right", "step", "walk", "task"}
    assert kinds(300, 0) == kinds(300, 0)


@pytest.mark.parametrize(("asked", "message"), [({"candidates": 0}, "--candidates 0"), ({"choice": "x"}, "--choice x")])
def test_too_few_is_refused(asked, message):
    with pytest.raises(UsageError, match=message):
        HumanoidRequest(**asked)


@pytest.mark.slow
@installed
def test_excite_writes_motions_of_a_humanoid_and_goes_on_where_it_was(tmp_path):
    run = [
        "excite",
        "g1",
        "--candidates",
        "8",
        "--motions",
        "3",
        "--rounds",
        "2",
        "--improve",
        "1",
        "-o",
        str(tmp_path),
    ]
    result = CliRunner().invoke(make_app(), run)
    assert result.exit_code == 0, result.output
    assert "Ready to play: 3 motions" in result.output
    found = json.loads((tmp_path / "excite.json").read_text())
    assert len(found["motions"]) == 3
    assert found["base_parameters"]["count"] == 213
    assert sum(k["drawn"] for k in found["candidates"].values()) == 12
    assert (tmp_path / "motion-003.parquet").is_file()
    assert (tmp_path / "excite.svg").read_text().startswith("<svg")
    again = CliRunner().invoke(make_app(), [*run, "--json"])
    assert json.loads(again.stdout) == found


@installed
def test_a_quadruped_is_told_that_it_is_no_humanoid(tmp_path):
    result = CliRunner().invoke(make_app(), ["excite", "a1", "-o", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert "soles of a1" in str(result.exception)
