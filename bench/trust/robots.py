"""The robots of the study: how each one's exact log is simulated, and how its sensors read it.

Robots are in two halves: limits of the verdict are chosen on ``tuning`` ones, and reported on the others. Arms follow a
Fourier motion by inverse dynamics, quadrupeds trot in MuJoCo, humanoids follow sines with both feet loaded. Every true
robot differs from its description.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.legs import find_feet
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import measure as read_sensors
from steelyard.experiment.simulate.simulate_arm import NOISE, Friction, fourier_motion
from steelyard.experiment.simulate.simulate_floating import FloatingMotion, crouched, simulate_floating
from steelyard.experiment.simulate.simulate_quadruped import Gait, leg_friction, simulate_quadruped, true_robot
from steelyard.experiment.simulate.trot import TrotCommand
from steelyard.experiment.simulate.truth import Specimen, perturb_masses, perturbed
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.robot.description import Description
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import Array

Kind = Literal["arm", "quadruped", "humanoid"]
LEGGED: tuple[Kind, ...] = ("quadruped", "humanoid")
LONG = 60.0  # s, of the exact logs of legged robots, of which pieces are cut
MOTIONS = 3  # such logs a robot, each of another true robot
TROTS = ((0.3, 0.0), (0.2, 0.2), (0.4, -0.2))  # m/s forward and rad/s to the left, by motion
HUMANOID_RATE = 100.0  # Hz
SPEED_NOISE = 2e-3  # rad/s, of velocities that an arm's drives report
SLOWEST = 0.008  # rad/s: the true speed of half Coulomb friction lies below it; the model's own is .004


@dataclass(frozen=True)
class Subject:
    """A robot of the study, and the joints in which faults of single joints are planted."""

    name: str
    kind: Kind
    half: Literal["tuning", "reporting"]
    joint: str  # carries weight
    swapped: tuple[str, str]  # of like range
    lengthened: tuple[str, ...]  # joints whose distance from their parent's is wrong in a wrong description
    lock: tuple[str, ...] = ()  # joints that no log has

    @property
    def robot(self) -> Robot:
        """As described."""
        return _robot(self.name, self.lock)


@cache
def _robot(name: str, lock: tuple[str, ...]) -> Robot:
    return Robot.load(name, lock=dict.fromkeys(lock, 0.0))


_CALVES = ("FR_calf_joint", "FL_calf_joint", "RR_calf_joint", "RL_calf_joint")
SUBJECTS = {
    s.name: s
    for s in (
        Subject("demo_arm", "arm", "tuning", "elbow_joint", ("wrist_1_joint", "wrist_2_joint"), ("elbow_joint",)),
        Subject("z1", "arm", "tuning", "joint3", ("joint4", "joint5"), ("joint3",), ("jointGripper",)),
        Subject("a1", "quadruped", "tuning", "FR_calf_joint", ("FR_calf_joint", "FL_calf_joint"), _CALVES),
        Subject(
            "talos",
            "humanoid",
            "tuning",
            "leg_left_4_joint",
            ("leg_left_4_joint", "leg_right_4_joint"),
            ("leg_left_4_joint", "leg_right_4_joint"),
        ),
        Subject(
            "panda",
            "arm",
            "reporting",
            "panda_joint4",
            ("panda_joint5", "panda_joint6"),
            ("panda_joint3",),
            ("panda_finger_joint1", "panda_finger_joint2"),
        ),
        Subject("xarm7", "arm", "reporting", "joint4", ("joint5", "joint6"), ("joint3",)),
        Subject("go2", "quadruped", "reporting", "FR_calf_joint", ("FR_calf_joint", "FL_calf_joint"), _CALVES),
        Subject(
            "g1",
            "humanoid",
            "reporting",
            "left_knee_joint",
            ("left_knee_joint", "right_knee_joint"),
            ("left_knee_joint", "right_knee_joint"),
        ),
    )
}


@dataclass(frozen=True)
class Scene:
    """A log of a true robot, and what ``identify`` is given beside it."""

    subject: Subject
    robot: Robot  # with the true kinematics
    description: Description  # given to identify
    truth: Mapping[str, Array]  # body → (10,)
    friction: Friction
    half_speed: Array  # (J,) rad/s, of half Coulomb friction
    log: Log  # exact, then measured
    options: Mapping[str, Any]  # keywords of identify
    feet: tuple[str, ...] = ()  # of legged robots

    def matrix(self, kind: str) -> Array:
        """(T, J) of ``q``, ``v``, ``a`` or ``tau``, in the order of the robot's joints."""
        return np.column_stack([self.log.columns[f"{kind}.{j}"] for j in self.robot.joints])

    def with_columns(self, columns: Mapping[str, Array]) -> Scene:
        """The same with some columns replaced or added."""
        return replace(self, log=replace(self.log, columns={**self.log.columns, **columns}))

    def with_matrix(self, kind: str, values: Array) -> Scene:
        """The same with other ``q``, ``v``, ``a`` or ``tau``."""
        return self.with_columns({f"{kind}.{j}": values[:, k] for k, j in enumerate(self.robot.joints)})


