"""``estimate.json``: an estimate written and read again. Absent values are null, never NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard import inertia
from steelyard.equations.columns import Kind
from steelyard.errors import Finding, SteelyardError
from steelyard.identify.division.history import recorded
from steelyard.identify.estimate import BodyEstimate, Estimate, JointTerm, Total
from steelyard.identify.sentence import sentence
from steelyard.identify.verdict import AWAY, OUTSIDE, RunVerdict, answer_questions
from steelyard.inference.uncertainty import BaseParameter

SCHEMA = 2
PARTS: dict[str, Kind] = {"bodies": "body", "joints": "joint", "sensors": "sensor"}


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """The content of ``estimate.json``: schema 2, absent values None, never NaN."""
    proof = estimate.certificate
    return {
        "schema": SCHEMA,
        "robot": estimate.robot,
        "method": estimate.method,
        "equations": estimate.equations,
        "bodies_welded": {b.name: list(b.links) for b in estimate.bodies},
        "links": {b.name: body_json(b) for b in estimate.bodies},
        "joints": {j: joint_json(terms) for j, terms in estimate.joints.items()},
        **({"motors": {j: joint_json(terms) for j, terms in estimate.motors.items()}} if estimate.motors else {}),
        "sensors": {name: {k: list(v) for k, v in vars(s).items()} for name, s in estimate.sensors.items()},
        "base_parameters": {
            **{
                part: dict(zip(("data", "count"), estimate.count_base(kind), strict=True))
                for part, kind in PARTS.items()
            },
            "condition": estimate.base_condition if math.isfinite(estimate.base_condition) else None,
            "parameters": [base_json(p) for p in estimate.base],
        },
        "fit": {
            "rows": estimate.rows,
            "objective": estimate.objective,
            **_without(estimate.fit.as_json(), "correlation"),
        },
        "validation": {path: validation_json(estimate, path) for path in estimate.validation},
        "held_out": estimate.evidence.as_json(),
        "evidence": evidence_json(estimate),
        "certificate": {"kkt": proof.kkt, "gap": proof.gap},
        "information": "information.npz",
        "provenance": {**estimate.provenance, "solver": {"name": proof.solver, "unknowns": proof.unknowns}},
        "verdict": judge(estimate).as_json(),
        "findings": None if estimate.findings is None else [f.as_json() for f in estimate.findings],
        "contradictions": [{**c.as_json(), "text": str(c)} for c in estimate.contradictions],
        "total": total_json(estimate.total) if estimate.total else None,
        "prior": {b.name: {"parameters": b.prior.tolist(), "std": b.prior_std.tolist()} for b in estimate.bodies},
        "truth": {name: {"parameters": p.tolist()} for name, p in estimate.truth.items()} or None,
        "locked": dict(estimate.locked),
        "loads": [{**load_json(b), "shapes": estimate.shapes.get(b.name, [])} for b in estimate.loads],
        **(
            {"shapes": {b.name: estimate.shapes.get(b.name, []) for b in estimate.bodies if b.free}}
            if estimate.shapes
            else {}
        ),
        **({"divisions": recorded(estimate.divisions)} if estimate.divisions else {}),
        "scale": vars(estimate.scale) if estimate.scale else None,
        **({"points": {name: c.as_json() for name, c in estimate.points.items()}} if estimate.points else {}),
        "notices": [str(n) for n in estimate.notices],
        **(
            {"ranges": estimate.ranges.as_json(), "ranges_about": estimate.ranges.about_json()}
            if estimate.ranges
            else {}
        ),
        **({"bootstrap": estimate.bootstrap.as_json()} if estimate.bootstrap else {}),
    }


def body_json(body: BodyEstimate) -> dict[str, Any]:
    """The entry under ``links``."""
    mass, com, I = inertia.unpack(body.parameters)
    least = inertia.min_eigenvalue(body.parameters)
    return {
        "mass": mass,
        "com": com.tolist(),
        "inertia": inertia.six(I).tolist(),
        "parameters": body.parameters.tolist(),
        "std": body.std.tolist(),
        "std_data": list(body.std_data),
        "std_noise": body.std.tolist(),
        "std_other_motions": [None] * 10,
        "source": body.source.worst,
        "sources": {"mass": body.source.mass, "com": body.source.com, "inertia": body.source.inertia},
        "moved": body.source.moved,
        "consistent": body.consistent,
        "min_eigenvalue": least if math.isfinite(least) else None,
        "com_std": None if body.com_std is None else body.com_std.tolist(),
        "free": body.free,
        "interval": body.interval.as_json() if body.interval else None,
    }


def base_json(parameter: BaseParameter) -> dict[str, Any]:
    """An entry of ``base_parameters``; ``std`` is from the data alone."""
    own = {k: getattr(parameter, k) for k in ("name", "terms", "value", "std", "source", "kind", "described")}
    return {**own, "std_noise": parameter.std, "std_other_motions": None}


def joint_json(terms: Mapping[str, JointTerm | None]) -> dict[str, Any]:
    """An entry of ``joints`` or ``motors``: each term with value, standard deviation and source."""
    family = "+".join(term for term, value in terms.items() if value is not None and term != "gain") or "none"
    return {"family": family, **{term: None if value is None else vars(value) for term, value in terms.items()}}


def validation_json(estimate: Estimate, path: str) -> dict[str, Any]:
    """An entry of ``validation``, with the errors of the description beside those of the estimate."""
    score, described = estimate.validation[path], estimate.described.get(path)
    return {
        **score.as_json(),
        "unexplained": {row: _finite(x) for row, x in score.unexplained.items()},
        "description": described.as_json() if described else None,
    }


def evidence_json(estimate: Estimate) -> dict[str, Any]:
    """The entry ``evidence``: what the questions ``explained``, ``structure``, ``stable`` and ``plausible`` rest on."""
    evidence = estimate.evidence
    return {
        "explained": {name: _finite(x) for name, x in estimate.fit.unexplained.items()},
        "structure": {
            name: {"predictable": _finite(evidence.predictable(name)), "cause": s.cause or None}
            for name, s in evidence.structure.items()
        },
        "spread": _finite(evidence.spread),
        "scale": _finite(evidence.scale),
        "worse": _finite(evidence.worse),
        "outside": {
            b.name: {"distance": b.outside, "limit": AWAY if b.carrier else OUTSIDE * b.size}
            for b in (*estimate.bodies, *estimate.loads)
            if b.free
        },
    }


def judge(estimate: Estimate) -> RunVerdict:
    """The verdict: its questions, and the sentence."""
    checks = answer_questions(estimate)
    return RunVerdict(not any(q.result == "fail" for q in checks), sentence(estimate), checks)


def total_json(total: Total) -> dict[str, Any]:
    """The entry ``total``."""
    whole = {"mass": total.mass, "std": total.std, "source": total.source}
    return whole if total.above is None else {**whole, "above_sensors": total_json(total.above)}


def estimate_text(content: Mapping[str, Any]) -> str:
    """Text of ``estimate.json`` from its content."""
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load_json(load: BodyEstimate) -> dict[str, Any]:
    """The entry under ``loads``: everything in the axes of the link that carries it."""
    return {"link": load.carrier, **body_json(load), "seen": load.seen, "at_most": load.at_most}


def read_estimate(path: Path) -> dict[str, Any]:
    """Content of an ``estimate.json``, or of the one in a folder."""
    file = path / "estimate.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SteelyardError(
            Finding("file-missing", str(file), "does not exist", "Give a folder that `steelyard identify` wrote")
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SteelyardError(
            Finding("file-unreadable", str(file), f"cannot be read ({error})", "Run `steelyard identify` again")
        ) from None
    if isinstance(content, dict) and content.get("schema") == 1:
        what, fix = "is of schema 1, which an earlier version wrote", "Identify again with this version"
        raise SteelyardError(Finding("old-schema", str(file), what, fix))
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("links"), dict):
        what, fix = f"is not an estimate of schema {SCHEMA}", "Give a file that `steelyard identify` wrote"
        raise SteelyardError(Finding("schema-unsupported", str(file), what, fix))
    return content


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k != key}
