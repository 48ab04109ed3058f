"""Tasks on their way through a Dask cluster: some a thread at a time, sums before items, whatever dies done again.

Where there are many items a task takes as many as make one sum and sums them itself: one node of the same tree, at an
eighth of what tasks cost. Dask blames a dead worker on all that waited for it, so what is blamed is tried once more,
item by item and alone, when nothing else is there to blame.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from steelyard.errors import Finding, SteelyardError, UsageError

Result = TypeVar("Result")
Place = tuple[int, int]  # level of the tree, and which node of it; items are level 0
Call = tuple[Any, ...]  # a function and its arguments, perhaps futures

ARITY = 8  # parts of a sum
AHEAD = 3  # tasks a thread that are on their way at a time
MANY = 64  # items a thread from which on a task takes several


class WorkerError(SteelyardError):
    """The workers could not do their work."""

    exit_code = 1


class Killed:
    """In place of a result: whoever tried it died."""

    def __str__(self) -> str:
        return "took down every worker that tried it, also alone"


class Flight:
    """One map or sum."""

    def __init__(self, client: Any, name: str):
        self.client, self.name = client, name
        self.sent: dict[Any, tuple[Place, Call]] = {}
        self.blamed: list[tuple[Place, Call]] = []
        self.alone = False  # whether one that was blamed is tried by itself
        self._asked, self._threads = 0.0, 0

    def done(
        self,
        function: Callable[..., Any],
        merge: Callable[[Sequence[Any]], Any] | None,
        items: Sequence[Any],
        shared: Sequence[object],
        sums: deque[tuple[Place, Call]],
    ) -> Iterator[tuple[Place, Any, int]]:
        """Places of the tree with their future, or with Killed, and how many items were done by it.

        ``merge``: items may be summed by it on the way; ``sums`` is looked at again after every answer.
        """
        from distributed.comm.core import CommClosedError

        dask = distributed("workers")
        given = _Given(self.client, shared)
        several = merge is not None and len(items) >= MANY * self.threads
        step = ARITY if several else 1
        place: Place
        call: Call
        coming, left, redone = dask.as_completed([]), iter(range(0, len(items), step)), list[int]()
        again, dead = set[int](), set[int]()  # items that were counted before, and that took workers down
        try:
            while True:
                while sums:
                    coming.add(self._send(*sums.popleft(), priority=1))
                while not self.alone and len(self.sent) < AHEAD * self.threads and (k := next(left, -1)) >= 0:
                    place, call = (0, k), (function, items[k], *given())
                    if several:
                        place, call = (1, k // step), (_branch, function, merge, items[k : k + step], *given())
                    coming.add(self._send(place, call, priority=-k / len(items)))
                while redone and len(self.sent) < AHEAD * self.threads:
                    k = redone.pop(0)
                    again.add(k)
                    if k in dead:
                        yield (0, k), Killed(), 0
                    else:
                        coming.add(self._send((0, k), (function, items[k], *given()), priority=1))
                if not self.sent and self.blamed:
                    self.alone = True
                    coming.add(self._send(*self.blamed.pop(0), priority=0))
                if not self.sent and not sums and not redone:
                    return
                if not self.sent:
                    continue
                future = next(coming)
                place, call = self.sent.pop(future)
                alone, self.alone = self.alone, False
                branch = call[0] is _branch
                if future.status == "finished":
                    yield place, future, len(call[3]) if branch else int(place[0] == 0 and place[1] not in again)
                elif future.status != "error":  # cancelled, or lost with the scheduler
                    raise CommClosedError
                elif not isinstance(error := future.exception(), dask.KilledWorker):
                    raise error
                elif branch:
                    self.blamed += [((0, i), (function, items[i], *given())) for i in _leaves(place, len(items))]
                elif place[0] and any(getattr(part, "status", "finished") != "finished" for part in call[2]):
                    redone += _leaves(place, len(items))  # parts died with their worker, and their like were blamed
                elif alone:
                    dead |= {place[1]} if place[0] == 0 else set()
                    yield place, Killed(), int(place[0] == 0)
                else:
                    self.blamed.append((place, call))
        except CommClosedError:
            what, fix = "went away, and what it knew with it", "Start it, and run the command again"
            raise WorkerError(Finding("scheduler", what, f"{fix}: with a checkpoint it goes on from there")) from None
        finally:
            if self.sent and self.client.status == "running":  # something went wrong, or nobody waits any longer
                self.client.cancel(list(self.sent))

    def _send(self, place: Place, call: Call, priority: float) -> Any:
        key = f"{self.name if place[0] == 0 else f'sum of {self.name}s'}-{_token()}"
        future = self.client.submit(*call, key=key, pure=False, priority=priority)
        self.sent[future] = place, call
        return future

    @property
    def threads(self) -> int:
        """Of all workers, as they come and go."""
        if time.monotonic() - self._asked > 1.0:
            self._threads = max(sum(self.client.nthreads().values()), 1)
            self._asked = time.monotonic()
        return self._threads


def _leaves(place: Place, count: int) -> range:
    """The items under a node."""
    width = ARITY ** place[0]
    return range(place[1] * width, min((place[1] + 1) * width, count))


def summed(merge: Callable[[Sequence[Result]], Result], parts: Sequence[Result]) -> Result:
    """A sum of parts, wherever it is made."""
    return merge(parts)


def _branch(
    function: Callable[..., Result], merge: Callable[[Sequence[Result]], Result], items: Sequence[Any], *shared: object
) -> Result:
    return merge([function(item, *shared) for item in items])


class _Given:
    """What all tasks share: sent once, and once more if it was blamed for a worker's death."""

    def __init__(self, client: Any, values: Sequence[object]):
        self.client, self.values = client, values
        self.futures = [self._sent(x) for x in values]

    def __call__(self) -> list[Any]:
        self.futures = [
            self._sent(x) if f.status == "error" else f for f, x in zip(self.futures, self.values, strict=True)
        ]
        return self.futures

    def _sent(self, value: object) -> Any:
        with warnings.catch_warnings():  # it is sent once, so it may be large
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_given, value, key=f"given-{_token()}", pure=False)


