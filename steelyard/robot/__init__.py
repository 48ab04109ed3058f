"""Which bodies, joints and frames does the description define?

In: a URDF or MJCF file, or a short name. Out: a ``Description`` (the content of the file) and, with joints locked and
links welded, a ``Robot``: moving bodies, joints, frames, geometry, force–torque sensors. Begin with
``description.py`` and ``build.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "description": ("Description", "read_description"),
        "model": ("Body", "Robot"),
        "index": ("robots",),
        "soles": ("find_soles",),
    },
)
