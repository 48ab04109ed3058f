"""Convex optimisation with certified results.

A ``Problem`` is a least-squares objective (as ``Information``) with semidefinite cones, bounds, linear constraints and
entropic priors: numbers only, no robot and no log. ``solve_certified`` returns a ``Solution`` and its ``Certificate``,
a bound on the distance from the optimum that is computed from the problem alone, whichever backend solved it:

- ``nnls``: bounds only, by an active set;
- ``interior``: cones, bounds and linear inequalities, by a primal–dual interior-point method; ``face`` refines its
  result;
- ``clarabel_``: everything, by Clarabel;
- ``log_cholesky_newton``: bodies in log-Cholesky coordinates, by Gauss–Newton.

``Region`` and ``Extremes`` bound a quantity over all parameters that data and physics admit. Residuals enter squared: a
robust loss is fitted by reweighting the rows (``inference/loss.py``). Begin with ``solve.py``, then ``certify.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "problem": ("Cone", "Entropy", "LinearConstraints", "Problem", "Solution"),
        "certify": ("Certificate",),
        "solve": ("solve_certified",),
        "region": ("Region",),
        "extreme": ("Extremes",),
    },
)
