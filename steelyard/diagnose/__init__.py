"""Faults that a log can have although every number in it is a number: one file a kind of evidence."""
