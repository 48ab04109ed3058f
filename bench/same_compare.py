"""Whether two results are the same: every number by the scale on which it is known, every other value exactly.

A number belongs to the first class of ``CLASSES`` whose pattern fits its path. Its difference is divided by a scale,
which is what makes one tolerance fit a whole class: a parameter's own standard deviation, the width of an interval, the
largest number of the list that it stands in. Prose is compared too, but never fails: it may be reworded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.spatial import Array

Path = tuple[str, ...]
Leaves = dict[Path, Any]

NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
PROSE = {"sentence", "notices", "facts"}  # whatever has a space in it is prose as well


@dataclass(frozen=True)
class Class:
    """Numbers that are held to one tolerance."""

    name: str
    pattern: str  # of the path, its end
    tolerance: float
    scale: Callable[[Leaves, Path, Array], Array]
    reason: str


def _size(leaves: Leaves, path: Path, value: Array) -> Array:
    """The largest of the list, at least: a small component of a vector is known as well as the vector is."""
    return np.full(value.shape, np.max(np.abs(value), initial=0.0))


def _own(leaves: Leaves, path: Path, value: Array) -> Array:
    return np.abs(value)


def _beside(*names: str, at: slice = slice(None)) -> Callable[[Leaves, Path, Array], Array]:
    """A list that stands beside, such as the standard deviations of the parameters; the size where there is none."""

    def scale(leaves: Leaves, path: Path, value: Array) -> Array:
        for name in names:
            beside = leaves.get((*path[:-1], name))
            if (
                isinstance(beside, np.ndarray)
                and (std := np.atleast_1d(beside)[at]).shape == np.atleast_1d(value).shape
            ):
                return np.where(std > 0, std, _size(leaves, path, value)).reshape(value.shape)
        return _size(leaves, path, value)

    return scale


def _joint(leaves: Leaves, path: Path, value: Array) -> Array:
    """The deviation of the base parameter that a joint term leads, where it leads one."""
    root = path[: path.index("estimate.json") + 1] if "estimate.json" in path else path[:1]
    std = leaves.get((*root, "base_parameters", "parameters", ".".join(path[-2:]), "std"))
    return std if isinstance(std, np.ndarray) and std > 0 else _size(leaves, path, value)


def _width(leaves: Leaves, path: Path, value: Array) -> Array:
    finite = value[np.isfinite(value)]
    width = np.ptp(finite) if len(finite) == 2 else np.max(np.abs(finite), initial=0.0)
    return np.full(value.shape, max(float(width), float(np.max(np.abs(finite), initial=0.0)) * 1e-3))


def _shape(leaves: Leaves, path: Path, value: Array) -> Array:
    """The heaviest shape of the same body."""
    masses = [np.max(x) for p, x in leaves.items() if p[:-2] == path[:-2] and p[-1] == "mass"]
    return np.full(value.shape, max(masses))


def _thickness(leaves: Leaves, path: Path, value: Array) -> Array:
    """Second moments over mass, of which the least eigenvalue is what cancellation leaves."""
    inertia, mass = leaves.get((*path[:-1], "inertia")), leaves.get((*path[:-1], "mass"))
    if isinstance(inertia, np.ndarray) and isinstance(mass, np.ndarray) and mass > 0:
        return np.maximum(np.abs(value), np.max(np.abs(inertia)) / mass)
    return np.abs(value)


def _one(leaves: Leaves, path: Path, value: Array) -> Array:
    return np.ones(value.shape)


STD = "of a standard deviation: a hundred thousandth of what the data leave open"
BODY = r"(links|loads)/[^/]+"
CLASSES = (
    Class("proof", r"certificate/(kkt|gap)", 1e-7, _one, "what rounding leaves of zero; a proof may leave 1e-6"),
    Class("objective", r"objective", 1e-9, _own, "flat at the optimum: known far better than the parameters"),
    Class("theta", r"(parameters|fixed/[^/]+|before/[^/]+|value|sensors/.*/offset)", 1e-5, _beside("std"), STD),
    Class("theta", rf"{BODY}/mass", 1e-5, _beside("std", at=slice(0, 1)), STD),
    Class("theta", rf"{BODY}/com", 1e-5, _beside("com_std"), STD),
    Class("theta", rf"{BODY}/inertia", 1e-5, _beside("std", at=slice(4, 10)), STD),
    Class("theta", r"delay/(.*/)?seconds", 1e-5, _beside("std"), STD),
    Class("theta", r"delay/drift", 1e-5, _beside("drift_std"), STD),
    Class("theta", r"(joints|motors)/[^/]+/[^/]+", 1e-5, _joint, STD),
    Class("std", r"(std|std_data|com_std|load_std|analytic|doubt)", 1e-5, _own, "inverse of an ill-conditioned matrix"),
    Class(
        "interval", r"(interval|ranges|ranges_about)/.*", 1e-5, _width, "of its width: found by search, or by a solver"
    ),
    Class("interval", r"bootstrap/.*/(low|high)", 1e-5, _beside("std"), STD),
    Class("rows", r"information/.*", 1e-10, _size, "sums of rows, before anything is solved"),
    Class("shapes", r"shapes/.*/mass", 1e-6, _shape, "of the heaviest shape: ten moments leave single masses open"),
    Class("other", r"min_eigenvalue", 1e-6, _thickness, "of second moments over mass, which cancel"),
    Class("other", r"terms/.*", 1e-8, _one, "products of lengths, or whole numbers"),
    Class("other", r".*", 1e-6, _size, "derived from the above"),
)
COLUMNS = ("distance", *dict.fromkeys(c.name for c in CLASSES))
BASE = (("base_parameters", "parameters"), ("bootstrap", "base_parameters"))
DISTANCE = 1e-9  # ‖R(θ − θ′)‖ over ‖Rθ‖: what a change of θ does to the rows, over the rows


@dataclass
class Comparison:
    """How far apart two results are."""

    worst: dict[str, float] = field(default_factory=dict)  # class → figure
    different: list[tuple[float, str]] = field(default_factory=list)  # times its tolerance, what
    texts: list[str] = field(default_factory=list)  # paths of text that was reworded
    numbers: int = 0
    bits: int = 0  # of these, so many are equal to the last bit

    @property
    def same(self) -> bool:
        return not self.different

    def note(self, name: str, figure: float, tolerance: float, what: str) -> None:
        self.worst[name] = max(self.worst.get(name, 0.0), figure)
        if not figure <= tolerance:
            self.different.append((figure / tolerance, f"{what} [{name}: {figure:.1e}, at most {tolerance:.0e}]"))

    def as_json(self) -> dict[str, Any]:
        different = [what for _, what in sorted(self.different, reverse=True)]
        return {
            "same": self.same, "numbers": self.numbers, "to the last bit": self.bits, "worst": self.worst,
            "differences": len(different), "different": different[:10], "text differs": self.texts,
        }  # fmt: skip


def divided(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any, bool]]:
    """Path, value and whether it is prose, of every list of numbers, number and word."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key in PROSE:
                yield (*path, key), part, True
            else:
                yield from divided(part, (*path, str(key)))
        if not value:
            yield path, "nothing", False
    elif isinstance(value, list) and value and all(_number(x) or x is None for x in value):
        yield path, value, False
    elif isinstance(value, list):
        named = bool(value) and all(isinstance(x, Mapping) and "name" in x for x in value)
        for k, part in enumerate(value):
            yield from divided(part, (*path, part["name"] if named else str(k)))
        yield (*path, "count"), len(value), False
    else:
        yield path, value, isinstance(value, str) and " " in value


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _leaves(results: Any) -> tuple[Leaves, dict[Path, Any]]:
    leaves: Leaves = {}
    prose: dict[Path, Any] = {}
    for path, value, words in divided(results):
        if words:
            prose[path] = value
        elif isinstance(value, float):
            leaves[path] = np.array(value)
        elif isinstance(value, list):
            leaves[path] = np.array([np.nan if x is None else x for x in value], float)
        else:
            leaves[path] = value
    return leaves, prose


