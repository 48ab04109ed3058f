"""A description → the tree of its moving bodies, and the Pinocchio model that goes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import inertia
from steelyard.errors import DescriptionError, Finding, UsageError, note, unknown_name
from steelyard.robot import geometry
from steelyard.robot.description import Description, Joint
from steelyard.robot.exact_angles import exact_placements
from steelyard.robot.ft_sensor import Sensor, Weld, find_weld
from steelyard.robot.model import GRAVITY, MOST_NAMES, ONE_DOF, Base, Body, Frame, Robot
from steelyard.spatial import Array


def default_base(source: object, description: Description) -> Base:
    """Return fixed if the root link is called ``world``, else the base of the robot's index entry, else fixed."""
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
    """Build the tree of moving bodies of a description; rounded angles of its joints are made exact, with a notice.

    Args:
        description: Links and joints.
        base: Whether the root link is fixed in the world or free.
        lock: Joint → position (rad or m) at which it is held.
        repair: Whether to replace inconsistent inertial parameters by the nearest consistent ones.
        gravity: (3,) m/s², in world axes.
        sensors: Force–torque sensor → measured components; each cuts the body that it is in.

    Raises:
        UsageError: A locked joint or a sensor does not exist.
        DescriptionError: A moving body is physically inconsistent.
    """
    import pinocchio as pin

    exact, rounded = exact_placements(description)
    notices: list[Finding] = [*description.notices, *rounded]
    locked = _locks(description, dict(lock or {}), notices)
    welds, findings = find_welds(description, locked, sensors or (), base)
    if findings:
        raise UsageError(findings)
    cuts = {weld.joint.name: 0 for weld in welds.values()}  # weld → index of its joint in the model
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
    while stack:  # depth first, so that a subtree has consecutive indices
        link, index, placement = stack.pop()
        groups[index].append(link)
        frames[link] = Frame(link, index, link, placement)
        for joint in reversed(children.get(link, [])):
            at = placement @ exact.get(joint.name, joint.placement)
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
        description=description,
        base=base,
        model=model,
        bodies=bodies,
        joints=joints,
        coupling=coupling,
        mimic_offset=offset,
        frames=frames,
        locked=locked,
        gravity=np.asarray(gravity, float),
        notices=tuple(notices),
        sensors=inside,
    )


def find_welds(
    description: Description, lock: Mapping[str, float], sensors: Iterable[str], base: Base, log: str = ""
) -> tuple[dict[str, Weld], list[Finding]]:
    """Return the weld of each sensor, and a finding for each without one; ``log``: source of the names."""
    still = _locks(description, dict(lock), [])
    moving = [j.name for j in description.joints.values() if j.kind in ONE_DOF and j.name not in still]
    welds, findings = dict[str, Weld](), list[Finding]()
    for name in sensors:
        where = f"{log}, sensor.{name}" if log else f"sensor {name!r}"
        weld = find_weld(description, moving, name, where)
        if base == "floating" and name == "base":
            what = "is also the name of the floating base's equations"
            weld = Finding("sensor-named-base", where, what, "Name the fixed joint that the sensor is in")
        if isinstance(weld, Weld):
            welds[name] = weld
        else:
            findings.append(weld)
    return welds, findings


