"""Motions of a humanoid that need not keep its balance: joints and base on a few sines, derivatives exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from steelyard.log.log import Log
from steelyard.log.table import write_log
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import XYZ


def swinging(robot: Robot, seed: int, kind: str, seconds: float = 4.0, rate: float = 200.0) -> Log:
    """A motion as ``steelyard excite`` writes them, both feet said to stand."""
    rng, t = np.random.default_rng(seed), np.arange(int(seconds * rate)) / rate
    n = 6 + len(robot.joints)
    w, phase = 2 * np.pi * rng.uniform(0.3, 1.2, n), rng.uniform(0, 2 * np.pi, n)
    size = np.concatenate([np.full(3, 0.03), np.full(3, 0.15), np.full(n - 6, 0.4)])
    angle = w * t[:, None] + phase
    x, v, a = size * np.sin(angle), size * w * np.cos(angle), -size * w**2 * np.sin(angle)
    columns = {"time": t}
    for k, joint in enumerate(robot.joints, 6):
        columns |= {f"q.{joint}": x[:, k], f"v.{joint}": v[:, k], f"a.{joint}": a[:, k]}
    turned, spin, turn, acc = [], [], [], []
    for k in range(len(t)):
        R, E = pin.rpy.rpyToMatrix(x[k, 3:6]), pin.rpy.computeRpyJacobian(x[k, 3:6], pin.LOCAL)
        change = pin.rpy.computeRpyJacobianTimeDerivative(x[k, 3:6], v[k, 3:6], pin.LOCAL)
        turned.append(pin.Quaternion(R).coeffs())
        spin.append(E @ v[k, 3:6])
        turn.append(E @ a[k, 3:6] + change @ v[k, 3:6])
        acc.append(R.T @ a[k, :3])
    vectors = {"base.angular_velocity": spin, "base.angular_acceleration": turn, "base.acceleration": acc}
    for name, vector in vectors.items():
        columns |= {f"{name}.{c}": np.array(vector)[:, k] for k, c in enumerate(XYZ)}
    columns |= {f"base.quaternion.{c}": np.array(turned)[:, k] for k, c in enumerate("xyzw")}
    columns |= {f"contact.{sole.name}": np.ones(len(t)) for sole in find_soles(robot)}
    return Log.from_columns(columns, {"motion": {"kind": kind, "seed": seed}}, f"{kind} {seed}")


def write_motions(robot: Robot, folder: Path, kinds: list[str]) -> None:
    """A folder that ``papers.humanoids.source.Library`` takes motions from."""
    folder.mkdir(parents=True)
    for k, kind in enumerate(kinds):
        write_log(folder / f"motion-{k:03d}.parquet", swinging(robot, k, kind))
