"""Logs of motor currents in place of torques."""

from dataclasses import replace

GAIN = 9.0


def currents(log, gain=GAIN):
    named = {k.replace("tau.", "current."): v / gain if k.startswith("tau.") else v for k, v in log.columns.items()}
    return replace(log, columns=named)
