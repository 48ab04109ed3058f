"""Motions that workers try and improve are those that one process finds, whoever dies."""

import pickle
from functools import lru_cache, partial

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.excite.arm_motion import find_arm_motion
from steelyard.experiment.excite.kept import Kept
from steelyard.experiment.excite.motion_request import ArmRequest
from steelyard.experiment.excite.pairs import files_of
from steelyard.experiment.excite.pool import Pool, Tried, kinds
from steelyard.fleet.sent import Sent
from steelyard.fleet.workers import Workers
from steelyard.robot.model import Robot
from tests.motions import installed

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")

SAME = 1e-9


@lru_cache
def demo_arm() -> Robot:
    return Robot.load("demo_arm")


@installed
def test_a_worker_that_is_killed_while_it_screens_costs_time_and_nothing_else(cluster, tmp_path):
    pool = Pool.of(Robot.load("g1", base="floating"))
    wanted = [(kind, k, ()) for k, kind in enumerate(kinds(8, 0))]
    wanted.append(("double", 3, ("left_elbow_joint",)))
    alone = pool.screen(wanted, Kept(None, {}, Tried))
    doomed, counts = cluster.worker(), []

    def first_is_there(done: int) -> None:
        counts.append(done)
        if done == 1:
            doomed.kill()
            doomed.wait()
            cluster.worker()

    with Workers.at(cluster.address) as workers:
        kept = Kept(tmp_path / "candidates.json", {}, Tried)
        together = pool.screen(wanted, kept, first_is_there, workers)
    for one, other in zip(alone, together, strict=True):  # to the last bit where matrix libraries round alike
        assert (one.kind, one.seed, one.tries, one.reasons) == (other.kind, other.seed, other.tries, other.reasons)
        assert one.amplitude == pytest.approx(other.amplitude, rel=SAME)
        assert (one.scale or {}).keys() == (other.scale or {}).keys()
        for name, value in (one.scale or {}).items():
            assert value == pytest.approx(other.scale[name], rel=SAME)
    assert counts == list(range(1, len(wanted) + 1))
    again = Kept(tmp_path / "candidates.json", {}, Tried)
    assert list(again.done.values()) == [kept.done[key] for key in sorted(kept.done)]


def test_two_workers_improve_an_arms_motions_as_one_does(pair, tmp_path):
    asked = ArmRequest(6.0, 3.0, 2, clearance=0.0, screened=4, restarts=2)
    one, two = (
        find_arm_motion(demo_arm(), asked, tmp_path / name, workers=w)
        for name, w in (("one", Workers()), ("two", pair))
    )
    assert two.start.log_det == pytest.approx(one.start.log_det, rel=SAME)
    assert two.best.log_det == pytest.approx(one.best.log_det, rel=SAME)
    for kind in ("centre", "sines", "cosines"):
        assert np.allclose(getattr(two.best.motion, kind), getattr(one.best.motion, kind), rtol=0, atol=SAME)


def test_what_is_sent_is_made_once_and_never_of_other_files(tmp_path):
    srdf = tmp_path / "arm.srdf"
    srdf.write_text('<robot name="demo_arm"/>')
    sent = Sent([], made_of, 7, files=partial(files_of, demo_arm(), srdf))
    assert sent.here == []
    arrived = [pickle.loads(pickle.dumps(sent)).here for _ in range(2)]
    assert arrived == [[7], [7]]
    assert arrived[0] is arrived[1]
    again = pickle.loads(pickle.dumps(Sent([], made_of, 8, files=partial(files_of, demo_arm(), srdf))))
    srdf.write_text('<robot name="demo_arm"> </robot>')
    with pytest.raises(UsageError, match=r"worker on .*: sees other meshes, or another SRDF, than were meant"):
        _ = again.here


def made_of(number: int) -> list[int]:
    return [number]
