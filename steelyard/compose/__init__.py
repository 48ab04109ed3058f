"""What may a body be made of, and what is believed of it?

In: a ``Body`` and its scale. Out: a ``Composition`` (θ = map·x, x in cones and above bounds), a file each: ``points``,
``shapes``, ``pseudo_inertia``, ``mata``, ``linear``, ``boxed``; and a ``Prior``. Begin with ``composition.py``.
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
