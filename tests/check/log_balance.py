"""Torques that a log measures beside those that its motion needs, as the checks compare them."""

from steelyard.check.subject import Subject
from steelyard.equations.setup import Setup
from steelyard.identify.options import Options


def slow_balance(description, log, options=None):
    options = options or Options()
    setup = Setup.of(description, [log], options)
    return Subject(setup, log, ()).balance
