"""Identification inside a control loop.

In: one sample at a time. Out: parameters after every window, certified and physically consistent, and every change of
payload that was detected: ``OnlineIdentifier`` and ``LoadEstimator``. Begin with ``engine.py``; the compiled step is
``kernels/online.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "change": ("Change",),
        "engine": ("OnlineOptions",),
        "identifier": ("OnlineIdentifier",),
        "load_estimator": ("LoadEstimate", "LoadEstimator"),
        "state": ("OnlineEstimate",),
    },
)
