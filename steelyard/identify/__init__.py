"""Robot and logs in, an estimate out.

In: a description, logs, ``Options`` with a method, and a ``Job``. Out: an ``Identification`` with its ``Estimate``,
which is data; its summary, JSON and verdict are in modules of their own. Begin with ``identification.py``, then
``fit.py``; a method is one file in ``methods/``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "options": ("Options", "RangeOptions"),
        "job": ("Job",),
        "method": ("Answer", "Method", "Posed", "method_names", "method_type"),
        "estimate": ("BodyEstimate", "Estimate"),
        "weighing": ("weigh_load",),
        "unknown_load": ("UnknownLoad",),
        "scoring": ("base_error", "predict"),
    },
)
