"""How are results shown and exported?

In: an ``Identification``, motions, calibrations, searches. Out: URDF, MJCF, JSON, the report (``report/sections/``, a
file a section), scenes, comparisons. Files are written atomically, and inputs are never overwritten. Begin with
``results.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "results": ("write_results",),
        "urdf_writer": ("to_urdf",),
        "mjcf_writer": ("to_mjcf",),
        "viewer": ("serve",),
    },
)
