"""The command line: one file a verb.

A verb parses, calls one function of the rooms, and prints. Options that belong to a class are declared there and
derived here (``derived_options.py``). Everything heavy is imported inside the verbs, so that ``--help`` is instant.
"""
