"""Map and reduce in this process, in local processes, or on a Dask cluster.

The tree is fixed by the items: node i of a level is the sum of nodes ARITY·i … of the level below, in that order.

    sum(items) = merge(merge(f₀ … f₇), merge(f₈ … f₁₅), …)

So the result does not depend on the number of workers, on their speed, or on which of them die: to the last bit, where
their machines round alike. Sums are computed as soon as their parts are, so memory does not grow with the number of
items.

Functions are sent by name, so workers must be able to import them. One worker is this process, without Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from steelyard.errors import Finding, UsageError
from steelyard.fleet.cluster import ARITY, Futures, Killed, Node, WorkerError, connect, import_distributed

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # number of items done, of all

PATIENCE = 30.0  # s to wait for an answer of the scheduler, and for its first worker
LIMIT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class Workers:
    """Workers of a map or reduction; a context manager. ``Workers.local(4)``, ``Workers.at("tcp://10.0.0.1:8786")``."""

    def __init__(self, client: Any = None, cluster: Any = None):
        self._client, self._cluster = client, cluster

    @classmethod
    def local(cls, count: int = 1) -> Workers:
        """This process for a count of one; else ``count`` processes of this machine, reachable from it alone."""
        if count < 1:
            raise UsageError(Finding("option-value", f"workers={count}", "must be ≥ 1", "Give 1 or more"))
        if count == 1:
            return cls()
        dask = import_distributed(f"workers={count}")
        cluster = dask.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            env=LIMIT,
            silence_logs="ERROR",
        )
        cluster.adapt(minimum=count, maximum=count)  # a process that dies while it starts is started again
        return cls(dask.Client(cluster), cluster)

    @classmethod
    def of(cls, count: int | None = None, scheduler: str | None = None) -> Workers:
        """Local workers, those of a scheduler, or this process where neither is given."""
        refuse_workers_and_scheduler(count, scheduler)
        return cls.at(scheduler) if scheduler is not None else cls.local(1 if count is None else count)

    @classmethod
    def at(cls, address: str, patience: float = PATIENCE) -> Workers:
        """The workers of a Dask scheduler.

        Raises:
            UsageError: It does not answer, or has no workers, or workers without this version of Steelyard.
        """
        return cls(connect(address, patience))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):  # the results are complete: errors of closing do not matter
                    part.close()

    @property
    def is_local(self) -> bool:
        """Whether all tasks run in this process."""
        return self._client is None

    @property
    def is_remote(self) -> bool:
        """Whether tasks run in processes that this one did not start."""
        return self._client is not None and self._cluster is None

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        *shared: object,
        name: str = "item",
        progress: Progress = lambda done, of: None,
    ) -> list[Result]:
        """``function(item, *shared)`` of every item, in their order; ``shared`` is sent to a worker once."""
        results: dict[int, Result] = {}
        for k, result in self.each(function, items, *shared, name=name):
            results[k] = result
            progress(len(results), len(items))
        return [results[k] for k in range(len(items))]

    def each(
        self, function: Callable[..., Result], items: Sequence[Item], *shared: object, name: str = "item"
    ) -> Iterator[tuple[int, Result]]:
        """Index and result of every item, as they complete, in any order."""
        if self._client is None:
            yield from ((k, function(item, *shared)) for k, item in enumerate(items))
            return
        for (_, k), future in Futures(self._client, name, shared).completed(function, items):
            if isinstance(future, Killed):
                raise _killed(f"{name} {items[k]}", future)
            yield k, future.result()

    def reduce(
        self,
        function: Callable[..., Result],
        merge: Callable[[Sequence[Result]], Result],
        items: Sequence[Item],
        *shared: object,
        name: str = "item",
        lost: Callable[[Item, str], Result] | None = None,
        progress: Progress = lambda done, of: None,
    ) -> Result:
        """The sum of ``function(item, *shared)`` over all items, computed where the parts are.

        ``lost`` gives the result of an item that killed every worker that ran it; without it the run ends then.
        """
        if not items:
            raise ValueError("there is nothing to sum")
        if self._client is None:

            def add(node: Node, parts: Sequence[Result]) -> None:
                tree.put(node, merge(parts))

            tree = SumTree(len(items), add)
            for k, item in enumerate(items):
                tree.put((0, k), function(item, *shared))
                progress(k + 1, len(items))
            return cast(Result, tree.root)
        futures, done = Futures(self._client, name, shared), set[int]()
        tree = SumTree(len(items), partial(futures.add, merge))
        for (level, k), value in futures.completed(function, items):
            if level == 0 and k not in done:
                done.add(k)
                progress(len(done), len(items))
            if isinstance(value, Killed):
                if level or lost is None:
                    raise _killed(f"sum of {name}s {k}" if level else f"{name} {items[k]}", value)
                value = lost(items[k], str(value))
            tree.put((level, k), value)
        return cast(Result, self._client.gather(tree.root))


def refuse_workers_and_scheduler(count: int | None, scheduler: str | None) -> None:
    """Refuse local workers together with a scheduler."""
    if count is not None and scheduler is not None:
        what, fix = f"excludes scheduler={scheduler}", "Give one of them"
        raise UsageError(Finding("option-conflict", f"workers={count}", what, fix))


def _killed(where: str, what: Killed) -> WorkerError:
    fix = "See the logs of the workers; often they had too little memory"
    return WorkerError(Finding("worker-killed", where, str(what), fix))


class SumTree:
    """Tree of sums over leaves; holds only nodes whose parent is not computed yet.

    Args:
        leaves: Their number.
        add: Called with a node and its parts in order, once all are complete; it has to ``put`` their sum.
    """

    def __init__(self, leaves: int, add: Callable[[Node, list[Any]], None]):
        self.widths = [leaves]
        while self.widths[-1] > 1:
            self.widths.append(-(-self.widths[-1] // ARITY))
        self.root: Any = None
        self._add = add
        self._waiting: dict[Node, dict[int, Any]] = {}

    def put(self, node: Node, value: Any) -> None:
        """Set the value of a node."""
        level, k = node
        if self.widths[level] == 1:
            self.root = value
            return
        parent = (level + 1, k // ARITY)
        parts = self._waiting.setdefault(parent, {})
        parts[k] = value
        if len(parts) == min(ARITY, self.widths[level] - ARITY * parent[1]):
            del self._waiting[parent]
            self._add(parent, [parts[i] for i in sorted(parts)])
