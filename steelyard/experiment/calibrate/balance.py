"""Balancing on two diagonal feet: how Lee and Manchester validate a centre of mass.

About the line through both feet only the weight has a moment. With ℓ = L / M g and the trunk moved over the line by y
(measured from the joints),

    ℓ̇ = s,    ṡ = λ² ℓ + β ẏ,    ÿ = u,

where 1/λ is the time constant of a fall and β, about a tenth, the effect of moving the trunk once the robot has turned
against it. State feedback takes the four states from joints and gyro. s is the *believed* lever arm, so an error of the
centre of mass makes the controller drift in y until its range is used up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import place_poles

from steelyard.experiment.calibrate.bisection import over_line
from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
from steelyard.experiment.calibrate.rig import BalancingRig, JointCommand, Reading, ramp
from steelyard.experiment.calibrate.tipping import LIFT, MOVE, REST, SEEN, Rest, at_rest, follow, lifted
from steelyard.robot.model import GRAVITY
from steelyard.spatial import Array

RAISED = 0.08  # m, height of the lifted feet
WIDE = 0.06  # m, range of y
SWING = 3.0  # motion of the lifted feet per y, in the same direction: their mass helps
POLES = (1.5, 1.6, 1.7, 1.8)  # closed-loop poles over −λ
MOST = 20.0  # m/s², limit of u


@dataclass(frozen=True)
class Balance:
    """Result of balancing on two feet."""

    stood: bool  # to the end
    seconds: float  # until a third foot touched, or to the end
    tilt: float  # rad, largest, about the line
    lean: float  # m, largest |y|


@dataclass(frozen=True)
class Plant:
    """The line-foot pendulum about a posture, as believed."""

    posture: Array  # (J,) with two feet lifted
    along: Array  # (J,) rad/m, dq/dy
    bend: Array  # (J,) rad/m², ½ d²q/dy²
    hold: Array  # (J,) N·m in equilibrium
    push: Array  # (J,) N·m per m/s² of u
    gain: Array  # (4,) u = −gain · (ℓ, s, y, ẏ)

    @classmethod
    def of(cls, stance: QuadrupedStance, posture: Array, up: Array, diagonal: tuple[int, int]) -> Plant:
        """Linearise, and place the poles of the feedback."""
        q = lifted(stance, posture, up, diagonal, RAISED)
        _, n = stance.line(q, up, diagonal)
        step, shift = 0.02, np.tile(-SWING * n, (4, 1))
        shift[list(diagonal)] = n
        ahead, back = (stance.reach(stance.centres(q) - x * shift, q) for x in (step, -step))
        along, bend = (ahead - back) / (2 * step), (ahead + back - 2 * q) / (2 * step**2)
        t = np.cross(up, n)

        def momentum(v: Array, gyro: Array) -> float:
            return float(stance.tipping(q[None], v[None], gyro[None], up[None], diagonal)[1][0])

        weight = stance.mass * GRAVITY
        J, Ly = momentum(np.zeros_like(q), t), momentum(along, np.zeros(3))
        turned = up - 1e-4 * np.cross(t, up)
        h = (stance.lever(q, turned / np.linalg.norm(turned), diagonal) - stance.lever(q, up, diagonal)) / 1e-4
        mu = (stance.lever(ahead, up, diagonal) - stance.lever(back, up, diagonal)) / (2 * step)
        A = np.array([[0, 1, 0, 0], [h * weight / J, 0, 0, mu - h * Ly / J], [0, 0, 0, 1], [0, 0, 0, 0.0]])
        B = np.array([[0.0], [0], [0], [1]])
        growth = np.sqrt(h * weight / J)
        gain = place_poles(A, B, -growth * np.array(POLES)).gain_matrix[0]
        hold, push = _torques(stance, q, up, diagonal, n)
        return cls(q, along, bend, hold, push, gain)

    def command(self, y: float, speed: float, u: float) -> JointCommand:
        """Set-points of the joints for a trunk at y (m) with a velocity (m/s) and an acceleration u (m/s²)."""
        q = self.posture + y * self.along + y**2 * self.bend
        return JointCommand(q, speed * (self.along + 2 * y * self.bend), self.hold + u * self.push)


class Balancer:
    """The controller, called once per sample."""

    def __init__(
        self, stance: QuadrupedStance, rest: Rest, posture: Array, diagonal: tuple[int, int], step: float
    ) -> None:
        self.stance, self.diagonal, self.step, self.up = stance, diagonal, step, rest.up
        self.plant = Plant.of(stance, posture, rest.up, diagonal)
        self._bias, self._y, self._speed, self.tilt = rest.gyro, 0.0, 0.0, 0.0
        self._lift = ramp(posture, self.plant.posture, max(2, round(LIFT / step)))
        self.tilts, self.leans = list[float](), list[float]()
        p, n = stance.line(rest.q, rest.up, diagonal)
        self._along = np.cross(rest.up, n)
        feet = stance.touching(rest.q, rest.up)
        apart = min(abs(float(n @ (c - p))) for k, c in enumerate(feet) if k not in diagonal)
        self.most = float(np.arctan(RAISED / apart))  # rad

    def __call__(self, reading: Reading) -> JointCommand | None:
        """The next command; None once a third foot touches."""
        gyro = reading.gyro - self._bias
        up = self.up - np.cross(gyro, self.up) * self.step
        self.up = up / np.linalg.norm(up)
        self.tilt += float(gyro @ self._along) * self.step
        self.tilts.append(self.tilt)
        self.leans.append(self._y)
        if abs(self.tilt) > self.most:
            return None
        if len(self.tilts) <= len(self._lift):
            share = len(self.tilts) / len(self._lift)
            q = self._lift[len(self.tilts) - 1]
            return JointCommand(q, np.zeros_like(q), share * self.plant.hold)
        s, L = self.stance.tipping(reading.q[None], reading.v[None], gyro[None], self.up[None], self.diagonal)
        state = np.array([L[0] / (self.stance.mass * GRAVITY), s[0], self._y, self._speed])
        u = float(np.clip(-self.plant.gain @ state, -MOST, MOST))
        speed = float(np.clip(self._speed + u * self.step, -1.0, 1.0))
        y = float(np.clip(self._y + speed * self.step, -WIDE, WIDE))
        self._speed, self._y = (y - self._y) / self.step, y
        return self.plant.command(self._y, self._speed, u)


def balance_on(rig: BalancingRig, stance: QuadrupedStance, diagonal: tuple[int, int], seconds: float = 5.0) -> Balance:
    """Stand over the believed support line, lift the other two feet, and balance for ``seconds``."""
    rig.stand()
    rows = [round(x * rig.rate) for x in (MOVE, REST)]
    before, posture, goal = stance.nominal, stance.nominal, 0.0
    for _ in range(3):  # over the line with two legs lifted and joints that have yielded
        posture = over_line(stance, diagonal, 0.0, goal, posture)
        log = follow(rig, stance, np.vstack([ramp(before, posture, rows[0]), np.tile(posture, (rows[1], 1))]))
        rest = at_rest(stance, log, round(SEEN * rig.rate))
        before = posture
        goal -= stance.lever(lifted(stance, rest.q, rest.up, diagonal, RAISED), rest.up, diagonal)
    controller = Balancer(stance, rest, posture, diagonal, 1 / rig.rate)
    rig.run(controller, seconds + LIFT)
    tilts = np.abs(controller.tilts)
    stood = bool(tilts[-1] <= controller.most)
    lasted = seconds if stood else max(0.0, len(tilts) / rig.rate - LIFT)
    return Balance(stood, lasted, float(tilts.max()), float(np.abs(controller.leans).max()))


def _torques(stance: QuadrupedStance, q: Array, up: Array, diagonal: tuple[int, int], n: Array) -> tuple[Array, Array]:
    """(J,) N·m that hold the robot on two feet, half its weight on each; and that accelerate it along n by 1 m/s²."""
    model = stance.model.copy()
    model.gravity.linear = -GRAVITY * up
    data = stance.placed(q)
    hold = np.array(pin.computeGeneralizedGravity(model, model.createData(), stance.robot.positions(q[None])[0])[6:])
    push = np.zeros_like(hold)
    for k in diagonal:
        leg = list(stance.legs_of[k])
        A = stance.foot_at(data, k, up)[1][:, [6 + j for j in leg]]
        hold[leg] -= A.T @ (0.5 * stance.mass * GRAVITY * up)
        push[leg] -= A.T @ (0.5 * stance.mass * n)
    return hold, push
