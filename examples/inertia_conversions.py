"""Ten parameters of a body, and every other way to write them."""

import numpy as np

from steelyard import inertia

np.set_printoptions(precision=4, suppress=True)

# A box of 2 kg, 0.4 × 0.2 × 0.1 m, with its centre at (0.1, 0, 0.05) of the link frame.
edges, mass, centre = np.array([0.4, 0.2, 0.1]), 2.0, [0.1, 0.0, 0.05]
about_centre = mass / 12 * np.diag(edges @ edges - edges**2)
p = inertia.pack(mass, centre, about_centre)
print("parameters  ", dict(zip(inertia.NAMES, p.round(4).tolist(), strict=True)))

# The pseudo-inertia is linear in them, adds up over bodies, and moves between frames as T J Tᵀ.
J = inertia.pseudo(p)
print("eigenvalues of the pseudo-inertia", np.linalg.eigvalsh(J))
turned = np.array([[0, -1, 0, 0.3], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
moved = inertia.transform(p, turned)
back = inertia.transform(moved, np.linalg.inv(turned))
print("CoM in another frame", inertia.unpack(moved)[1])

# Log-Cholesky coordinates: any ten numbers are a physical body.
again = inertia.from_log_cholesky(inertia.log_cholesky(p))
body = inertia.from_log_cholesky(np.random.default_rng(0).normal(size=10))
print("random coordinates give a physical body:", inertia.is_consistent(body, size=1.0))

# Positive principal moments are not enough: the largest may not exceed the sum of the others.
odd = inertia.pack(1.0, [0, 0, 0], np.diag([0.01, 0.01, 0.03]))
print("moments 0.01, 0.01, 0.03 are physical:", inertia.is_consistent(odd, size=0.3))
near = inertia.nearest_consistent(odd, size=0.3)
print("the nearest physical moments:", np.linalg.eigvalsh(inertia.unpack(near)[2]))

print(f"largest round-trip error: {max(np.abs(back - p).max(), np.abs(again - p).max()):.0e}")
