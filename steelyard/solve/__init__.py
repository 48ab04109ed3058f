"""What is the optimum, and its proof?

In: a ``Problem`` (information, cones, bounds, linear rows, entropies), numbers only. Out: a ``Solution`` and the
``Certificate`` that proves it, whichever solver found it. Data enter squared: a robust loss weights rows anew
(``inference/loss.py``). Begin with ``solve.py``; ``certify.py`` is what everything
rests on.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "problem": ("Cone", "Entropy", "LinearConstraints", "Problem", "Solution"),
        "certify": ("Certificate",),
        "solve": ("certified",),
        "region": ("Region",),
        "extreme": ("Extremes",),
    },
)
