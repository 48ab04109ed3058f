"""MJCF → Description: checked by our own parser, compiled by MuJoCo, converted from the compiled model.

MuJoCo moves a body by its joints in turn, each about its own anchor p in the body frame:

    body in parent = T₀ · Π_i Trans(p_i) · motion_i(q_i − ref_i) · Trans(−p_i).

Each factor becomes a joint of the description; all links but the last are virtual and massless. A link's
frame is at the anchor of its body's last joint, in body axes. That is MuJoCo's body frame unless the joint
has a ``pos``; then there is a notice, and the frame ``BODY.origin`` is MuJoCo's. Positions are its ``qpos``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import DescriptionError, Finding, note
from steelyard.robot.description import (
    Description,
    Joint,
    Link,
    Mimic,
    Shape,
)
from steelyard.robot.mjcf_source import check_source
from steelyard.robot.xml import Node
from steelyard.spatial import placement, rotation_from_wxyz


def from_mjcf(path: Path, text: str, root: Node, package_dirs: Sequence[Path] = ()) -> Description:
    """Convert a parsed MJCF file; DescriptionError with every reason."""
    lines = check_source(path, root, package_dirs)
    try:
        import mujoco
    except ImportError as error:
        what, fix = "is MJCF, which needs MuJoCo to read", 'Run pip install "steelyard[sim]"'
        finding = Finding("package-missing", path.name, what, fix, {"install": "steelyard[sim]"})
        raise DescriptionError(finding) from error
    try:
        model, warnings = compile_mjcf(path)
    except ValueError as error:
        what = "MuJoCo does not compile it: " + " ".join(str(error).split()).rstrip(".")
        fix = "Correct the model until MuJoCo loads it"
        raise DescriptionError(Finding("mjcf-not-compiled", path.name, what, fix)) from error
    converter = _Converter(model, mujoco, path, lines)
    texts = (" ".join(warning.split()) for warning in warnings)
    converter.notices += (note("mujoco-warning", path.name, f"MuJoCo warns: {text}", warning=text) for text in texts)
    return converter.description(root.attributes.get("model") or path.stem, text)


def compile_mjcf(path: Path) -> tuple[Any, list[str]]:
    """Compile a file with MuJoCo; returns the model and its warnings, ValueError if it does not compile."""
    import mujoco

    # By default MuJoCo writes its warnings to a file in the working folder.
    warnings: list[str] = []
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)
    try:
        return mujoco.MjModel.from_xml_path(str(path)), warnings
    finally:
        mujoco.set_mju_user_warning(handler)


def body_names(model: Any) -> list[str]:
    """What the bodies of a MuJoCo model are called here, in its order: a nameless one gets a name."""
    import mujoco

    return _names(model, mujoco.mjtObj.mjOBJ_BODY, model.nbody, "body")


def anchor(model: Any, body: int) -> np.ndarray:
    """(3,) m, where the link frame's origin is in MuJoCo's body frame."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return _anchor_of(model, first + count - 1) if count else np.zeros(3)


def _anchor_of(model: Any, j: int) -> np.ndarray:
    """A slide's or free joint's pos has no effect, so it must not move the frame."""
    import mujoco

    turning = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_BALL))
    return np.array(model.jnt_pos[j]) if int(model.jnt_type[j]) in turning else np.zeros(3)


def _names(model: Any, kind: Any, count: int, prefix: str) -> list[str]:
    import mujoco

    given = [mujoco.mj_id2name(model, kind, i) or "" for i in range(count)]
    names = []
    for i, name in enumerate(given):
        own = name or f"{prefix}_{i}"
        while not name and own in given:
            own += "_"
        names.append(own)
    return names


