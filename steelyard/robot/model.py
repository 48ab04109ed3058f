"""A robot as its dynamics see it: a tree of moving bodies, by name.

Links welded by fixed (or locked) joints are one *moving body*, named after the group's root link and expressed
in that link's frame; only its ten summed parameters can ever be seen from outside. A force–torque sensor in a weld
cuts such a body in two (``sensor.py``). ``Robot`` builds the Pinocchio model of those bodies from a
:class:`Description` and shares estimates back over the links.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from steelyard import inertia
from steelyard.errors import DescriptionError, Finding, UsageError
from steelyard.robot import geometry
from steelyard.robot.description import Description, Joint, Link, read_description
from steelyard.robot.ft_sensor import Sensor, Weld, find_weld
from steelyard.spatial import WRENCH

if TYPE_CHECKING:
    from steelyard.kernels.tree import FlatTree

Array = np.ndarray
Base = Literal["fixed", "floating"]

GRAVITY = 9.81  # m/s²
ONE_DOF = {"revolute", "continuous", "prismatic"}
THINNEST = 1e-3  # half edge of a body's room, of its size: sheets are thicker than their drawings
LOAD = "(load)"  # what the body of an unknown load is called; no link is
LOAD_SHARE, LOAD_SIZE = 0.1, 0.1  # of the robot's mass; m: a load is thought of as this heavy, and at least this big


@dataclass(frozen=True)
class Frame:
    """A named place on the robot."""

    name: str
    joint: int  # of the Pinocchio model; 0 is the world (a fixed base)
    link: str
    placement: Array  # (4, 4) in that joint's frame


@dataclass(frozen=True)
class Body:
    """Links that move as one; or a load, of which only a size to think in is known."""

    name: str  # the group's root link
    links: tuple[str, ...]
    joint: int  # its joint in the Pinocchio model
    parameters: Array  # (10,) as the description has them (repaired where asked)
    box: geometry.Box  # in the body frame, m
    size: float  # m, the diagonal of its box
    carrier: Frame | None = None  # of a load: the link that carries it, in whose axes its parameters are
    parts: tuple[tuple[Link, Array], ...] = ()  # its links, each with its pose (4, 4) in the body frame

    @property
    def room(self) -> geometry.Box:
        """The box that its mass may be in, m: no half edge of it less than ``THINNEST`` of the body's size."""
        centre, half = (self.box[0] + self.box[1]) / 2, (self.box[1] - self.box[0]) / 2
        half = np.maximum(half, THINNEST * self.size)
        return centre - half, centre + half


