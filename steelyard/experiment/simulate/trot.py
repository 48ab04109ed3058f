"""A trot: diagonal feet in turn, footholds after Raibert, forces by model-predictive control, all from the description.

The controller never sees the truth: an unknown load, or a trunk that is not as described, shows as an acceleration that
its forces do not explain. An observer finds it and the controller counts on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from steelyard.experiment.simulate.force_distribution import STEPS, Plan, Predictive, Wish, required, torques
from steelyard.experiment.simulate.legs import UP, Feet, Legs
from steelyard.experiment.simulate.reference import Motion, quintic, still
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.spatial import Array, cross

DUTY = 0.6  # share of a period that a foot stands: twice a period all do, for a tenth of it
PERIOD = 0.4  # s, of legs of 0.4 m; it goes with the root of their length
LIFT = 0.15  # height of a step, of the legs' length
SWING = (900.0, 60.0)  # 1/s², 1/s: feedback on a foot in the air
PINNED = 30.0  # 1/s, by which a foot that slides is slowed
OBSERVER = 4.0  # rad/s
LEASH = 0.15  # of the legs' length: the path waits for a robot that is further behind
POSITION = np.array([60.0, 60.0, 200.0, 60.0, 60.0, 30.0])  # weights, m⁻² and rad⁻² of legs of 0.4 m
VELOCITY = np.array([3.0, 3.0, 3.0, 0.5, 0.5, 0.5])  # (m/s)⁻² and (rad/s)⁻²


@dataclass(frozen=True)
class TrotCommand:
    """Speeds that a trot is asked for."""

    forward: float = 0.3  # m/s
    left: float = 0.0  # m/s
    turn: float = 0.0  # rad/s


@dataclass(frozen=True)
class Aim:
    """Where the trunk should be at one instant, world axes."""

    com: Array  # (3,) m
    velocity: Array  # (3,) m/s
    rotation: Array  # (3, 3)
    spin: Array  # (3,) rad/s


class Trot:
    """Torques of a trot at a command while the trunk sways by ``motion`` about its path; until ``start`` it stands."""

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
        self.ground = np.zeros((len(legs.feet), 3))  # N, what the feet are asked to push
        self.stood = np.ones(len(legs.feet), bool)
        self.lifted = np.zeros((len(legs.feet), 3))  # m, where they left the ground
        self.seen: Array | None = None  # (6,) velocity that the observer expects
        self.missing = np.zeros(6)  # m/s² and rad/s² that the forces do not explain
        self.most = np.array([5.0, 5.0, 5.0, *[20.0 / legs.length] * 3])  # of that

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
        wish = Wish(base, R.T @ angular, self._swing(state, feet, standing, through, now))
        return torques(self.legs, feet, required(self.legs, state, feet, wish), pushed)

    def _speed(self, now: float) -> Array:
        """(3,) forward, left, turning: eased in over two cycles."""
        c = self.command
        return np.array([c.forward, c.left, c.turn]) * min(max(now / (2 * self.cycle), 0.0), 1.0)

    def _walk(self, state: RobotState, now: float) -> None:
        """Move the path on; it never runs away from a robot that is held up."""
        assert self.path is not None
        speed = self._speed(now)
        self.path[:2] += self.period * (_turned(self.path[2]) @ speed[:2])
        self.path[2] += self.period * speed[2]
        behind, leash = self.path[:2] - state.position[:2], LEASH * self.legs.length
        self.path[:2] = state.position[:2] + behind * min(1.0, leash / max(float(np.linalg.norm(behind)), 1e-9))

    def _aim(self, now: float, ahead: float) -> Aim:
        """The trunk ``ahead`` seconds from now, if the path goes on as it does."""
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
        return Aim(at + heading @ sway.offset[:3] + arm, velocity, R, spin)

    def _gait(self, times: Array) -> tuple[Array, Array]:
        """(N, F) whether feet stand at these times since the start, and how far through the step they are."""
        phase = (times[:, None] / self.cycle + self.phase) % 1.0
        standing = (phase < DUTY) | (times[:, None] < 0)
        return standing, np.where(standing, 0.0, (phase - DUTY) / (1 - DUTY))

    def _plan(self, state: RobotState, feet: Feet, now: float) -> None:
        step = self.mpc.step
        here, ahead = self._aim(now, 0.0), [self._aim(now, step * (i + 1)) for i in range(STEPS)]
        middles = now + step * (np.arange(STEPS) + 0.5)
        standing, _ = self._gait(middles)
        standing[0] = self._gait(np.array([now]))[0][0]
        landing = self._footholds(state, now)
        stays = np.logical_and.accumulate(standing, axis=0)  # until a foot has left the ground it is where it is
        place = np.where(stays[:, :, None], feet.centre, landing)
        place = place - (self.legs.radius[:, None] * UP)
        shift = np.array([feet.com + a.com - here.com for a in ahead])
        error = pin.log3(state.rotation @ here.rotation.T)
        plan = Plan(
            np.array([[*a.com, *pin.log3(a.rotation @ here.rotation.T)] for a in ahead]),
            np.array([[*a.velocity, *a.spin] for a in ahead]),
            place - shift[:, None, :],
            standing,
        )
        spin = state.rotation @ state.angular_velocity
        drift = self.missing + np.array([*self.legs.robot.gravity, 0, 0, 0])
        x, v = np.concatenate([feet.com, error]), np.concatenate([feet.com_velocity, spin])
        self.ground = self.mpc.forces(x, v, drift, state.rotation, plan)

    def _footholds(self, state: RobotState, now: float) -> Array:
        """(F, 3) where balls should come down (Raibert): half a stance ahead, and further if too fast."""
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
        """(F, 3) accelerations of the balls: along a smooth step in the air, none on the ground."""
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
        """(3,) and (3,) of a rigid body that feels these forces, as described."""
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
    """(F,) phase of each leg: diagonal ones together."""
    x, y = (hips[:, :2] - hips[:, :2].mean(axis=0)).T
    return np.where(x * y > 0, 0.0, 0.5)


def effective_inertia(legs: Legs) -> tuple[Array, Array]:
    """(3, 3) moment about the centre of mass per angular acceleration while no foot moves, and that centre (3,).

    Legs on the ground do not turn with the trunk: with the composite inertia a controller asks for too much.
    """
    q = legs.home
    o = np.zeros(3)
    rest_state = RobotState(0.0, o, np.array([0, 0, 0, 1.0]), o, o, o, o, q, 0 * q, 0 * q, 0 * q)
    feet = legs.feet_at(rest_state)
    c = feet.com
    pinned = np.zeros((len(legs.feet), 3))
    rest = required(legs, rest_state, feet, Wish(o, o, pinned))
    I = np.empty((3, 3))
    for k, turn in enumerate(np.eye(3)):
        w = (required(legs, rest_state, feet, Wish(-cross(turn, c), turn, pinned)) - rest)[:6]
        I[:, k] = w[3:] - cross(c, w[:3])
    return 0.5 * (I + I.T), c


def _turned(yaw: float) -> Array:
    return np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
