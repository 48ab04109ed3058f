"""How parameters are searched; light, so that the command line can show it without loading anything."""

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
    """What is searched, by what, and what is predicted."""

    algorithm: Algorithm = option("gauss-newton", "How to search.")
    horizons: tuple[float, ...] = option(
        (0.03,), "How far to predict; repeats: several at once.", flag="--horizon", metavar="S"
    )
    windows: int = option(64, "Predictions in each log.")
    model: Model = option("seven", "Parameters a link: without products of inertia, or all.")
    links: tuple[str, ...] = option((), "Links to search; default all.", metavar="L,…")
    total_mass: float | None = option(None, "Of all moving links, as weighed.", metavar="KG")
    engine: EngineKind = option("auto", "What simulates; legged robots need mujoco.")
    feet: tuple[str, ...] = option((), "Feet of a legged robot.", metavar="F,…")
    lock: Mapping[str, float] = option(dict, "Hold a joint at a value (rad or m).", metavar="J=Q")
    repair_prior: bool = option(False, "Make unphysical bodies physical.")
    evaluations: int = option(10_000, "Candidates to simulate, each in all windows.")
    seed: int = option(0, "Of everything random.")