@dataclass(frozen=True)
class Robot:
    """Moving bodies, joints and frames of a description, and the Pinocchio model that goes with them."""

    description: Description
    base: Base
    model: Any  # pinocchio.Model; joints of one degree of freedom, a free-flyer first if floating, one for each cut
    bodies: tuple[Body, ...]  # that have parameters: on a fixed base the bodies that move
    joints: tuple[str, ...]  # independent joints, in the order of the model's velocities
    coupling: Array | None  # (nv, independent) of v_model = coupling · v: base, joints, sensors; None: the identity
    mimic_offset: Array  # (J_model,) added to the coupled positions
    frames: Mapping[str, Frame]
    locked: Mapping[str, float]
    gravity: Array  # (3,) m/s², world axes
    notices: tuple[str, ...] = field(default=())
    sensors: tuple[Sensor, ...] = field(default=())

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        base: Literal["auto", "fixed", "floating"] = "auto",
        lock: Mapping[str, float] | None = None,
        repair: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -GRAVITY),
        package_dirs: Sequence[Path] = (),
        sensors: Iterable[str] = (),
    ) -> Robot:
        """Read a URDF or MJCF file, or a short name such as ``a1``.

        ``base="auto"``: fixed where the root link is called ``world``, floating where the index says so.
        ``lock``: joints held at a value (rad or m). ``repair``: make an unphysical body physical.
        ``sensors``: force–torque sensors, each the name of a fixed joint, or of a link or site on one.
        """
        description = read_description(source, package_dirs)
        if base == "auto":
            base = default_base(source, description)
        whole = dict.fromkeys(sensors, WRENCH)
        return build(description, base=base, lock=lock, repair=repair, gravity=gravity, sensors=whole)

    @property
    def name(self) -> str:
        """The description's name for the robot."""
        return self.description.name

    @property
    def floating(self) -> bool:
        """Whether the base is free to move."""
        return self.base == "floating"

    @property
    def readings(self) -> tuple[str, ...]:
        """Names of the equations that the sensors add: ``S.fx`` …"""
        return tuple(row for sensor in self.sensors for row in sensor.rows)

    @cached_property
    def tree(self) -> FlatTree | None:
        """The robot as flat arrays for compiled kernels; None where it has a joint that none covers."""
        from steelyard.robot.flat_tree import flat_tree

        return flat_tree(self)

    @cached_property
    def prior(self) -> Array:
        """(10·bodies,) parameters of the description, body by body."""
        return np.concatenate([b.parameters for b in self.bodies]) if self.bodies else np.zeros(0)

    def body(self, link: str) -> Body:
        """The moving body that a link belongs to."""
        for body in self.bodies:
            if link == body.name or link in body.links:
                return body
        fixed = link in self.description.links
        raise UsageError(
            Finding(
                f"link {link!r}",
                "belongs to the fixed base, which never moves" if fixed else f"is not in {self.name}",
                _names("Bodies", [b.name for b in self.bodies], link, near=[k for b in self.bodies for k in b.links]),
            )
        )

    def has_shape(self, body: Body) -> bool:
        """Whether a body's box is that of its shapes: each of its links that weighs anything has one."""
        heavy = [self.description.links[link] for link in body.links if self.description.links[link].mass > 0]
        return bool(heavy) and all(geometry.link_box(link, np.eye(4)) is not None for link in heavy)

    def frame(self, name: str) -> Frame:
        """A link, joint or site by name."""
        if name not in self.frames:
            raise UsageError(Finding(f"frame {name!r}", f"is not in {self.name}", _names("Frames", self.frames, name)))
        return self.frames[name]

    def carrying(self, link: str) -> Robot:
        """The same robot with an unknown load on a link: one more body, which moves with that link's."""
        holder = self.body(link)
        mass = LOAD_SHARE * sum(b.parameters[0] for b in self.bodies)
        half = np.full(3, max(holder.size, LOAD_SIZE) / 2)
        load = Body(
            LOAD, (), holder.joint, geometry.box_inertia(mass, (-half, half)), (-half, half),
            2 * float(np.linalg.norm(half)), self.frames[link],
        )  # fmt: skip
        return replace(self, bodies=(*self.bodies, load))

    def joints_above(self, joint: int) -> list[str]:
        """Moving joints between a joint of the model, that one included, and the base: the nearest first."""
        names, cuts, first = list[str](), {s.joint for s in self.sensors}, 1 if self.floating else 0
        while joint > first:
            names += [] if joint in cuts else [str(self.model.names[joint])]
            joint = int(self.model.parents[joint])
        return names

    def on_base(self, frame: Frame) -> Array | None:
        """(4, 4) pose of a frame in the floating base, through cuts that do not move; None where a joint does."""
        joint, placement, cuts = frame.joint, frame.placement, {s.joint for s in self.sensors}
        while joint in cuts:
            placement = self.model.jointPlacements[joint].homogeneous @ placement
            joint = int(self.model.parents[joint])
        return placement if joint == 1 else None

    def positions(self, q: Array) -> Array:
        """(T, nq) positions of the model from those of its joints (T, J); the base and all cuts at the identity."""
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
        """(T, nv) velocities or accelerations of the model from those of base and joints (T, 6 + J) or (T, J)."""
        return x if self.coupling is None else np.asarray(x @ self.coupling[:, : x.shape[1]].T)

    def inertials(self, parameters: Mapping[str, Array]) -> dict[str, tuple[float, Array, Array]]:
        """Share new parameters of bodies (10,) over their links: link → mass, CoM, inertia about the CoM."""
        result = {}
        for name, total in parameters.items():
            body = self.body(name)
            places = {link: self.frames[link].placement for link in body.links}
            parts = [inertia.transform(_link_parameters(self.description, link), T) for link, T in places.items()]
            repaired = body.parameters - np.sum(parts, axis=0)
            parts[int(np.argmax([p[0] for p in parts]))] += repaired  # zero unless the prior was repaired
            for (link, T), share in zip(places.items(), inertia.split(total, parts), strict=True):
                if share[0] != 0 or self.description.links[link].inertial:
                    result[link] = inertia.unpack(inertia.transform(share, np.linalg.inv(T)))
        return result


