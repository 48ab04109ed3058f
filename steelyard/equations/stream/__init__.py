"""Information of rows that are never made: samples → panels → one small triangle an equation (``channels.py``)."""

from steelyard.equations.stream.channels import Channels, stream
from steelyard.equations.stream.file import Streamed, stream_log

__all__ = ["Channels", "Streamed", "stream", "stream_log"]
