"""Online identification of a payload: one cuboid over an area, divided where that lowers the objective (Xu)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard import inertia
from steelyard.compose.load_area import RULE, as_cuboid
from steelyard.compose.shape_file import ShapeFile
from steelyard.identify.division.dividing import Step
from steelyard.identify.estimate import BodyEstimate
from steelyard.identify.method import Answer
from steelyard.identify.methods.shapes import Shapes
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.log.log import Log
from steelyard.online.change import Change
from steelyard.online.engine import OnlineEngine, OnlineOptions
from steelyard.robot.description import RobotSource
from steelyard.robot.model import LOAD
from steelyard.spatial import Array


@dataclass(frozen=True)
class LoadEstimate:
    """Estimate of a load, in the axes of the link that carries it."""

    time: float  # s, of the newest sample
    mass: float  # kg
    com: Array  # (3,) m
    inertia: Array  # (3, 3) kg·m² about its centre of mass
    body: BodyEstimate  # the same with intervals and sources
    divisions: tuple[Step, ...]
    changes: tuple[Change, ...]


class LoadEstimator(OnlineEngine):
    """Mass, centre of mass and inertia of an unknown load on a link, from samples as they arrive.

    The robot is held at its description, or at the parameters ``known`` (best: identified with the same sensors).

    Args:
        source: URDF or MJCF file, a short name, a ``Description`` or a ``pinocchio.Model``.
        like: A log of the same sensors without the load.
        on: The link that carries it.
        area: x0 x1 y0 y1 z0 z1 in m, in the link's axes, within which the load lies.
        options: As of ``identify``; the method is shapes.
        online: Window, forgetting, rate of false alarms.
        known: Body → (10,) parameters in its frame.

    Examples:
        Names as in ``help(steelyard)``.

        >>> from steelyard import inertia
        >>> box = inertia.pack(2.0, [0.0, 0.0, 0.05], 0.003 * np.eye(3))  # kg, m, kg·m²
        >>> carried = truth | {"wrist_3_link": truth["wrist_3_link"] + box}
        >>> loaded = simulate_arm(robot, carried, seed=2, seconds=5.0)
        >>> load = sy.LoadEstimator("demo_arm", log, "wrist_3_link", (-0.1, 0.1, -0.1, 0.1, 0.0, 0.1), known=truth)
        >>> load.push_window(loaded.time, np.column_stack([loaded.columns[name] for name in load.inputs]))
        1000
        >>> abs(load.load().mass - 2.0) < 0.2  # kg
        True
    """

    memory = np.inf

    def __init__(
        self,
        source: RobotSource,
        like: Log,
        on: str,
        area: Sequence[float],
        options: Options | None = None,
        online: OnlineOptions | None = None,
        known: Mapping[str, Array] | None = None,
    ):
        box, options = as_cuboid(area), options or Options()
        method = options.method if isinstance(options.method, Shapes) else Shapes()
        rule = RULE if method.file is None else method.file.rule
        start = ShapeFile("area", {LOAD: (box,)}, rule)
        options = replace(options, method=Shapes(start=start, divisions=method.divisions), links=(LOAD,))
        super().__init__(source, like, options, online, known, load=on)
        self._steps: tuple[Step, ...] = ()

    def _answer(self, data: Information) -> Answer:
        answer = self._posed(data, self.options.solver)
        assert answer.refined is not None
        self._steps = answer.refined.steps
        return answer

    def load(self) -> LoadEstimate:
        """The load from all samples so far: solve, divide, solve again."""
        whole = self.estimate()
        mass, com, I = inertia.unpack(whole.bodies[0].parameters)
        return LoadEstimate(whole.time, mass, com, I, whole.bodies[0], self._steps, whole.changes)