def default_base(source: str | Path, description: Description) -> Base:
    """Fixed where the root link is called ``world``; else what the index knows; else fixed."""
    from steelyard.robot.index import robots

    if description.root == "world":
        return "fixed"
    known = {entry.name: entry.base for entry in robots()}
    return "floating" if known.get(str(source)) == "floating" else "fixed"


def build(
    description: Description,
    *,
    base: Base,
    lock: Mapping[str, float] | None = None,
    repair: bool = False,
    gravity: Sequence[float] = (0.0, 0.0, -GRAVITY),
    sensors: Mapping[str, Sequence[str]] | None = None,
) -> Robot:
    """Build the tree of moving bodies of a description, cut at its ``sensors`` (name → measured components)."""
    import pinocchio as pin

    notices: list[str] = list(description.notices)
    locked = _locks(description, dict(lock or {}), notices)
    welds, findings = find_welds(description, locked, sensors or (), base)
    if findings:
        raise UsageError(findings)
    cuts = {weld.joint.name: 0 for weld in welds.values()}  # → its joint in the model
    model = pin.Model()
    model.name = description.name
    model.gravity.linear = np.asarray(gravity, float)
    groups: dict[int, list[str]] = {0: []}
    frames: dict[str, Frame] = {}
    followers: dict[str, Joint] = {}
    children: dict[str, list[Joint]] = {}
    for joint in description.joints.values():
        children.setdefault(joint.parent, []).append(joint)

    root = 0
    if base == "floating":
        root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        groups[root] = []
    stack: list[tuple[str, int, Array]] = [(description.root, root, np.eye(4))]
    while stack:  # depth first, so that a subtree is one run of indices
        link, index, placement = stack.pop()
        groups[index].append(link)
        frames[link] = Frame(link, index, link, placement)
        for joint in reversed(children.get(link, [])):
            at = placement @ joint.placement
            if joint.name in locked or joint.kind not in ONE_DOF:
                at = at @ _displacement(joint, locked.get(joint.name, 0.0))
                if joint.name not in cuts:
                    frames.setdefault(joint.name, Frame(joint.name, index, joint.child, at))
                    stack.append((joint.child, index, at))
                    continue
            kind = pin.JointModelFreeFlyer() if joint.name in cuts else _joint_model(joint)
            child = model.addJoint(index, kind, pin.SE3(at), joint.name)
            groups[child] = []
            frames.setdefault(joint.name, Frame(joint.name, child, joint.child, np.eye(4)))
            stack.append((joint.child, child, np.eye(4)))
            if joint.name in cuts:
                cuts[joint.name] = child
            elif joint.mimic is not None:
                followers[joint.name] = joint
    for name, (link, local) in description.frames.items():
        holder = frames[link]
        frames.setdefault(name, Frame(name, holder.joint, link, holder.placement @ local))

    bodies = _bodies(description, groups, frames, repair, notices, base, set(cuts.values()))
    for body in bodies:
        model.inertias[body.joint] = pin.Inertia.FromDynamicParameters(body.parameters)
    inside = tuple(
        Sensor(name, cuts[weld.joint.name], weld.joint.child, weld.placement, tuple((sensors or {})[name]))
        for name, weld in welds.items()
    )
    joints, coupling, offset = _coupling(description, model, followers, base, inside)
    return Robot(
        description, base, model, bodies, joints, coupling, offset, frames, locked, np.asarray(gravity, float),
        tuple(notices), inside,
    )  # fmt: skip


