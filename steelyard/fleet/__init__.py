"""The same over thousands of logs, each read once and where it lies.

In: names of logs, here or at URLs, and ``Workers``. Out: a log → triangles, triangles → a sum, the sum → an estimate,
the same for any number of workers. Begin with ``gathering.py``; who works is decided in ``workers.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "gathering": ("FleetOptions", "Gathered", "gather_logs"),
        "identify_fleet": ("identify_many",),
        "workers": ("Workers",),
    },
)
