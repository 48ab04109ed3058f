"""Selection of humanoid motions: informative ones are chosen, poorly excited parameters named, candidates cached."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard.cli.main import make_app
from steelyard.errors import UsageError
from steelyard.experiment.excite import criteria
from steelyard.experiment.excite.candidate_cache import CandidateCache
from steelyard.experiment.excite.candidate_pool import ScreenedCandidate, draw_kinds
from steelyard.experiment.excite.excite_humanoid import as_log
from steelyard.experiment.excite.footstep_schedule import interpolate_at_rest
from steelyard.experiment.excite.improve_motion import improve_motion, log_det_gradient
from steelyard.experiment.excite.informativeness import (
    LITTLE,
    Informativeness,
    MotionInformation,
    find_focus,
    find_weakest,
    select_by_link,
    select_d_optimal,
)
from steelyard.experiment.excite.motion_request import HumanoidRequest
from steelyard.experiment.excite.trajectory import STEP, Trajectory
from tests.excite.feasible_motions import feasible, pool
from tests.motions import installed


def random_information(rng, links=4, rank=12):
    return MotionInformation(
        np.triu(rng.normal(size=(rank, rank))), {f"link{i}": float(rng.uniform(5, 500)) for i in range(links)}
    )


def test_selection_by_link_takes_the_best_three_of_each():
    informations = [random_information(np.random.default_rng(k)) for k in range(40)]
    chosen = select_by_link(informations)
    for name in informations[0].links:
        order = sorted(range(40), key=lambda k: informations[k].links[name])
        assert set(order[:3]) <= set(chosen)
    third = {n: sorted(i.links[n] for i in informations)[2] for n in informations[0].links}
    assert all(any(informations[k].links[n] <= third[n] for n in third) for k in chosen)


def test_d_optimal_motions_have_a_larger_determinant_than_random_ones():
    rng = np.random.default_rng(3)
    informations = [random_information(rng) for _ in range(30)]
    best = criteria.log_det(criteria.combine(*[informations[k].root for k in select_d_optimal(informations, 5)]))
    for _ in range(50):
        some = rng.choice(30, 5, replace=False)
        assert best >= criteria.log_det(criteria.combine(*[informations[k].root for k in some]))
    assert select_d_optimal([], 3) == []


@pytest.mark.slow
@installed
def test_without_a_lifted_left_foot_the_weakest_parameter_is_of_its_ankle():
    informativeness = Informativeness(pool("g1").stance)
    prior = criteria.natural_prior(informativeness.identifiable.rank, LITTLE)
    root = criteria.combine(
        prior,
        informativeness.root(feasible("g1", "double").trajectory),
        informativeness.root(feasible("g1", "left").trajectory),
    )
    worst = find_weakest(informativeness, root)
    assert worst[0].name.startswith("left_ankle")  # it never moves: only its weight is measured
    assert worst[0].joints[0].startswith("left_ankle")
    assert any(j.startswith("left_ankle") for j in find_focus(informativeness, root)[:4])
    assert all(a.deviation >= b.deviation for a, b in pairwise(worst))


@pytest.mark.slow
@installed
def test_the_gradient_is_that_of_log_det_while_base_and_legs_stay():
    informativeness, motion = Informativeness(pool("g1").stance), feasible("g1", "double")
    rest = criteria.combine(
        criteria.natural_prior(informativeness.identifiable.rank, LITTLE),
        informativeness.root(feasible("g1", "right").trajectory),
    )
    slope = log_det_gradient(informativeness, motion, rest)
    k, j = np.unravel_index(np.abs(slope).argmax(), slope.shape)
    knots = np.arange(round(motion.trajectory.duration / STEP) + 1) * STEP
    values, h = [], 1e-4
    for sign in (1, -1):
        bump = np.zeros((len(motion.candidate.times), 1))
        bump[k] = sign * h
        x = motion.trajectory.spline(knots)
        x[:, 6 + motion.stance.upper[j]] += interpolate_at_rest(
            motion.candidate.times, bump, knots / motion.scale.stretch
        )[:, 0]
        values.append(
            criteria.log_det(criteria.combine(rest, informativeness.root(Trajectory.through(motion.stance.robot, x))))
        )
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(slope[k, j], rel=0.02)


@pytest.mark.slow
@installed
def test_an_improved_motion_is_more_informative_and_free_of_self_collision():
    p = pool("g1")
    informativeness = Informativeness(p.stance)
    motion = feasible("g1", "double")
    rest = criteria.combine(
        criteria.natural_prior(informativeness.identifiable.rank, LITTLE),
        informativeness.root(feasible("g1", "right").trajectory),
    )
    better = improve_motion(p.checker, informativeness, motion, rest)
    assert better.gain >= 0
    before, after = (
        criteria.log_det(criteria.combine(rest, informativeness.root(b.trajectory))) for b in (motion, better.motion)
    )
    assert after - before == pytest.approx(better.gain, abs=1e-6)
    assert p.checker.colliding_joints(better.motion.trajectory) == ()


@pytest.mark.slow
@installed
def test_cached_candidates_are_not_screened_again(tmp_path, monkeypatch):
    p, path = pool("g1"), tmp_path / "candidates.json"
    wanted = [("double", 1, ()), ("walk", 2, ()), ("double", 3, ("left_elbow_joint",))]
    first = p.screen(wanted, CandidateCache(path, {"robot": "g1"}, ScreenedCandidate))
    assert {t.kind for t in first} == {"double", "walk"}
    again = CandidateCache(path, {"robot": "g1"}, ScreenedCandidate)
    monkeypatch.setattr(type(p), "attempt", lambda *_: pytest.fail("it is in the cache"))
    assert p.screen(wanted, again) == first
    assert CandidateCache(path, {"robot": "another"}, ScreenedCandidate).entries == {}
    path.write_text(path.read_text()[:100])
    assert CandidateCache(path, {"robot": "g1"}, ScreenedCandidate).entries == {}


@installed
def test_a_motion_is_rebuilt_from_its_screened_candidate():
    p = pool("g1")
    tried, motion = p.attempt("step", 4)
    assert motion is not None
    again = p.rebuild(tried)
    assert np.array_equal(again.trajectory.spline.c, motion.trajectory.spline.c)
    log = as_log(again, 1)
    assert log.metadata["motion"]["kind"] == "step"
    assert set(log.names("contact")) == {"left_ankle_roll_link", "right_ankle_roll_link"}
    assert set(np.unique(log.columns["contact.left_ankle_roll_link"])) == {0.0, 1.0}
    assert log.names("tau") == []


def test_every_kind_of_candidate_is_drawn():
    assert set(draw_kinds(300, 0)) == {"double", "left", "right", "step", "walk", "task"}
    assert draw_kinds(300, 0) == draw_kinds(300, 0)


@pytest.mark.parametrize(
    ("options", "code", "where"),
    [
        ({"candidates": 0}, "option-value", "candidates=0"),
        ({"improve": -1}, "option-value", "improve=-1"),
        ({"choice": "x"}, "option-unknown-choice", "choice=x"),
    ],
)
def test_a_request_out_of_range_is_refused(options, code, where):
    with pytest.raises(UsageError) as refused:
        HumanoidRequest(**options)
    assert [(f.code, f.where) for f in refused.value.findings] == [(code, where)]


@pytest.mark.slow
@installed
def test_excite_writes_motions_of_a_humanoid_and_resumes(tmp_path):
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
    assert "3 motions" in result.output
    written = json.loads((tmp_path / "excite.json").read_text())
    assert len(written["motions"]) == 3
    assert written["base_parameters"]["count"] == 213
    assert sum(k["drawn"] for k in written["candidates"].values()) == 12
    assert written["asked"]["improved"] == 1
    assert (tmp_path / "motion-003.parquet").is_file()
    assert (tmp_path / "excite.svg").read_text().startswith("<svg")
    again = CliRunner().invoke(make_app(), [*run, "--json"])
    assert json.loads(again.stdout) == written


@installed
def test_a_quadruped_is_refused(tmp_path):
    result = CliRunner().invoke(make_app(), ["excite", "a1", "-o", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert [(f.code, f.where) for f in result.exception.findings] == [("soles-missing", "soles of a1")]
