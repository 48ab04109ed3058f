"""Feet: unknown contact forces, projected out of the equations of motion (Xu 7–9).

``Y θ = τ + Jᵀ f`` with unknown f. Rows N with N Jᵀ = 0 and N Nᵀ = 1 keep all information about θ that does not depend
on f. *Every* foot that may be in contact is projected out at all times: one in the air carries no force, so
that costs a little information and needs no contact flags. Rows are filtered in time afterwards, so N must not
jump: with E fixed coordinates (the base's, where they suffice) the polar factor N = (EᵀPE)^-½ EᵀP of the
projector P = 1 − Jᵀ(JJᵀ)⁺J depends on the posture alone, smoothly as long as EᵀPE is regular.

``Rows.raw`` applies N. For long logs ``kernels/point_feet.py`` computes it; the compiled online step computes the same
in ``kernels/contact_free.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steelyard.equations.missing import Missing
from steelyard.errors import Finding, UsageError
from steelyard.kernels.tree import REGULAR, FlatTree
from steelyard.robot.description import Shape
from steelyard.robot.model import Frame, Robot
from steelyard.spatial import Array

if TYPE_CHECKING:
    from steelyard.kernels.point_feet import PointFeet


@dataclass(frozen=True)
class Foot:
    """A frame that may be in contact: a point or ball (three force components), or a surface (a whole wrench)."""

    frame: Frame
    surface: bool
    radius: float  # m; the contact point lies this far below the centre, along gravity
    centre: Array  # (3,) m, of the ball, in the joint's frame

    @property
    def forces(self) -> int:
        """Number of unknown components."""
        return 6 if self.surface else 3


def foot(robot: Robot, text: str) -> Foot:
    """``FRAME``, ``FRAME:point``, ``FRAME:point:RADIUS`` or ``FRAME:surface``.

    Without a kind a single ball is a point foot of that radius; any other geometry is a surface on a leg of six
    joints or more, and a point on a leg of fewer, which cannot control the orientation of a surface.
    """
    name, *options = text.split(":") if text not in robot.frames else [text]
    frame = robot.frame(name)
    kind = options[0] if options else None
    if kind not in (None, "point", "surface") or len(options) > (2 if kind == "point" else 1):
        raise UsageError(
            Finding(
                "option-value", f"feet={text}", "is not understood", "Write FRAME, FRAME:point:RADIUS or FRAME:surface"
            )
        )
    radius = _radius(text, options[1]) if len(options) > 1 else None
    link = robot.description.links[frame.link]
    place = robot.frames[frame.link].placement
    ball = _ball(link.collision or link.visual, np.linalg.inv(place) @ frame.placement)
    if kind == "surface" or (kind is None and ball is None and len(robot.joints_above(frame.joint)) >= 6):
        return Foot(frame, True, 0.0, frame.placement[:3, 3])
    if radius is not None or ball is None:
        return Foot(frame, False, radius or 0.0, frame.placement[:3, 3])
    return Foot(frame, False, ball.size[0], (place @ ball.placement)[:3, 3])


def _ball(shapes: Sequence[Shape], frame: Array) -> Shape | None:
    """The only sphere of a link, or the one centred at the frame's origin."""
    balls = [s for s in shapes if s.kind == "sphere"]
    if len(balls) == 1:
        return balls[0]
    near = [s for s in balls if np.linalg.norm(s.placement[:3, 3] - frame[:3, 3]) <= 1e-6]
    return near[0] if len(near) == 1 else None


def _radius(text: str, given: str) -> float:
    try:
        radius = float(given)
    except ValueError:
        radius = np.nan
    if not 0 <= radius < np.inf:
        what = f"{given!r} is not a radius: it must be ≥ 0"
        raise UsageError(Finding("option-value", f"feet={text}", what, "Give metres"))
    return radius


