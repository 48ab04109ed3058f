"""One file a check: a class that searches for one kind of fault. To add one, copy ``sensor_signs.py``."""
