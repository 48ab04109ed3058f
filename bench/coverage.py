"""Do 95 % intervals of base parameters hold the truth in 95 % of cases?

Exact kinematics, white torque noise, the default filter; the demonstration arm on one Fourier motion. Every seed draws
new noise, the whole noise model is estimated anew from its residuals, and each base parameter's interval
(least squares, data alone) is asked whether it contains the true value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.compose import prior as priors
from steelyard.equations.filters import lowpass
from steelyard.equations.prepare import prepare
from steelyard.equations.rows import Block
from steelyard.equations.setup import Setup
from steelyard.experiment.simulate.simulate_arm import Friction, fourier_motion, simulate_arm
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify.options import Options
from steelyard.inference import noise
from steelyard.inference.uncertainty import base_parameters, compute_uncertainty, long_run_covariance
from steelyard.information import Information
from steelyard.log.timing import log_rate
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from steelyard.solve.solve import least_squares


@dataclass(frozen=True)
class Coverage:
    seeds: int
    parameters: int
    covered: float  # share of all intervals that hold the truth
    worst: float  # least share over the parameters
    naive: float  # share covered by σ²(YᵀY)⁻¹, which takes filtered rows for independent ones

    def as_json(self) -> dict[str, float]:
        return vars(self)


@dataclass(frozen=True)
class Arm:
    """The demonstration arm on one exact motion: filtered rows, and what noise is added to them."""

    setup: Setup
    prior: priors.Prior
    blocks: tuple[Block, ...]  # without noise
    theta: np.ndarray  # the truth behind them
    sigma: np.ndarray  # (J,) of the white torque noise
    taps: np.ndarray  # of the low-pass that it passes
    step: int  # of which every so many-th sample is kept
    samples: int

    @classmethod
    def prepare(cls, seconds: float = 20.0, friction: str = "all") -> Arm:
        robot = Robot.load("demo_arm")
        rng = np.random.default_rng(3)
        truth, joints = perturbed(robot, rng), Friction.random(robot, rng)
        joints = replace(joints, coulomb=0 * joints.coulomb)  # sign(v) is not what the smooth column models
        log = simulate_arm(robot, truth, seed=11, seconds=seconds, noise="none", friction=joints)
        _, q, v, a = fourier_motion(robot, np.random.default_rng(11), seconds, log_rate(log))
        exact = {f"{n}.{j}": x[:, k] for n, x in (("q", q), ("v", v), ("a", a)) for k, j in enumerate(robot.joints)}
        log = replace(log, columns={**log.columns, **exact})
        setup = Setup.of(read_description("demo_arm"), [log], Options(friction=friction))
        filter = Options().filter.for_logs([log])
        (segment,), _ = prepare(setup.robot, log, filter, torques=True)
        blocks = tuple(Setup(setup.robot, setup.equations, setup.columns, filter=filter).rows([segment]))
        terms = [getattr(joints, term)[robot.joints.index(j)] for j, term in setup.columns.joint_terms]
        theta = np.concatenate([*(truth[b] for b in setup.columns.bodies), terms])
        sigma = 0.02 * np.sqrt(np.mean(segment.tau**2, axis=0))
        step = round((blocks[0].time[1] - blocks[0].time[0]) * segment.rate)
        taps = lowpass(segment.rate, filter.cutoff)
        return cls(setup, priors.make(setup.robot, setup.columns), blocks, theta, sigma, taps, step, len(segment.tau))

    def draw(self, rng: np.random.Generator, another: bool = False) -> tuple[np.ndarray, list[Block]]:
        """The truth (``another``: of another arm with the same friction), and the rows with noise."""
        theta = self.theta.copy()
        if another:
            truth = perturbed(self.setup.robot, rng)
            theta[: 10 * len(truth)] = np.concatenate([truth[b] for b in self.setup.columns.bodies])
        white = self.sigma * rng.normal(size=(self.samples, len(self.sigma)))
        filtered = np.apply_along_axis(np.convolve, 0, white, self.taps, "valid")[:: self.step]
        at, noisy = 0, []
        for block in self.blocks:
            target = block.target + block.Y @ (theta - self.theta) + filtered[at : at + len(block.time)]
            noisy.append(replace(block, target=target))
            at += len(block.time)
        return theta, noisy

    def weight(self, blocks: list[Block]) -> tuple[noise.Noise, Information]:
        """The noise model, estimated anew from its residuals, and the information of the rows."""
        return noise.estimate_noise(blocks, self.setup.columns.names, self.prior.information)


def coverage(seeds: int = 500, seconds: float = 20.0, friction: str = "all") -> Coverage:
    """Run the study; the truth and the motion are the same in every seed, the noise is not."""
    arm = Arm.prepare(seconds, friction)
    setup, prior = arm.setup, arm.prior
    space_of_structure = Setup(setup.robot, setup.equations, setup.columns).structure(prior.scale)
    hits, naive_hits = [], []
    for seed in range(seeds):
        theta, noisy = arm.draw(np.random.default_rng(1000 + seed))
        model, info = arm.weight(noisy)
        estimate = least_squares(info, prior.mean, space_of_structure.seen)
        space = replace(space_of_structure, **vars(type(space_of_structure).of(info.R, prior.scale)))
        unc = compute_uncertainty(space, info, long_run_covariance(noisy, model, estimate, space), prior.K)
        estimates = base_parameters(space, unc, estimate, prior.mean, setup.columns.names, setup.columns.kinds)
        exactly = base_parameters(space, unc, theta, prior.mean, setup.columns.names, setup.columns.kinds)
        error = np.array([f.value - e.value for f, e in zip(estimates, exactly, strict=True)])
        hits.append(np.abs(error) < 1.96 * np.array([f.std for f in estimates]))
        kappa = np.sqrt(np.mean(model.factor))
        Z = space.composition[1]
        half = space.scale[:, None] * (space.V / space.values)
        naive_hits.append(np.abs(error) < 1.96 * np.linalg.norm(Z @ half, axis=1) / kappa)
    table = np.array(hits)
    return Coverage(
        seeds, table.shape[1], float(table.mean()), float(table.mean(axis=0).min()), float(np.mean(naive_hits))
    )