def _locks(description: Description, lock: dict[str, float], notices: list[Finding]) -> dict[str, float]:
    every = f"Joints: {', '.join(list(description.joints)[:MOST_NAMES])}"
    if unknown := [
        unknown_name(f"joint {n!r}", f"is not in {description.name}", n, description.joints, every, most=3)
        for n in lock
        if n not in description.joints
    ]:
        raise UsageError(unknown)
    for joint in description.joints.values():
        if joint.kind not in ONE_DOF and joint.kind != "fixed":
            text = f"joint {joint.name} ({joint.kind}) is locked at neutral: a log has one value a joint"
            notices.append(note("joint-locked", joint.name, text, kind=joint.kind))
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
    notices: list[Finding],
    base: Base,
    cuts: set[int],
) -> tuple[Body, ...]:
    bodies, findings = [], []
    for index, links in groups.items():
        if index == 0 or all(description.links[link].virtual for link in links):
            continue
        name = links[0]
        parts = tuple((description.links[link], frames[link].placement) for link in links)
        parameters = np.sum([inertia.transform(link.parameters, at) for link, at in parts], axis=0)
        boxes = [b for link, at in parts if (b := geometry.link_box(link, at))]
        if not boxes and parameters[0] > 0:
            boxes.append(geometry.inertia_box(parameters))
        box = geometry.enclosing_box(boxes) if boxes else (np.full(3, -0.05), np.full(3, 0.05))
        size = max(float(np.linalg.norm(box[1] - box[0])), 1e-3)
        if not inertia.is_consistent(parameters, size):
            code, what = _inconsistency(parameters, size)
            massless = index in cuts and parameters[0] <= 0  # not repaired: the prior would hold the mass at zero
            if repair and not massless:
                fixed = _repaired(parameters, box, size)
                notices.append(note("prior-repaired", name, f"body {name}: {what}; repaired to {_brief(fixed)}"))
                parameters = fixed
            else:
                where = f"{description.path.name}:{parts[0][0].line} body {name!r} ({', '.join(links)})"
                if massless:
                    fix = "Give the part beyond the sensor an inertial; a guess of its mass and size is enough"
                    findings.append(Finding("sensor-carries-no-mass", where, what, fix))
                else:
                    fix = "Correct the inertial values, or take the nearest consistent ones: repair_prior=True"
                    findings.append(Finding(code, where, what, fix, {"repair_prior": True}))
        bodies.append(Body(name, tuple(links), index, parameters, box, size, parts=parts))
    if not bodies and not findings:
        what, fix = f"has no moving body on a {base} base", "Check the joints, or give base='floating'"
        remedy = {"base": "floating"} if base == "fixed" else {}
        findings = [Finding("bodies-missing", str(description.path), what, fix, remedy)]
    if findings:
        raise DescriptionError(findings)
    return tuple(bodies)


def _inconsistency(parameters: Array, size: float) -> tuple[str, str]:
    """Code and sentence of the first condition of consistency that parameters violate."""
    mass, _, I = inertia.unpack(parameters)
    if mass <= 0:
        return "mass-not-positive", f"the mass of a moving body must be > 0 kg (got {mass:g})"
    a, b, c = np.linalg.eigvalsh(I)
    if a <= 0:
        what = f"its inertia is not positive definite (principal moments {a:.4g}, {b:.4g}, {c:.4g} kg·m²)"
        return "inertia-not-positive-definite", what
    if a + b < c:
        what = f"its principal moments {a:.4g}, {b:.4g}, {c:.4g} kg·m² violate the triangle inequality"
        return "triangle-inequality-violated", what
    return "body-flat", f"its mass lies in a plane (body size {size:.3g} m)"


def _repaired(parameters: Array, box: geometry.Box, size: float) -> Array:
    """Nearest consistent parameters; a body without inertia first gets that of its box, about its centre of mass."""
    mass, com, I = inertia.unpack(parameters)
    if mass > 0 and np.abs(I).max() < inertia.MARGIN * mass * size**2:
        parameters = inertia.pack(mass, com, inertia.unpack(geometry.box_inertia(mass, box))[2])
    return inertia.nearest_consistent(parameters, size)


def _brief(parameters: Array) -> str:
    mass, _, I = inertia.unpack(parameters)
    return f"{mass:.4g} kg with principal moments {', '.join(f'{w:.4g}' for w in np.linalg.eigvalsh(I))} kg·m²"


def _joint_model(joint: Joint) -> Any:
    import pinocchio as pin

    kind = "Prismatic" if joint.kind == "prismatic" else "Revolute"
    for k, letter in enumerate("XYZ"):
        if joint.axis[k] == 1.0:
            return getattr(pin, f"JointModel{kind[0]}{letter}")()
    return getattr(pin, f"JointModel{kind}Unaligned")(np.asarray(joint.axis, float))


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
