"""Identification inside the control loop: ``OnlineIdentifier`` and ``LoadEstimator``."""

from steelyard.online.engine import Change, OnlineEstimate
from steelyard.online.identifier import OnlineIdentifier
from steelyard.online.payload import LoadEstimate, LoadEstimator

__all__ = ["Change", "LoadEstimate", "LoadEstimator", "OnlineEstimate", "OnlineIdentifier"]