class _Converter:
    def __init__(self, model: Any, mujoco: Any, path: Path, lines: dict[str, int]):
        self.model, self.mujoco, self.path, self.lines = model, mujoco, path, lines
        self.notices: list[Finding] = []
        self.body_names = body_names(model)
        self.joint_names = _names(model, mujoco.mjtObj.mjOBJ_JOINT, model.njnt, "joint")
        self.free = [self._is_free(b) for b in range(model.nbody)]
        self.anchors = {b: anchor(model, b) for b in range(model.nbody)}

    def description(self, name: str, text: str) -> Description:
        bodies = self._robot()
        links: dict[str, Link] = {}
        joints: dict[str, Joint] = {}
        if not self.free[bodies[0]]:
            links["world"] = Link("world", 0.0, np.zeros(3), np.zeros((3, 3)), False, False, 0)
            bodies = [b for b in bodies if b != 0]
        root = next(iter(links), self.body_names[bodies[0]])
        for b in bodies:
            self._joints(b, links, joints)
            links[self.body_names[b]] = self._link(b)
        self._equalities(joints)
        if moved := ", ".join(self.body_names[b] for b in bodies if self.anchors[b].any()):
            what = f"joint pos ≠ 0: link frame at the joint, not the MJCF body frame, on {moved}"
            self.notices.append(note("frame-at-joint", moved, what))
        frames = self._frames(bodies, {*links, *joints})
        return Description(name, "mjcf", self.path, text, links, joints, root, tuple(self.notices), frames)

    def _joint_ids(self, body: int) -> range:
        first = int(self.model.body_jntadr[body])
        return range(first, first + int(self.model.body_jntnum[body])) if first >= 0 else range(0)

    def _is_free(self, body: int) -> bool:
        return any(self.model.jnt_type[j] == self.mujoco.mjtJoint.mjJNT_FREE for j in self._joint_ids(body))

    def _subtree(self, top: int) -> list[int]:
        inside = {top}
        for b in range(top + 1, self.model.nbody):  # a parent always comes before its children
            if int(self.model.body_parentid[b]) in inside:
                inside.add(b)
        return sorted(inside)

    def _robot(self) -> list[int]:
        """Bodies of the one robot in the scene: a free root and all below, or 0 (the world) and its trees."""
        tops = [b for b in range(1, self.model.nbody) if self.model.body_parentid[b] == 0]
        if not tops:
            fix = "Give a model with at least one body"
            raise DescriptionError(Finding("description-empty", self.path.name, "has no <body>", fix))
        trees = {b: self._subtree(b) for b in tops}
        fixed = [b for b in tops if not self.free[b]]
        moving = [b for b in fixed if any(self._joint_ids(c) for c in trees[b])]
        floating = [b for b in tops if self.free[b]]
        jointed = [b for b in floating if any(self._joint_ids(c) for c in trees[b][1:])]
        robots = jointed + moving[:1] if jointed or moving else floating or fixed[:1]
        if len(robots) > 1:
            names = ", ".join(f"'{self.body_names[b]}'" for b in robots)
            what, fix = f"are {len(robots)} robots", "Give a model of one robot without the rest of the scene"
            raise DescriptionError(Finding("robots-several", f"{self.path.name} bodies {names}", what, fix))
        chosen = robots if self.free[robots[0]] else fixed
        if ignored := ", ".join(self.body_names[b] for b in tops if b not in chosen):
            self.notices.append(note("body-ignored", ignored, f"not part of the robot and ignored: {ignored}"))
        bodies = sorted(b for top in chosen for b in trees[top])
        return bodies if chosen is robots else [0, *bodies]

    def _link(self, b: int) -> Link:
        m, name = self.model, self.body_names[b]
        mass = float(m.body_mass[b])
        R = rotation_from_wxyz(m.body_iquat[b])
        inertia = R @ np.diag(m.body_inertia[b]) @ R.T
        com = np.array(m.body_ipos[b]) - self.anchors[b] if mass > 0 else np.zeros(3)
        collision, visual = self._shapes(b)
        line = self.lines.get(name, 0)
        return Link(name, mass, com, (inertia + inertia.T) / 2, mass > 0, False, line, collision, visual)

    def _joints(self, b: int, links: dict[str, Link], joints: dict[str, Joint]) -> None:
        m, name, ids = self.model, self.body_names[b], self._joint_ids(b)
        if self.free[b]:
            return
        above = int(m.body_parentid[b])
        parent = self.body_names[above] if above else "world"
        T = placement(rotation_from_wxyz(m.body_quat[b]), m.body_pos[b] - self.anchors[above])
        line = self.lines.get(name, 0)
        if not ids:
            joint = f"{name}.weld"
            joints[joint] = Joint(joint, "fixed", parent, name, T, np.array([1.0, 0.0, 0.0]), line=line)
        before = np.zeros(3)
        for j in ids:
            last, p = j == ids[-1], _anchor_of(self.model, j)
            child = name if last else f"{name}.{self.joint_names[j]}"
            if not last:
                links[child] = Link(child, 0.0, np.zeros(3), np.zeros((3, 3)), False, True, 0)
            X = T @ placement(np.eye(3), p - before)
            joints[self.joint_names[j]] = self._joint(j, parent, child, X, line)
            parent, T, before = child, np.eye(4), p

    def _joint(self, j: int, parent: str, child: str, X: np.ndarray, line: int) -> Joint:
        """One MuJoCo joint; its reference is folded into the placement, so that q is MuJoCo's qpos."""
        m, kinds = self.model, self.mujoco.mjtJoint
        kind, axis = int(m.jnt_type[j]), np.array(m.jnt_axis[j])
        limited, ref = bool(m.jnt_limited[j]), float(m.qpos0[m.jnt_qposadr[j]])
        if kind == kinds.mjJNT_HINGE:
            name = "revolute" if limited else "continuous"
            half = np.append(np.cos(ref / 2), -np.sin(ref / 2) * axis)
            X = X @ placement(rotation_from_wxyz(half), np.zeros(3))
        elif kind == kinds.mjJNT_SLIDE:
            name = "prismatic"
            X = X @ placement(np.eye(3), -ref * axis)
        else:
            name, limited = "ball", False  # a ball's range is of its angle, not of a coordinate
        lower, upper = map(float, m.jnt_range[j] if limited else (-np.inf, np.inf))
        effort = float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else np.inf
        return Joint(self.joint_names[j], name, parent, child, X, axis, lower, upper, effort=effort, line=line)

    def _shapes(self, b: int) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        m, kinds = self.model, self.mujoco.mjtGeom
        collision: list[Shape] = []
        visual: list[Shape] = []
        for g in range(m.body_geomadr[b], m.body_geomadr[b] + m.body_geomnum[b]):
            x, y, z = (float(v) for v in m.geom_size[g])
            sizes = {
                int(kinds.mjGEOM_SPHERE): ("sphere", (x,)),
                int(kinds.mjGEOM_CAPSULE): ("capsule", (x, 2 * y)),
                int(kinds.mjGEOM_CYLINDER): ("cylinder", (x, 2 * y)),
                int(kinds.mjGEOM_ELLIPSOID): ("ellipsoid", (x, y, z)),
                int(kinds.mjGEOM_BOX): ("box", (2 * x, 2 * y, 2 * z)),
            }
            T = self._pose(b, m.geom_pos[g], m.geom_quat[g])
            kind = int(m.geom_type[g])
            if kind == kinds.mjGEOM_MESH:
                shape = self._mesh(int(m.geom_dataid[g]), T)
            elif kind in sizes:
                shape = Shape(*sizes[kind], T)
            else:
                continue  # planes and height fields are terrain
            (collision if m.geom_contype[g] or m.geom_conaffinity[g] else visual).append(shape)
        return tuple(collision), tuple(visual)

    def _mesh(self, i: int, T: np.ndarray) -> Shape:
        """A mesh shape in the axes of its file: MuJoCo's move into the principal axes is undone."""
        m = self.model
        moved = placement(rotation_from_wxyz(m.mesh_quat[i]), m.mesh_pos[i])
        address = int(m.mesh_pathadr[i])
        name = bytes(m.paths)[address:].split(b"\0")[0].decode() if address >= 0 else ""
        file = Path(name) if name and Path(name).is_file() else None
        return Shape("mesh", tuple(m.mesh_scale[i].tolist()), T @ np.linalg.inv(moved), file)

    def _pose(self, b: int, position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
        return placement(rotation_from_wxyz(quaternion), position - self.anchors[b])

    def _frames(self, bodies: list[int], taken: set[str]) -> dict[str, tuple[str, np.ndarray]]:
        """Sites, named colliding geoms (feet often have no site), and MuJoCo's body frames where links have others."""
        m, mj = self.model, self.mujoco
        frames: dict[str, tuple[str, np.ndarray]] = {}
        kept = set(bodies)
        for kind, label, count in (
            (mj.mjtObj.mjOBJ_SITE, "site", m.nsite),
            (mj.mjtObj.mjOBJ_GEOM, "geom", m.ngeom),
        ):
            body, pos, quat = (getattr(m, f"{label}_{x}") for x in ("bodyid", "pos", "quat"))
            for i in range(count):
                name, b = mj.mj_id2name(m, kind, i), int(body[i])
                collides = label == "site" or m.geom_contype[i] or m.geom_conaffinity[i]
                if name and b in kept and collides:
                    own = f"{name}.{label}" if name in taken or name in frames else name
                    frames[own] = (self.body_names[b], self._pose(b, pos[i], quat[i]))
        moved = {self.body_names[b]: -self.anchors[b] for b in bodies if self.anchors[b].any()}
        return frames | {f"{name}.origin": (name, placement(np.eye(3), at)) for name, at in moved.items()}

    def _equalities(self, joints: dict[str, Joint]) -> None:
        """q₁ − ref₁ = c₀ + c₁ (q₂ − ref₂) becomes a mimic; other constraints are ignored, with a notice."""
        m, ignored = self.model, 0
        for e in np.flatnonzero(m.eq_active0):
            follower, leader = (int(x[e]) for x in (m.eq_obj1id, m.eq_obj2id))
            c = m.eq_data[e, :5]
            linear = m.eq_type[e] == self.mujoco.mjtEq.mjEQ_JOINT and leader >= 0 and not c[2:].any()
            names = [self.joint_names[j] for j in (follower, leader)] if linear else []
            if not linear or any(n not in joints for n in names) or joints[names[0]].mimic:
                ignored += 1
                continue
            ref = [float(m.qpos0[m.jnt_qposadr[j]]) for j in (follower, leader)]
            mimic = Mimic(names[1], float(c[1]), float(c[0] + ref[0] - c[1] * ref[1]))
            joints[names[0]] = replace(joints[names[0]], mimic=mimic)
        if ignored:
            text = f"{ignored} equality constraints that are not a linear coupling of two joints are ignored"
            self.notices.append(note("equality-ignored", self.path.name, text, constraints=ignored))
