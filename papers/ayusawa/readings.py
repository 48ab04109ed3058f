"""What each reading of the paper's prior comes to: ``python -m papers.ayusawa.readings [ROBOT] [SEEDS]``.

Cases A to D of Table V, and case A with each of the things that the text leaves open read the other way, on the
equations of ``python -m bench points``: base rows, white noise, a truth that differs from its description.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from bench.points import Case
from steelyard import Points, inertia
from steelyard.compose import prior as priors
from steelyard.equations.subspace import Subspace
from steelyard.identify.options import Options
from steelyard.identify.scoring import base_error
from steelyard.identify.solving import solve
from steelyard.robot.model import Body

PROPOSED = Options(method=Points(per_edge="auto"), prior_space="structure", prior_width="box")


def widths(body: Body, *, error: str = "min", negative: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Transformation (10, 10) of (18), and the greater distances of (22) from the bounds (19–21)."""
    lower, upper = body.box
    x, y, z = d = np.maximum((upper - lower) / 2, priors.THIN * body.size)
    m = float(body.parameters[0])
    off = (min if error == "min" else max)(0.5 * m, 2.0)
    most = (m + off) * np.array([1, *d, y * y + z * z, x * y, z * z + x * x, x * z, y * z, x * x + y * y])
    least = -most
    least[[4, 6, 9]] = 0.0
    least[0] = -(m + off) if negative else m - off
    placement = np.eye(4)
    placement[:3, 3] = (lower + upper) / 2
    B = inertia.transform_matrix(placement)
    described = np.linalg.solve(B, body.parameters)
    return B, np.maximum(most - described, described - least)


def root(case: Case, weight=lambda sigma: 1 / sigma, **read) -> np.ndarray:
    """K with W_φ = KᵀK (26, 27), a body's weights those of its widths."""
    parts = (widths(b, **read) for b in case.robot.bodies)
    return np.asarray(block_diag(*(weight(sigma)[:, None] * np.linalg.inv(B) for B, sigma in parts)))


def plain(case: Case, K: np.ndarray) -> np.ndarray:
    """K N with N = 1 − Z⁺Z of (25) in kg, kg·m and kg·m², as printed."""
    null = Subspace.of(case.yardstick.R, case.prior.scale).null
    return np.asarray(np.linalg.qr(np.vstack([K @ null @ null.T, priors.NEGLIGIBLE * K]), mode="r"))


READINGS = {
    "A, as Steelyard reads it": (PROPOSED, lambda case: root(case)),
    "A, (25) with the pseudo-inverse of SI units": (
        replace(PROPOSED, prior_space="all"),
        lambda case: plain(case, root(case)),
    ),
    "A, (28) with variances as weights": (PROPOSED, lambda case: root(case, lambda sigma: sigma)),
    "A, (22) as a variance": (PROPOSED, lambda case: root(case, lambda sigma: 1 / np.sqrt(sigma))),
    "A, Δm = max(m/2, 2 kg)": (PROPOSED, lambda case: root(case, error="max")),
    "A, (19) with a negative mass": (PROPOSED, lambda case: root(case, negative=True)),
    "A, null space from the data": (replace(PROPOSED, prior_space="data"), lambda case: root(case)),
    "the same prior, everywhere": (replace(PROPOSED, prior_space="all"), lambda case: root(case)),
    "Steelyard's own prior, everywhere": (Options(method=Points(per_edge="auto")), lambda case: case.prior.K),
    "B, least squares": (Options(method="least-squares"), lambda case: case.prior.K),
    "D, without prior": (replace(PROPOSED, prior_space="all"), lambda case: priors.NEGLIGIBLE * case.prior.K),
}


def errors(case: Case, theta: np.ndarray) -> tuple[float, float]:
    """Of base parameters; and of all parameters, root mean square in natural units."""
    off = np.sqrt(np.mean((priors.RELATIVE * case.prior.K @ (theta - case.truth)) ** 2))
    return base_error(case.yardstick, theta, case.truth), float(off)


def readings(robot: str = "a1", seeds: int = 5) -> dict[str, tuple[float, float]]:
    """Reading → median errors."""
    cases = [Case.make(robot, seed) for seed in range(seeds)]
    results = {"C, the description": [errors(case, case.robot.prior) for case in cases]}
    for name, (options, K) in READINGS.items():
        results[name] = [
            errors(case, solve(case.setup, case.information, replace(case.prior, K=K(case)), options).theta)
            for case in cases
        ]
    return {name: tuple(np.median(each, axis=0)) for name, each in results.items()}


if __name__ == "__main__":
    name, seeds = (sys.argv[1:] + ["a1", "5"][len(sys.argv) - 1 :])[:2]
    print(f"{name}, {seeds} seeds{'base-parameter error':>43}{'all parameters':>18}")
    for reading, (base, every) in readings(name, int(seeds)).items():
        print(f"{reading:<48}{100 * base:16.2f} %{every:18.2f}")
