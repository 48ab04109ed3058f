"""A humanoid that tracks a motion in MuJoCo on its own soles: its log, with the truth in the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from steelyard.errors import Finding, UsageError
from steelyard.experiment.simulate.play import Play
from steelyard.experiment.simulate.record import Recording, columns_of, truth_of
from steelyard.experiment.simulate.reference_motion import ReferenceMotion, read_reference
from steelyard.experiment.simulate.robot_state import RobotState
from steelyard.experiment.simulate.simulate_quadruped import leg_friction
from steelyard.experiment.simulate.truth import Specimen
from steelyard.experiment.simulate.world import World
from steelyard.log.log import Log
from steelyard.robot.model import Robot
from steelyard.robot.soles import find_soles
from steelyard.spatial import Array

TIMESTEP = 1.25e-3  # s
CONTROL = 2  # timesteps per control period
LOOK = 8  # timesteps between two checks for bodies on the ground
SETTLE = 1.0  # s of standing before the log, in which the disturbance observer converges
UPRIGHT = 0.5  # cosine of the largest tilt of the base
LOW = 0.5  # lowest height of the base, over that of the reference


def simulate_humanoid(
    robot: Robot,
    motion: Log | Sequence[Log],
    specimen: Specimen | None = None,
    recording: Recording | None = None,
    *,
    seed: int = 0,
    feet: Sequence[str] = (),
    may_fall: bool = False,
) -> Log:
    """Simulate a humanoid that tracks a motion on its own soles.

    Args:
        robot: As described, which is what the controller uses.
        motion: To track; several are tracked in sequence, each from the final pose of the one before.
        specimen: The true robot and its ground; default as described, on level ground.
        recording: Rate, sensors and source of the log; default exact, 200 Hz.
        seed: Of noise, and of friction that is drawn.
        feet: Links of its soles; default by ``find_soles``.
        may_fall: If the robot falls, return the log up to then, with the time in s in the metadata
            ``simulation.fell``, instead of raising an error.

    Returns:
        A log of joints, torques, IMU and foot wrenches; without noise also velocities, accelerations and base pose.

    Raises:
        UsageError: The motion or the rate do not suit, or the robot falls.
    """
    own, recording = specimen or Specimen(), recording or Recording()
    soles = find_soles(robot, feet)
    draw = np.random.default_rng([seed, 0])
    friction = leg_friction(robot, own.friction, draw) if isinstance(own.friction, str) else own.friction
    world = World(
        robot, own.truth, soles=soles, loads=own.loads, ground=own.ground, friction=friction, timestep=TIMESTEP
    )
    rate = recording.rate or 200.0
    every = round(1 / (rate * TIMESTEP))
    if every < 1 or abs(every * rate * TIMESTEP - 1) > 1e-9:
        nearest = 1 / (max(every, 1) * TIMESTEP)
        what = f"does not divide the rate of the physics, {1 / TIMESTEP:g} Hz"
        raise UsageError(Finding("option-value", f"rate={rate:g}", what, f"Give {nearest:g}", {"rate": nearest}))
    motions = [motion] if isinstance(motion, Log) else [*motion]
    score, *others = (read_reference(robot, soles, one, CONTROL * TIMESTEP) for one in motions)
    for one, other in zip(motions[1:], others, strict=True):
        score = score.then(other, one.source)
    frame, mount = recording.mount(robot, "pelvis")
    run = _play(world, Play(robot, soles, score), score, every)
    if run.fell is not None and not may_fall:
        raise UsageError(
            Finding(
                "robot-fell",
                f"{robot.name} at {run.fell:.2f} s",
                "fell",
                "Use a slower or smaller motion, or a lighter load",
            )
        )
    if not run.states:
        what = "fell before its motion began"
        raise UsageError(
            Finding("robot-fell", robot.name, what, "Start with the centre of mass above the soles, and with less load")
        )
    simulation = {
        "motion": [m.metadata.get("motion", m.source) for m in motions],
        "seed": seed,
        "rate": rate,
        "timestep": TIMESTEP,
        "feet": [s.name for s in soles],
        "ground": asdict(world.ground),
        "at_joint_limits": run.limits,
        "fell": run.fell,
        "worst": {"joint": run.worst[0], "base": run.worst[1]},
    }
    columns = {"time": np.arange(len(run.states)) / rate, **columns_of(world, run.states, run.wrenches, mount)}
    return recording.log(columns, truth_of(world, own.loads), simulation, frame, "simulated humanoid")


@dataclass
class _Playback:
    states: list[RobotState] = field(default_factory=list)  # at each row of the log
    wrenches: list[Array] = field(default_factory=list)  # (2, 6) on the soles
    limits: int = 0  # instants in which a joint was at its limit
    fell: float | None = None  # s
    worst: tuple[float, float] = (0.0, 0.0)  # largest tracking error: rad of a joint, m of the base


def _play(world: World, player: Play, score: ReferenceMotion, every: int) -> _Playback:
    """Stand, then track; a row each ``every`` timesteps. Motors ramp from one command to the next, as in ``record``."""
    run, settle = _Playback(), round(SETTLE / score.period)
    start = settle * CONTROL
    world.place(score.q[0, :3], score.q[0, 3:7], score.q[0, 7:])
    tau = wanted = player.torque(world.state, world.wrenches, 0)
    for n in range(start + (len(score) - 1) * CONTROL + 1):
        i = n % CONTROL
        world.apply(tau + (wanted - tau) * i / CONTROL if i else wanted)
        if i == 0:
            k, state = max(n // CONTROL - settle, 0), world.state
            if (n % LOOK == 0 and world.fallen) or _down(state, float(score.q[k, 2])):
                run.fell = (n - start) * TIMESTEP
                break
            if k:
                joint = float(np.abs(state.q - score.q[k, 7:]).max())
                base = float(np.linalg.norm(state.position - score.q[k, :3]))
                run.worst = max(run.worst[0], joint), max(run.worst[1], base)
            tau, wanted = wanted, player.torque(state, world.wrenches, k)
        if n >= start and (n - start) % every == 0:
            run.limits += world.at_limits
            run.states.append(world.state)
            run.wrenches.append(world.wrenches)
        world.step()
    return run


def _down(state: RobotState, height: float) -> bool:
    """Whether the base is far below its reference height ``height`` (m), or tilted too far."""
    return bool(state.position[2] < LOW * height or state.rotation[2, 2] < UPRIGHT)
