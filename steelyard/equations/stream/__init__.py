"""Information of rows that are never stored: samples → panels → one small triangle an equation (``channels.py``)."""

from steelyard.equations.stream.channels import Channels, stream

__all__ = ["Channels", "stream"]
