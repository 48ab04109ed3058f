"""Contact-free equations of robots with point feet on legs of three joints, without a factorisation (Xu 7–9).

With g_k the columns of J_leg⁻ᵀ, the unknown force at x in equilibrium with a leg's torques is Σ g_k τ_k; its wrench on
the base is X τ, X = [g_k; x × g_k]. So base rows − X·(leg rows) are free of contact forces, and the rows

    W (1  −X),    Wᵀ W = (1 + X Xᵀ)⁻¹

are orthonormal: with the symmetric W = (1 + XXᵀ)^-½ they equal ``FreeRows.basis`` (``equations/unknown_forces.py``) and
may be filtered in time with the same result.

A straight knee makes J_leg singular. Samples with ‖1 + XXᵀ‖ > 1 / ``REGULAR``² (Frobenius) have W = 0, and ``singular``
marks them; ``FreeRows`` computes the basis of those by the general method, aligned in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.kernels.forces import unpacked
from steelyard.kernels.leg_elimination import MOST, PER_FOOT, SCRATCH, L, eliminate
from steelyard.kernels.tree import FlatTree, aligned, room
from steelyard.spatial import Array


@dataclass(frozen=True)
class PointFeet:
    """Feet that kernels can eliminate: points, each at the end of a leg of three joints without another foot."""

    tree: FlatTree
    integers: Array  # the tree's, then of each foot: its node and the rows of its leg
    reals: Array  # the tree's, then of each foot: centre (3,) in the node's frame and radius, m

    @classmethod
    def of(cls, tree: FlatTree, points: Sequence[tuple[int, Array, float]]) -> PointFeet | None:
        """Return the feet of points (joint, centre (3,) m in its frame, radius m); None if a leg has other joints."""
        if not tree.floating or tree.coupled or len(tree.rows) > tree.moving or not points:
            return None
        whole, numbers, used = list[int](), list[float](), list[int]()
        for joint, centre, radius in points:
            node = tree.joints[joint]
            legs = [int(j) for j in np.flatnonzero(tree.ancestors[:, node - 1])]
            if len(legs) != 3 or set(legs) & set(used):
                return None
            used += legs
            whole += [node, *legs]
            numbers += [*centre, radius]
        return cls(tree, np.concatenate([tree.integers, whole]), np.concatenate([tree.reals, numbers]))

    @property
    def legs(self) -> Array:
        """(3·feet,) rows of the legs, foot by foot, in the order of the columns of X."""
        return self.integers[len(self.tree.integers) :].reshape(-1, PER_FOOT)[:, 1:].ravel()

    def eliminate(self, states: Array) -> Array:
        """Return X, W and ‖1 + XXᵀ‖ of all tiles (tiles, (18·feet + 37)·16), the input of the other methods."""
        out = aligned(len(states) * (6 * len(self.legs) + 37) * L).reshape(len(states), -1)
        eliminate(self.integers, self.reals, states, aligned(SCRATCH + room(self.tree)), out)
        return out

    def singular(self, eliminated: Array) -> Array:
        """Return whether a leg was nearly straight (samples,), so that the sample is left out."""
        return np.asarray(~(unpacked(eliminated)[:, -1] <= MOST))

    def parts(self, eliminated: Array, samples: int) -> tuple[Array, Array]:
        """Return X (T, 6, 3·feet) and W (T, 6, 6) by sample."""
        values, n = unpacked(eliminated)[:samples], 6 * len(self.legs)
        return values[:, :n].reshape(samples, -1, 6).transpose(0, 2, 1), values[:, n:-1].reshape(samples, 6, 6)

    def leaves(self, coordinates: Sequence[int], rank: int) -> bool:
        """Whether the elimination removes ``rank`` equations and leaves those of these coordinates."""
        legs = 6 + self.legs
        left = [k for k in range(6 + len(self.tree.rows)) if k not in legs]
        return rank == len(legs) and list(coordinates) == left

    def basis(self, eliminated: Array, samples: int) -> tuple[Array, int]:
        """Return rows N (T, n − rank, n) as ``FreeRows.basis`` does, up to the first singular sample, and its index."""
        n, legs = 6 + len(self.tree.rows), 6 + self.legs
        left = [k for k in range(n) if k not in legs]
        X, W = self.parts(eliminated, samples)
        T = samples
        for t in np.flatnonzero(self.singular(eliminated)[:samples]):  # their W is zero
            w, V = np.linalg.eigh(np.eye(6) + X[t] @ X[t].T)
            if not w[-1] < MOST:
                T = int(t)
                break
            W[t] = (V / np.sqrt(w)) @ V.T
        N = np.zeros((T, len(left), n))
        N[:, np.arange(6, len(left)), left[6:]] = 1.0
        N[:, :6, :6] = W[:T]
        N[:, :6, legs] = -W[:T] @ X[:T]
        return N, T
