"""Workers find the same exciting motions as one process, even if one of them is killed."""

import pickle
from functools import lru_cache, partial

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.experiment.excite.arm_motion import find_arm_motion
from steelyard.experiment.excite.candidate_cache import CandidateCache
from steelyard.experiment.excite.candidate_pool import CandidatePool, ScreenedCandidate, draw_kinds
from steelyard.experiment.excite.collision_pairs import geometry_files
from steelyard.experiment.excite.motion_request import ArmRequest
from steelyard.fleet.remote_handle import RemoteHandle
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
    pool = CandidatePool.of(Robot.load("g1", base="floating"))
    specs = [(kind, k, ()) for k, kind in enumerate(draw_kinds(8, 0))]
    specs.append(("double", 3, ("left_elbow_joint",)))
    alone = pool.screen(specs, CandidateCache(None, {}, ScreenedCandidate))
    doomed, counts = cluster.worker(), []

    def kill_after_first(done: int) -> None:
        counts.append(done)
        if done == 1:
            doomed.kill()
            doomed.wait()
            cluster.worker()

    with Workers.at(cluster.address) as workers:
        cache = CandidateCache(tmp_path / "candidates.json", {}, ScreenedCandidate)
        distributed = pool.screen(specs, cache, kill_after_first, workers)
    for one, other in zip(alone, distributed, strict=True):  # to the last bit where matrix libraries round alike
        assert (one.kind, one.seed, one.tries, one.reasons) == (other.kind, other.seed, other.tries, other.reasons)
        assert one.amplitude == pytest.approx(other.amplitude, rel=SAME)
        assert (one.scale or {}).keys() == (other.scale or {}).keys()
        for name, value in (one.scale or {}).items():
            assert value == pytest.approx(other.scale[name], rel=SAME)
    assert counts == list(range(1, len(specs) + 1))
    again = CandidateCache(tmp_path / "candidates.json", {}, ScreenedCandidate)
    assert list(again.entries.values()) == [cache.entries[key] for key in sorted(cache.entries)]


def test_two_workers_improve_an_arms_motions_as_one_does(pair, tmp_path):
    request = ArmRequest(6.0, 3.0, 2, clearance=0.0, candidates=4, restarts=2)
    one, two = (
        find_arm_motion(demo_arm(), request, tmp_path / name, workers=w)
        for name, w in (("one", Workers()), ("two", pair))
    )
    assert two.best_random.log_det == pytest.approx(one.best_random.log_det, rel=SAME)
    assert two.best.log_det == pytest.approx(one.best.log_det, rel=SAME)
    for kind in ("centre", "sines", "cosines"):
        assert np.allclose(getattr(two.best.motion, kind), getattr(one.best.motion, kind), rtol=0, atol=SAME)


def test_a_remote_object_is_built_once_and_never_from_other_files(tmp_path):
    srdf = tmp_path / "arm.srdf"
    srdf.write_text('<robot name="demo_arm"/>')
    handle = RemoteHandle([], build_list, 7, files=partial(geometry_files, demo_arm(), srdf))
    assert handle.local == []
    arrived = [pickle.loads(pickle.dumps(handle)).local for _ in range(2)]
    assert arrived == [[7], [7]]
    assert arrived[0] is arrived[1]
    again = pickle.loads(pickle.dumps(RemoteHandle([], build_list, 8, files=partial(geometry_files, demo_arm(), srdf))))
    srdf.write_text('<robot name="demo_arm"> </robot>')
    with pytest.raises(UsageError) as refused:
        _ = again.local
    assert [f.code for f in refused.value.findings] == ["worker-files-differ"]


def build_list(number: int) -> list[int]:
    return [number]