def jacobian(
    robot: Robot,
    data: object,
    feet: Sequence[Foot | Missing],
    up: Array | None,
    plates: Mapping[str, Array] | None = None,
) -> Array:
    """(Σ forces, nv) Jacobian of all unknown forces in base axes; joint Jacobians and placements are in ``data``.

    ``plates``: column → (4, 4) pose in base axes of the force plates among them, whose forces act on the base: base
    equations do not depend on which body they act on.
    """
    import pinocchio as pin

    blocks = []
    for f in feet:
        joint = 1 if f.frame is None else f.frame.joint
        J = pin.getJointJacobian(robot.model, data, joint, pin.ReferenceFrame.WORLD)
        if isinstance(f, Missing):
            if f.frame is None:
                assert plates is not None
                at = plates[f.column]
            else:
                at = (data.oMi[joint] * pin.SE3(f.frame.placement)).homogeneous  # type: ignore[attr-defined]
            blocks.append(f.directions(at, up).T @ J)
            continue
        if f.surface:
            blocks.append(J)
            continue
        at = data.oMi[f.frame.joint].act(f.centre)  # type: ignore[attr-defined]
        if f.radius and up is not None:
            at = at - f.radius * up
        blocks.append(J[:3] - pin.skew(at) @ J[3:])  # velocity of the contact point
    stacked = np.vstack(blocks)
    return stacked if robot.coupling is None else stacked @ robot.coupling


@dataclass(frozen=True)
class FreeRows:
    """Generalised coordinates after which the contact-free rows are named, the same for all samples."""

    rank: int  # of the feet's Jacobian
    coordinates: tuple[int, ...]  # indices of generalised coordinates; as many as there are rows

    @classmethod
    def choose(cls, J: Array, lead: int = 6) -> FreeRows:
        """Choose from Jacobians (T, c, n) of some postures: the base first, then those least constrained by the feet.

        ``lead``: number of base coordinates, which come first.
        """
        _, s, Vt = np.linalg.svd(J)
        rank = int(np.max(np.sum(s > 1e-9 * s[:, :1], axis=1)))
        B = Vt[:, rank:]
        P = np.einsum("tki,tkj->ij", B, B) / len(B)
        n, chosen = J.shape[2], list[int]()
        for _ in range(n - rank):  # pivoted Cholesky of the mean projector
            residual = np.diag(P).copy()
            residual[chosen] = -1
            base = [i for i in range(min(lead, n)) if residual[i] > REGULAR**2]
            pivot = base[int(np.argmax(residual[base]))] if base else int(np.argmax(residual))
            chosen.append(pivot)
            P = P - np.outer(P[:, pivot], P[pivot]) / P[pivot, pivot]
        return cls(rank, tuple(sorted(chosen)))

    def basis(self, J: Array, before: Array | None = None) -> tuple[Array, int]:
        """(T, n − rank, n) rows N for the Jacobians (T, c, n): N Jᵀ = 0, N Nᵀ = 1, smooth in time.

        From the first posture on in which the fixed coordinates are singular (a straight knee) each basis is rotated
        towards that of the previous sample instead; the second value is that sample's index, T if there is none.
        ``before``: basis of the previous sample, where that was rotated already.
        """
        B = np.linalg.svd(J)[2][:, self.rank :]
        U, s, Vt = np.linalg.svd(B[:, :, self.coordinates])
        N = np.asarray((U @ Vt).transpose(0, 2, 1) @ B)
        singular = np.flatnonzero(s.min(axis=1, initial=1.0) <= REGULAR)
        turned = 0 if before is not None else int(singular[0]) if singular.size else len(N)
        last = before if turned == 0 else N[turned - 1]
        for t in range(turned, len(N)):
            if last is not None:
                U, _, Vt = np.linalg.svd(N[t] @ last.T)
                N[t] = (U @ Vt).T @ N[t]
            last = N[t]
        return N, turned


def point_feet(tree: FlatTree, feet: Sequence[Foot | Missing]) -> PointFeet | None:
    """Feet that kernels can eliminate leg by leg; None where some foot is not a point on a leg of its own."""
    from steelyard.kernels.point_feet import PointFeet

    if any(isinstance(f, Missing) or f.surface or f.frame.joint == 0 for f in feet):
        return None
    points = [(f.frame.joint, f.centre, f.radius) for f in feet if isinstance(f, Foot)]
    return PointFeet.of(tree, points)
