"""Forward simulation of windows with candidate parameters: a compiled simulator, and MuJoCo's rollout.

Both take a batch of candidates (B, bodies, 10) and return the residuals of each window: predicted minus measured final
position and velocity, (B, S, K), K = twice the degrees of freedom. The compiled one simulates trees on a fixed base and
equals MuJoCo's integrators to rounding; MuJoCo simulates floating bases with contacts as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.search.search_options import EngineKind
from steelyard.experiment.search.windows import Windows
from steelyard.experiment.simulate.mujoco_model import add_bodies, engine
from steelyard.experiment.simulate.world import World
from steelyard.kernels import forward
from steelyard.robot.model import Robot
from steelyard.spatial import Array, rotation_from_quaternion


class PredictionEngine(Protocol):
    """A simulator of windows."""

    windows: Windows

    def residuals(self, parameters: Array, terms: Array | None = None) -> Array:
        """Predicted minus measured final states (B, S, K), positions first, of ``parameters`` (B, bodies, 10)."""


class CompiledEngine:
    """Forward dynamics of ``kernels/forward.py``, sixteen windows at a time on the calling thread."""

    def __init__(self, robot: Robot, windows: Windows) -> None:
        tree = None if robot.floating or robot.sensors else robot.tree
        if tree is None:
            what = "has a floating base, force–torque sensors, or a joint of more than one degree of freedom"
            fix = 'Simulate with MuJoCo: engine="mujoco"'
            raise UsageError(Finding("engine-unsupported", robot.name, what, fix, {"engine": "mujoco"}))
        self.robot, self.windows, self._tree = robot, windows, tree
        self._nodes = np.array([tree.nodes[b.name] - 1 for b in robot.bodies])
        self._arm = forward.arm_of(tree)
        self._starts = forward.tiles(np.hstack([windows.q, windows.v]))
        torques = forward.tiles(windows.torques.reshape(len(windows), -1))
        self._torques = torques.reshape(len(torques), windows.steps + 1, -1)
        kind = forward.EULER if windows.integrator == "euler" else forward.RK4
        self._how = float(windows.step), bool(windows.ramp), kind
        self._end = np.hstack([windows.q_end, windows.v_end])

    def residuals(self, parameters: Array, terms: Array | None = None) -> Array:
        """Predicted minus measured final states, (B, S, 2·J)."""
        return np.asarray(self.final_states(parameters, terms) - self._end)

    def final_states(self, parameters: Array, terms: Array | None = None) -> Array:
        """Final positions and velocities (B, S, 2·J); ``terms`` (4·J,) are viscous, coulomb, armature, offset."""
        B, J, tree = len(parameters), len(self.robot.joints), self._tree
        thetas = np.zeros((B, tree.bodies, 10))
        thetas[:, self._nodes] = parameters
        joint = np.zeros((B, forward.TERMS * J)) if terms is None else np.tile(np.ravel(terms), (B, 1))
        out = np.empty((B, *self._starts.shape))
        work = forward.workspace(tree, J)
        forward.simulate(self._arm, thetas.reshape(B, -1), joint, self._starts, self._torques, self._how, work, out)
        lanes = out.reshape(B, len(self._starts), 2 * J, forward.L).transpose(0, 1, 3, 2)
        return np.asarray(lanes.reshape(B, -1, 2 * J)[:, : len(self.windows)])


class MujocoEngine:
    """MuJoCo's ``rollout``; a floating-base robot stands on level ground (``experiment/simulate/world.py``)."""

    def __init__(self, robot: Robot, windows: Windows, feet: Sequence[str] = (), threads: int = 0) -> None:
        self._mujoco, self.robot, self.windows, self._threads = engine(), robot, windows, threads
        if robot.coupling is not None:
            what = "has mimic joints or force–torque sensors, which the MuJoCo model lacks"
            fix = "Lock those joints, or leave the sensors out"
            raise UsageError(Finding("joints-coupled", robot.name, what, fix, {"lock": None}))
        if robot.floating:
            self._model = World(robot, feet=feet, timestep=windows.step).model
        else:
            self._model = fixed_model(robot, windows.step)
        mujoco, model = self._mujoco, self._model
        kind = mujoco.mjtIntegrator
        model.opt.integrator = kind.mjINT_EULER if windows.integrator == "euler" else kind.mjINT_RK4
        self._q = np.array([model.joint(j).qposadr[0] for j in robot.joints])
        self._v = np.array([model.joint(j).dofadr[0] for j in robot.joints])
        self._bodies = [model.body(b.name).id for b in robot.bodies]
        self._start = self._states(windows.q, windows.v, windows.base)
        self._end = self._states(windows.q_end, windows.v_end, windows.base_end)
        tau = windows.torques
        self._force = np.zeros((len(windows), windows.steps, model.nv))
        self._force[:, :, self._v] = (tau[:, 1:] + tau[:, :-1]) / 2 if windows.ramp else tau[:, :-1]

    def _states(self, q: Array, v: Array, base: Array | None) -> Array:
        """States (S, nq + nv) in MuJoCo's conventions."""
        nq, nv = self._model.nq, self._model.nv
        states = np.zeros((len(q), nq + nv))
        states[:, self._q], states[:, nq + self._v] = q, v
        if base is not None:
            states[:, :3], states[:, 3:7] = base[:, :3], base[:, [6, 3, 4, 5]]
            states[:, nq : nq + 3] = np.einsum("sij,sj->si", rotation_from_quaternion(base[:, 3:7]), base[:, 7:10])
            states[:, nq + 3 : nq + 6] = base[:, 10:13]
        return states

    def model(self, parameters: Array, terms: Array | None = None) -> Any:
        """MuJoCo model of one candidate (bodies, 10)."""
        model = copy.copy(self._model)
        for body, p in zip(self._bodies, parameters, strict=True):
            mass, com, I = inertia.unpack(p)
            w, V = np.linalg.eigh(I)
            V[:, 2] *= np.sign(np.linalg.det(V))
            quaternion = np.zeros(4)
            self._mujoco.mju_mat2Quat(quaternion, V.ravel())
            model.body_mass[body], model.body_ipos[body] = mass, com
            model.body_inertia[body], model.body_iquat[body] = w, quaternion
        for shortcut in (model.body_sameframe, model.body_simple, model.dof_simplenum):
            shortcut[:] = 0  # they hold for the compiled inertias alone
        if terms is not None:
            viscous, coulomb, armature, offset = np.reshape(terms, (4, -1))
            if coulomb.any() or offset.any():
                what = "models dry friction as a constraint, and no offsets: they differ from ours"
                fix = 'Simulate with engine="compiled"'
                raise UsageError(Finding("engine-unsupported", "engine=mujoco", what, fix, {"engine": "compiled"}))
            model.dof_damping[self._v], model.dof_armature[self._v] = viscous, armature
        if self.robot.floating:
            self._mujoco.mj_setConst(model, self._mujoco.MjData(model))
        return model

    def residuals(self, parameters: Array, terms: Array | None = None) -> Array:
        """Predicted minus measured final states, (B, S, 2·nv)."""
        from mujoco import rollout

        mujoco, S, nq, nv = self._mujoco, len(self.windows), self._model.nq, self._model.nv
        full = np.hstack([np.zeros((S, 1)), self._start])
        data = [mujoco.MjData(self._model) for _ in range(max(self._threads, 1))]
        out, difference = np.empty((len(parameters), S, 2 * nv)), np.zeros(nv)
        with rollout.Rollout(nthread=self._threads) as pool:
            for b, candidate in enumerate(parameters):
                state, _ = pool.rollout(
                    self.model(candidate, terms),
                    data if self._threads else data[0],
                    full,
                    self._force,
                    control_spec=mujoco.mjtState.mjSTATE_QFRC_APPLIED.value,
                )
                last = state[:, -1, 1:]
                if nq == nv:
                    out[b] = last[:, : 2 * nv] - self._end
                    continue
                for s in range(S):
                    mujoco.mj_differentiatePos(self._model, difference, 1.0, self._end[s, :nq], last[s, :nq])
                    out[b, s] = np.concatenate([difference, last[s, nq : nq + nv] - self._end[s, nq:]])
        return out


def fixed_model(robot: Robot, timestep: float) -> Any:
    """MuJoCo model of a fixed-base robot: bodies and joints, no limits, no contacts."""
    spec = engine().MjSpec()
    spec.option.timestep, spec.option.gravity = timestep, robot.gravity
    spec.compiler.degree, spec.compiler.autolimits, spec.compiler.balanceinertia = False, False, True
    add_bodies(spec, robot, {body.name: body.parameters for body in robot.bodies}, limited=False)
    return spec.compile()


def make_engine(robot: Robot, windows: Windows, kind: EngineKind, feet: Sequence[str]) -> PredictionEngine:
    """The engine of a kind; ``auto`` compiles fixed-base robots and leaves others to MuJoCo."""
    if kind == "compiled" or (kind == "auto" and not robot.floating):
        return CompiledEngine(robot, windows)
    return MujocoEngine(robot, windows, feet)
