"""Statistics of an estimate: noise, covariance, intervals.

- ``noise``: standard deviation and autocorrelation of each equation's residual, by which regressor rows are weighted
  into ``Information``; ``streamed`` does the same for logs that were streamed;
- ``loss``: the robust loss of large residuals;
- ``uncertainty``: covariance of the parameters with and without the prior, base parameters, and the source of every
  quantity (data, narrowed, prior);
- ``profile_likelihood``: intervals of bodies on the boundary of physical consistency, where Gaussian ones are wrong;
- ``quantity_ranges``: guaranteed ranges, over all consistent parameters that the data do not refute, without a prior;
  ``feasible_set`` defines that set;
- ``bootstrap``: spread over resampled logs.

Begin with ``noise.py`` and ``uncertainty.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "noise": ("Noise",),
        "uncertainty": ("BaseParameter", "BodySource", "Uncertainty", "base_parameters"),
        "quantity_ranges": ("Ranges", "find_ranges"),
        "profile_likelihood": ("Interval", "Profile"),
        "bootstrap": ("Bootstrap",),
    },
)
