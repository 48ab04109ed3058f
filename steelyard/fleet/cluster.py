"""Tasks on a Dask cluster: futures as they complete, a bounded number of them at a time.

``distributed`` schedules tasks and repeats those lost with a worker. It blames a worker's death on every task that the
worker held, so a task that it gave up is retried once on its own: if it fails again, it was the cause.
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
IN_FLIGHT = 1000  # futures of items at a time, so that memory of driver and scheduler does not grow with the items


class WorkerError(SteelyardError):
    """Workers or scheduler failed."""

    exit_code = 1


class Killed:
    """In place of a result: every worker that ran the task died."""

    def __str__(self) -> str:
        return "killed every worker that ran it, also on its own"


class Futures:
    """Futures of one map or reduction on a Dask client."""

    def __init__(self, client: Any, name: str, shared: Sequence[object]):
        self.client, self.name = client, name
        self._completed = import_distributed("workers").as_completed()
        self._nodes: dict[Any, Node] = {}  # of futures that have not completed
        # A task, not scattered data: Dask repeats a task whose result was lost with its worker.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")  # it is sent once
            self._shared = [self._submit("shared", _identity, value) for value in shared]

    def add(self, merge: Callable[[Sequence[Any]], Any], node: Node, parts: Sequence[Any]) -> None:
        """Submit a sum of parts, ahead of waiting items."""
        self._watch(node, self._submit(f"sum of {self.name}s", merge, parts, priority=1))

    def completed(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterator[tuple[Node, Any]]:
        """Nodes with their finished future, or with ``Killed``: all items, and sums added meanwhile.

        Raises:
            WorkerError: The connection to the scheduler is lost.
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
                node = min(given_up)  # items before sums: a sum only fails through its items
                given_up.remove(node)
                retried.add(node)
                below = _items(node, len(items))  # Client.retry fails where parts of a sum were released
                start(k for k in below if k not in dead)
                for k in dead.intersection(below):
                    yield (0, k), Killed()
        except CommClosedError:
            what = "is gone, and with it all unfinished results"
            fix = "Start it, and run the command again: with a checkpoint it resumes"
            raise WorkerError(Finding("scheduler-lost", "scheduler", what, fix)) from None
        finally:
            if self._nodes and self.client.status == "running":  # after an error, or when the caller stops iterating
                self.client.cancel(list(self._nodes))

    def _submit(self, name: str, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> Any:
        key = f"{name}-{uuid4().hex[:12]}"  # unique, as others may use the scheduler; no result depends on it
        return self.client.submit(function, *arguments, key=key, pure=False, priority=priority)

    def _watch(self, node: Node, future: Any) -> None:
        self._nodes[future] = node
        self._completed.add(future)


def _items(node: Node, count: int) -> range:
    """Indices of the items below a node."""
    width = ARITY ** node[0]
    return range(node[1] * width, min((node[1] + 1) * width, count))


def _identity(value: Value) -> Value:
    return value


def import_distributed(option: str) -> Any:
    """The module ``distributed``, which ``option`` needs."""
    try:
        import distributed
    except ImportError:
        what, fix = "needs Dask, which is not installed", 'Install the extra: pip install "steelyard[scale]"'
        raise UsageError(Finding("package-missing", option, what, fix, {"install": "steelyard[scale]"})) from None
    return distributed


def connect(address: str, patience: float) -> Any:
    """Connect to a scheduler whose workers have this version of Steelyard.

    Args:
        address: Of the scheduler, ``tcp://HOST:PORT``.
        patience: Seconds to wait for an answer, and for its first worker.

    Raises:
        UsageError: It does not answer, or has no workers, or workers without this version.
    """
    where = f"scheduler={address}"
    try:
        client = import_distributed(where).Client(address, timeout=patience)
    except (OSError, TimeoutError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        fix = "Start one with `dask scheduler`, and give the address it prints"
        raise UsageError(Finding("scheduler-unreachable", where, f"does not answer ({reason})", fix)) from None
    try:
        _check_versions(client, where, address, patience)
    except BaseException:
        client.close()
        raise
    return client


def _check_versions(client: Any, where: str, address: str, patience: float) -> None:
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        fix = f"Start some with `dask worker {address}`"
        raise UsageError(Finding("scheduler-without-workers", where, "has no workers", fix)) from None
    try:
        versions = client.run(own_version)
    except Exception as error:  # whatever the import raises there
        what = f"has workers that cannot import steelyard ({error})"
        fix = "Install steelyard where the workers run"
        raise UsageError(Finding("worker-package-missing", where, what, fix)) from None
    if others := sorted({v for v in versions.values() if v != own_version()}):
        what = f"has workers with steelyard {', '.join(others)}, and this is {own_version()}"
        raise UsageError(Finding("worker-version-differs", where, what, "Install one version everywhere"))


def own_version() -> str:
    """Version of Steelyard in this process."""
    try:
        return version("steelyard")
    except PackageNotFoundError:
        return "unknown"