def find_welds(
    description: Description, lock: Mapping[str, float], sensors: Iterable[str], base: Base, log: str = ""
) -> tuple[dict[str, Weld], list[Finding]]:
    """The weld of each sensor, and every reason why one has none; ``log``: where the names come from."""
    still = _locks(description, dict(lock), [])
    moving = [j.name for j in description.joints.values() if j.kind in ONE_DOF and j.name not in still]
    welds, findings = dict[str, Weld](), list[Finding]()
    for name in sensors:
        where = f"{log}, sensor.{name}" if log else f"sensor {name!r}"
        found = find_weld(description, moving, name, where)
        if base == "floating" and name == "base":
            found = Finding(where, "names its equations as those of the floating base", "Name the weld it sits in")
        if isinstance(found, Weld):
            welds[name] = found
        else:
            findings.append(found)
    return welds, findings


def _locks(description: Description, lock: dict[str, float], notices: list[str]) -> dict[str, float]:
    unknown = [name for name in lock if name not in description.joints]
    if unknown:
        raise UsageError(
            [Finding(f"joint {n!r}", f"is not in {description.name}", _names("Joints", description.joints, n))
             for n in unknown]
        )  # fmt: skip
    for joint in description.joints.values():
        if joint.kind not in ONE_DOF and joint.kind != "fixed":
            notices.append(f"joint {joint.name} ({joint.kind}) is locked at neutral: a log has one value a joint")
    still = {j.name: 0.0 for j in description.joints.values() if j.kind not in ONE_DOF} | lock
    for _ in description.joints:  # a follower may itself be followed, in any order
        for joint in description.joints.values():
            if joint.mimic is not None and joint.mimic.joint in still and joint.name not in still:
                lock[joint.name] = joint.mimic.multiplier * still[joint.mimic.joint] + joint.mimic.offset
                still[joint.name] = lock[joint.name]
    return lock


def _bodies(
    description: Description,
    groups: Mapping[int, list[str]],
    frames: Mapping[str, Frame],
    repair: bool,
    notices: list[str],
    base: Base,
    cuts: set[int],
) -> tuple[Body, ...]:
    bodies, findings = [], []
    for index, links in groups.items():
        if index == 0 or all(description.links[link].virtual for link in links):
            continue
        name = links[0]
        parameters = np.sum(
            [inertia.transform(_link_parameters(description, link), frames[link].placement) for link in links], axis=0
        )
        boxes = [b for link in links if (b := geometry.link_box(description.links[link], frames[link].placement))]
        if not boxes and parameters[0] > 0:
            boxes.append(geometry.inertia_box(parameters))
        box = geometry.join(boxes) if boxes else (np.full(3, -0.05), np.full(3, 0.05))
        size = max(float(np.linalg.norm(box[1] - box[0])), 1e-3)
        if not inertia.is_consistent(parameters, size):
            weightless = index in cuts and parameters[0] <= 0  # nothing to repair: the prior would hold it there
            if repair and not weightless:
                fixed = _repaired(parameters, box, size)
                notices.append(f"body {name}: {_unphysical(parameters, size)}; repaired to {_brief(fixed)}")
                parameters = fixed
            else:
                line = description.links[name].line
                findings.append(
                    Finding(
                        f"{description.path.name}:{line} body {name!r} ({', '.join(links)})",
                        _unphysical(parameters, size),
                        "Give what hangs on the sensor an inertial, a guess of its mass and size will do"
                        if weightless
                        else "Correct the inertial values, or let --repair-prior take the nearest physical ones",
                    )
                )
        parts = tuple((description.links[link], frames[link].placement) for link in links)
        bodies.append(Body(name, tuple(links), index, parameters, box, size, parts=parts))
    if findings:
        raise DescriptionError(findings)
    if not bodies:
        raise DescriptionError(
            Finding(
                str(description.path), f"has no moving body on a {base} base", "Check the joints, or --base floating"
            )
        )
    return tuple(bodies)


