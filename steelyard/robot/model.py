"""A robot as its dynamics need it: a tree of moving bodies, by name.

Links welded by fixed (or locked) joints are one *moving body*, named after the group's root link and expressed
in that link's frame; the equations of motion contain only the ten parameters of their sum. A force–torque sensor in a
weld cuts such a body in two (``ft_sensor.py``). ``build.py`` builds a ``Robot`` from a description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from steelyard import inertia
from steelyard.errors import Finding, UsageError, unknown_name
from steelyard.robot import geometry
from steelyard.robot.description import Description, Link, RobotSource, read_description
from steelyard.robot.ft_sensor import Sensor
from steelyard.spatial import WRENCH, Array

if TYPE_CHECKING:
    from steelyard.kernels.tree import FlatTree

Base = Literal["fixed", "floating"]

GRAVITY = 9.81  # m/s²
ONE_DOF = {"revolute", "continuous", "prismatic"}
THINNEST = 1e-3  # least half edge of the box of a body's mass, as a fraction of its size: sheets have a thickness
MOST_NAMES = 40  # names that a refusal lists
LOAD = "(load)"  # name of the body of an unknown load; no link can have it
LOAD_SHARE, LOAD_SIZE = 0.1, 0.1  # prior of a load: fraction of the robot's mass; least edge of its box, m


@dataclass(frozen=True)
class Frame:
    """A named frame of the robot."""

    name: str
    joint: int  # of the Pinocchio model; 0 is the world (a fixed base)
    link: str
    placement: Array  # (4, 4) in that joint's frame


@dataclass(frozen=True)
class Body:
    """Links that move as one rigid body; or an unknown load, with a nominal mass and size."""

    name: str  # the group's root link
    links: tuple[str, ...]
    joint: int  # its joint in the Pinocchio model
    parameters: Array  # (10,) of the description (repaired if asked for)
    box: geometry.Box  # in the body frame, m
    size: float  # m, the diagonal of its box
    carrier: Frame | None = None  # of a load: the link that carries it, in whose axes its parameters are
    parts: tuple[tuple[Link, Array], ...] = ()  # its links, each with its pose (4, 4) in the body frame

    @property
    def mass_box(self) -> geometry.Box:
        """Box that contains all its mass, m; each half edge is at least ``THINNEST`` of the body's size."""
        centre, half = (self.box[0] + self.box[1]) / 2, (self.box[1] - self.box[0]) / 2
        half = np.maximum(half, THINNEST * self.size)
        return centre - half, centre + half


