"""Are this log and this description plausible?

In: a description, a log (or none) and equation options. Out: findings, each with a place, a reason and a fix. Begin
with ``survey.py``; a check of a log is one file in ``checks/``, of a description in ``description_checks/``. Logs with
wrong units or contact forces are refused by every command, in ``opening.py``.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "opening": ("open_logs",),
        "excitation": ("Excitation",),
    },
)
