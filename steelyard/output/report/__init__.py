"""The report: one self-contained, offline HTML file with the estimate, its uncertainty and its validation."""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__, {"page": ("render",), "time_courses": ("TimeCourse", "courses_of"), "section": ("Report",)}
)
