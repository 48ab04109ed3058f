"""The report: one self-contained, offline HTML file that says what was found and how far to trust it."""

from __future__ import annotations

from steelyard.report.courses import Course, courses_of
from steelyard.report.page import render
from steelyard.report.series import Series, load_series, save_series

__all__ = ["Course", "Series", "courses_of", "load_series", "render", "save_series"]
