"""A legged robot in MuJoCo, on ball feet or soles: built from our moving bodies, so that its inertias are Pinocchio's.

One MuJoCo body per moving body, in the same frame, with all ten parameters of its truth; the base on a free joint. Then
``M(q) a + h(q, v) = τ − friction + Σ Jᵀ f`` is the same equation as in ``equations/dynamics.py``, and all output is
in the conventions of logs: joints by ``robot.joints``, quaternion x y z w, vectors of the base in base
axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.ground import Ground
from steelyard.experiment.simulate.legs import point_feet
from steelyard.experiment.simulate.loads import Load, add_loads
from steelyard.experiment.simulate.mujoco_model import add_bodies, engine, wxyz
from steelyard.experiment.simulate.robot_state import FootContact, RobotState
from steelyard.experiment.simulate.simulate_arm import Friction
from steelyard.robot.model import Robot
from steelyard.robot.soles import Sole
from steelyard.spatial import Array, cross, rotation_from_unit

TIMESTEP = 5e-4  # s
CONTACT = {"solref": [0.008, 1.0], "solimp": [0.95, 0.99, 0.001, 0.5, 2.0]}  # rubber: feet sink in by 0.2 mm
SHIN = 0.1  # m above the ground at neutral: boxes that reach below would touch it where shins and ankles do not
PLATE = 0.01  # m, half the thickness of a simulated sole
STICK = {"solref": [0.001, 1.0], "solimp": [0.999, 0.999, 0.001, 0.5, 2.0]}  # of dry friction: little creep


class World:
    """A robot that differs from its description, on its feet, under gravity.

    ``truth``: parameters (10,) of bodies that are not as described. ``friction``: of the joints, dry friction with
    real sticking. The base's box collides with the ground as well, which ``fallen`` detects. ``soles``: it stands on
    these instead of balls; then boxes of all bodies but shins and feet collide with the ground.
    """

    def __init__(
        self,
        robot: Robot,
        truth: Mapping[str, Array] | None = None,
        *,
        feet: Sequence[str] = (),
        soles: Sequence[Sole] = (),
        loads: Iterable[Load] = (),
        ground: Ground | None = None,
        friction: Friction | None = None,
        timestep: float = TIMESTEP,
    ) -> None:
        self.robot, self.ground, self.friction = _simulable(robot), ground or Ground(), friction
        self.soles = tuple(soles)
        self.feet = point_feet(robot, feet) if not soles else ()
        self.stands = tuple(robot.frame(s.name) for s in soles) or tuple(f.frame for f in self.feet)
        self.truth = add_loads(robot, truth or {}, loads)
        mujoco = engine()
        self.model = self._compile(mujoco, timestep)
        self.data = mujoco.MjData(self.model)
        names = robot.joints
        self._q = np.array([self.model.joint(j).qposadr[0] for j in names])
        self._v = np.array([self.model.joint(j).dofadr[0] for j in names])
        if friction is not None:
            self.model.dof_damping[self._v] = friction.viscous
            self.model.dof_frictionloss[self._v] = friction.coulomb
            self.model.dof_armature[self._v] = friction.armature
            self.model.dof_solref[self._v], self.model.dof_solimp[self._v] = STICK["solref"], STICK["solimp"]
            mujoco.mj_setConst(self.model, self.data)
        self._foot_of = np.full(self.model.ngeom, -1)  # geom → foot, −1: none
        self._foot_of[[self.model.geom(f"foot {k}").id for k in range(len(self.stands))]] = range(len(self.stands))
        self._bodies = [self.model.body(robot.body(f.link).name).id for f in self.stands]
        self._pushes: dict[str, tuple[Array, Array, Array]] = {}
        self._tau = np.zeros(len(names))
        self._stale = True

    def _compile(self, mujoco: Any, timestep: float) -> Any:
        robot, spec = self.robot, mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = timestep, robot.gravity
        spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
        spec.option.solver, spec.option.tolerance, spec.option.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-14, 60
        spec.compiler.degree, spec.compiler.autolimits = False, False
        self.ground.add(spec)
        places = {body.joint: body for body in robot.bodies}
        bodies = add_bodies(spec, robot, self.truth, limited=True)
        for k, foot in enumerate(self.feet):
            bodies[foot.frame.joint].add_geom(
                name=f"foot {k}",
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[foot.radius, 0, 0],
                pos=foot.centre,
                mass=0,
                contype=2,
                conaffinity=1,
                condim=3,
                priority=1,
                friction=[self.ground.grip, 0.005, 0.0001],
                **CONTACT,
            )
        for k, sole in enumerate(self.soles):
            bodies[sole.joint].add_geom(
                name=f"foot {k}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=[*sole.half, PLATE],
                pos=(sole.placement @ [0, 0, PLATE, 1])[:3],
                quat=wxyz(sole.placement[:3, :3]),
                mass=0,
                contype=2,
                conaffinity=1,
                condim=3,
                priority=1,
                friction=[self.ground.grip, 0.005, 0.0001],
                **CONTACT,
            )
        for i in self._solid() if self.soles else [1]:
            low, high = places[i].box
            bodies[i].add_geom(
                name=f"box {places[i].name}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=(high - low) / 2,
                pos=(high + low) / 2,
                mass=0,
                contype=2,
                conaffinity=1,
            )
        return spec.compile()

    def _solid(self) -> list[int]:
        """Joints of bodies that touch the ground only when a robot on soles has fallen."""
        model, data = self.robot.model, self.robot.model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        ground = min(data.oMi[s.joint].act(s.placement[:3, 3])[2] for s in self.soles)
        corners = {b.joint: np.array(list(product(*np.transpose(b.box)))) for b in self.robot.bodies}
        return [
            i
            for i, c in corners.items()
            if (c @ data.oMi[i].rotation[2]).min() + data.oMi[i].translation[2] > ground + SHIN
        ]

    @property
    def timestep(self) -> float:
        """Integration step, s."""
        return float(self.model.opt.timestep)

    @property
    def time(self) -> float:
        """s since the last ``reset``."""
        return float(self.data.time)

    @property
    def q(self) -> Array:
        """(J,) joint positions now."""
        return np.asarray(self.data.qpos[self._q])

    @property
    def v(self) -> Array:
        """(J,) joint velocities now."""
        return np.asarray(self.data.qvel[self._v])

    def reset(self, q: Array, *, rotation: Array | None = None, clearance: float = 0.0) -> None:
        """Place at rest in a posture (J,), the base rotated, the lowest foot ``clearance`` m above level ground."""
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
        model, data = self.robot.model, self.robot.model.createData()
        pin.forwardKinematics(model, data, self.robot.positions(np.asarray(q, float)[None])[0])
        balls = [(R @ data.oMi[f.frame.joint].act(f.centre))[2] - f.radius for f in self.feet]
        corners = [(R @ data.oMi[s.joint].act(corner))[2] for s in self.soles for corner in s.corners]
        lowest = min(balls + corners)
        quaternion = pin.Quaternion(R).coeffs()
        self.place(np.array([0, 0, clearance - lowest]), quaternion, np.asarray(q, float))

    def place(
        self, position: Array, quaternion: Array, q: Array, motion: Array | None = None, *, time: float = 0.0
    ) -> None:
        """Set any state: base pose in the world (quaternion x y z w), joints (J,), velocities (6 + J,) in base axes."""
        engine().mj_resetData(self.model, self.data)
        v = np.zeros(6 + len(q)) if motion is None else np.asarray(motion, float)
        self.data.time = time
        self.data.qpos[:3], self.data.qpos[3:7] = position, np.asarray(quaternion)[[3, 0, 1, 2]]
        self.data.qvel[:3] = rotation_from_unit(quaternion) @ v[:3]
        self.data.qvel[3:6] = v[3:6]
        self.data.qpos[self._q], self.data.qvel[self._v] = q, v[6:]
        self._pushes.clear()
        self._tau, self._stale = np.zeros(len(q)), True

    def apply(self, tau: Array) -> None:
        """Apply motor torques (J,) from now on."""
        self._tau, self._stale = np.array(tau, float), True

    def push(
        self, link: str, force: Array, moment: Sequence[float] = (0, 0, 0), at: Sequence[float] = (0, 0, 0)
    ) -> None:
        """Apply a force (N) and moment (N·m) in world axes at a point of a link (m, its axes) from now on."""
        self._pushes[link] = (np.array(force, float), np.array(moment, float), np.array(at, float))
        self._stale = True

    def release(self) -> None:
        """Remove all external forces."""
        self._pushes.clear()
        self._stale = True

    def step(self, tau: Array | None = None, count: int = 1) -> None:
        """Integrate ``count`` timesteps with the motor torques held."""
        mujoco = engine()
        if tau is not None:
            self.apply(tau)
        for _ in range(count):
            self._forward()
            mujoco.mj_Euler(self.model, self.data)
            self._stale = True

    def _forward(self) -> None:
        """Compute accelerations and contact forces of this instant."""
        if not self._stale:
            return
        mujoco = engine()
        offset = 0.0 if self.friction is None else self.friction.offset
        force = np.zeros(self.model.nv)
        force[self._v] = self._tau - offset
        if self._pushes:
            mujoco.mj_fwdPosition(self.model, self.data)
            for link, (f, m, at) in self._pushes.items():
                frame, body = self.robot.frame(link), self.model.body(self.robot.body(link).name).id
                local = frame.placement @ np.append(at, 1.0)
                point = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ local[:3]
                mujoco.mj_applyFT(self.model, self.data, f, m, point, body, force)
        self.data.qfrc_applied[:] = force
        mujoco.mj_forward(self.model, self.data)
        self._stale = False

    @property
    def state(self) -> RobotState:
        """Motion and acceleration of this instant, in the log's conventions."""
        self._forward()
        d = self.data
        quaternion = d.qpos[[4, 5, 6, 3]].copy()
        R = rotation_from_unit(quaternion)
        return RobotState(
            float(d.time),
            d.qpos[:3].copy(),
            quaternion,
            R.T @ d.qvel[:3],
            d.qvel[3:6].copy(),
            R.T @ d.qacc[:3],
            d.qacc[3:6].copy(),
            d.qpos[self._q],
            d.qvel[self._v],
            d.qacc[self._v],
            self._tau.copy(),
        )

    def _contacts(self) -> tuple[Array, Array, Array, Array]:
        """Contact points of feet: (F, K) which foot, (K, 3) m where, (K, 3) N on the robot, (K,) N normal force."""
        self._forward()
        contact = self.data.contact
        one, other = self._foot_of[contact.geom].reshape(-1, 2).T
        foot, address = np.maximum(one, other), contact.efc_address
        used = np.flatnonzero((foot >= 0) & (address >= 0))
        local = self.data.efc_force[address[used, None] + np.arange(3)]  # normal first: cones are elliptic
        local[other[used] < 0] *= -1  # frames point from the first body to the second
        force = (local[:, None, :] @ contact.frame[used].reshape(-1, 3, 3))[:, 0]
        return foot[used] == np.arange(len(self.stands))[:, None], contact.pos[used], force, np.abs(local[:, 0])

    @property
    def foot_contacts(self) -> tuple[FootContact, ...]:
        """Force of the ground on each foot at this instant, in the order of ``stands``."""
        whose, at, force, pressure = self._contacts()
        forces, weights = whose @ force, whose @ pressure
        points = whose @ (pressure[:, None] * at) / np.where(weights > 0, weights, 1.0)[:, None]
        moments = whose @ cross(at, force) - cross(points, forces)
        return tuple(map(FootContact, forces, points, moments))

    @property
    def wrenches(self) -> Array:
        """(F, 6) N and N·m, of the ground on each foot at its frame in ``stands``, in its axes; zero in the air."""
        whose, at, force, _ = self._contacts()
        forces, moments = whose @ force, whose @ cross(at, force)  # about the world's origin
        out = np.zeros((len(self.stands), 6))
        for six, f, m, frame, body in zip(out, forces, moments, self.stands, self._bodies, strict=True):
            R = self.data.xmat[body].reshape(3, 3)
            axes = R @ frame.placement[:3, :3]
            six[:3] = f @ axes
            six[3:] = (m - cross(self.data.xpos[body] + R @ frame.placement[:3, 3], f)) @ axes
        return out

    @property
    def at_limits(self) -> int:
        """Number of joints at a limit now; a limit exerts a force that is not in the equations."""
        self._forward()
        return int(self.data.nl)

    @property
    def fallen(self) -> bool:
        """Whether the trunk, or on soles any other body, foot_contacts the ground, or the state is not finite."""
        if not np.isfinite(self.data.qpos).all():
            return True
        touching = self.data.contact.geom.ravel()
        return bool(np.any((self._foot_of[touching] < 0) & (self.model.geom_bodyid[touching] > 0)))


def _simulable(robot: Robot) -> Robot:
    findings = []
    if not robot.floating:
        findings.append(
            Finding(
                "base-fixed",
                robot.name,
                "has a fixed base",
                'Simulate an arm with motion="fourier", or load the robot with a floating base',
                {"motion": "fourier"},
            )
        )
    if robot.coupling is not None:
        findings.append(
            Finding(
                "joints-coupled",
                robot.name,
                "has coupled joints or force–torque sensors, which are not simulated",
                "Lock those joints, and leave the sensors out",
            )
        )
    if findings:
        raise UsageError(findings)
    return robot
