"""Viewer of a result folder: the robot in the browser, served to this machine only.

It shows the scene of the report. Joints can be moved where the folder has a readable ``robot.urdf``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import Finding, SteelyardError
from steelyard.identify.estimate_json import read_estimate
from steelyard.output.report.package_missing import package_missing
from steelyard.output.report.placement import LOAD, PlacedBody, estimated_shapes, place_bodies
from steelyard.output.report.section import Report
from steelyard.output.report.solids import Mesh, matrix, merged, meshes
from steelyard.output.report.words import as_list
from steelyard.output.scene_file import FILE, read_scene
from steelyard.robot.model import Robot
from steelyard.spatial import Array

LOOPBACK = "127.0.0.1"
SOURCE = {"data": (11, 127, 154), "narrowed": (208, 138, 0), "prior": (124, 135, 147)}
LIGHT, HEAVY = np.array([241, 233, 216]), np.array([140, 16, 34])
COLOURS = ("source", "mass of the body", "mass of its shapes")


def serve(folder: Path, port: int = 8080) -> Any:
    """Start a viser server that shows a folder; end it with ``stop()``; ``get_port()`` is its port."""
    estimate, scene = read_estimate(folder), read_scene(folder)
    if scene is None:
        fix = "Identify again: folders of older versions have none"
        raise SteelyardError(Finding("file-missing", str(folder / FILE), "does not exist", fix))
    try:
        import viser
    except ImportError as error:
        raise SteelyardError(package_missing("view", "viser")) from error
    report = Report(estimate, (), scene)
    bodies = place_bodies(report)
    server = viser.ViserServer(host=LOOPBACK, port=port, label="Steelyard", verbose=False)
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    server.scene.set_up_direction("+z")
    for k, shape in enumerate(as_list(scene.get("fixed"))):
        _draw(server, f"/fixed/{k}", meshes(shape), (200, 206, 212), 1.0)
    frames = [_body(server, k, body, max(b.mass or 0.0 for b in bodies)) for k, body in enumerate(bodies)]
    layers = {name: [layer[name] for layer in frames] for name in ("source", "mass of the body", "com", "inertia")}
    layers["mass of its shapes"] = _shapes(server, report, bodies)
    pointed = server.gui.add_text("body", "click a body", disabled=True)
    for body, layer in zip(bodies, frames, strict=True):
        for name in COLOURS[:2]:
            _show_when_clicked(layer[name], pointed, body)
    _layers(server, layers)
    _joints(server, folder, estimate, scene, bodies, [layer["frame"] for layer in frames])
    _look_at(server, merged(m for b in bodies for m in b.meshes).vertices)
    return server


def _body(server: Any, k: int, body: PlacedBody, heaviest: float) -> dict[str, Any]:
    """A frame, and below it one mesh for each colouring; nodes are numbered, so that names cannot clash."""
    at = f"/bodies/{k}"
    local, share = np.linalg.inv(body.pose), (body.mass or 0.0) / (heaviest or 1.0)
    own, equal = [m.placed(local) for m in body.meshes], [m.placed(local) for m in body.equal]
    centre = matrix(body.body.get("com"), (3,))
    return {
        "frame": server.scene.add_frame(at, show_axes=False, **_pose(body.pose)),
        "source": _draw(server, f"{at}/source", own, SOURCE[body.source], 0.6),
        "mass of the body": _draw(server, f"{at}/mass", own, _heat(share), 0.8),
        "inertia": _draw(server, f"{at}/inertia", equal, (194, 65, 12) if body.key == LOAD else (11, 127, 154), 0.4),
        "com": None
        if centre is None
        else server.scene.add_icosphere(f"{at}/com", radius=0.008, color=(179, 18, 58), position=tuple(centre)),
    }


def _shapes(server: Any, report: Report, bodies: list[PlacedBody]) -> list[Any]:
    """The estimated shapes of bodies, below the frames of their bodies."""
    shapes = estimated_shapes(report, bodies)
    if not shapes:
        return []
    top = max(mass for *_, mass in shapes)
    ghosts = [
        _draw(server, f"/bodies/{k}/ghost", [m.placed(np.linalg.inv(b.pose)) for m in b.meshes], (150, 160, 170), 0.15)
        for k, b in enumerate(bodies)
    ]
    return ghosts + [
        _draw(
            server,
            f"/bodies/{bodies.index(body)}/shape/{k}",
            [mesh.placed(np.linalg.inv(body.pose))],
            _heat(mass / top),
            0.1 + 0.8 * min(1.0, 3 * mass / top),
        )
        for k, (body, mesh, mass) in enumerate(shapes)
    ]


def _layers(server: Any, layers: Mapping[str, list[Any]]) -> None:
    has_shapes = bool(layers["mass of its shapes"])
    colour = server.gui.add_dropdown("colour by", COLOURS if has_shapes else COLOURS[:2])
    ticks = {
        "com": server.gui.add_checkbox("centres of mass", True),
        "inertia": server.gui.add_checkbox("inertia as ellipsoids", False),
    }

    def show(_: Any = None) -> None:
        for name, nodes in layers.items():
            on = ticks[name].value if name in ticks else name == colour.value
            for node in nodes:
                if node is not None:
                    node.visible = on

    for control in (colour, *ticks.values()):
        control.on_update(show)
    show()


def _joints(
    server: Any,
    folder: Path,
    estimate: Mapping[str, Any],
    scene: Mapping[str, Any],
    bodies: list[PlacedBody],
    frames: list[Any],
) -> None:
    """A slider for each joint; none where ``robot.urdf`` cannot be read."""
    try:
        robot = Robot.load(folder / "robot.urdf", base="fixed", lock=estimate.get("locked") or {}, repair=True)
    except SteelyardError:
        return
    links = [str(b.body.get("link")) if b.key == LOAD else b.key for b in bodies]
    if not all(link in robot.frames for link in links):
        return
    start = scene.get("posture") or {}
    sliders = []
    with server.gui.add_folder("joints", expand_by_default=False):
        for name in robot.joints:
            joint, value = robot.description.joints[name], float(start.get(name, 0.0))
            low, high = (
                end if np.isfinite(end) else turn for end, turn in ((joint.lower, -np.pi), (joint.upper, np.pi))
            )
            low, high = min(low, value), max(high, value) + 1e-6
            sliders.append(server.gui.add_slider(name, low, high, (high - low) / 500, value))
    poses = link_poses(robot, links)

    def follow(_: Any) -> None:
        for frame, pose in zip(frames, poses(np.array([s.value for s in sliders])), strict=True):
            where = _pose(pose)
            frame.wxyz, frame.position = where["wxyz"], where["position"]

    for slider in sliders:
        slider.on_update(follow)


def _look_at(server: Any, points: Array) -> None:
    """Place the camera in front and above, and a floor below the lowest point."""
    if not len(points):
        return
    low, high = points.min(axis=0), points.max(axis=0)
    centre, size = (low + high) / 2, float(np.linalg.norm(high - low))
    server.initial_camera.look_at = tuple(centre)
    server.initial_camera.position = tuple(centre + size * np.array([0.9, -0.9, 0.5]))
    server.scene.add_grid("/floor", width=2 * size, height=2 * size, position=(*centre[:2].tolist(), float(low[2])))


def link_poses(robot: Robot, links: list[str]) -> Callable[[Array], list[Array]]:
    """Function of posture (J,) → poses (4, 4) of links, with the base at the origin."""
    import pinocchio as pin

    data = robot.model.createData()

    def poses(q: Array) -> list[Array]:
        pin.forwardKinematics(robot.model, data, robot.positions(q[None])[0])
        places = [robot.frames[link] for link in links]
        return [data.oMi[f.joint].homogeneous @ f.placement for f in places]

    return poses


def _draw(server: Any, at: str, parts: list[Mesh], colour: tuple[int, int, int], opacity: float) -> Any | None:
    whole = merged(parts)
    if not len(whole.vertices):
        return None
    vertices, triangles = whole.vertices.astype(np.float32), whole.triangles.astype(np.uint32)
    look = {"color": colour, "opacity": opacity, "flat_shading": True, "side": "double"}
    return server.scene.add_mesh_simple(at, vertices, triangles, **look)


def _show_when_clicked(node: Any | None, field: Any, body: PlacedBody) -> None:
    def show(_: Any) -> None:
        field.value = f"{body.name}: {body.mass:.4g} kg (source: {body.source})" if body.mass is not None else body.name

    if node is not None:
        node.on_click(show)


def _heat(share: float) -> tuple[int, int, int]:
    r, g, b = np.rint(LIGHT + min(max(share, 0.0), 1.0) * (HEAVY - LIGHT)).astype(int).tolist()
    return r, g, b


def _pose(pose: Array) -> dict[str, Any]:
    import pinocchio as pin

    x, y, z, w = pin.Quaternion(pose[:3, :3]).coeffs()
    return {"wxyz": (float(w), float(x), float(y), float(z)), "position": tuple(pose[:3, 3].tolist())}