def _link_parameters(description: Description, link: str) -> Array:
    part = description.links[link]
    return inertia.pack(part.mass, part.com, part.inertia)


def _unphysical(parameters: Array, size: float) -> str:
    mass, _, I = inertia.unpack(parameters)
    if mass <= 0:
        return f"its mass is {mass:g} kg, and a body that moves needs a positive one"
    a, b, c = np.linalg.eigvalsh(I)
    if a <= 0:
        return f"its inertia is not positive definite (principal moments {a:.4g}, {b:.4g}, {c:.4g} kg·m²)"
    if a + b < c:
        return f"its principal moments {a:.4g}, {b:.4g}, {c:.4g} kg·m² break the triangle inequality"
    return f"its mass has no extent in some direction (body size {size:.3g} m)"


def _repaired(parameters: Array, box: geometry.Box, size: float) -> Array:
    """The nearest physical body; one whose inertia nobody filled in gets that of its box, about its centre of mass."""
    mass, com, I = inertia.unpack(parameters)
    if mass > 0 and np.abs(I).max() < inertia.MARGIN * mass * size**2:
        parameters = inertia.pack(mass, com, inertia.unpack(geometry.box_inertia(mass, box))[2])
    return inertia.nearest_consistent(parameters, size)


def _brief(parameters: Array) -> str:
    mass, _, I = inertia.unpack(parameters)
    return f"{mass:.4g} kg with principal moments {', '.join(f'{w:.4g}' for w in np.linalg.eigvalsh(I))} kg·m²"


def _joint_model(joint: Joint) -> Any:
    import pinocchio as pin

    prismatic = joint.kind == "prismatic"
    aligned = (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ) if prismatic else (
        pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)  # fmt: skip
    for k in range(3):
        if joint.axis[k] == 1.0:
            return aligned[k]()
    unaligned = pin.JointModelPrismaticUnaligned if prismatic else pin.JointModelRevoluteUnaligned
    return unaligned(np.asarray(joint.axis, float))


def _displacement(joint: Joint, value: float) -> Array:
    import pinocchio as pin

    T = np.eye(4)
    if joint.kind == "prismatic":
        T[:3, 3] = value * joint.axis
    elif joint.kind in ONE_DOF:
        T[:3, :3] = pin.exp3(value * joint.axis)
    return T


def _coupling(
    description: Description, model: Any, followers: Mapping[str, Joint], base: Base, sensors: Sequence[Sensor]
) -> tuple[tuple[str, ...], Array | None, Array]:
    lead, first = (6, 2) if base == "floating" else (0, 1)
    cuts = {s.joint for s in sensors}
    moving = [(str(model.names[i]), model.joints[i].idx_v) for i in range(first, model.njoints) if i not in cuts]
    offset = np.zeros(len(moving))
    leaders = tuple(name for name, _ in moving if name not in followers)
    if not followers and not sensors:
        return leaders, None, offset
    S = np.zeros((model.nv, lead + len(leaders)))
    S[:lead, :lead] = np.eye(lead)
    for k, (name, row) in enumerate(moving):
        factor = 1.0
        while (mimic := description.joints[name].mimic) is not None and name in followers:
            offset[k] += factor * mimic.offset
            factor *= mimic.multiplier
            name = mimic.joint
        S[row, lead + leaders.index(name)] = factor
    for sensor in sensors:
        G = np.zeros((model.nv, len(sensor.components)))
        at = model.joints[sensor.joint].idx_v
        G[at : at + 6] = sensor.motion
        S = np.hstack([S, G])
    return leaders, S, offset


def _names(title: str, names: Iterable[str], wanted: str, near: Iterable[str] = ()) -> str:
    """Names that look like the wanted one, among ``near`` too; else all that there are."""
    listed = list(names)
    close = difflib.get_close_matches(wanted, dict.fromkeys([*listed, *near]), n=3)
    return f"Did you mean {' or '.join(close)}" if close else f"{title}: {', '.join(listed[:40])}"
