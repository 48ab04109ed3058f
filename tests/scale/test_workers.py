"""Maps keep the order of the items, and sums a fixed order, whatever the workers are."""

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
def test_the_order_of_a_sum_does_not_depend_on_the_order_of_completion(leaves, seed):
    def sum_of(order):
        todo = [((0, k), str(k)) for k in order]
        tree = SumTree(leaves, lambda parent, parts: todo.append((parent, work.bracketed(parts))))
        while todo:
            at = random.Random(seed + len(todo)).randrange(len(todo)) if seed % 2 else 0
            tree.put(*todo.pop(at))
        return tree.root

    order = list(range(leaves))
    random.Random(seed).shuffle(order)
    assert sum_of(order) == sum_of(range(leaves))
    assert sum_of(order).replace("(", "").replace(")", "").split() == [str(k) for k in range(leaves)]


def test_one_worker_is_this_process():
    with Workers.local() as workers:
        assert workers.map(work.scaled, range(5), 2) == ["0", "2", "4", "6", "8"]
        assert workers.reduce(work.scaled, work.bracketed, range(ARITY + 1), 1) == "((0 1 2 3 4 5 6 7) (8))"
        assert workers.reduce(work.scaled, work.bracketed, [3], 1) == "3"
        assert workers.map(work.scaled, [], 1) == []
        assert not workers.is_remote
        with pytest.raises(ValueError, match="nothing to sum"):
            workers.reduce(work.scaled, work.bracketed, [], 1)


def test_memory_holds_only_parts_of_unfinished_sums():
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
def test_processes_give_the_results_of_one_and_errors_keep_all_findings(pair, monkeypatch):
    one, counts = Workers.local(), []
    assert not pair.is_remote
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
def test_shared_arguments_may_be_large(pair):
    assert pair.map(work.length, range(3), bytes(12_000_000)) == [12_000_000] * 3


@pytest.mark.slow
def test_an_item_that_kills_workers_is_reported_and_its_neighbours_are_not():
    config = pytest.importorskip("dask").config
    with config.set({"distributed.scheduler.allowed-failures": 0}), Workers.local(2) as workers:
        with pytest.raises(WorkerError) as caught:
            workers.reduce(work.deadly, work.bracketed, range(4), None)
        assert findings(caught) == [("worker-killed", "item 2")]
        many = range(128)
        result = workers.reduce(work.deadly, work.bracketed, many, None, lost=work.buried)
        assert result == Workers().reduce(work.harmless, work.bracketed, many, None)


def findings(caught):
    return [(f.code, f.where) for f in caught.value.findings]


def test_less_than_one_worker_is_refused():
    with pytest.raises(UsageError) as caught:
        Workers.local(0)
    assert findings(caught) == [("option-value", "workers=0")]


@pytest.mark.parametrize(
    ("where", "make"),
    [
        ("workers=2", lambda: Workers.local(2)),
        ("scheduler=tcp://127.0.0.1:1", lambda: Workers.at("tcp://127.0.0.1:1")),
    ],
)
def test_without_dask_workers_are_refused_with_the_package_to_install(monkeypatch, where, make):
    monkeypatch.setitem(sys.modules, "distributed", None)  # as where it is not installed
    with pytest.raises(UsageError) as caught:
        make()
    assert findings(caught) == [("package-missing", where)]
    assert caught.value.findings[0].remedy == {"install": "steelyard[scale]"}


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_refused():
    pytest.importorskip("distributed")
    for address in ("tcp://127.0.0.1:9", "nowhere"):
        with pytest.raises(UsageError) as caught:
            Workers.at(address, patience=0.5)
        assert findings(caught) == [("scheduler-unreachable", f"scheduler={address}")]


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_with_a_finding(cluster):
    cluster.worker()
    with Workers.at(cluster.address) as workers, pytest.raises(WorkerError) as caught:
        workers.map(work.whose, range(50), 0.05, progress=lambda *_: cluster.scheduler.kill())
    assert findings(caught) == [("scheduler-lost", "scheduler")]


@pytest.mark.slow
def test_a_cluster_without_workers_or_with_other_versions_is_refused(cluster, tmp_path):
    where = f"scheduler={cluster.address}"
    with pytest.raises(UsageError) as caught:
        Workers.at(cluster.address, patience=0.5)
    assert findings(caught) == [("scheduler-without-workers", where)]
    other = tmp_path / "other"
    (other / "steelyard-9.9.dist-info").mkdir(parents=True)
    (other / "steelyard-9.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: steelyard\nVersion: 9.9\n"
    )
    stranger = cluster.worker(first=str(other))
    with pytest.raises(UsageError) as caught:
        Workers.at(cluster.address, patience=60)
    assert findings(caught) == [("worker-version-differs", where)]
    stranger.kill()
    stranger.wait()
    (tmp_path / "none" / "steelyard").mkdir(parents=True)
    (tmp_path / "none" / "steelyard" / "__init__.py").write_text("raise ImportError('no steelyard here')\n")
    cluster.worker(first=str(tmp_path / "none"))
    with pytest.raises(UsageError) as caught:
        Workers.at(cluster.address, patience=60)
    assert findings(caught) == [("worker-package-missing", where)]


@pytest.mark.parametrize(
    "command",
    [
        ("excite", "demo_arm", "-o", "out"),
        ("search", "demo_arm", "none.parquet"),
        ("gather", "demo_arm", "none.parquet", "-o", "i.npz"),
        ("identify", "demo_arm", "none.parquet", "-o", "out"),
    ],
)
def test_commands_refuse_no_workers_and_two_kinds_of_workers(command, steelyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for more, where, code in (
        (("--workers", 0), "--workers 0: ", "[option-value]"),
        (("--workers", 2, "--scheduler", "tcp://h:1"), "--workers 2: ", "[option-conflict]"),
    ):
        ran = steelyard(*command, *more)
        assert ran.code == 2
        assert where in ran.err
        assert code in ran.err