def draw(name: str, *numbers: int) -> np.random.Generator:
    """A generator that depends on a name and on numbers, the same in every process."""
    return np.random.default_rng([zlib.crc32(name.encode()), *numbers])


def exact_scene(subject: Subject, seed: int, span: tuple[float, float], rate: float, work: Path) -> Scene:
    """The exact log of a true robot between two times (s); arms at ``rate`` (Hz), legged robots at their own.

    ``seed``: of truth and motion. ``work``: folder where long simulations are kept.
    """
    if subject.kind == "arm":
        return _arm(subject, seed, span[1] - span[0], rate)
    long = _long(subject, seed % MOTIONS, work)
    inside = np.flatnonzero((long.log.time >= span[0] - 1e-9) & (long.log.time < span[1] - 1e-9))
    return replace(long, log=long.log.cut(int(inside[0]), int(inside[-1]) + 1))


def prepare(subject: Subject, motion: int, work: Path) -> None:
    """Simulate a long log of a legged robot, unless it is kept."""
    path = _path(subject, motion, work)
    if subject.kind == "arm" or path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_log(path, (_trot if subject.kind == "quadruped" else _sway)(subject, motion))


def measure(scene: Scene, seed: int, *, speeds: bool = False) -> Scene:
    """Replace the exact log by readings at ``mid`` noise; ``speeds``: of an arm with velocities."""
    metadata = {k: v for k, v in scene.log.metadata.items() if k == "imu_frame"}
    if scene.subject.kind != "arm":
        level = "mid" if scene.subject.kind == "quadruped" else "humanoid"
        log = read_sensors(scene.log, level, seed)
        columns = {c: x for c, x in log.columns.items() if scene.subject.kind == "quadruped" or c[:4] != "tau."}
        return replace(scene, log=Log.from_columns({"time": log.time, **columns}, metadata, scene.subject.name))
    rng, noise = draw("sensors", seed), NOISE["mid"]
    columns = {"time": scene.log.time}
    for name, x in scene.log.columns.items():
        size = {"q": noise.q, "v": SPEED_NOISE, "tau": noise.tau * np.sqrt(np.mean(x**2))}.get(name.split(".")[0])
        if size is not None and (speeds or not name.startswith("v.")):
            columns[name] = x + size * rng.normal(size=len(x))
    return replace(scene, log=Log.from_columns(columns, metadata, scene.subject.name))


def arm_torques(scene: Scene, truth: Mapping[str, Array] | None = None, gravity: Array | None = None) -> Array:
    """(T, J) torques of the motion of an arm with friction; ``gravity``: (3,) m/s² in the axes of its base."""
    q, v, a = scene.matrix("q"), scene.matrix("v"), scene.matrix("a")
    robot, model = scene.robot, scene.robot.model.copy()
    for body in robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters((truth or scene.truth)[body.name])
    model.gravity.linear = robot.gravity if gravity is None else gravity
    data = model.createData()
    states = robot.positions(q), robot.motion(v), robot.motion(a)
    rigid = np.array([pin.rnea(model, data, *state) for state in zip(*states, strict=True)])
    return np.asarray(rigid + joint_torque(scene.friction, scene.half_speed, v, a))


