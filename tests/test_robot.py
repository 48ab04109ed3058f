"""A robot's moving bodies are those of its description, whoever builds the model and wherever links are welded."""

import numpy as np
import pinocchio as pin
import pytest

from steelyard import inertia
from steelyard.errors import DescriptionError, UsageError
from steelyard.output.urdf_writer import to_urdf
from steelyard.robot import index
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from tests.motions import ROBOTS, installed, load, parameters, physical


def reference(name, base):
    """Pinocchio's own model of the same file, mimics as independent joints."""
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    return pin.buildModelFromUrdf(str(index.find_description(name)), *root)


def state(model, values, rng):
    """q, v, a of a model from one (q, v, a) a joint by name, and a random base."""
    q, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint, name in zip(model.joints, model.names, strict=True):
        if name == "root_joint":
            x = rng.normal(size=7)
            q[:7] = np.append(x[:3], x[3:] / np.linalg.norm(x[3:]))
            v[:6], a[:6] = rng.normal(size=6), rng.normal(size=6)
        elif name != "universe":
            x, v[joint.idx_v], a[joint.idx_v] = values[name]
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
    return q, v, a


def by_name(model, tau):
    return {
        name: tau[joint.idx_v : joint.idx_v + joint.nv]
        for joint, name in zip(model.joints, model.names, strict=True)
        if joint.nv and name != "universe"
    }


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_the_model_moves_as_pinocchio_reads_the_same_file(name):
    robot = load(name)
    theirs = reference(name, robot.base)
    rng = np.random.default_rng(0)
    for k in range(5):
        values = {n: rng.normal(size=3) for n in theirs.names}
        ours, expected = (
            by_name(m, pin.rnea(m, m.createData(), *state(m, values, np.random.default_rng(k))))
            for m in (robot.model, theirs)
        )
        assert set(ours) == set(expected)
        scale = max(np.abs(t).max() for t in expected.values())
        for joint, torque in expected.items():
            np.testing.assert_allclose(ours[joint], torque, rtol=1e-10, atol=1e-11 * scale, err_msg=joint)


@installed
def test_welded_links_are_one_body_named_after_the_root_link():
    robot = load("a1")
    base = robot.bodies[0]
    assert base.name == "base"
    assert {"base", "trunk", "imu_link"} <= set(base.links)
    assert robot.body("trunk") is base
    assert robot.body("imu_link") is base
    assert sum(len(b.links) for b in robot.bodies) == len(robot.description.links)
    assert robot.joints == tuple(list(robot.model.names)[2:])


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_total_mass_is_that_of_all_links_that_move(name):
    robot = load(name)
    moving = {link for body in robot.bodies for link in body.links}
    total = sum(link.mass for link in robot.description.links.values() if link.name in moving)
    assert sum(b.parameters[0] for b in robot.bodies) == pytest.approx(total, rel=1e-12)
    assert pin.computeTotalMass(robot.model) == pytest.approx(total, rel=1e-12)


@installed
@pytest.mark.parametrize("name", ROBOTS)
def test_frames_are_where_pinocchio_puts_them(name):
    robot = load(name)
    theirs = reference(name, robot.base)
    values = {n: np.random.default_rng(1).normal(size=3) for n in theirs.names}
    data, their_data = robot.model.createData(), theirs.createData()
    pin.forwardKinematics(robot.model, data, state(robot.model, values, np.random.default_rng(2))[0])
    pin.framesForwardKinematics(theirs, their_data, state(theirs, values, np.random.default_rng(2))[0])
    for frame in robot.frames.values():
        if theirs.existFrame(frame.name) and frame.name in robot.description.links:
            expected = their_data.oMf[theirs.getFrameId(frame.name, pin.FrameType.BODY)].homogeneous
            pose = data.oMi[frame.joint].homogeneous @ frame.placement
            np.testing.assert_allclose(pose, expected, rtol=0, atol=1e-12, err_msg=frame.name)


@installed
def test_locked_joints_merge_their_links_into_the_parent_at_the_locked_position():
    """Torques of the remaining joints equal those of the whole robot with the locked ones held still."""
    held = {"panda_finger_joint1": 0.02, "panda_joint6": 0.7}
    robot, whole = Robot.load("panda", lock=held), load("panda")
    assert set(robot.joints) == set(whole.joints) - set(held)
    assert robot.body("panda_leftfinger") is robot.body("panda_link7")
    assert robot.body("panda_link6").name == "panda_link5"
    values = {n: np.random.default_rng(3).normal(size=3) for n in whole.joints}
    values |= {n: (x, 0.0, 0.0) for n, x in held.items()} | {"panda_finger_joint2": (0.02, 0.0, 0.0)}
    ours, expected = (
        by_name(r.model, pin.rnea(r.model, r.model.createData(), *state(r.model, values, None))) for r in (robot, whole)
    )
    for joint in robot.joints:
        np.testing.assert_allclose(ours[joint], expected[joint], rtol=1e-11, atol=1e-12)


