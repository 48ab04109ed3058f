"""The report: one self-contained, offline HTML file that says what was found and how far to trust it."""

from steelyard.errors import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__, {"page": ("render",), "time_courses": ("TimeCourse", "courses_of"), "section": ("Report",)}
)