def joint_torque(friction: Friction, half_speed: Array, v: Array, a: Array) -> Array:
    """(T, J) of friction, rotors and offsets."""
    dry = friction.coulomb * v / (np.abs(v) + half_speed + 1e-9)
    return np.asarray(friction.viscous * v + dry + friction.armature * a + friction.offset)


def _arm(subject: Subject, seed: int, seconds: float, rate: float) -> Scene:
    robot, rng = subject.robot, draw(subject.name, seed)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    half_speed = rng.uniform(0, SLOWEST, len(robot.joints))
    t, q, v, a = fourier_motion(robot, rng, seconds, rate)
    columns = {f"{k}.{j}": x[:, i] for k, x in (("q", q), ("v", v), ("a", a)) for i, j in enumerate(robot.joints)}
    log = Log.from_columns({"time": t, **columns}, {}, subject.name)
    options: dict[str, Any] = {"friction": "all"}
    if subject.lock:
        options["lock"] = dict.fromkeys(subject.lock, 0.0)
    scene = Scene(subject, robot, robot.description, truth, friction, half_speed, log, options)
    return scene.with_matrix("tau", arm_torques(scene))


def _path(subject: Subject, motion: int, work: Path) -> Path:
    return work / f"{subject.name}-{motion}.parquet"


@cache
def _long(subject: Subject, motion: int, work: Path) -> Scene:
    """The whole of a long log; trots at half of the rate at which they were simulated."""
    prepare(subject, motion, work)
    log = read_log(_path(subject, motion, work))
    robot, truth, friction = subject.robot, *_legged_truth(subject, motion)
    if subject.kind == "quadruped":
        log = replace(log, time=log.time[::2], columns={c: x[::2] for c, x in log.columns.items()})
        feet = find_feet(robot)
        options = {"feet": feet, "links": (robot.bodies[0].name,), "friction": "armature"}
    else:
        feet, options = _soles(robot), {"equations": "base"}
    still = np.zeros(len(robot.joints))
    return Scene(subject, robot, robot.description, truth, friction, still, log, options, feet)


def _legged_truth(subject: Subject, motion: int) -> tuple[dict[str, Array], Friction]:
    robot, rng, none = subject.robot, draw(subject.name, motion), np.zeros(len(subject.robot.joints))
    if subject.kind == "humanoid":  # base equations contain no joint torques
        return perturb_masses(robot, rng), Friction(none, none, none, none)
    friction = leg_friction(robot, "mid", rng)
    assert friction is not None
    return true_robot(robot, "base", rng), friction


def _soles(robot: Robot) -> tuple[str, ...]:
    return tuple(f"{sole.name}:surface" for sole in find_soles(robot))


def _trot(subject: Subject, motion: int) -> Log:
    truth, friction = _legged_truth(subject, motion)
    speed, turn = TROTS[motion]
    return simulate_quadruped(
        subject.robot,
        Gait("trot", TrotCommand(speed, turn=turn)),
        Specimen(truth, friction=friction),
        Recording(source=subject.name),
        seconds=LONG,
        seed=motion,
    )


def _sway(subject: Subject, motion: int) -> Log:
    """A humanoid whose base and joints move on sines, each coordinate at two frequencies of its own."""
    robot, rng = subject.robot, draw(subject.name, motion, 1)
    n = 6 + len(robot.joints)
    t = np.arange(int(LONG * HUMANOID_RATE)) / HUMANOID_RATE
    w, phase = rng.uniform(2, 9, (2, n)), rng.uniform(0, 2 * np.pi, (2, n))  # rad/s: up to 1.4 Hz
    size = np.concatenate([np.full(3, 0.03), np.full(3, 0.08), np.full(n - 6, 0.2)])  # m, rad, rad
    angle = w * t[:, None, None] + phase
    x, v, a = size * np.sin(angle), size * w * np.cos(angle), -size * w**2 * np.sin(angle)
    x, v, a = x.sum(axis=1), v.sum(axis=1), a.sum(axis=1)
    x[:, 6:] += crouched(robot)
    truth, _ = _legged_truth(subject, motion)
    return simulate_floating(robot, truth, _soles(robot), FloatingMotion(t, x, v, a), wrenches=True)
