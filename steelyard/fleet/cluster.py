"""Work on a Dask cluster: futures as they complete, a bounded number of them at a time.

``distributed`` queues and places tasks and repeats what was lost with a worker. It blames a worker's death on every
task that worker held, so what it gave up is retried once by itself: a task that fails then was the cause.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any, TypeVar
from uuid import uuid4

from steelyard.errors import Finding, SteelyardError, UsageError

Value = TypeVar("Value")
Node = tuple[int, int]  # level of a tree of sums, and position in it; items are level 0

ARITY = 8  # parts of a sum
IN_FLIGHT = 1000  # futures of items at a time, so that neither driver nor scheduler grows with the number of items


class WorkerError(SteelyardError):
    """The workers could not do their work."""

    exit_code = 1


class Killed:
    """In place of a result: every worker that tried it died."""

    def __str__(self) -> str:
        return "took down every worker that tried it, also alone"


class Futures:
    """Futures of one map or sum on a Dask client."""

    def __init__(self, client: Any, name: str, shared: Sequence[object]):
        self.client, self.name = client, name
        self._completed = distributed("workers").as_completed()
        self._nodes: dict[Any, Node] = {}  # of what has not completed yet
        # A task and no scattered data: Dask repeats a task whose result died with its worker.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")  # once, so it may be large
            self._shared = [self._submit("shared", _identity, value) for value in shared]

    def add(self, merge: Callable[[Sequence[Any]], Any], node: Node, parts: Sequence[Any]) -> None:
        """Submit a sum of parts, before any item that still waits."""
        self._watch(node, self._submit(f"sum of {self.name}s", merge, parts, priority=1))

    def completed(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterator[tuple[Node, Any]]:
        """Nodes with their finished future, or with ``Killed``: all items, and sums that are added on the way.

        Raises:
            WorkerError: The scheduler is gone.
        """
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        def start(numbers: Iterable[int]) -> None:
            for k in numbers:
                self._watch((0, k), self._submit(self.name, function, items[k], *self._shared))

        waiting, given_up = iter(range(len(items))), set[Node]()
        retried, dead = set[Node](), set[int]()
        try:
            start(islice(waiting, IN_FLIGHT))
            while True:
                for future in self._completed:
                    node = self._nodes.pop(future)
                    start(islice(waiting, 1))
                    if future.status == "finished":
                        yield node, future
                    elif future.status != "error":  # cancelled, or lost with the scheduler
                        raise CommClosedError
                    elif not isinstance(error := future.exception(), KilledWorker):
                        raise error
                    elif node in retried:
                        dead |= {node[1]} if node[0] == 0 else set()
                        yield node, Killed()
                    else:
                        given_up.add(node)
                if not given_up:
                    return
                node = min(given_up)  # items before sums: once all items are judged, nothing kills a sum
                given_up.remove(node)
                retried.add(node)
                below = _items(node, len(items))  # Client.retry fails where parts of a sum were released
                start(k for k in below if k not in dead)
                for k in dead.intersection(below):
                    yield (0, k), Killed()
        except CommClosedError:
            what, fix = "went away, and what it knew with it", "Start it, and run the command again"
            raise WorkerError(
                Finding("todo", "scheduler", what, f"{fix}: with a checkpoint it goes on from there")
            ) from None
        finally:
            if self._nodes and self.client.status == "running":  # an error, or nobody waits any longer
                self.client.cancel(list(self._nodes))

    def _submit(self, name: str, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Any:
        key = f"{name}-{uuid4().hex[:12]}"  # others may use the scheduler too; no result depends on it
        return self.client.submit(function, *arguments, key=key, pure=False, priority=priority)

    def _watch(self, node: Node, future: Any) -> None:
        self._nodes[future] = node
        self._completed.add(future)


def _items(node: Node, count: int) -> range:
    """The items under a node."""
    width = ARITY ** node[0]
    return range(node[1] * width, min((node[1] + 1) * width, count))


def _identity(value: Value) -> Value:
    return value


def distributed(option: str) -> Any:
    """The module ``distributed``; refused with what to install where it is missing."""
    try:
        import distributed
    except ImportError:
        what, fix = "needs Dask, which is not installed", 'Install the extra: pip install "steelyard[scale]"'
        raise UsageError(Finding("todo", option, what, fix)) from None
    return distributed


def connect(address: str, patience: float) -> Any:
    """The client of a scheduler whose workers have this version of Steelyard.

    Args:
        address: Of the scheduler, ``tcp://HOST:PORT``.
        patience: Seconds that it has to answer, and to have its first worker.

    Raises:
        UsageError: It does not answer, or has no workers, or workers without this version.
    """
    where = f"--scheduler {address}"
    try:
        client = distributed("--scheduler").Client(address, timeout=patience)
    except (OSError, TimeoutError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        fix = "Start one with `dask scheduler`, and give the address it prints"
        raise UsageError(Finding("todo", where, f"does not answer ({reason})", fix)) from None
    try:
        _refuse_strangers(client, where, address, patience)
    except BaseException:
        client.close()
        raise
    return client


def _refuse_strangers(client: Any, where: str, address: str, patience: float) -> None:
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise UsageError(Finding("todo", where, "has no workers", f"Start some with `dask worker {address}`")) from None
    try:
        versions = client.run(own_version)
    except Exception as error:  # whatever their interpreter says about a module it does not have
        what = f"has workers that cannot import steelyard ({error})"
        raise UsageError(Finding("todo", where, what, "Install steelyard where the workers run")) from None
    if others := sorted({v for v in versions.values() if v != own_version()}):
        what = f"has workers with steelyard {', '.join(others)}, and this is {own_version()}"
        raise UsageError(Finding("todo", where, what, "Install one version everywhere"))


def own_version() -> str:
    """Of Steelyard in this process."""
    try:
        return version("steelyard")
    except PackageNotFoundError:
        return "unknown"
