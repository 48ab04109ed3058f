"""Work that outgrows one process: one map and one tree of sums, in this process, in local ones, or on a Dask cluster.

The tree is fixed by the items: node i of a level is the sum of nodes ARITY·i … of the level below, in that order.

    sum(items) = merge(merge(f₀ … f₇), merge(f₈ … f₁₅), …)

So the answer does not depend on how many workers there are, which of them are slow, or which die: to the last bit,
where their machines round alike. Only some items are on their way at a time, and sums are made as soon as their parts
are there, so memory grows nowhere with the number of items. What a dead worker held is worked out again by Dask.

Functions are sent by name: they belong to modules that the workers have too. One worker is this process, without Dask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from steelyard.errors import Finding, UsageError
from steelyard.fleet.cluster import ARITY, Call, Flight, Killed, Place, WorkerError, connected, distributed, summed

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # items that are done, of how many

PATIENCE = 30.0  # s that a cluster has to answer, and to have its first worker
LIMIT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class Workers:
    """Who does the work; a context manager. ``Workers.local(4)``, ``Workers.at("tcp://10.0.0.1:8786")``."""

    def __init__(self, client: Any = None, cluster: Any = None):
        self._client, self._cluster = client, cluster

    @classmethod
    def local(cls, count: int = 1) -> Workers:
        """This process where one is enough; else so many processes of this machine, which nobody else can reach."""
        if count < 1:
            raise UsageError(Finding(f"--workers {count}", "is less than one", "Give 1 or more"))
        if count == 1:
            return cls()
        dask = distributed("--workers")
        cluster = dask.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", env=LIMIT, silence_logs="ERROR",
        )  # fmt: skip
        return cls(dask.Client(cluster), cluster)

    @classmethod
    def asked(cls, count: int | None = None, scheduler: str | None = None) -> Workers:
        """As ``--workers`` and ``--scheduler`` say: one of them, or neither for this process."""
        refuse_both(count, scheduler)
        return cls.at(scheduler) if scheduler is not None else cls.local(1 if count is None else count)

    @classmethod
    def at(cls, address: str, patience: float = PATIENCE) -> Workers:
        """The workers of a Dask scheduler; refused where there are none, or of another version."""
        return cls(connected(address, patience))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):  # whatever is wrong with a cluster that is left behind
                    part.close()

    @property
    def here(self) -> bool:
        """Whether this process does all the work."""
        return self._client is None

    @property
    def remote(self) -> bool:
        """Whether the work is done in processes that this one did not start."""
        return self._client is not None and self._cluster is None

    def map(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        *shared: object,
        name: str = "item",
        progress: Progress = lambda done, of: None,
    ) -> list[Result]:
        """``function(item, *shared)`` of every item, in their order; what is shared is sent to a worker once."""
        found: dict[int, Result] = {}
        for k, result in self.each(function, items, *shared, name=name):
            found[k] = result
            progress(len(found), len(items))
        return [found[k] for k in range(len(items))]

    def each(
        self, function: Callable[..., Result], items: Sequence[Item], *shared: object, name: str = "item"
    ) -> Iterator[tuple[int, Result]]:
        """The same as it is done, in any order: which item, and its result."""
        for (_, k), held, _ in self._done(function, None, items, shared, name, deque()):
            yield k, self._value(held, name, items[k])

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
        """The sum of ``function(item, *shared)`` over all items, made where the parts are.

        ``lost`` stands in for an item that took every worker down that tried it; without it that ends the run.
        """
        if not items:
            raise ValueError("there is nothing to sum")
        tree, done = Tree[Any](len(items)), 0
        sums: deque[tuple[Place, Call]] = deque()  # that can be made now
        for (level, k), held, count in self._done(function, merge, items, shared, name, sums):
            if count:
                done += count
                progress(done, len(items))
            if isinstance(held, Killed):
                if level or lost is None:
                    self._value(held, *((f"sum of {name}s", k) if level else (name, items[k])))
                else:
                    held = lost(items[k], str(held))
            sums += [(parent, (summed, merge, parts)) for parent, parts in tree.put(level, k, held)]
        return cast(Result, self._value(tree.root, "sum of", name))

    def _done(
        self,
        function: Callable[..., Result],
        merge: Callable[[Sequence[Result]], Result] | None,
        items: Sequence[Item],
        shared: Sequence[object],
        name: str,
        sums: deque[tuple[Place, Call]],
    ) -> Iterator[tuple[Place, Any, int]]:
        """Items and sums as they are done, with a value or a future each, and how many items were done by it."""
        if self._client is not None:
            yield from Flight(self._client, name).done(function, merge, items, shared, sums)
            return
        for k, item in enumerate(items):
            yield (0, k), function(item, *shared), 1
            while sums:
                yield _made(*sums.popleft())

    def _value(self, held: Any, name: str, item: object) -> Any:
        if isinstance(held, Killed):
            raise WorkerError(Finding(f"{name} {item}", str(held), "See their logs; often they had too little memory"))
        if self._client is None:
            return held
        from distributed import Future

        return held.result() if isinstance(held, Future) else held


def refuse_both(count: int | None, scheduler: str | None) -> None:
    """Two answers to who works."""
    if count is not None and scheduler is not None:
        raise UsageError(Finding(f"--workers {count}", "and --scheduler both say who works", "Give one of them"))


def _made(place: Place, call: Call) -> tuple[Place, Any, int]:
    """A sum, whose parts nobody holds any longer."""
    return place, call[0](*call[1:]), 0


class Tree(Generic[Result]):
    """Sums of sums over so many leaves; holds only nodes whose sum is not made yet."""

    def __init__(self, leaves: int):
        self.widths = [leaves]
        while self.widths[-1] > 1:
            self.widths.append(-(-self.widths[-1] // ARITY))
        self._waiting: dict[tuple[int, int], dict[int, Result]] = {}
        self.root: Result | None = None

    def put(self, level: int, k: int, value: Result) -> Iterator[tuple[tuple[int, int], list[Result]]]:
        """A node is there: the parent and its parts in order, if it was the last of them."""
        if self.widths[level] == 1:
            self.root = value
            return
        parent = (level + 1, k // ARITY)
        parts = self._waiting.setdefault(parent, {})
        parts[k] = value
        if len(parts) == min(ARITY, self.widths[level] - ARITY * parent[1]):
            del self._waiting[parent]
            yield parent, [parts[i] for i in sorted(parts)]
