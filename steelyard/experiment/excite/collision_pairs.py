"""Pairs of convex pieces that are checked for collision: all but those of one body, of neighbours in the tree, of pairs
that an SRDF disables, and of pairs that overlap by design.

Pairs that never collide are not excluded: random postures cannot prove it, and cheap bounds dispose of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steelyard.errors import DescriptionError, Finding
from steelyard.experiment.excite.convex_pieces import PiecePoses
from steelyard.robot.description import Description
from steelyard.robot.meshes import package_root
from steelyard.robot.model import Robot
from steelyard.robot.xml import read_xml
from steelyard.spatial import Array

POSES = 100  # random postures in which overlaps are counted
MOST = 0.5  # share of them: pieces that overlap in more do so by design, or their hulls are too coarse


class ExcludedPair(NamedTuple):
    """A pair of links that is not checked."""

    first: str
    second: str
    why: str  # neighbours | srdf | always


def find_srdf(description: Description) -> Path | None:
    """The SRDF of the same robot name in a folder ``srdf`` near the description; None where there is none."""
    folder = description.path.resolve().parent
    homes = dict.fromkeys((folder, folder.parent, package_root(description.path)))
    for path in sorted(path for home in homes for path in (home / "srdf").glob("*.srdf")):
        try:
            root = read_xml(path)[1]
        except DescriptionError:
            continue
        if root.tag == "robot" and root.attributes.get("name") == description.name:
            return path
    return None


def geometry_files(robot: Robot, srdf: str | Path | None) -> list[Path]:
    """Meshes of a robot, and its SRDF, given or found beside the description."""
    shapes = [s for link in robot.description.links.values() for s in (*link.collision, *link.visual)]
    file = find_srdf(robot.description) if srdf is None else Path(srdf)
    return [*dict.fromkeys(s.mesh for s in shapes if s.mesh is not None), *([file] if file else [])]


def read_srdf(path: Path) -> set[frozenset[str]]:
    """Pairs of links whose collisions an SRDF disables."""
    if not path.is_file():
        fix = "Give an SRDF file, or none: srdf=None"
        raise DescriptionError(Finding("file-missing", str(path), "does not exist", fix, {"srdf": None}))
    root = read_xml(path)[1]
    if root.tag != "robot":
        what = f"root element is <{root.tag}>, not <robot>"
        raise DescriptionError(Finding("srdf-root", f"{path.name}:{root.line}", what, "Give an SRDF file"))
    nodes = list(root.all("disable_collisions"))
    bad = [n for n in nodes if not {"link1", "link2"} <= set(n.attributes)]
    if bad:
        what, fix = "<disable_collisions> lacks link1 or link2", "Name both links"
        raise DescriptionError([Finding("srdf-link-missing", f"{path.name}:{n.line}", what, fix) for n in bad])
    return {frozenset((n.attributes["link1"], n.attributes["link2"])) for n in nodes}


def select_pairs(
    piece_poses: PiecePoses,
    srdf: Path | None,
    clearance: float,
    measure: Callable[[Array, Array, float], Array],
    seed: int = 0,
) -> tuple[Array, Array, tuple[ExcludedPair, ...]]:
    """Pairs (P, 2) of pieces, the clearance (P,) of each, and the excluded pairs of links.

    Args:
        piece_poses: The pieces and the model's structure.
        srdf: Pairs of links that are not checked.
        clearance: Between pieces, m; less for pieces that are nearer at rest.
        measure: Distances (B, P) of pairs at positions q (B, nq), exact below the third argument.
        seed: Of the random postures in which overlaps are counted.
    """
    robot, pieces = piece_poses.robot, piece_poses.pieces
    disabled = read_srdf(srdf) if srdf is not None else set()
    kept, excluded = list[tuple[int, int]](), dict[frozenset[str], ExcludedPair]()
    for a, b in combinations(range(len(pieces)), 2):
        one, two = pieces[a], pieces[b]
        if one.joint == two.joint:
            continue
        links = frozenset((one.link, two.link))
        neighbours = one.joint in piece_poses.neighbours_above(two.joint) or two.joint in piece_poses.neighbours_above(
            one.joint
        )
        if neighbours or links in disabled:
            excluded[links] = ExcludedPair(one.link, two.link, "neighbours" if neighbours else "srdf")
        else:
            kept.append((a, b))
    pairs = np.array(kept, int).reshape(-1, 2)
    joints = [robot.description.joints[j] for j in robot.joints]
    lower, upper = (np.clip([getattr(j, side) for j in joints], -np.pi, np.pi) for side in ("lower", "upper"))
    middle = (lower + upper) / 2
    random = np.random.default_rng(seed).uniform(lower, upper, (POSES, len(joints)))
    q = np.vstack([np.clip(0.0, lower, upper), middle, random])  # the first two count as rest postures
    D = measure(robot.positions(q), pairs, 2 * clearance)
    always = np.mean(D[2:] <= 0, axis=0) > MOST
    guessed = np.array([pieces[a].guessed or pieces[b].guessed for a, b in pairs], bool)
    always |= np.where(guessed, np.any(D[:2] <= 0, axis=0), np.all(D[:2] <= 0, axis=0))
    rest = np.min(D[:2], axis=0, where=D[:2] > 0, initial=np.inf)  # distance at rest of pieces that do not overlap
    for a, b in pairs[always]:
        links = frozenset((pieces[a].link, pieces[b].link))
        excluded[links] = ExcludedPair(pieces[a].link, pieces[b].link, "always")
    return pairs[~always], np.minimum(clearance, rest / 2)[~always], tuple(excluded.values())
