"""What was measured, on one clock, in SI?

In: a file of any format (``formats/``, one module each), a bag, or arrays; a mapping if names or units are foreign.
Out: a ``Log``. Begin with ``log.py``; ``formats/npz.py`` is the format to copy.
"""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "log": ("Log",),
        "table": ("read_log", "write_log"),
        "mapping": ("ColumnMap", "read_mapping"),
        "draft": ("draft_mapping",),
        "pieces": ("LogPiece", "read_pieces"),
    },
)
