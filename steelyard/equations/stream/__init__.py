"""Information of rows that are never made: samples → panels → one small triangle an equation (``channels.py``)."""

from steelyard.equations.stream.channels import Channels, stream

__all__ = ["Channels", "stream"]
