"""Humanoids that bend their knees while their soles stay level, with the wrenches of the ground on the feet."""

from functools import lru_cache

import numpy as np

from steelyard.equations.columns import Columns
from tests.floating import floating_log
from tests.motions import A1_FEET, load

FEET = {"a1": A1_FEET, "talos": ("left_sole_link", "right_sole_link")}
TALOS_KG = 90.272192  # sum of the masses in its description


def columns(robot):
    return Columns(tuple(b.name for b in robot.bodies))


def level_log(robot, truth, feet, legs, still, seed=0, lean=0.0, **options):
    """A humanoid that bends its knees at will while both soles stay level, but for ``lean`` rad of one ankle."""
    n = 6 + len(robot.joints)
    mix, around = np.eye(n), np.zeros(len(robot.joints))
    mix[3:6] = 0
    for joint in still:
        mix[6 + robot.joints.index(joint)] = 0
    for k, leg in enumerate(legs):
        hip, knee, ankle = (robot.joints.index(j) for j in leg)
        mix[6 + ankle] = 0
        mix[6 + ankle, [6 + hip, 6 + knee]] = -1
        around[[hip, knee, ankle]] = -0.4, 0.8, -0.4 + (lean if k == 0 else 0)
    return floating_log(robot, truth, feet, seed=seed, wrenches=True, mix=mix, around=around, **options)


@lru_cache
def talos_log(lean=0.0, scaled=1.0):
    robot = load("talos")
    legs = [[f"leg_{side}_{k}_joint" for k in (3, 4, 5)] for side in ("left", "right")]
    still = [j for j in robot.joints if j.startswith("leg_") and j.split("_")[2] in "126"]
    truth = {b.name: scaled * b.parameters for b in robot.bodies}
    log = level_log(robot, truth, FEET["talos"], legs, still, seconds=6, rate=100, lean=lean, position=True)
    return robot, log
