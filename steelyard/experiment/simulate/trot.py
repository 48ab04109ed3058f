"""A trot: diagonal feet in turn, footholds after Raibert, forces by model-predictive control, all from the description.

The controller never sees the truth: an unknown load, or a trunk that is not as described, appears as an acceleration
that its forces do not explain. A disturbance observer estimates it and the controller compensates for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.force_distribution import (
    STEPS,
    DesiredAccelerations,
    Plan,
    Predictive,
    required,
    torques,
)
from steelyard.experiment.simulate.legs import UP, Feet, Legs
from steelyard.experiment.simulate.reference import Motion, quintic, still
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.spatial import Array, cross

DUTY = 0.6  # duty factor: all feet stand twice a period, for a tenth of it each time
PERIOD = 0.4  # s, for legs of 0.4 m; proportional to the root of their length
LIFT = 0.15  # height of a step over the length of the legs
SWING = (900.0, 60.0)  # 1/s², 1/s: feedback on a foot in the air
PINNED = 30.0  # 1/s, damping of feet that slide
OBSERVER = 4.0  # rad/s, bandwidth of the disturbance observer
LEASH = 0.15  # over the length of the legs: the reference waits for a robot that is further behind
POSITION = np.array([60.0, 60.0, 200.0, 60.0, 60.0, 30.0])  # weights, m⁻² and rad⁻², for legs of 0.4 m
VELOCITY = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])  # (m/s)⁻² and (rad/s)⁻²


@dataclass(frozen=True)
class TrotCommand:
    """Commanded velocities of a trot."""

    forward: float = 0.3  # m/s
    left: float = 0.0  # m/s
    turn: float = 0.0  # rad/s


@dataclass(frozen=True)
class TrunkReference:
    """Reference of the trunk at one instant, world axes."""

    com: Array  # (3,) m
    velocity: Array  # (3,) m/s
    rotation: Array  # (3, 3)
    spin: Array  # (3,) rad/s


class Trot:
    """Controller of a trot while the trunk sways by ``motion`` about its path; until ``start`` it stands."""

    def __init__(
        self, legs: Legs, command: TrotCommand, motion: Motion = still, *, period: float, start: float = 0.0
    ) -> None:
        self.legs, self.command, self.motion, self.period, self.start = legs, command, motion, period, start
        self.cycle = PERIOD * float(np.sqrt(legs.length / 0.4))
        self.phase, self.floor = pairs(legs.hips), 0.0
        self.inertia, self.com = effective_inertia(legs)
        size = np.array([1, 1, 1, *[legs.length / 0.4] * 3]) ** 2
        self.mpc = Predictive(legs.mass, self.inertia, self.cycle / STEPS, (POSITION * size, VELOCITY * size))
        self.every = max(round(self.mpc.step / 3 / period), 1)  # control periods from one plan to the next
        self.ticks = 0
        self.path: Array | None = None  # x, y, yaw of the base
        self.ground = np.zeros((len(legs.feet), 3))  # N, planned contact forces
        self.stood = np.ones(len(legs.feet), bool)
        self.lifted = np.zeros((len(legs.feet), 3))  # m, where they left the ground
        self.seen: Array | None = None  # (6,) velocity predicted by the observer
        self.missing = np.zeros(6)  # m/s² and rad/s², estimated disturbance
        self.most = np.array([5.0, 5.0, 5.0, *[20.0 / legs.length] * 3])  # limits of ``missing``

    def torque(self, state: RobotState) -> Array:
        """(J,) for the next control period."""
        feet, R = self.legs.feet_at(state), state.rotation
        now = state.time - self.start
        if self.path is None:
            self.path = np.array([*state.position[:2], np.arctan2(R[1, 0], R[0, 0])])
            self.floor = float(np.mean(feet.centre[:, 2]))
        self._walk(state, now)
        standing, through = self._gait(np.array([now]))
        standing, through = standing[0], through[0]
        self.lifted = np.where((self.stood & ~standing)[:, None], feet.centre, self.lifted)
        if standing.any():
            self.floor += 0.02 * (float(np.mean(feet.centre[standing, 2])) - self.floor)
        if self.ticks % self.every == 0 or np.any(standing != self.stood):
            self._plan(state, feet, now)
        self.stood = standing
        self.ticks += 1
        pushed = np.where(standing[:, None], self.ground, 0.0)
        linear, angular = self._accelerations(pushed, feet)
        self._observe(feet, R @ state.angular_velocity, np.concatenate([linear, angular]))
        arm, spin = feet.com - state.position, R @ state.angular_velocity
        linear, angular = linear + self.missing[:3], angular + self.missing[3:]
        base = linear - cross(angular, arm) - cross(spin, cross(spin, arm))
        wish = DesiredAccelerations(base, R.T @ angular, self._swing(state, feet, standing, through, now))
        return torques(self.legs, feet, required(self.legs, state, feet, wish), pushed)

    def _speed(self, now: float) -> Array:
        """(3,) forward, left, yaw velocity: ramped up over two cycles."""
        c = self.command
        return np.array([c.forward, c.left, c.turn]) * min(max(now / (2 * self.cycle), 0.0), 1.0)

    def _walk(self, state: RobotState, now: float) -> None:
        """Advance the reference path; it waits for a robot that is behind."""
        assert self.path is not None
        speed = self._speed(now)
        self.path[:2] += self.period * (_turned(self.path[2]) @ speed[:2])
        self.path[2] += self.period * speed[2]
        behind, leash = self.path[:2] - state.position[:2], LEASH * self.legs.length
        self.path[:2] = state.position[:2] + behind * min(1.0, leash / max(float(np.linalg.norm(behind)), 1e-9))

    def _aim(self, now: float, ahead: float) -> TrunkReference:
        """Reference of the trunk ``ahead`` seconds from now at constant velocity."""
        assert self.path is not None
        sway, speed = self.motion(now + ahead), self._speed(now)
        yaw = self.path[2] + ahead * speed[2]
        middle = _turned(self.path[2] + 0.5 * ahead * speed[2])
        heading = pin.rpy.rpyToMatrix(0.0, 0.0, float(yaw))
        R = heading @ pin.rpy.rpyToMatrix(sway.offset[3:])
        spin = R @ pin.rpy.computeRpyJacobian(sway.offset[3:], pin.LOCAL) @ sway.rate[3:] + speed[2] * UP
        at = np.array([*self.path[:2] + ahead * (middle @ speed[:2]), self.floor + self.legs.depth])
        at[2] -= float(self.legs.hips[:, 2].mean())
        arm = R @ self.com
        velocity = heading @ (np.array([*speed[:2], 0.0]) + sway.rate[:3]) + cross(spin, arm)
        return TrunkReference(at + heading @ sway.offset[:3] + arm, velocity, R, spin)

    def _gait(self, times: Array) -> tuple[Array, Array]:
        """(N, F) whether feet are in stance at these times since the start, and their phase of swing, 0 to 1."""
        phase = (times[:, None] / self.cycle + self.phase) % 1.0
        standing = (phase < DUTY) | (times[:, None] < 0)
        return standing, np.where(standing, 0.0, (phase - DUTY) / (1 - DUTY))

    def _plan(self, state: RobotState, feet: Feet, now: float) -> None:
        step = self.mpc.step
        present, ahead = self._aim(now, 0.0), [self._aim(now, step * (i + 1)) for i in range(STEPS)]
        middles = now + step * (np.arange(STEPS) + 0.5)
        standing, _ = self._gait(middles)
        standing[0] = self._gait(np.array([now]))[0][0]
        landing = self._footholds(state, now)
        stays = np.logical_and.accumulate(standing, axis=0)  # a foot stays in place until it leaves the ground
        place = np.where(stays[:, :, None], feet.centre, landing)
        place = place - (self.legs.radius[:, None] * UP)
        shift = np.array([feet.com + a.com - present.com for a in ahead])
        error = pin.log3(state.rotation @ present.rotation.T)
        plan = Plan(
            np.array([[*a.com, *pin.log3(a.rotation @ present.rotation.T)] for a in ahead]),
            np.array([[*a.velocity, *a.spin] for a in ahead]),
            place - shift[:, None, :],
            standing,
        )
        spin = state.rotation @ state.angular_velocity
        drift = self.missing + np.array([*self.legs.robot.gravity, 0, 0, 0])
        x, v = np.concatenate([feet.com, error]), np.concatenate([feet.com_velocity, spin])
        self.ground = self.mpc.forces(x, v, drift, state.rotation, plan)

    def _footholds(self, state: RobotState, now: float) -> Array:
        """(F, 3) footholds of the balls (Raibert): half a stance ahead, and further if too fast."""
        assert self.path is not None
        R, speed = state.rotation, self._speed(now)
        turned = _turned(np.arctan2(R[1, 0], R[0, 0]))
        hips = self.legs.hips[:, :2]
        around = speed[2] * np.column_stack([-hips[:, 1], hips[:, 0]])
        wanted, real = turned @ speed[:2], (R @ state.velocity)[:2]
        left = (1 - self._gait(np.array([now]))[1][0]) * (1 - DUTY) * self.cycle
        stance = 0.5 * DUTY * self.cycle
        lean = np.sqrt(self.legs.depth / 9.81)
        out = np.empty((len(hips), 3))
        out[:, :2] = state.position[:2] + hips @ turned.T + stance * (wanted + around @ turned.T)
        out[:, :2] += left[:, None] * real + lean * (real - wanted)
        out[:, 2] = self.floor
        return out

    def _swing(self, state: RobotState, feet: Feet, standing: Array, through: Array, now: float) -> Array:
        """(F, 3) desired accelerations of the balls: along a smooth step in swing, damping in stance."""
        s, T = through[:, None], (1 - DUTY) * self.cycle
        target = self._footholds(state, now)
        b, db, ddb = quintic(s)
        across = target - self.lifted
        high = LIFT * self.legs.length * UP
        h = s * (1 - s)
        u, du, ddu = 64 * h**3, 192 * h**2 * (1 - 2 * s), 384 * h * (1 - 5 * h)
        p, v = self.lifted + b * across + u * high, (db * across + du * high) / T
        a = (ddb * across + ddu * high) / T**2
        flying = a + SWING[0] * (p - feet.centre) + SWING[1] * (v - feet.velocity)
        return np.where(standing[:, None], -PINNED * feet.velocity, flying)

    def _accelerations(self, pushed: Array, feet: Feet) -> tuple[Array, Array]:
        """Linear (3,) and angular (3,) acceleration of the described robot as a rigid body under these forces."""
        arm = feet.centre - self.legs.radius[:, None] * UP - feet.com
        moment = np.cross(arm, pushed).sum(axis=0)
        I = feet.rotation @ self.inertia @ feet.rotation.T
        return pushed.sum(axis=0) / self.legs.mass + self.legs.robot.gravity, np.linalg.solve(I, moment)

    def _observe(self, feet: Feet, spin: Array, explained: Array) -> None:
        v = np.concatenate([feet.com_velocity, spin])
        if self.seen is None:
            self.seen = v
        off = v - self.seen
        self.missing = np.clip(self.missing + self.period * OBSERVER**2 * off, -self.most, self.most)
        self.seen = self.seen + self.period * (explained + self.missing + 2 * OBSERVER * off)


def pairs(hips: Array) -> Array:
    """(F,) phase of each leg: diagonal legs together."""
    x, y = (hips[:, :2] - hips[:, :2].mean(axis=0)).T
    return np.where(x * y > 0, 0.0, 0.5)


def effective_inertia(legs: Legs) -> tuple[Array, Array]:
    """(3, 3) moment about the centre of mass per angular acceleration while the feet stay, and that centre (3,).

    Legs on the ground do not rotate with the trunk: the composite inertia would be too large.
    """
    q = legs.home
    o = np.zeros(3)
    rest_state = RobotState(0.0, o, np.array([0, 0, 0, 1.0]), o, o, o, o, q, 0 * q, 0 * q, 0 * q)
    feet = legs.feet_at(rest_state)
    c = feet.com
    pinned = np.zeros((len(legs.feet), 3))
    rest = required(legs, rest_state, feet, DesiredAccelerations(o, o, pinned))
    I = np.empty((3, 3))
    for k, turn in enumerate(np.eye(3)):
        w = (required(legs, rest_state, feet, DesiredAccelerations(-cross(turn, c), turn, pinned)) - rest)[:6]
        I[:, k] = w[3:] - cross(c, w[:3])
    return 0.5 * (I + I.T), c


def _turned(yaw: float) -> Array:
    return np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
