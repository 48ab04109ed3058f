"""One file a method: the file's name is the method's, the class in it carries the method's own options.

The command line lists the files and offers the options. To add a method, copy ``linear.py``.
"""
