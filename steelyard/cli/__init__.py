"""The command line: one file a verb.

A verb parses, calls one function of the package, and prints. Options that belong to a class are declared in it and
derived by ``derived_options.py``. Heavy imports are inside the verbs, so that ``--help`` is immediate.
"""
