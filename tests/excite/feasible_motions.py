"""Feasible motions of humanoids that several tests share, each built once."""

from __future__ import annotations

from functools import lru_cache

from steelyard.experiment.excite.build_motion import WholeBodyMotion
from steelyard.experiment.excite.candidate import draw_candidate
from steelyard.experiment.excite.candidate_pool import CandidatePool
from steelyard.experiment.excite.make_feasible import make_feasible
from steelyard.robot.model import Robot


@lru_cache
def pool(name: str) -> CandidatePool:
    return CandidatePool.of(Robot.load(name, base="floating"))


@lru_cache
def feasible(name: str, kind: str) -> WholeBodyMotion:
    """The first feasible candidate of a kind."""
    checker = pool(name).checker
    for seed in range(5):
        motion = make_feasible(checker, draw_candidate(checker, kind, seed)).motion
        if motion is not None:
            return motion
    raise AssertionError(f"none of five candidates of kind {kind} is feasible for {name}")
