"""Force plates: the forces that the floor measures give the same base equations as those at the feet."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from steelyard import Log, Options, identify
from steelyard.check.opening import open_logs
from steelyard.compose.prior import make
from steelyard.equations.filters import Filter
from steelyard.equations.missing import unmeasured
from steelyard.equations.prepare import prepare
from steelyard.equations.setup import Setup
from steelyard.errors import LogError, UsageError
from steelyard.identify.verdict import failed_checks
from steelyard.log.force_plate import Plate
from steelyard.spatial import WRENCH
from tests.level_soles import FEET, TALOS_KG, columns, talos_log
from tests.motions import installed, load, parameters, smooth, standing
from tests.refusals import refuses

PLACES = {  # one plate for each foot, somewhere, turned and a little askew
    "left": {"position": [0.3, 0.5, -0.9], "quaternion": [0.02, -0.03, 0.6, 0.79908]},
    "right": {"position": [-0.2, -0.4, -0.85], "quaternion": [0.0, 0.01, -0.1, 0.99494]},
}


def placed(name):
    place = PLACES[name]
    return pin.XYZQUATToSE3(
        np.array([*place["position"], *(np.array(place["quaternion"]) / np.linalg.norm(place["quaternion"]))])
    )


def on_plates(robot, log, feet=("left", "right"), components=WRENCH):
    """The log with its wrenches felt by plates instead: moved by Pinocchio's kinematics of the true pose."""
    felt = {name: np.zeros((len(log), 6)) for name in feet}
    data = robot.model.createData()
    table = {n: v for n, v in log.columns.items() if not n.startswith(("wrench.", "tau."))}
    names = [f"base.position.{c}" for c in "xyz"] + [f"base.quaternion.{c}" for c in "xyzw"]
    q = np.column_stack([log.columns[n] for n in (*names, *(f"q.{j}" for j in robot.joints))])
    for t in range(len(log)):
        pin.forwardKinematics(robot.model, data, q[t])
        for k, f in enumerate(log.names("wrench")):
            frame = robot.frame(f)
            force = pin.Force(np.array([log.columns[f"wrench.{f}.{c}"][t] for c in WRENCH]))
            world = (data.oMi[frame.joint] * pin.SE3(frame.placement)).act(force)
            name = feet[k % len(feet)]
            felt[name][t] += placed(name).actInv(world).vector
    table |= {f"plate.{n}.{c}": felt[n][:, WRENCH.index(c)] for n in feet for c in components}
    return Log.from_columns({"time": log.time, **table}, {"plates": {n: PLACES[n] for n in feet}}, "plates")


@installed
def test_what_plates_feel_enters_the_base_equations_exactly():
    robot, rng = load("talos"), np.random.default_rng(0)
    part = smooth(robot, 0, 8, 20.0, 0.1, standing(robot))
    theta = np.concatenate(list(parameters(robot, rng).values()))
    (free,) = Setup(robot, "base", columns(robot)).rows([part])
    poses, felt = np.empty((2, 8, 4, 4)), 50 * rng.normal(size=(2, 8, 6))
    for t in range(8):
        seen = [pin.SE3.Random() for _ in range(2)]
        poses[:, t] = [at.homogeneous for at in seen]
        rest = (free.Y @ theta)[t] - seen[1].act(pin.Force(felt[1, t])).vector
        felt[0, t] = seen[0].actInv(pin.Force(rest)).vector
    plates = {name: Plate(poses[k], felt[k]) for k, name in enumerate(PLACES)}
    (rows,) = Setup(robot, "base", columns(robot)).rows([replace(part, plates=plates)])
    np.testing.assert_allclose(rows.Y @ theta, rows.target, rtol=0, atol=1e-9 * np.abs(rows.target).max())
    some = replace(part, plates=plates).part(slice(2, 5))
    np.testing.assert_array_equal(some.plates["left"].wrench, felt[0, 2:5])
    np.testing.assert_array_equal(some.plates["right"].pose, poses[1, 2:5])


@installed
@pytest.mark.parametrize("lost", [("left", "fx fy mz"), ("left", "mx my mz"), ("right", "fz")])
def test_what_a_plate_does_not_feel_is_projected_out_in_its_own_axes(lost):
    robot, rng = load("talos"), np.random.default_rng(1)
    part = smooth(robot, 0, 8, 20.0, 0.1, standing(robot))
    name, gone = lost
    table = {f"plate.{p}.{c}": np.ones(2) for p in PLACES for c in WRENCH if p != name or c not in gone.split()}
    (unknown,) = unmeasured(robot, [Log.from_columns({"time": [0, 1], **table})], base=True)
    assert (unknown.column, unknown.names, unknown.level) == (f"plate.{name}", tuple(gone.split()), False)
    pose = np.array([pin.SE3.Random().homogeneous for _ in range(8)])
    felt = 50 * rng.normal(size=(8, 6))
    blank = felt.copy()
    blank[:, unknown.components] = 0
    targets = []
    for wrench in (felt, blank):
        (rows,) = Setup(robot, "base", columns(robot), (unknown,)).rows(
            [replace(part, plates={name: Plate(pose, wrench)})]
        )
        targets.append(rows.target)
    assert rows.Y.shape[1] == 6 - len(unknown.components)
    np.testing.assert_allclose(targets[0], targets[1], rtol=0, atol=1e-9)
    assert np.abs(targets[0]).max() > 10
    these = columns(robot)
    space = Setup(robot, "base", these, (unknown,)).structure(make(robot, these).scale)
    everything = Setup(robot, "base", these).structure(make(robot, these).scale)
    assert (space.rank < everything.rank) == (gone == "mx my mz")


