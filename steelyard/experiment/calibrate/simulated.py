"""A simulated robot to calibrate: MuJoCo's physics, position-controlled joints, sensors with noise and zero errors.

The robot in the world has the parameters of ``World.truth``; the rig exposes its description only, as a real one does.
Joints are held by τ = kp (q* − q) + kd (q̇* − q̇) at every step of the physics. ``offsets`` are errors of the encoders'
zeros; the controllers use the same encoders, so the true posture is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from steelyard import inertia
from steelyard.errors import Finding, UsageError
from steelyard.experiment.calibrate.com import CentreOfMass
from steelyard.experiment.calibrate.composite import Inertias, frozen
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import JointCommand, Reading
from steelyard.experiment.calibrate.rig_options import RigOptions
from steelyard.experiment.calibrate.sinusoid import AXES, effective_of
from steelyard.experiment.simulate.legs import Legs, find_feet
from steelyard.experiment.simulate.loads import Load
from steelyard.experiment.simulate.sensors import Sensors, level
from steelyard.experiment.simulate.simulate_quadruped import leg_friction, true_robot
from steelyard.experiment.simulate.world import World
from steelyard.log.log import Log
from steelyard.robot.model import GRAVITY, Robot
from steelyard.spatial import Array

SETTLE = 0.5  # s, after it is placed on the ground
STIFF = 32.75  # N·m/rad per kg·m of mass times leg length: 180 for an A1; much less sags, much more chatters
DAMP = 1 / 36  # s, of the stiffness


class SimulatedRig:
    """A ``Rig`` and ``BalancingRig`` in a ``World``."""

    def __init__(
        self,
        world: World,
        posture: Mapping[str, float] | None = None,
        *,
        feet: tuple[str, ...] = (),
        noise: Sensors | str = "mid",
        offsets: Mapping[str, float] | None = None,
        stiffness: float | None = None,
        rate: float = 500.0,
        seed: int = 0,
    ) -> None:
        steps = 1 / (rate * world.timestep)
        if abs(steps - round(steps)) > 1e-9 or steps < 1:
            what = f"does not divide the rate of the physics, {1 / world.timestep:g} Hz"
            nearest = 1 / (max(1, round(steps)) * world.timestep)
            raise UsageError(Finding("option-value", f"rate={rate:g}", what, f"Give {nearest:g} Hz", {"rate": nearest}))
        self.world, self.rate = world, rate
        self.noise = level(noise) if isinstance(noise, str) else noise
        legs = Legs(world.robot, world.feet)
        self.kp = STIFF * legs.mass * legs.length if stiffness is None else stiffness
        self.kd = DAMP * self.kp
        self._steps = round(steps)
        joints = world.robot.joints
        home = dict(zip(joints, legs.home, strict=True)) if posture is None else posture
        self.posture: Mapping[str, float] = {j: float(q) for j, q in home.items()}
        self.feet = feet or find_feet(world.robot)
        self._rng = np.random.default_rng([seed, 3])
        drawn = self.noise.q_bias * self._rng.normal(size=len(joints))
        self._zero = drawn + np.array([(offsets or {}).get(j, 0.0) for j in joints])
        self._gyro, self._acc = (
            self.noise.gyro_bias * self._rng.normal(size=3),
            self.noise.acc_bias * self._rng.normal(size=3),
        )
        self.stand()

    @property
    def robot(self) -> Robot:
        """The robot as described."""
        return self.world.robot

    def stand(self) -> None:
        """Place the robot on the ground in its posture, at rest."""
        q = np.array([self.posture[j] for j in self.robot.joints])
        self.world.reset(q - self._zero, clearance=1e-4)
        self._held = np.array([q, np.zeros_like(q), np.zeros_like(q)])
        self._advance(np.tile(q, (int(SETTLE * self.rate), 1)))

    def follow(self, targets: Mapping[str, Array]) -> Log:
        """Track joint positions, one per sample, and hold the last."""
        return self._advance(np.column_stack([targets[j] for j in self.robot.joints]))

    def run(self, controller: Callable[[Reading], JointCommand | None], seconds: float) -> Log:
        """Call the controller once per sample until it returns None or time is over."""
        rows = list[Array]()
        start = self.world.time
        for k in range(round(seconds * self.rate)):
            row = self._read()
            rows.append(row)
            q, v, _, gyro, acc = np.split(row, np.cumsum([len(self._zero)] * 3 + [3]))
            command = controller(Reading(k / self.rate, q, v, gyro, acc))
            if command is None:
                break
            self._hold(command)
        return self._log(rows, start)

    def _advance(self, targets: Array) -> Log:
        rows, start = list[Array](), self.world.time
        for target in targets:
            self._hold(JointCommand(target, (target - self._held[0]) * self.rate, np.zeros_like(target)))
            rows.append(self._read())
        return self._log(rows, start)

    def _hold(self, command: JointCommand) -> None:
        """Advance by one sample; targets are interpolated, as torques that jump with samples would alias."""
        held, wanted = self._held, np.array([command.q, command.v, command.tau])
        for k in range(1, self._steps + 1):
            self.world.step()
            q, v, tau = held + (k / self._steps) * (wanted - held)
            self.world.apply(tau + self.kp * (q - self.world.q - self._zero) + self.kd * (v - self.world.v))
        self._held = wanted

    def _read(self) -> Array:
        """(3 J + 6,) measured q, v, tau, gyro, acc."""
        state, rng, sigma = self.world.state, self._rng, self.noise
        proper = state.acceleration + state.rotation.T @ np.array([0, 0, GRAVITY])
        J, half = len(state.q), self.world.timestep / 2  # the integrator's velocities lag by half a step
        return np.concatenate(
            [
                state.q + self._zero + sigma.q * rng.normal(size=J),
                state.v + half * state.a + 10 * sigma.q * rng.normal(size=J),
                state.tau * (1 + sigma.tau_gain) + sigma.tau * rng.normal(size=J),
                state.angular_velocity
                + half * state.angular_acceleration
                + self._gyro
                + sigma.gyro * rng.normal(size=3),
                proper + self._acc + sigma.acc * rng.normal(size=3),
            ]
        )

    def _log(self, rows: list[Array], start: float) -> Log:
        table, joints = np.array(rows).T, self.robot.joints
        names = [*(f"q.{j}" for j in joints), *(f"v.{j}" for j in joints), *(f"tau.{j}" for j in joints)]
        names += [*(f"imu.gyro.{c}" for c in "xyz"), *(f"imu.acc.{c}" for c in "xyz")]
        time = start + np.arange(1, table.shape[1] + 1) / self.rate
        return Log(time, dict(zip(names, table, strict=True)), {}, f"rig of {self.robot.name}")


def simulated_rig(
    robot: Robot,
    *,
    seed: int = 0,
    loads: Iterable[Load] = (),
    noise: Sensors | str = "mid",
    perturb: str = "base",
    friction: str = "none",
    offsets: Mapping[str, float] | None = None,
    stiffness: float | None = None,
) -> SimulatedRig:
    """A robot whose bodies differ from their description, with loads that the description lacks."""
    draw = np.random.default_rng([seed, 0])
    truth = true_robot(robot, perturb, draw)
    feet = find_feet(robot)
    world = World(robot, truth, feet=feet, loads=loads, friction=leg_friction(robot, friction, draw))
    return SimulatedRig(world, feet=feet, noise=noise, offsets=offsets, stiffness=stiffness, seed=seed)


def rig_of(robot: Robot, options: RigOptions) -> SimulatedRig:
    """The simulated robot of these options."""
    return simulated_rig(
        robot,
        seed=options.seed,
        loads=[Load.parse(text) for text in options.load],
        noise=level(options.noise).but({"q_bias": options.zero_error}),
        perturb=options.perturb,
        friction=options.friction,
    )


def true_stance(rig: SimulatedRig) -> QuadrupedStance:
    """The stance of the true robot: for comparison, never for calibration."""
    stance = QuadrupedStance.of(rig.robot, rig.feet, rig.posture)
    model = stance.model.copy()
    for body in rig.robot.bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(rig.world.truth[body.name])
    return replace(stance, model=model)


def com_beside_truth(rig: SimulatedRig, measured: CentreOfMass) -> dict[str, Any]:
    """``calibration.json`` of a centre of mass."""
    exact = true_stance(rig)
    truth = {"com": exact.com(exact.nominal).tolist(), "mass": exact.mass}
    return _beside_truth(rig, measured.as_json(), truth)


def inertia_beside_truth(rig: SimulatedRig, measured: Inertias) -> dict[str, Any]:
    """``calibration.json`` of both inertias."""
    exact = true_stance(rig)
    whole = inertia.unpack(frozen(exact, rig.world.truth))[2]
    truth = {
        "effective": [effective_of(exact.model, exact, axis) for axis in AXES],
        "composite": inertia.six(whole).tolist(),
    }
    return _beside_truth(rig, measured.as_json(), truth)


def _beside_truth(rig: SimulatedRig, measured: dict[str, Any], truth: dict[str, Any]) -> dict[str, Any]:
    return {"schema": 1, "robot": rig.robot.name, "posture": dict(rig.posture), **measured, "truth": truth}
