"""Logs without a fault, of an arm and of a walking robot, into which tests plant theirs."""

import numpy as np
import pytest

from steelyard.experiment.simulate.truth import perturbed
from steelyard.log.table import read_log
from tests.check.good_logs import FEET, MID
from tests.floating import floating_log


@pytest.fixture(scope="package")
def good(arm):
    return read_log(arm.train)


@pytest.fixture(scope="package")
def walking(a1_robot):
    truth = perturbed(a1_robot, np.random.default_rng(4))
    return floating_log(a1_robot, truth, FEET, seconds=8, rate=200, noise=MID)