@pytest.mark.slow
@installed
@pytest.mark.parametrize("plates", [("left", "right"), ("left",)])
def test_plates_give_the_same_estimate_as_the_wrenches_at_the_feet(plates):
    robot, log = talos_log(scaled=1.1)
    from_plates = identify(robot.description, [on_plates(robot, log, plates)]).estimate
    feet = replace(log, columns={n: v for n, v in log.columns.items() if not n.startswith("tau.")})
    from_feet = identify(robot.description, [feet]).estimate
    assert from_plates.equations == from_feet.equations == "base"
    assert list(from_plates.fit.rmse) == ["base.fx", "base.fy", "base.fz", "base.mx", "base.my", "base.mz"]
    # Exact logs: what remains is the error of differentiating sampled motion, a thousandth.
    assert from_plates.fit.relative_filtered < 2e-3
    assert from_plates.total.mass == pytest.approx(1.1 * TALOS_KG, rel=1e-3)
    for one, other in zip(from_plates.bodies, from_feet.bodies, strict=True):
        assert one.mass == pytest.approx(other.mass, abs=0.02 * robot.body(one.name).parameters[0] + 0.02)


@installed
def test_two_scales_weigh_a_robot():
    robot, log = talos_log(scaled=1.1)
    estimate = identify(robot.description, [on_plates(robot, log, components=("fz",))]).estimate
    assert list(estimate.fit.rmse) == ["base.fz"]
    assert estimate.total.mass == pytest.approx(1.1 * TALOS_KG, rel=0.02), "they stand a few degrees askew"
    assert estimate.blind == "vertical force alone"
    assert estimate.advice.endswith("log fx, fy, mx, my, mz of plate.left and plate.right")


STOOL = """<mujoco model="stool"><option timestep="0.001" cone="elliptic"/><worldbody>{floor}
<body name="stool" pos="0.05 -0.1 0.3" euler="0 0 20"><freejoint/>
<inertial pos="0.02 0.01 0.05" mass="{mass}" diaginertia="0.3 0.25 0.4"/>{legs}
<body name="beam" pos="0 0 0.1"><joint name="swing" axis="1 0 0" damping="0.1"/>
<inertial pos="0 0.05 0.15" mass="2" diaginertia="0.02 0.02 0.005"/>
<body name="weight" pos="0 0 0.1"><joint name="lift" type="slide" axis="0 0 1" damping="1"/>
<inertial pos="0.1 0 0" mass="3" diaginertia="0.01 0.01 0.01"/></body></body></body></worldbody>
<actuator><position joint="swing" kp="300" kv="20"/><position joint="lift" kp="3000" kv="100"/></actuator></mujoco>"""
CORNERS = [(x, y) for x in (-0.25, 0.25) for y in (-0.25, 0.25)]


def stool(mass, floor=""):
    """A trunk on four legs that swings a beam and lifts a weight along it."""
    legs = "".join(f'<geom type="sphere" size="0.03" pos="{x} {y} -0.27" mass="0"/>' for x, y in CORNERS)
    return STOOL.format(mass=mass, floor=floor, legs=legs)


def simulated(model, names, every=2):
    """Time, positions, and what each named geom of the floor feels: force and moment about the world's origin."""
    import mujoco

    data, felt = mujoco.MjData(model), np.zeros(6)
    times, positions, floor = [], [], {n: [] for n in names}
    of = {model.geom(n).id: n for n in names}
    for k in range(10000):
        data.ctrl[:] = min(data.time, 1) * np.array([0.4 * np.sin(5 * data.time), 0.04 * np.sin(8 * data.time)])
        mujoco.mj_forward(model, data)
        if k % every == 0:
            total = {n: np.zeros(6) for n in names}
            for i, contact in enumerate(data.contact):
                mujoco.mj_contactForce(model, data, i, felt)
                below = contact.geom1 in of  # the force is on the second geom
                R = contact.frame.reshape(3, 3).T * (1 if below else -1)
                force, moment = R @ felt[:3], R @ felt[3:]
                name = of[contact.geom1 if below else contact.geom2]
                total[name] += np.concatenate([force, moment + np.cross(contact.pos, force)])
            times.append(data.time)
            positions.append(data.qpos.copy())
            for n in names:
                floor[n].append(total[n])
        mujoco.mj_step(model, data)
    return np.array(times), np.array(positions), {n: np.array(x) for n, x in floor.items()}


