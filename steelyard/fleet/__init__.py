"""Identification from thousands of logs, each read once, by one process or many.

In: names of logs, paths or URLs, and ``Workers``. Out: each log becomes triangles, triangles are summed, the sum
becomes an estimate, the same for any number of workers. Start with ``gathering.py``; ``workers.py`` distributes.
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