def test_a_locked_prismatic_joint_shifts_its_links(tmp_path):
    robot = chain(tmp_path, lock={"slide": 0.25})
    locked, free = robot.frames["c"].placement, chain(tmp_path).frames["c"].placement
    np.testing.assert_allclose((locked - free)[:3, 3], [0.1, 0.0, 0.25 + 0.3], atol=1e-15)


BODY = """<link name="{name}"><inertial><origin xyz="{com}" rpy="0.1 0.2 0.3"/><mass value="{mass}"/>
<inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.04" iyz="0.003" izz="0.05"/></inertial></link>
"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.1 0 0.3" rpy="{rpy}"/><axis xyz="{axis}"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/>{mimic}</joint>
"""


def chain(tmp_path, mimics=None, **options):
    """world – hinge → a – turn → b – slide → c – twist → d; ``mimics``: joint → its <mimic> attributes."""
    text = '<robot name="chain">\n<link name="world"/>\n'
    for k, name in enumerate("abcd"):
        text += BODY.format(name=name, com=f"0.0{k} 0.02 0.1", mass=k + 1)
    joints = (
        ("hinge", "revolute", "world", "a", "0 1 0", "0 0 0"),
        ("turn", "revolute", "a", "b", "0 0.6 0.8", "0.3 0 0"),
        ("slide", "prismatic", "b", "c", "0 0 1", "0 0 0"),
        ("twist", "continuous", "c", "d", "1 0 0", "0 0.4 0"),
    )
    for name, kind, parent, child, axis, rpy in joints:
        mimic = f"<mimic {mimics[name]}/>" if name in (mimics or {}) else ""
        text += JOINT.format(name=name, kind=kind, parent=parent, child=child, axis=axis, rpy=rpy, mimic=mimic)
    path = tmp_path / "chain.urdf"
    path.write_text(text + "</robot>\n")
    return Robot.load(path, base="fixed", **options)


MIMICS = {"twist": 'joint="turn" multiplier="-2" offset="0.3"', "slide": 'joint="twist" multiplier="0.1" offset="0.05"'}


