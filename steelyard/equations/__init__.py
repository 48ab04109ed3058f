"""Which rows Yθ ≈ τ do these samples give, kept or streamed?

In: a description, logs (or a planned motion) and ``EquationOptions``. Out: a ``Setup``, the one opening, which makes
``Segment`` of logs and ``Rows`` of segments. Begin with ``setup.py``. Unknown contact forces leave the equations in
``unknown_forces.py``, partly measured wrenches in ``missing.py``; columns of θ are in ``columns.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "setup": ("Setup",),
        "equation_options": ("EquationOptions",),
        "filters": ("Filter",),
        "columns": ("Columns",),
        "rows": ("Block", "Rows"),
        "segment": ("Segment",),
        "subspace": ("Subspace",),
        "unknown_forces": ("Foot", "FreeRows"),
        "holdout": ("HoldOut",),
    },
)
