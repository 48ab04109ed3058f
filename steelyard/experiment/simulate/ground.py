"""The ground: level, or rough by smooth bumps that are unknown to the controllers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from steelyard.errors import Finding, UsageError
from steelyard.spatial import Array

SIDE = 12.0  # m, of the rough square; around it the ground is level
CELL = 0.05  # m
SMOOTH = 3.0  # cells, standard deviation of the smoothing
LEVEL = 0.5  # m about the origin that stay level


@dataclass(frozen=True)
class Ground:
    """Roughness and friction of the ground."""

    height: float = 0.0  # m, from the lowest to the highest point; 0: level
    grip: float = 0.8  # coefficient of sliding friction
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.height <= 0.5 and 0 < self.grip < np.inf):
            where = f"ground of height {self.height:g} m and friction {self.grip:g}"
            fix = "Give a height of 0 to 0.5 m and a coefficient of friction above 0"
            raise UsageError(Finding("option-value", where, "is out of range", fix))

    def heights(self) -> Array:
        """(rows along y, columns along x) m, from 0 to ``height``, level at the origin."""
        n = int(SIDE / CELL) + 1
        noise = gaussian_filter(np.random.default_rng(self.seed).normal(size=(n, n)), SMOOTH)
        x = np.linspace(-SIDE / 2, SIDE / 2, n)
        far = np.clip(np.hypot(x[:, None], x) / LEVEL - 1, 0, 1)
        bumps = noise * far**2 * (3 - 2 * far)
        return np.asarray(self.height * (bumps - bumps.min()) / np.ptp(bumps))

    @property
    def level(self) -> float:
        """Height at the origin, m."""
        heights = self.heights() if self.height else np.zeros((1, 1))
        return float(heights[len(heights) // 2, len(heights) // 2])

    def add(self, spec: Any) -> None:
        """Add the ground to a MuJoCo model."""
        import mujoco

        common = {"friction": [self.grip, 0.005, 0.0001], "name": "ground"}
        if self.height == 0:
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **common)
            return
        heights = self.heights()
        spec.add_hfield(
            name="bumps",
            nrow=heights.shape[0],
            ncol=heights.shape[1],
            size=[SIDE / 2, SIDE / 2, self.height, 0.1],
            userdata=(heights / self.height).ravel(),
        )
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="bumps", pos=[0, 0, -self.level], **common
        )
