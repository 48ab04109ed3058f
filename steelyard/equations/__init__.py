"""Equations of motion of logged samples as regressor rows Yθ ≈ τ, in memory or streamed.

In: a description, logs (or a planned motion) and ``EquationOptions``. Out: a ``Setup``, which turns logs into
``Segment`` and segments into ``Rows``. Begin with ``setup.py``. Unknown contact forces are projected out in
``unknown_forces.py``, components of wrenches that are not measured in ``missing.py``; columns of θ are in
``columns.py``; noise of joints that stand still is removed in ``still.py``.
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