@dataclass(frozen=True)
class Robot:
    """Moving bodies, joints and frames of a description, and the Pinocchio model that goes with them.

    Attributes:
        description: What it was built from.
        base: ``fixed`` or ``floating``.
        model: ``pinocchio.Model``: one-DoF joints, first a free-flyer if floating, a free-flyer for each sensor's cut.
        bodies: Moving bodies with parameters: on a fixed base all but the base.
        joints: Independent joints, in the order of the model's velocities.
        coupling: (nv, independent) of v_model = coupling · v: base, joints, sensors; None: the identity.
        mimic_offset: (J_model,) rad or m, added to the coupled positions.
        frames: Named frames of the description.
        locked: Joint → value at which it is held, rad or m.
        gravity: (3,) m/s², in world axes.
        notices: What was repaired or left out.
        sensors: Force–torque sensors, each of which cuts a body in two.

    Examples:
        Names as in ``help(steelyard)``.

        >>> robot.joints[2], len(robot.bodies), robot.floating
        ('elbow_joint', 6, False)
        >>> robot.body("forearm_link").parameters.shape  # m, m·c, I about the body frame's origin, in its axes
        (10,)
    """

    description: Description
    base: Base
    model: Any
    bodies: tuple[Body, ...]
    joints: tuple[str, ...]
    coupling: Array | None
    mimic_offset: Array
    frames: Mapping[str, Frame]
    locked: Mapping[str, float]
    gravity: Array
    notices: tuple[Finding, ...] = field(default=())
    sensors: tuple[Sensor, ...] = field(default=())

    @classmethod
    def load(
        cls,
        source: RobotSource,
        *,
        base: Literal["auto", "fixed", "floating"] = "auto",
        lock: Mapping[str, float] | None = None,
        repair: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -GRAVITY),
        package_dirs: Sequence[Path] = (),
        sensors: Iterable[str] = (),
    ) -> Robot:
        """Load a robot from its description.

        Args:
            source: URDF or MJCF file, or a short name such as ``a1``.
            base: ``auto``: fixed if the root link is called ``world``, else as the index of short names has it.
            lock: Joint → position (rad or m) at which it is held.
            repair: Whether to replace inconsistent inertial parameters by the nearest consistent ones.
            gravity: (3,) m/s², in world axes.
            package_dirs: Further folders that mesh paths may refer to.
            sensors: Force–torque sensors: names of fixed joints, or of links or sites attached by one.

        Returns:
            The robot.

        Raises:
            DescriptionError: The description cannot be used; with every reason.
            UsageError: A locked joint or a sensor does not exist.

        Examples:
            >>> import steelyard as sy
            >>> held = sy.Robot.load("demo_arm", lock={"wrist_3_joint": 0.5})  # rad
            >>> held.body("wrist_3_link").links
            ('wrist_2_link', 'wrist_3_link', 'tool0')
        """
        from steelyard.robot.build import build, default_base

        description = read_description(source, package_dirs)
        if base == "auto":
            base = default_base(source, description)
        whole = dict.fromkeys(sensors, WRENCH)
        return build(description, base=base, lock=lock, repair=repair, gravity=gravity, sensors=whole)

    @property
    def name(self) -> str:
        """Name of the robot in its description."""
        return self.description.name

    @property
    def floating(self) -> bool:
        """Whether the base is floating."""
        return self.base == "floating"

    @property
    def readings(self) -> tuple[str, ...]:
        """Names of the equations that force–torque sensors add: ``S.fx`` …"""
        return tuple(row for sensor in self.sensors for row in sensor.rows)

    @cached_property
    def tree(self) -> FlatTree | None:
        """The robot as flat arrays for compiled kernels; None if no kernel supports one of its joints."""
        from steelyard.robot.flat_tree import flat_tree

        return flat_tree(self)

    @cached_property
    def prior(self) -> Array:
        """(10·bodies,) parameters of all bodies in the description."""
        return np.concatenate([b.parameters for b in self.bodies]) if self.bodies else np.zeros(0)

    def body(self, link: str) -> Body:
        """Return the moving body that a link belongs to; UsageError if none has it."""
        for body in self.bodies:
            if link == body.name or link in body.links:
                return body
        names = [b.name for b in self.bodies]
        where, every = f"link {link!r}", f"Bodies: {', '.join(names[:MOST_NAMES])}"
        if link in self.description.links:
            raise UsageError(
                Finding("link-on-fixed-base", where, "belongs to the fixed base, which never moves", every)
            )
        known = [*names, *(k for b in self.bodies for k in b.links)]
        raise UsageError(unknown_name(where, f"is not in {self.name}", link, known, every, most=3))

    def has_shape(self, body: Body) -> bool:
        """Whether a body's box comes from shapes: each of its links with mass has one."""
        heavy = [self.description.links[link] for link in body.links if self.description.links[link].mass > 0]
        return bool(heavy) and all(geometry.link_box(link, np.eye(4)) is not None for link in heavy)

    def frame(self, name: str) -> Frame:
        """Return the frame of a link, joint or site; UsageError if there is none."""
        if name not in self.frames:
            every = f"Frames: {', '.join(list(self.frames)[:MOST_NAMES])}"
            raise UsageError(
                unknown_name(f"frame {name!r}", f"is not in {self.name}", name, self.frames, every, most=3)
            )
        return self.frames[name]

    def with_load(self, link: str) -> Robot:
        """Return the robot with an unknown load on a link: one more body, welded to that link's."""
        holder = self.body(link)
        mass = LOAD_SHARE * sum(b.parameters[0] for b in self.bodies)
        half = np.full(3, max(holder.size, LOAD_SIZE) / 2)
        parameters, size = geometry.box_inertia(mass, (-half, half)), 2 * float(np.linalg.norm(half))
        load = Body(LOAD, (), holder.joint, parameters, (-half, half), size, self.frames[link])
        return replace(self, bodies=(*self.bodies, load))

    def joints_above(self, joint: int) -> list[str]:
        """Return the moving joints from a joint of the model, itself included, to the base, in that order."""
        names, cuts, first = list[str](), {s.joint for s in self.sensors}, 1 if self.floating else 0
        while joint > first:
            names += [] if joint in cuts else [str(self.model.names[joint])]
            joint = int(self.model.parents[joint])
        return names

    def on_base(self, frame: Frame) -> Array | None:
        """Return the pose (4, 4) of a frame in the floating base; None if a moving joint is between them."""
        joint, placement, cuts = frame.joint, frame.placement, {s.joint for s in self.sensors}
        while joint in cuts:
            placement = self.model.jointPlacements[joint].homogeneous @ placement
            joint = int(self.model.parents[joint])
        return placement if joint == 1 else None

    def positions(self, q: Array) -> Array:
        """Return positions (T, nq) of the model from those of its joints (T, J); base and cuts at the identity."""
        import pinocchio as pin

        full = np.tile(pin.neutral(self.model), (len(q), 1))
        if self.coupling is None:
            full[:, self.model.nq - q.shape[1] :] = q
            return full
        moving = [j for j in list(self.model.joints)[2 if self.floating else 1 :] if j.nv == 1]
        lead = 6 if self.floating else 0
        S = self.coupling[[j.idx_v for j in moving], lead : lead + len(self.joints)]
        full[:, [j.idx_q for j in moving]] = q @ S.T + self.mimic_offset
        return full

    def motion(self, x: Array) -> Array:
        """Return velocities or accelerations (T, nv) of the model from those of base and joints (T, [6 +] J)."""
        return x if self.coupling is None else np.asarray(x @ self.coupling[:, : x.shape[1]].T)

    def inertials(self, parameters: Mapping[str, Array]) -> dict[str, tuple[float, Array, Array]]:
        """Split parameters (10,) of bodies over their links: link → mass, CoM, inertia about the CoM."""
        result = {}
        for name, total in parameters.items():
            body = self.body(name)
            places = {link: self.frames[link].placement for link in body.links}
            links = self.description.links
            parts = [inertia.transform(links[link].parameters, T) for link, T in places.items()]
            repaired = body.parameters - np.sum(parts, axis=0)
            parts[int(np.argmax([p[0] for p in parts]))] += repaired  # zero unless the prior was repaired
            for (link, T), share in zip(places.items(), inertia.split(total, parts), strict=True):
                if share[0] != 0 or links[link].inertial:
                    result[link] = inertia.unpack(inertia.transform(share, np.linalg.inv(T)))
        return result
