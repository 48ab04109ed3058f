"""The description with joint terms and offsets fitted to the data: what an estimate has to beat."""

from __future__ import annotations

import numpy as np

from steelyard.equations.setup import Setup
from steelyard.identify.fit import Fit
from steelyard.spatial import Array


def described_parameters(setup: Setup, fit: Fit) -> Array:
    """(n,) bodies as described, and the joint terms and sensor offsets that fit best with them."""
    theta = np.where([kind == "body" for kind in setup.columns.kinds], fit.prior.mean, fit.theta)
    theta[setup.known] = fit.theta[setup.known]
    rest = np.array([i for i in fit.free if setup.columns.kinds[i] != "body"], int)
    if len(rest):
        both = fit.information + fit.prior.information
        others = np.setdiff1d(np.arange(setup.columns.n), rest)
        theta[rest] = both.given(others, theta[others]).solve()
    return theta
