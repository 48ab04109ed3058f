"""Shared by the tests of calibration: one A1 with another trunk and a load that its description lacks."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def loaded(a1_robot):
    """A rig maker: ``loaded(noise="none")``."""
    pytest.importorskip("mujoco")
    from steelyard.experiment.calibrate.simulated import simulated_rig
    from steelyard.experiment.simulate.loads import Load

    def make(**options):
        return simulated_rig(a1_robot, loads=[Load.cuboid("trunk", 2.0, (0.08, 0.03, 0.1))], **options)

    return make


@pytest.fixture(scope="session")
def stance(loaded):
    """The A1 as described, on its four feet."""
    from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance

    rig = loaded(noise="none")
    return QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
