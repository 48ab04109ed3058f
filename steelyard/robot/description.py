"""A robot description, independent of its file format: links, joints and shapes by name.

Frames are 4×4 placements, x_parent = placement · x_child. A joint's frame is its child link's frame, so
the pose of a child in its parent is ``placement · motion(q)``. Positions in m, angles in rad, masses in kg.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from steelyard import inertia
from steelyard.errors import DescriptionError, Finding
from steelyard.robot.xml import parse_xml, read_bytes


@dataclass(frozen=True, eq=False)
class Shape:
    """Geometry of a link.

    ``size`` is by kind: box: edge lengths; cylinder and capsule: radius and length along z (a capsule's
    without its caps); sphere: radius; ellipsoid: semi-axes; mesh: scale along x, y, z.
    """

    kind: str  # "box" | "cylinder" | "capsule" | "sphere" | "ellipsoid" | "mesh"
    size: tuple[float, ...]  # m, or scale
    placement: np.ndarray  # (4, 4) in the link frame
    mesh: Path | None = None  # an existing file inside the declared roots


@dataclass(frozen=True, eq=False)
class Link:
    """One rigid link with the inertial values of the file; only their sign and finiteness are checked."""

    name: str
    mass: float  # kg
    com: np.ndarray  # (3,) m, in the link frame
    inertia: np.ndarray  # (3, 3) kg·m², about the CoM, in link axes
    inertial: bool  # whether the file gives inertial values
    virtual: bool  # massless, inserted between two joints of one MJCF body
    line: int  # 0 where unknown
    collision: tuple[Shape, ...] = ()
    visual: tuple[Shape, ...] = ()

    @property
    def parameters(self) -> np.ndarray:
        """(10,) inertial parameters about the link frame's origin, in its axes."""
        return inertia.pack(self.mass, self.com, self.inertia)


@dataclass(frozen=True)
class Mimic:
    """Coupling to another joint: q = multiplier · q(joint) + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between a parent and a child link."""

    name: str
    kind: str  # revolute, continuous, prismatic, floating, planar, ball or fixed
    parent: str
    child: str
    placement: np.ndarray  # (4, 4), joint frame = child link frame at q = 0, in the parent link frame
    axis: np.ndarray  # (3,) unit, in the joint frame
    lower: float = -np.inf  # rad or m
    upper: float = np.inf  # rad or m
    velocity: float = np.inf  # rad/s or m/s
    effort: float = np.inf  # N·m or N
    mimic: Mimic | None = None
    line: int = 0  # 0 where unknown


@dataclass(frozen=True, eq=False)
class Description:
    """One robot: a tree of links connected by joints.

    Attributes:
        name: Name of the robot.
        format: ``urdf`` or ``mjcf``.
        path: The file.
        text: The source as read.
        links: Name → link: mass in kg, centre of mass in m, inertia in kg·m² about it, in the link's axes.
        joints: Name → joint.
        root: Name of the root link.
        notices: What reading changed or left out.
        frames: Further named frames → their link, and (4, 4) their pose in it.
        sha256: Of the file's bytes, for provenance.

    Examples:
        Names as in ``help(steelyard)``.

        >>> description = robot.description
        >>> description.format, len(description.joints)
        ('urdf', 8)
        >>> description.links["forearm_link"].mass  # kg
        4.27
        >>> sy.identify(description, log).verdict.trusted
        True
    """

    name: str
    format: str
    path: Path
    text: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    root: str
    notices: tuple[Finding, ...]
    frames: Mapping[str, tuple[str, np.ndarray]]
    sha256: str = ""


class PinocchioModel(Protocol):
    """Members by which a ``pinocchio.Model``, which has no types, is recognised."""

    name: Any
    njoints: Any
    inertias: Any
    jointPlacements: Any


RobotSource: TypeAlias = str | Path | Description | PinocchioModel  # all that can be read as a description


def read_description(source: RobotSource, package_dirs: Sequence[Path] = ()) -> Description:
    """Read a URDF or MJCF file.

    Args:
        source: Path of the file, or a short name of ``steelyard robots``. A description is returned as it is; a
            ``pinocchio.Model`` is turned into one.
        package_dirs: Further folders that mesh paths may refer to.

    Returns:
        The checked description.

    Raises:
        DescriptionError: With every reason against it.
    """
    if isinstance(source, Description):
        return source
    # Deferred, here and below: each reader imports the classes above.
    if not isinstance(source, str | Path):
        from steelyard.robot.from_pinocchio import from_pinocchio, is_pinocchio_model

        if is_pinocchio_model(source):
            return from_pinocchio(source)
        what, fix = f"is a {type(source).__name__}", "Give a path, a name, a Description or a pinocchio.Model"
        raise DescriptionError(Finding("robot-kind-unknown", "robot", what, fix))
    path = Path(source)
    if not is_file(path):
        path = _by_name(source)
    data = read_bytes(path)
    text, root = parse_xml(data, path.name)
    if root.tag == "robot":
        from steelyard.robot.urdf import from_urdf as convert
    elif root.tag == "mujoco":
        from steelyard.robot.mjcf import from_mjcf as convert
    else:
        what = f"root element is <{root.tag}>, neither <robot> (URDF) nor <mujoco> (MJCF)"
        where = f"{path.name}:{root.line}"
        raise DescriptionError(Finding("description-format-unknown", where, what, "Give a URDF or MJCF file"))
    return replace(convert(path, text, root, package_dirs), sha256=hashlib.sha256(data).hexdigest())


def is_file(path: Path) -> bool:
    """As ``Path.is_file``; False for names that the file system refuses (too long, cyclic symbolic links)."""
    try:
        return path.is_file()
    except (OSError, RuntimeError):
        return False


def _by_name(source: str | Path) -> Path:
    from steelyard.robot import index

    name = str(source)
    if path := index.find_description(name):
        return path
    near = difflib.get_close_matches(name, [entry.name for entry in index.robots()], n=5)
    folder = Path(source).parent
    with suppress(OSError):
        files = [p.name for p in folder.iterdir() if p.suffix in (".urdf", ".xml")]
        near += [str(folder / f) for f in difflib.get_close_matches(Path(source).name, files, n=3)]
    fix = f"Did you mean {', '.join(near)}" if near else "`steelyard robots` lists all names"
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    what, remedy = "is neither a file nor the name of a robot", {"robot": near[0]} if near else {}
    raise DescriptionError(Finding("robot-unknown", shown, what, fix, remedy))
