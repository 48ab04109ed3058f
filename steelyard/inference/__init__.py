"""What do the data determine, and how surely?

In: weighted information, its noise and a prior. Out: the noise of each equation (``noise.py``), covariances and base
parameters (``uncertainty.py``), ranges that hold whatever the prior (``quantity_ranges.py``), intervals at the edge of
what is physical (``profile_likelihood.py``), spread over logs (``bootstrap.py``). How a residual counts is in
``loss.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "noise": ("Noise",),
        "uncertainty": ("BaseParameter", "BodyVerdict", "Uncertainty", "base_parameters"),
        "quantity_ranges": ("Ranges", "find_ranges"),
        "profile_likelihood": ("Interval", "Profile"),
        "bootstrap": ("Bootstrap",),
    },
)
