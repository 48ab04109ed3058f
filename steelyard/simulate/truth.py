"""A true robot that differs from its description, so that returning the prior can never look good."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from steelyard import inertia
from steelyard.robot import Robot

Array = np.ndarray


def perturbed(robot: Robot, rng: np.random.Generator, spread: float = 0.15) -> dict[str, Array]:
    """Physical parameters (10,) of every body, off by about 2·``spread`` in mass and in every length.

    Σ′ = T Σ Tᵀ with T = exp(random matrix): a mass distribution stretched, sheared, shifted and made
    heavier or lighter stays one.
    """
    truth = {}
    for body in robot.bodies:
        _, com, _ = inertia.unpack(body.parameters)
        to_com = np.eye(4)
        to_com[:3, 3] = -com
        G = rng.normal(size=(4, 4)) * spread
        G[:3, 3] *= 0.3 * body.size  # a shift, m
        G[3, :3] = 0.0
        T = np.linalg.inv(to_com) @ expm(G) @ to_com
        truth[body.name] = inertia.from_pseudo(T @ inertia.pseudo(body.parameters) @ T.T)
    return truth
