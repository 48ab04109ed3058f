"""Options of the search; imports nothing heavy, so that the command line can list them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.equations.option_field import option

Algorithm = Literal["cobyla", "genetic", "combined", "gauss-newton"]
Model = Literal["seven", "ten"]
EngineKind = Literal["auto", "compiled", "mujoco"]


@dataclass(frozen=True)
class SearchOptions:
    """Parameters that are searched, the algorithm, and the windows that are predicted."""

    algorithm: Algorithm = option("gauss-newton", "Optimisation algorithm.")
    horizons: tuple[float, ...] = option(
        (0.03,), "How far to predict; repeatable, for several at once.", flag="--horizon", metavar="S"
    )
    windows: int = option(64, "Number of predictions in each log.")
    model: Model = option("seven", "Parameters per link: without products of inertia, or all ten.")
    links: tuple[str, ...] = option((), "Links to search; default all.", metavar="L,…")
    total_mass: float | None = option(None, "Mass of all moving links, from a scale.", metavar="KG")
    engine: EngineKind = option("auto", "Simulator; legged robots need mujoco.")
    feet: tuple[str, ...] = option((), "Feet of a legged robot.", metavar="F,…")
    lock: Mapping[str, float] = option(dict, "Hold a joint at a value (rad or m).", metavar="J=Q")
    repair_prior: bool = option(False, "Make inconsistent bodies of the description physically consistent.")
    evaluations: int = option(10_000, "Candidates to simulate, each in all windows.")
    seed: int = option(0, "Of all random numbers.")