def _given(value: Result) -> Result:
    return value


def _token() -> str:
    from uuid import uuid4

    return uuid4().hex[:12]  # names tasks on a scheduler that others may use too; no result depends on it


def distributed(option: str) -> Any:
    """Dask's scheduler, or what to do to have it."""
    try:
        import distributed
    except ImportError:
        raise UsageError(
            Finding(option, "needs Dask, which is not installed", 'Install the extra: pip install "steelyard[scale]"')
        ) from None
    return distributed


def connected(address: str, patience: float) -> Any:
    """The client of a scheduler whose workers have this Steelyard."""
    where = f"--scheduler {address}"
    try:
        client = distributed("--scheduler").Client(address, timeout=patience)
    except (OSError, TimeoutError, ValueError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        fix = "Start one with `dask scheduler`, and give the address it prints"
        raise UsageError(Finding(where, f"does not answer ({said})", fix)) from None
    try:
        _refuse_strangers(client, where, address, patience)
    except BaseException:
        client.close()
        raise
    return client


def _refuse_strangers(client: Any, where: str, address: str, patience: float) -> None:
    """A cluster without workers, or whose workers have no Steelyard, or another."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise UsageError(Finding(where, "has no workers", f"Start some with `dask worker {address}`")) from None
    try:
        found = client.run(own_version)
    except Exception as error:  # whatever their interpreter says about a module it does not have
        what = f"has workers that cannot import steelyard ({error})"
        raise UsageError(Finding(where, what, "Install steelyard where the workers run")) from None
    if others := sorted({v for v in found.values() if v != own_version()}):
        what = f"has workers with steelyard {', '.join(others)}, and this is {own_version()}"
        raise UsageError(Finding(where, what, "Install one version everywhere"))


def own_version() -> str:
    """Of Steelyard in this process."""
    try:
        return version("steelyard")
    except PackageNotFoundError:
        return "unknown"
