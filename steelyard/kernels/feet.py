"""Point feet on legs of three joints, eliminated without a factorisation of the whole (Xu 7–9).

With g_k the columns of J_leg⁻ᵀ, the unknown force at x that a leg's torques hold is Σ g_k τ_k; it pushes the base with
X = [g_k; x × g_k]. So base rows − X·(leg rows) are free of contact forces, and the rows

    W (1  −X),    Wᵀ W = (1 + X Xᵀ)⁻¹

are orthonormal: with the symmetric W = (1 + XXᵀ)^-½ they are ``contact.FreeRows.basis`` itself, and with any other W
they have the same Gram. Kernels use the inverse of the Cholesky factor, lower triangular: six square roots a sample.

A straight knee makes J_leg singular. Samples with ‖1 + XXᵀ‖ > 1 / ``contact.REGULAR``² (Frobenius) get W = 0, and
``singular`` names them; ``basis`` takes the general way there, aligned in time, exactly as ``contact.py`` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.contact import Foot, FreeRows
from steelyard.kernels.forces import unpacked
from steelyard.kernels.lanes import JOINT
from steelyard.kernels.legs import MOST, PER_FOOT, L, eliminate, project
from steelyard.kernels.panels import Panels
from steelyard.kernels.tree import Tree, aligned, room
from steelyard.missing import Missing

Array = np.ndarray


@dataclass(frozen=True)
class PointFeet:
    """Feet that kernels can eliminate: points, each at the end of three joints that carry no other foot."""

    tree: Tree
    integers: Array  # the tree's, then of each foot: its node and the rows of its leg
    reals: Array  # the tree's, then of each foot: centre (3,) in the node's frame and radius, m

    @classmethod
    def of(cls, tree: Tree, feet: Sequence[Foot | Missing]) -> PointFeet | None:
        """None where some foot is no point, or its leg has not three joints of its own."""
        if not tree.floating or tree.coupled or len(tree.rows) > tree.moving or not feet:
            return None
        whole, numbers, used = list[int](), list[float](), list[int]()
        for f in feet:
            if isinstance(f, Missing) or f.surface or f.frame.joint == 0:
                return None
            node = tree.joints[f.frame.joint]
            legs = [int(j) for j in np.flatnonzero(tree.ancestors[:, node - 1])]
            if len(legs) != 3 or set(legs) & set(used):
                return None
            used += legs
            whole += [node, *legs]
            numbers += [*f.centre, f.radius]
        return cls(tree, np.concatenate([tree.integers, whole]), np.concatenate([tree.reals, numbers]))

    @property
    def legs(self) -> Array:
        """(3·feet,) rows of the legs, foot by foot: the columns of X."""
        return self.integers[len(self.tree.integers) :].reshape(-1, PER_FOOT)[:, 1:].ravel()

    def eliminate(self, states: Array) -> Array:
        """(tiles, (18·feet + 22)·16) what ``project`` and ``singular`` need."""
        out = aligned(len(states) * (6 * len(self.legs) + 22) * L).reshape(len(states), -1)
        eliminate(self.integers, self.reals, states, aligned(33 * L + JOINT + room(self.tree)), out)
        return out

    def singular(self, eliminated: Array) -> Array:
        """(samples,) whether a leg was too nearly straight, and the sample left out."""
        return np.asarray(~(unpacked(eliminated)[:, -1] <= MOST))

    def project(self, panels: Panels, eliminated: Array, first: int = 0) -> None:
        """Make the base panel one of contact-free rows; those of the legs are used up, all others stay valid."""
        project(self.integers, eliminated, first, panels.batch, panels.buffer)
        panels.projected = True

    def target(self, eliminated: Array, base: Array, torque: Array) -> Array:
        """(T, 6) contact-free targets from wrenches on the base (T, 6) and torques of the tree's rows (T, rows)."""
        values, n = unpacked(eliminated)[: len(base)], len(self.legs)
        X = values[:, : 6 * n].reshape(len(base), n, 6)
        W = np.zeros((len(base), 6, 6))
        W[:, *np.tril_indices(6)] = values[:, 6 * n : 6 * n + 21]
        rest = base - np.einsum("tkc,tk->tc", X, torque[:, self.legs])
        return np.asarray(np.einsum("tij,tj->ti", W, rest))

    def fits(self, free: FreeRows) -> bool:
        """Whether these coordinates are those that the elimination leaves."""
        legs = 6 + self.legs
        left = [k for k in range(6 + len(self.tree.rows)) if k not in legs]
        return free.rank == len(legs) and list(free.coordinates) == left

    def basis(self, eliminated: Array, samples: int) -> tuple[Array, int]:
        """(T, n − rank, n) rows N as ``FreeRows.basis`` gives them, up to the first singular sample, and its index."""
        n, legs = 6 + len(self.tree.rows), 6 + self.legs
        left = [k for k in range(n) if k not in legs]
        X = unpacked(eliminated)[:samples, : 6 * len(legs)].reshape(samples, -1, 6).transpose(0, 2, 1)
        good = np.isfinite(X).all(axis=(1, 2))
        X = np.where(good[:, None, None], X, 0.0)
        w, V = np.linalg.eigh(np.eye(6) + X @ X.transpose(0, 2, 1))
        singular = np.flatnonzero(~good | (w[:, -1] >= MOST))
        T = int(singular[0]) if singular.size else samples
        W = (V[:T] / np.sqrt(w[:T, None, :])) @ V[:T].transpose(0, 2, 1)
        N = np.zeros((T, len(left), n))
        N[:, np.arange(6, len(left)), left[6:]] = 1.0
        N[:, :6, :6] = W
        N[:, :6, legs] = -W @ X[:T]
        return N, T
