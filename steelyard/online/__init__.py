"""Identification inside the control loop: ``OnlineIdentifier`` and ``LoadEstimator``."""

from steelyard.online.change import Change
from steelyard.online.engine import OnlineOptions
from steelyard.online.identifier import OnlineIdentifier
from steelyard.online.payload import LoadEstimate, LoadEstimator
from steelyard.online.state import OnlineEstimate

__all__ = ["Change", "LoadEstimate", "LoadEstimator", "OnlineEstimate", "OnlineIdentifier", "OnlineOptions"]
