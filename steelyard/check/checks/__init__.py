"""One file a check: what it looks for is in its class. To add one, copy ``sensor_signs.py``."""
