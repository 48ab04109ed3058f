"""Online and offline weight the same equations alike: over one log both gather the same information, to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import Options, Shapes, identify
from steelyard.log.table import read_log
from steelyard.online import OnlineIdentifier, OnlineOptions
from tests.floating import floating_log
from tests.online.conftest import FEET, NOISE, table

pytestmark = pytest.mark.slow

WHOLE = OnlineOptions(memory=np.inf, alarm_every=np.inf)  # nothing is forgotten, and nothing changes


def gathered(source, log, options, **more):
    """What both know of the free parameters of a log, as triangles."""
    online = OnlineIdentifier(source, log, options, WHOLE, **more)
    online.push_window(log.time, table(log, online.inputs))
    online.close()
    same = replace(options, filter=online.filter)
    if isinstance(options.method, Shapes):
        same = replace(same, method=Shapes(start=online.shape_file, divisions=0))
    offline = identify(source, [log], same)
    known = online.setup.known
    return online.running.data, offline.information.given(known, online.theta[known])


def agree(online, offline, digits):
    assert online.rows == offline.rows
    scale = np.linalg.norm(offline.triangle, axis=0)
    scale[scale == 0] = 1.0  # what no motion excites
    gram, expected = (x.triangle.T @ x.triangle / np.outer(scale, scale) for x in (online, offline))
    assert np.abs(gram - expected).max() < digits


@pytest.mark.parametrize("compiled", [True, False])
def test_contact_free_equations_of_a_base_are_weighted_alike_online(dog, compiled):
    options = Options(method=Shapes(), feet=FEET, links=("trunk",))
    agree(*gathered("a1", dog.empty, options, compiled=compiled), 1e-10)


@pytest.mark.parametrize("equations", ["base", "full"])
def test_equations_with_measured_wrenches_are_weighted_alike_online(dog, equations):
    log = floating_log(dog.robot, dog.truth, FEET, seed=3, seconds=2.0, noise=NOISE, wrenches=True)
    options = Options(method="lmi", equations=equations, links=("trunk",))
    agree(*gathered("a1", log, options), 1e-10)


def test_joint_equations_are_weighted_alike_online(arm):
    agree(*gathered("demo_arm", read_log(arm.train), Options(method="lmi", friction="all")), 1e-10)
