"""True humanoids differ from their description in known, physical ways."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import inertia
from steelyard.experiment.simulate.loads import add_loads
from steelyard.experiment.simulate.truth import perturb_masses, torso, truths, without_joint, wrist
from tests.simulate.humanoids import humanoid


@pytest.mark.parametrize("name", ["talos", "g1"])
def test_masses_are_off_by_up_to_the_share_and_the_torso_carries_the_rest(name):
    robot = humanoid(name)
    truth = perturb_masses(robot, np.random.default_rng(0), share=0.3, extra=5.0)
    heavy = torso(robot)
    for body in robot.bodies:
        added = 5.0 if body.name == heavy.name else 0.0
        assert abs((truth[body.name][0] - added) / body.parameters[0] - 1) <= 0.3
        assert inertia.is_consistent(truth[body.name], body.size)
    only = perturb_masses(robot, np.random.default_rng(0), share=0.0, extra=5.0)
    assert [n for n, p in only.items() if not np.allclose(p, robot.body(n).parameters)] == [heavy.name]


@pytest.mark.parametrize("name", ["talos", "g1"])
def test_five_truths_are_five_kinds_all_physical_and_the_same_by_the_same_seed(name):
    robot = humanoid(name)
    drawn, again = truths(robot, 6, 3), truths(robot, 6, 3)
    assert len({t.name.split()[0] for t in drawn}) == 5
    for one, other in zip(drawn, again, strict=True):
        assert all(np.array_equal(one.parameters[b.name], other.parameters[b.name]) for b in robot.bodies)
        whole = add_loads(robot, one.parameters, one.loads)
        assert all(inertia.is_consistent(whole[b.name], b.size) for b in robot.bodies)
    (limb,) = (t for t in drawn if t.loads)
    assert limb.loads[0].link == wrist(robot)
    whole = sum(b.parameters[0] for b in robot.bodies)
    assert limb.loads[0].parameters[0] == pytest.approx(0.01 * whole)
    assert not np.array_equal(drawn[0].parameters[torso(robot).name], drawn[5].parameters[torso(robot).name])


def test_a_description_may_lack_a_wrist_that_the_robot_has():
    robot = humanoid("talos")
    joint = robot.joints_above(robot.body("arm_left_7_link").joint)[0]
    cad = without_joint(robot, joint)
    assert set(robot.joints) - set(cad.joints) == {joint}
    assert sum(b.parameters[0] for b in cad.bodies) == pytest.approx(sum(b.parameters[0] for b in robot.bodies))