def _regrouped(old: Leaves, new: Leaves) -> tuple[set[tuple[Path, str]], int]:
    """Base parameters, by where they stand and their name, that are sums of other terms than before.

    Which parameter of a group leads is decided by lengths, often by equal ones; then rounding decides. Its value and
    deviation are those of another quantity, so it is reported as a whole.
    """
    groups: list[dict[tuple[Path, str], set[str]]] = [{}, {}]
    for leaves, terms in zip((old, new), groups, strict=True):
        for path in leaves:
            if "base_parameters" in path and "terms" in path:
                at = path.index("terms")
                terms.setdefault((path[: at - 3], path[at - 1]), set()).add(path[-1])
    every = groups[0].keys() | groups[1].keys()
    return {key for key in every if groups[0].get(key) != groups[1].get(key)}, len(every)


def compare(before: Any, now: Any, roots: Mapping[str, tuple[Array, list[str]]]) -> Comparison:
    """The reference against the results; ``roots``: step → R of the rows, and the names of its columns."""
    (old, old_prose), (new, new_prose) = _leaves(before), _leaves(now)
    comparison = Comparison()
    regrouped, groups = _regrouped(old, new)
    if regrouped:
        some = ", ".join(sorted(name for _, name in regrouped)[:4])
        what = f"{len(regrouped)} of {groups} base parameters are sums of other terms: {some} …"
        comparison.different.append((np.inf, what))
    reported = {(*root, *part, name) for root, name in regrouped for part in BASE}
    for path in [*old, *(p for p in new if p not in old)]:
        if any(path[:k] in reported for k in range(len(path) + 1)):
            continue
        shown = "/".join(path)
        if path not in new or path not in old:
            comparison.different.append((np.inf, f"{shown}: {'is gone' if path in old else 'is new'}"))
            continue
        a, b = old[path], new[path]
        if isinstance(a, np.ndarray) and _number(b):
            b = np.array(float(b))
        if isinstance(b, np.ndarray) and _number(a):
            a = np.array(float(a))
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
            if type(a) is not type(b) or a != b:
                comparison.different.append((np.inf, f"{shown}: was {a!r}, is {b!r}"))
            continue
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            comparison.different.append((np.inf, f"{shown}: was {a.tolist()}, is {b.tolist()}"))
            continue
        comparison.numbers += a.size
        equal = (a == b) | ~np.isfinite(a)
        comparison.bits += int(equal.sum())
        kind = next(c for c in CLASSES if re.search(rf"(^|/){c.pattern}$", shown))
        known = kind.scale(old, path, a)
        off = np.abs(np.where(equal, 0.0, a - b)) / np.where(known > 0, known, 1.0)
        at = int(np.argmax(off))
        change = f"{shown}: was {float(a.ravel()[at])!r}, is {float(b.ravel()[at])!r}"
        comparison.note(kind.name, float(np.max(off)), kind.tolerance, change)
    for path in {**old_prose, **new_prose}:
        if old_prose.get(path) != new_prose.get(path):
            comparison.texts.append("/".join(path))
    for step, (R, names) in roots.items():
        if "estimate.json" in now[step] and "estimate.json" in before.get(step, {}):
            ours, theirs = (theta(x[step]["estimate.json"], names) for x in (now, before))
            far = float(np.linalg.norm(R @ (ours - theirs)) / np.linalg.norm(R @ ours))
            comparison.note("distance", far, DISTANCE, f"{step}: ‖R(θ − θ′)‖/‖Rθ‖")
    return comparison


def theta(estimate: Mapping[str, Any], names: list[str]) -> Array:
    """The parameters that rows have columns of, from ``estimate.json``."""
    bodies = estimate["links"] | dict(zip(["(load)"], estimate["loads"], strict=False))
    values = {f"{body}.{n}": x for body, e in bodies.items() for n, x in zip(NAMES, e["parameters"], strict=True)}
    values |= {
        f"{joint}.{term}": x for joint, terms in estimate["joints"].items() for term, x in _values(terms).items()
    }
    motors = estimate.get("motors", {})
    values |= {f"{joint}.motor.{term}": x for joint, terms in motors.items() for term, x in _values(terms).items()}
    wrench = ("fx", "fy", "fz", "mx", "my", "mz")
    for sensor, entry in estimate["sensors"].items():
        values |= {f"{sensor}.offset.{c}": x for c, x in zip(wrench, entry["offset"], strict=True)}
    return np.array([values[name] for name in names], float)


def _values(terms: dict[str, Any]) -> dict[str, Any]:
    """Term → value, of either schema."""
    return {k: x["value"] if isinstance(x, dict) else x for k, x in terms.items() if k != "family"}
