"""The seam: results in the order of the items, sums in an order that the items fix, whoever works."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import UsageError
from steelyard.fleet import cluster as dask_cluster
from steelyard.fleet.cluster import WorkerError
from steelyard.fleet.workers import ARITY, SumTree, Workers
from tests.scale import work
from tests.scale.conftest import environment


@given(leaves=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_a_sum_is_made_in_the_same_order_whatever_comes_first(leaves, seed):
    def made(order):
        todo = [((0, k), str(k)) for k in order]
        tree = SumTree(leaves, lambda parent, parts: todo.append((parent, work.bracketed(parts))))
        while todo:
            at = random.Random(seed + len(todo)).randrange(len(todo)) if seed % 2 else 0
            tree.put(*todo.pop(at))
        return tree.root

    order = list(range(leaves))
    random.Random(seed).shuffle(order)
    assert made(order) == made(range(leaves))
    assert made(order).replace("(", "").replace(")", "").split() == [str(k) for k in range(leaves)]


def test_one_worker_is_this_process():
    with Workers.local() as workers:
        assert workers.map(work.scaled, range(5), 2) == ["0", "2", "4", "6", "8"]
        assert workers.reduce(work.scaled, work.bracketed, range(ARITY + 1), 1) == "((0 1 2 3 4 5 6 7) (8))"
        assert workers.reduce(work.scaled, work.bracketed, [3], 1) == "3"
        assert workers.map(work.scaled, [], 1) == []
        assert not workers.remote
        with pytest.raises(ValueError, match="nothing to sum"):
            workers.reduce(work.scaled, work.bracketed, [], 1)


def test_only_parts_of_sums_that_are_not_made_yet_are_held():
    for count, levels in ((ARITY**2, 2), (ARITY**3, 3)):
        work.Held.most = 0
        total = Workers().reduce(work.held, work.together, range(count))
        assert total.count == count
        assert work.Held.most <= ARITY * levels + 2  # and not as many as there are items


def test_one_worker_needs_no_dask():
    code = (
        "import sys; from steelyard.fleet.workers import Workers; "
        "Workers.local(1); sys.exit('distributed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 0


@pytest.mark.slow
def test_processes_give_what_one_gives_and_errors_come_back_with_every_reason(pair, monkeypatch):
    one, counts = Workers.local(), []
    assert not pair.remote
    assert pair.map(work.scaled, range(40), 3) == one.map(work.scaled, range(40), 3)
    sums = [
        w.reduce(work.scaled, work.bracketed, range(75), 3, progress=lambda *n: counts.append(n)) for w in (one, pair)
    ]
    assert sums[0] == sums[1]
    assert counts == [(k, 75) for k in range(1, 76)] * 2
    many = range(133)
    monkeypatch.setattr(dask_cluster, "IN_FLIGHT", 10)  # so many that they do not all wait at the scheduler
    assert pair.reduce(work.scaled, work.bracketed, many, 3) == one.reduce(work.scaled, work.bracketed, many, 3)
    assert len(set(pair.map(work.whose, range(20), 0.02))) == 2
    with pytest.raises(UsageError) as caught:
        pair.map(work.refused, [7, 8], None)
    assert len(caught.value.findings) == 2
    assert caught.value.findings[1].where in ("item 7", "item 8")


@pytest.mark.filterwarnings("error")
def test_what_is_shared_may_be_large(pair):
    assert pair.map(work.length, range(3), bytes(12_000_000)) == [12_000_000] * 3


@pytest.mark.slow
def test_an_item_that_takes_workers_down_is_named_and_its_neighbours_are_not():
    config = pytest.importorskip("dask").config
    with config.set({"distributed.scheduler.allowed-failures": 0}), Workers.local(2) as workers:
        with pytest.raises(WorkerError, match="item 2: took down every worker that tried it, also alone"):
            workers.reduce(work.deadly, work.bracketed, range(4), None)
        many = range(128)
        found = workers.reduce(work.deadly, work.bracketed, many, None, lost=work.buried)
        assert found == Workers().reduce(work.harmless, work.bracketed, many, None)


def test_less_than_one_worker_is_refused():
    with pytest.raises(UsageError, match="--workers 0: is less than one"):
        Workers.local(0)


@pytest.mark.parametrize(
    ("option", "make"),
    [("--workers", lambda: Workers.local(2)), ("--scheduler", lambda: Workers.at("tcp://127.0.0.1:1"))],
)
def test_what_needs_dask_says_how_to_get_it(monkeypatch, option, make):
    monkeypatch.setitem(sys.modules, "distributed", None)  # as where it is not installed
    with pytest.raises(UsageError, match=rf'{option}: needs Dask.*pip install "steelyard\[scale\]"'):
        make()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named():
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match=r"--scheduler tcp://127.0.0.1:9: does not answer"):
        Workers.at("tcp://127.0.0.1:9", patience=0.5)
    with pytest.raises(UsageError, match="--scheduler nowhere: does not answer"):
        Workers.at("nowhere", patience=0.5)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_ends_the_run_with_a_word(cluster):
    cluster.worker()
    with Workers.at(cluster.address) as workers, pytest.raises(WorkerError, match="scheduler: went away"):
        workers.map(work.whose, range(50), 0.05, progress=lambda *_: cluster.scheduler.kill())


@pytest.mark.slow
def test_a_cluster_without_workers_or_with_strangers_is_refused(cluster, tmp_path):
    with pytest.raises(UsageError, match=r"has no workers. Start some with `dask worker tcp"):
        Workers.at(cluster.address, patience=0.5)
    other = tmp_path / "other"
    (other / "steelyard-9.9.dist-info").mkdir(parents=True)
    (other / "steelyard-9.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: steelyard\nVersion: 9.9\n"
    )
    stranger = cluster.worker(first=str(other))
    with pytest.raises(UsageError, match=r"has workers with steelyard 9.9, and this is"):
        Workers.at(cluster.address, patience=60)
    stranger.kill()
    stranger.wait()
    (tmp_path / "none" / "steelyard").mkdir(parents=True)
    (tmp_path / "none" / "steelyard" / "__init__.py").write_text("raise ImportError('no steelyard here')\n")
    cluster.worker(first=str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"cannot import steelyard .*Install steelyard where the workers run"):
        Workers.at(cluster.address, patience=60)


@pytest.mark.parametrize(
    "command",
    [
        ("excite", "demo_arm", "-o", "out"),
        ("search", "demo_arm", "none.parquet"),
        ("gather", "demo_arm", "none.parquet", "-o", "i.npz"),
        ("identify", "demo_arm", "none.parquet", "-o", "out"),
    ],
)
def test_who_works_is_said_once_and_is_somebody(command, steelyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for more, said in (
        (("--workers", 0), "--workers 0: is less than one"),
        (("--workers", 2, "--scheduler", "tcp://h:1"), "--workers 2: and --scheduler both say who works"),
    ):
        ran = steelyard(*command, *more)
        assert ran.code == 2
        assert said in ran.err