def test_mimics_of_mimics_are_the_constrained_dynamics(tmp_path):
    """Lagrange multipliers on the free chain: M a + b = τ + Gᵀλ with the mimic equations as constraints."""
    robot, free = chain(tmp_path, MIMICS), chain(tmp_path)
    assert robot.joints == ("hinge", "turn")
    model, data = free.model, free.model.createData()
    order = {n: model.joints[model.getJointId(n)].idx_v for n in ("hinge", "turn", "slide", "twist")}
    rng = np.random.default_rng(4)
    q2, v2 = rng.normal(size=2), rng.normal(size=2)
    S = np.zeros((4, 2))
    S[order["hinge"], 0] = S[order["turn"], 1] = 1
    S[order["twist"], 1], S[order["slide"], 1] = -2, -0.2
    offset = np.zeros(4)
    offset[order["twist"]], offset[order["slide"]] = 0.3, 0.1 * 0.3 + 0.05
    np.testing.assert_allclose(robot.coupling, S)
    np.testing.assert_allclose(robot.mimic_offset, offset)
    q, v, tau2 = S @ q2 + offset, S @ v2, rng.normal(size=2)
    G = np.zeros((2, 4))  # G a = 0
    G[0, [order["twist"], order["turn"]]] = 1, 2
    G[1, [order["slide"], order["twist"]]] = 1, -0.1
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    b = pin.nonLinearEffects(model, data, q, v)
    tau = np.zeros(4)
    tau[order["hinge"]], tau[order["turn"]] = tau2
    a = np.linalg.solve(np.block([[M, -G.T], [G, np.zeros((2, 2))]]), np.append(tau - b, np.zeros(2)))[:4]
    a2 = a[[order["hinge"], order["turn"]]]
    m = robot.model
    np.testing.assert_allclose(
        robot.coupling.T @ pin.rnea(m, m.createData(), q, v, robot.coupling @ a2), tau2, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("order", [MIMICS, dict(reversed(MIMICS.items()))])
def test_locking_a_leader_locks_all_that_follow_it(tmp_path, order):
    robot = chain(tmp_path, order, lock={"turn": 0.5})
    assert robot.joints == ("hinge",)
    assert robot.locked == pytest.approx({"turn": 0.5, "twist": -0.7, "slide": -0.02})
    assert robot.body("d").name == "a"


@installed
@pytest.mark.parametrize("name", ["a1", "anymal", "talos", "panda", "ur10", "g1"])
def test_export_and_import_give_back_the_estimate(name, tmp_path):
    robot = load(name)
    estimate = parameters(robot, np.random.default_rng(5))
    path = tmp_path / "out.urdf"
    path.write_text(to_urdf(robot.description, robot.inertials(estimate), "test"))
    again = build(read_description(path), base=robot.base, repair=False)
    assert [b.name for b in again.bodies] == [b.name for b in robot.bodies]
    for body in again.bodies:
        expected = estimate[body.name]
        np.testing.assert_allclose(body.parameters, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    for mine, theirs in zip(robot.bodies, again.bodies, strict=True):
        assert mine.links == theirs.links


@installed
@pytest.mark.parametrize("name", ["a1", "talos", "g1", "panda"])
def test_shares_of_positive_links_are_positive(name):
    robot = load(name)
    shares = robot.inertials(parameters(robot, np.random.default_rng(6)))
    for link, (mass, _, I) in shares.items():
        given = robot.description.links[link]
        if given.mass > 0:
            assert mass > 0, link
            before = 0.5 * np.trace(given.inertia) * np.eye(3) - given.inertia
            after = 0.5 * np.trace(I) * np.eye(3) - I
            if np.linalg.eigvalsh(before)[0] > 1e-9 * np.trace(before):
                assert np.linalg.eigvalsh(after)[0] > 0, link


@installed
@pytest.mark.parametrize("name", ["a1", "panda", "g1"])
def test_a_body_at_its_description_exports_the_description(name):
    robot = load(name)
    for link, (mass, com, I) in robot.inertials({b.name: b.parameters for b in robot.bodies}).items():
        given = robot.description.links[link]
        assert mass == pytest.approx(given.mass, rel=1e-9, abs=1e-12)
        if given.mass > 0:
            np.testing.assert_allclose(com, given.com, atol=1e-9)
            np.testing.assert_allclose(I, given.inertia, atol=1e-10)


@installed
@pytest.mark.parametrize("name", ["icub", "romeo"])
def test_inconsistent_bodies_are_refused_by_name_and_line_and_repaired_on_request(name):
    with pytest.raises(DescriptionError) as error:
        Robot.load(name)
    repaired = Robot.load(name, repair=True)
    mended = [n.where for n in repaired.notices if n.code == "prior-repaired"]
    assert len(mended) == len(error.value.findings) >= 10
    lines = repaired.description.text.splitlines()
    for finding in error.value.findings:
        file, rest = finding.where.split(":", 1)
        line, body = rest.split(" ", 1)
        body = body.split("'")[1]
        assert file == repaired.description.path.name
        assert f'name="{body}"' in lines[int(line) - 1]
        assert finding.code in INCONSISTENT
        assert finding.remedy == {"repair_prior": True}
        assert body in mended
    for body in repaired.bodies:
        assert inertia.is_consistent(body.parameters, body.size)
    np.testing.assert_allclose(
        [i.mass for i in list(repaired.model.inertias)[1:]], [b.parameters[0] for b in repaired.bodies]
    )


@installed
def test_a_repaired_robot_exports_what_was_estimated(tmp_path):
    robot = Robot.load("icub", repair=True)
    estimate = parameters(robot, np.random.default_rng(7))
    path = tmp_path / "out.urdf"
    path.write_text(to_urdf(robot.description, robot.inertials(estimate), "test"))
    for body in build(read_description(path), base="floating").bodies:
        scale = np.abs(estimate[body.name]).max()
        np.testing.assert_allclose(body.parameters, estimate[body.name], rtol=1e-12, atol=1e-12 * scale)


INCONSISTENT = {
    "mass-not-positive": {"mass": 0, "ixx": 1, "iyy": 1, "izz": 1},
    "inertia-not-positive-definite": {"mass": 1, "ixx": 0, "iyy": 1, "izz": 1},
    "triangle-inequality-violated": {"mass": 1, "ixx": 1, "iyy": 1, "izz": 3},
    "body-flat": {"mass": 1, "ixx": 1, "iyy": 1, "izz": 2},
}


@pytest.mark.parametrize("code", INCONSISTENT)
def test_each_condition_of_consistency_has_its_own_code(tmp_path, code):
    v = INCONSISTENT[code]
    moments = f'ixx="{v["ixx"]}" ixy="0" ixz="0" iyy="{v["iyy"]}" iyz="0" izz="{v["izz"]}"'
    text = f"""<robot name="r"><link name="world"/>
<link name="a"><inertial><mass value="{v["mass"]}"/><inertia {moments}/></inertial></link>
<joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint></robot>"""
    path = tmp_path / "r.urdf"
    path.write_text(text)
    finding = refusal(DescriptionError, Robot.load, path)
    assert (finding.code, finding.where) == (code, "r.urdf:2 body 'a' (a)")
    assert finding.remedy == {"repair_prior": True}
    assert inertia.is_consistent(Robot.load(path, repair=True).bodies[0].parameters, 0.01)


@pytest.mark.parametrize(("shape", "edges"), [
    ("", np.full(3, np.cbrt(0.5 / 7850))),  # of unknown size: a cube of its mass in steel
    ('<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>', np.array([0.1, 0.2, 0.3])),
    ('<collision><geometry><box size="0.1 0.2 0"/></geometry></collision>', np.array([0.1, 0.2, 0])),
])  # fmt: skip
def test_a_body_with_zero_inertia_is_repaired_to_a_box_about_its_centre_of_mass(tmp_path, shape, edges):
    text = f"""<robot name="r"><link name="world"/>
<link name="a"><inertial><origin xyz="0.01 0.02 0.03"/><mass value="0.5"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>{shape}</link>
<joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    body = Robot.load(tmp_path / "r.urdf", repair=True).bodies[0]
    mass, com, _ = inertia.unpack(body.parameters)
    assert mass == 0.5
    np.testing.assert_allclose(com, [0.01, 0.02, 0.03], atol=1e-15)
    assert body.size == pytest.approx(np.linalg.norm(edges))
    np.testing.assert_allclose(inertia.density_covariance(body.parameters), np.diag(edges**2) / 12, atol=2e-7)
    assert inertia.is_consistent(body.parameters, body.size)


def test_a_robot_without_a_moving_body_is_refused(tmp_path):
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    finding = refusal(DescriptionError, Robot.load, tmp_path / "r.urdf", base="fixed")
    assert (finding.code, finding.where) == ("bodies-missing", str(tmp_path / "r.urdf"))
    assert finding.remedy == {"base": "floating"}


@installed
def test_unknown_names_are_refused_with_the_nearest():
    robot = load("a1")
    for call, name, nearest in (
        (robot.body, "trunc", {"name": "trunk"}),  # a welded link is a valid name too
        (robot.body, "qqqqqqqq", {}),
        (robot.frame, "FR_foott", {"name": "FR_foot"}),
        (robot.frame, "qqqqqqqq", {}),
    ):
        finding = refusal(UsageError, call, name)
        assert finding.code == "name-unknown"
        assert repr(name) in finding.where
        assert finding.remedy == nearest
    with pytest.raises(UsageError) as error:
        Robot.load("a1", lock={"FR_hip_join": 0.0, "zzz": 1.0})
    assert [(f.code, f.where, f.remedy) for f in error.value.findings] == [
        ("name-unknown", "joint 'FR_hip_join'", {"name": "FR_hip_joint"}),
        ("name-unknown", "joint 'zzz'", {}),
    ]


@installed
def test_a_link_of_the_fixed_base_has_a_code_of_its_own():
    finding = refusal(UsageError, load("ur10").body, "base_link")
    assert (finding.code, finding.where) == ("link-on-fixed-base", "link 'base_link'")


def refusal(error, call, *arguments, **options):
    with pytest.raises(error) as refused:
        call(*arguments, **options)
    (finding,) = refused.value.findings
    return finding


def test_estimates_of_welded_massless_links_go_to_links_with_mass(tmp_path):
    text = f"""<robot name="r"><link name="world"/><link name="root"/>
{BODY.format(name="part", com="0 0 0.1", mass=2)}
<joint name="j" type="continuous"><parent link="world"/><child link="root"/></joint>
<joint name="w" type="fixed"><parent link="root"/><child link="part"/>
<origin xyz="0 0.2 0" rpy="1 0 0"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    robot = Robot.load(tmp_path / "r.urdf")
    estimate = physical(np.random.default_rng(8), 2.0, 0.3)
    shares = robot.inertials({"part": estimate})
    assert list(shares) == ["part"]
    back = inertia.transform(inertia.pack(*shares["part"]), robot.frames["part"].placement)
    np.testing.assert_allclose(back, estimate, rtol=1e-13, atol=1e-13)
