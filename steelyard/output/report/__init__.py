"""The report: one self-contained, offline HTML file that says what was found and how far to trust it."""

from __future__ import annotations

from steelyard.identify.series import Series, load_series, save_series
from steelyard.output.report.page import render
from steelyard.output.report.time_courses import TimeCourse, courses_of

__all__ = ["Series", "TimeCourse", "courses_of", "load_series", "render", "save_series"]
