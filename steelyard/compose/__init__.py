"""Parametrisations of a body's inertial parameters, and priors on them.

A ``Composition`` describes which ten parameters a body may have: θ = map·x, with x in cones and above bounds. That is
all a solver needs to know of a method. Each file defines one, and ``tests/compose/battery.py`` tests them all:

- ``pseudo_inertia``: any mass distribution (pseudo-inertia ⪰ 0), the default; ``realisable`` confines it to an
  ellipsoid;
- ``shape_set``: solids of uniform density and unknown mass (Xu), divided by ``divide_shape`` under a ``Rule``;
- ``mass_points``: point masses on a grid in the body's box or convex hull (Ayusawa);
- ``boxed``, ``positive_inertia``, ``positive_mass``: weaker constraints of the literature, for comparison; they admit
  bodies that are not physically consistent.

A ``Prior`` is a Gaussian on θ from the robot description (``prior``). ``primitives`` has the shapes and their moments,
``described`` those of a description, ``shape_file`` those of a TOML file, ``load_area`` the region of a load. Begin
with ``composition.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "composition": ("Assembly", "Composition"),
        "prior": ("Prior",),
        "primitives": ("Primitive",),
        "shape_file": ("ShapeFile", "read_shapes"),
        "division_rule": ("Rule",),
    },
)
