"""Information of rows that are never made: samples → panels → one small triangle an equation (``channels.py``)."""

from steelyard.stream.channels import Channels, stream
from steelyard.stream.file import Streamed, stream_log

__all__ = ["Channels", "Streamed", "stream", "stream_log"]
