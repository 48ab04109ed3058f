"""Compiled loops on flat arrays; no robot, no log, no option.

In and out: arrays of floats and integers (``tree.py`` says how a robot lies in them). numba is imported with the
first kernel, never with ``steelyard`` itself.
"""


def warm_up() -> None:
    """Compile all kernels, or load what was compiled before, so that no later call waits for it."""
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
