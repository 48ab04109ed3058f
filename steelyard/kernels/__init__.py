"""Compiled loops (numba) on flat arrays of floats and integers: no robot, no log, no option.

``FlatTree`` (``tree.py``) is a robot as flat arrays; samples are processed in tiles of 16 lanes, so that loops
vectorise.

- dynamics: ``kinematics`` (poses and motion vectors), ``forces`` (recursive Newton–Euler), ``panels`` (regressor),
  ``grouping`` (columns that base parameters need), ``forward`` (forward dynamics), ``dense``, ``panel_lines``;
- contact: ``leg_elimination``, ``point_feet`` and ``contact_free`` eliminate unknown forces of point feet; ``reach``
  (inverse kinematics of a leg);
- solvers: ``active_set`` (bounds), ``one_body_newton`` (log-Cholesky coordinates), ``chol4`` and ``sym6`` (small
  matrices), ``gram`` and ``blas`` (matrix products);
- online: ``online`` (one step), ``change_test``, ``causal`` (filter), ``state_layout`` (its memory).

Each kernel is compiled at its first call and cached (``compiled.py``). numba is imported with the first kernel, never
with ``steelyard`` itself. ``docs/speed.md`` has measurements.
"""


def warm_up() -> None:
    """Compile all kernels, or load them from the cache, so that no later call has to wait."""
    import numpy as np

    from steelyard.kernels import active_set, dense, forces, one_body_newton, panels, point_feet, tree

    nodes = np.array([[k, k > 0, k - 1, k - 1, k > 0] for k in range(4)])  # a base and a leg of three joints
    rows = np.array([[2, 3, 0], [3, 2, 3], [4, 1, 5]])
    reals = np.zeros(4 * tree.NODE_REALS + 3 * tree.ROW_REALS)
    leg = tree.FlatTree(
        integers=np.concatenate([[4, 3, 3, 1], nodes.ravel(), rows.ravel()]),
        reals=reals,
        rows=("a", "b", "c"),
        nodes={"foot": 4},
        joints={0: 0, 4: 4},
        gravity=np.zeros(3),
        upright=np.zeros(3),
        independent=np.arange(3),
        factors=np.ones(3),
        offsets=np.zeros(3),
    )
    states = tree.aligned(tree.LANES * leg.width).reshape(1, -1)
    batch = panels.Panels(leg, tree.LANES)
    batch.fill(states)
    forces.generalised(leg, states, np.zeros((4, 10)))
    forces.Kinematics(leg, states, 1)
    foot = point_feet.PointFeet(leg, np.concatenate([leg.integers, [4, 0, 1, 2]]), np.concatenate([reals, np.zeros(4)]))
    foot.eliminate(states)
    dense.spread(leg.integers, batch.buffer, np.array([4, 0, 1, 2]), leg.factors, np.zeros((1, 9, 10)))
    active_set.warm_up()
    one_body_newton.warm_up()