@pytest.mark.slow
def test_the_mass_of_a_robot_on_two_plates_in_mujoco_is_identified(tmp_path):
    """Contacts, forces and motion are MuJoCo's own; the description has half of the trunk's mass."""
    mujoco = pytest.importorskip("mujoco")
    floor = "".join(
        f'<geom name="{n}" type="box" pos="{x} 0 -0.05" size="0.5 1 0.05"/>'
        for n, x in (("left", -0.5), ("right", 0.5))
    )
    time, q, felt = simulated(mujoco.MjModel.from_xml_string(stool(12.0, floor)), PLACES)
    assert all(np.ptp(force[500:, 2]) > 5 for force in felt.values()), "the load of both plates changes"
    path = tmp_path / "stool.xml"
    path.write_text(stool(6.0))
    table = {"time": time, "q.swing": q[:, 7], "q.lift": q[:, 8]}
    table |= {f"base.position.{c}": q[:, k] for k, c in enumerate("xyz")}
    table |= {f"base.quaternion.{c}": q[:, 3 + k] for k, c in enumerate("wxyz")}
    for name, world in felt.items():
        read = np.array([placed(name).actInv(pin.Force(w)).vector for w in world])
        table |= {f"plate.{name}.{c}": read[:, k] for k, c in enumerate(WRENCH)}
    log = Log.from_columns(table, {"plates": PLACES}, "stool").cut(500, 5000)
    estimate = identify(path, [log]).estimate
    assert estimate.equations == "base"
    assert estimate.total.mass == pytest.approx(17.0, rel=1e-4)  # 12 + 2 + 3 kg in MuJoCo
    assert estimate.body("weight").mass == pytest.approx(3.0, rel=1e-3)
    np.testing.assert_allclose(estimate.body("weight").parameters[1:4] / 3, [0.1, 0, 0], rtol=0, atol=2e-3)
    assert estimate.total.source == "data"
    assert estimate.fit.relative_filtered < 1e-3
    assert [q.code for q in failed_checks(estimate)] == ["log"], "the description lacks a third of the weight"


@installed
def test_plates_need_their_pose_and_that_of_the_base():
    robot, log = talos_log()
    log = on_plates(robot, log)
    lost = replace(log, metadata={"plates": {"left": PLACES["left"]}})
    lost = replace(lost, columns={n: v for n, v in log.columns.items() if not n.startswith("base.")})
    with pytest.raises(LogError) as error:
        open_logs(robot.description, [lost], Options())
    position, quaternion = ([f"base.{v}.{c}" for c in cs] for v, cs in (("position", "xyz"), ("quaternion", "xyzw")))
    assert [(f.code, f.where, f.remedy) for f in error.value.findings] == [
        ("base-pose-missing", "plates, plate.left", {"columns": position}),
        ("base-pose-missing", "plates, plate.left", {"columns": quaternion}),
        ("plate-pose-missing", "plates, plate.right", {}),
    ]
    other = replace(log, columns={n: v for n, v in log.columns.items() if "plate.right" not in n}, source="other")
    with refuses(LogError, "logs-differ", "other, plate.right"):
        Setup.of(robot.description, [log, other], Options())


@installed
def test_plates_are_used_in_base_equations_only_and_others_refuse_them():
    robot, full = talos_log()
    log = on_plates(robot, full)
    torques = {n: v for n, v in full.columns.items() if n.startswith("tau.")}
    log = replace(log, columns={**log.columns, **torques})
    assert Setup.of(robot.description, [log], Options()).equations == "base"
    setup = Setup.of(robot.description, [log], Options(feet=FEET["talos"]))
    assert setup.equations == "contact-free"
    assert [(n.where, n.remedy) for n in setup.notices if n.code == "plate-unusable"] == [
        ("plates", {"equations": "base"})
    ]
    filter = Filter().for_logs([log])
    assert not prepare(robot, log, filter, torques=True)[0][0].plates
    assert list(prepare(robot, log, filter, torques=False)[0][0].plates) == ["left", "right"]
    for equations in ("full", "joint"):
        with refuses(UsageError, "plate-unusable", f"equations={equations}", {"equations": "base"}):
            open_logs(robot.description, [log], Options(equations=equations, base="floating"))
    bare = replace(log, columns={n: v for n, v in log.columns.items() if not n.startswith("tau.")})
    with refuses(UsageError, "torques-missing", "feet="):
        open_logs(robot.description, [bare], Options(feet=FEET["talos"]))


@installed
def test_a_foot_with_a_wrench_on_a_plate_is_counted_twice_and_refused():
    robot, log = talos_log()
    wrenches = {n: v for n, v in log.columns.items() if n.startswith("wrench.")}
    both = on_plates(robot, log)
    with refuses(LogError, "force-measured-twice", "plates, wrench and plate"):
        open_logs(robot.description, [replace(both, columns={**both.columns, **wrenches})], Options())
    upside = {n: -v if n.startswith("plate.") else v for n, v in both.columns.items()}
    with refuses(LogError, "sign-reversed", "plates, plate", {"negate": "plate"}):
        open_logs(robot.description, [replace(both, columns=upside)], Options())
