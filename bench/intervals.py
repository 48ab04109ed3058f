"""At the boundary of physical consistency: do profile intervals cover the truth, and do Gaussian ones?

One flat body, drawn from the prior and physical; a few noisy equations about its ten parameters. Where the estimate
ends at the edge of its cone, the intervals of its mass and of its centre of mass are taken both ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.compose import pseudo_inertia
from steelyard.compose.prior import body_root
from steelyard.equations.subspace import Subspace
from steelyard.inference.profile_likelihood import Profile
from steelyard.inference.uncertainty import compute_uncertainty
from steelyard.information import Information
from steelyard.robot import geometry
from steelyard.robot.model import Body
from steelyard.solve import clarabel_ as conic
from steelyard.solve.problem import Cone, Problem

QUANTITIES = ("mass", "com x", "com y", "com z")
CASES = {"prior as usual": (0.5, 4, 0.1), "wide prior": (1.0, 4, 0.1), "more rows": (1.0, 6, 0.3)}


def intervals(problems: int = 1000) -> dict[str, Any]:
    return {case: study(problems, *how) for case, how in CASES.items()}


def study(problems: int, relative: float, rows: int, noise: float, seed: int = 1) -> dict[str, Any]:
    """Shares that hold the truth, and how wide intervals by profile are in units of the Gaussian ones."""
    rng = np.random.default_rng(seed)
    half = np.array([0.2, 0.15, 0.02])  # m
    box = (np.array([0.1, 0.0, 0.0]) - half, np.array([0.1, 0.0, 0.0]) + half)
    body = Body("plate", ("plate",), 1, geometry.box_inertia(2.0, box), box, 2 * float(np.linalg.norm(half)))
    mean, root = body.parameters, relative * body_root(body.parameters, body.size)
    K, scale, E = np.linalg.inv(root), np.linalg.norm(root, axis=1), np.eye(10)
    cones, lower = (Cone(0, pseudo_inertia.lmi(body)),), {0: pseudo_inertia.mass_floor(body)}
    by_profile, by_gauss, widths = [], [], []
    for _ in range(problems):
        while not inertia.is_consistent(truth := mean + root @ rng.normal(size=10), body.size):
            pass
        Y = rng.normal(size=(rows, 10)) / scale / noise
        data = Information.of(Y, Y @ truth + rng.normal(size=rows))
        total = data + Information.of(K, K @ mean)
        theta = conic.solve(Problem(total, scale, mean, cones, lower)).theta
        profile = Profile.of(total, theta, scale, [(body, 0)], {})
        if profile is None:
            continue
        unc = compute_uncertainty(Subspace.of(data.R, scale), data, data.R.T @ data.R, K)
        interval = profile.intervals(unc, total)["plate"]
        com = theta[1:4] / theta[0]
        gradients = [E[0], *((E[1 + k] - com[k] * E[0]) / theta[0] for k in range(3))]
        estimates, true = [theta[0], *com], [truth[0], *truth[1:4] / truth[0]]
        half_widths = [1.96 * unc.std(g) for g in gradients]
        ends = [(low if low is not None else -np.inf, high if high is not None else np.inf)
                for low, high in (interval.mass, *interval.com)]  # fmt: skip
        by_profile.append([low <= t <= high for (low, high), t in zip(ends, true, strict=True)])
        by_gauss.append([abs(e - t) <= h for e, t, h in zip(estimates, true, half_widths, strict=True)])
        widths.append([(high - low) / (2 * h) for (low, high), h in zip(ends, half_widths, strict=True)])
    return {
        "problems": problems,
        "at the edge": len(widths),
        "profile": dict(zip(QUANTITIES, np.mean(by_profile, axis=0).tolist(), strict=True)),
        "gauss": dict(zip(QUANTITIES, np.mean(by_gauss, axis=0).tolist(), strict=True)),
        "width": dict(zip(QUANTITIES, np.median(widths, axis=0).tolist(), strict=True)),
    }
