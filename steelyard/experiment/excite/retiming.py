"""A motion as quick as ground and motors allow, from target to target.

Every way between two targets begins and ends at rest, so each may take a time of its own. Accelerations go with the
square of the pace: a way that uses a share s of what is allowed can be done in √s of its time. Only motions on two feet
that stay are paced; steps have times of their own.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from steelyard.experiment.excite.build import Built, build
from steelyard.experiment.excite.feasible import SPEED, loads
from steelyard.experiment.excite.schedule import REST
from steelyard.experiment.excite.trajectory import TrajectorySamples

Array = np.ndarray

ROOM = 1.05  # of time that is left to a way, beyond what seems enough
QUICKEST, SLOWEST = 0.6, 1.3  # of its time, at once
TIMID = 0.7  # power of what a way could be quicker by: ways share the ground with those before and after
MARGIN = 0.08  # s before and after a way that count as its own


def paced(built: Built, samples: TrajectorySamples) -> Built | None:
    """The motion with every way a step nearer to the time that it needs; None where feet step."""
    candidate, stretch = built.candidate, built.scale.stretch
    if candidate.schedule.steps:
        return None
    ways = np.diff(candidate.times) * stretch * _factors(built, samples)
    times = REST + np.concatenate([[0.0], np.cumsum(ways)])
    schedule = replace(candidate.schedule, duration=float(times[-1]) + REST)
    return build(built.stance, replace(candidate, times=times, schedule=schedule), replace(built.scale, stretch=1.0))


def _factors(built: Built, samples: TrajectorySamples) -> Array:
    """(K − 1,) of the time that each way takes."""
    used = np.sqrt(loads(built, samples).most)
    used = ROOM * np.maximum(used, (np.abs(samples.v) / (SPEED * built.stance.speeds)).max(axis=1))
    ends = built.candidate.times * built.scale.stretch
    own = [(samples.time >= a - MARGIN) & (samples.time <= b + MARGIN) for a, b in pairwise(ends)]
    need = np.array([used[part].max() for part in own])
    return np.asarray(np.clip(np.where(need < 1, need**TIMID, need), QUICKEST, SLOWEST))
