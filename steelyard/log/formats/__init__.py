"""One module per log format: which files it recognises and how it reads them. To add one, copy ``npz.py``."""
