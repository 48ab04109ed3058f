"""Checks of a description, one file each; see ``check/description_lint.py``."""
