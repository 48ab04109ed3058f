"""A run on an arm like a UR10, as the identification would leave it: six bodies, one with a hostile name."""

import math

import numpy as np
import pytest

from steelyard.identify.series import Series

HOSTILE = "</script><img src=x onerror=alert(1)>"
BODIES = ("shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", HOSTILE)
JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    HOSTILE,
)
MASSES = (7.778, 12.93, 3.87, 1.96, 1.96, 0.202)
COMS = ((0, 0.03, 0), (0, 0, 0.306), (0, 0, 0.286), (0, 0.116, 0), (0, 0, 0.116), (0, 0.002, 0.09))
SOURCES = (
    ("narrowed", "data", "narrowed"),
    ("narrowed", "data", "data"),
    ("data", "data", "data"),
    ("narrowed", "data", "narrowed"),
    ("prior", "narrowed", "prior"),
    ("prior", "prior", "prior"),
)
RANK = ("data", "narrowed", "prior")


def parameters(mass, com, radius):
    c = np.array(com)
    inertia = mass * (0.4 * radius**2 * np.eye(3) + c @ c * np.eye(3) - np.outer(c, c))
    xx, xy, xz, yy, yz, zz = inertia[np.triu_indices(3)]
    return [float(x) for x in (mass, *(mass * c), xx, xy, yy, xz, yz, zz)]


def example_estimate():
    rng = np.random.default_rng(7)
    links, prior, truth = {}, {}, {}
    for name, mass, com, of in zip(BODIES, MASSES, COMS, SOURCES, strict=True):
        radius = 0.06 + 0.1 * math.sqrt(mass / 13)
        true = parameters(mass * 1.06, np.array(com) * 1.03 + 0.004, radius)
        known = parameters(mass, com, radius)
        scale = np.array([mass, *[mass * 0.2] * 3, *[mass * 0.04] * 6])
        each = np.array([of[0], *[of[1]] * 3, *[of[2]] * 6])
        std = scale * np.select([each == v for v in RANK], [0.004, 0.03, 0.1])
        estimate = true + np.where(each == "prior", -1, 0) * (np.array(true) - known) + std * rng.normal(size=10) / 3
        std_data = [
            None if v == "prior" else float(1.4 * s if v == "data" else 4 * s) for v, s in zip(each, std, strict=True)
        ]
        m = float(estimate[0])
        c = (estimate[1:4] / m).tolist()
        moment = 0.4 * m * radius**2
        links[name] = {
            "mass": m,
            "com": c,
            "inertia": [moment, 1e-5, moment * 1.1, -2e-5, 0.0, moment * 0.9],
            "parameters": estimate.tolist(),
            "std": std.tolist(),
            "std_data": std_data,
            "source": max(of, key=RANK.index),
            "sources": dict(zip(("mass", "com", "inertia"), of, strict=True)),
            "moved": 0.4 if of[0] == "prior" else 1.2,
            "consistent": True,
            "min_eigenvalue": 0.19 * radius**2,
        }
        prior[name] = {"parameters": known, "std": (0.1 * scale).tolist()}
        truth[name] = {"parameters": true}
    terms = {"viscous": (3.21, 0.031, "data"), "coulomb": (5.43, 0.052, "data"), "armature": (0.312, 0.09, "narrowed"),
             "offset": (-0.043, None, "prior")}  # fmt: skip
    joint = {term: dict(zip(("value", "std", "source"), of, strict=True)) for term, of in terms.items()} | {
        "gain": None
    }
    rmse = dict(zip(JOINTS, (2.83, 3.61, 1.92, 0.62, 0.55, 0.41), strict=True))
    return {
        "schema": 2,
        "robot": "ur10",
        "method": "lmi",
        "equations": "joint",
        "bodies_welded": {BODIES[0]: [BODIES[0]], HOSTILE: [HOSTILE, "ee_link", "tool0"]},
        "links": links,
        "joints": dict.fromkeys(JOINTS, joint),
        "sensors": {},
        "base_parameters": example_base(),
        "fit": {
            "rows": 90000,
            "objective": 88123.4,
            "rmse": rmse,
            "relative": 0.0391,
            "relative_filtered": 0.021,
        },
        "validation": {
            "logs/40sec_12harm.csv": {
                "rmse": {j: 1.08 * x for j, x in rmse.items()},
                "correlation": dict.fromkeys(JOINTS, 0.9971),
                "relative": 0.0432,
                "relative_filtered": 0.0243,
                "unexplained": dict.fromkeys(JOINTS, 0.03) | {JOINTS[1]: 0.31},
                "description": {"rmse": {j: 2.16 * x for j, x in rmse.items()}, "relative": 0.0864},
            }
        },
        **example_evidence(),
        "certificate": {"kkt": 2.1e-9, "gap": 4.7e-10},
        "information": "information.npz",
        "prior": prior,
        "truth": truth,
        "total": {"mass": 30.42, "std": 0.11, "source": "narrowed"},
        "verdict": {
            "sentence": "Trusted: every body is consistent and held-out torques are predicted to 4.3 %; "
            "swing the wrists faster to weigh wrist_2_link.",
            "trusted": True,
            "checks": example_checks(),
        },
        "notices": ["tool0 and ee_link are welded to the last body: weighed together."],
        "provenance": {
            "inputs": {"robots/ur10.urdf": "3f" * 32, "logs/30sec_12harm.csv": "a1" * 32},
            "versions": {"steelyard": "0.1.0", "numpy": "2.4.0", "pin": "3.8.0"},
            "command": "steelyard identify ur10 logs/30sec_12harm.csv --friction all "
            "--validate logs/40sec_12harm.csv -o run",
            "seed": 0,
            "filter": {"kind": "butterworth, zero phase", "order": 4, "cutoff_hz": 10.0},
        },
    }


def example_base():
    rows = [("forearm_link.m", {"forearm_link.m": 1.0, "wrist_1_link.m": 1.0}, "data", "body"),
            (f"{HOSTILE}.hx", {f"{HOSTILE}.hx": 1.0}, "narrowed", "body"),
            ("elbow_joint.viscous", {"elbow_joint.viscous": 1.0}, "data", "joint")]  # fmt: skip
    values = {"value": 2.5, "std": 0.01, "described": 2.0}
    listed = [{"name": name, "terms": terms, "source": source, "kind": kind} | values
              for name, terms, source, kind in rows]  # fmt: skip
    counts = {"bodies": {"data": 1, "count": 2}, "joints": {"data": 1, "count": 1}, "sensors": {"data": 0, "count": 0}}
    return counts | {"condition": 142.7, "parameters": listed}


def example_evidence():
    """Held-out blocks, what is explained, a doubt about the log, and where the description is wrong."""
    held = {j: {"description": 0.2, "identified": 0.05} for j in JOINTS}
    doubt = {"code": "torque-delayed", "where": f"tau.{HOSTILE}", "what": "lags behind", "fix": "Give delay=0.012",
             "remedy": {"delay": 0.012}, "severity": "doubt"}  # fmt: skip
    wrong = {"parameter": "m", "bodies": [HOSTILE], "change": [0.31], "sigma": [7.5],
             "text": f"the mass of {HOSTILE} is 31 % above your description"}  # fmt: skip
    return {
        "held_out": {"blocks": 10, "seconds": 3.0, "rows": held, "description": 0.21, "identified": 0.04},
        "evidence": {
            "explained": dict.fromkeys(JOINTS, 0.04),
            "structure": {j: {"predictable": 0.01, "cause": "speed"} for j in JOINTS},
            "spread": 1.1,
            "scale": 1.05,
            "worse": 1.0,
            "outside": {name: {"distance": 0.01, "limit": 0.1} for name in BODIES},
        },
        "findings": [doubt],
        "contradictions": [wrong],
    }


def example_checks():
    """The nine questions: two fail, one is unknown."""
    answers = {"physical": ("pass", 0, 0, []), "proved": ("pass", 0.0002, 1.0, []),
               "log": ("fail", 1, 0, [f"tau.{HOSTILE}: torque-delayed"]), "informative": ("pass", 1, 1, []),
               "explained": ("fail", 0.31, 0.25, [JOINTS[1]]), "structure": ("pass", 0.01, 0.05, []),
               "stable": ("unknown", None, 3.0, []), "plausible": ("pass", 0.7, 1.0, []),
               "better": ("pass", 0.19, 1.0, [])}  # fmt: skip
    fields = ("result", "figure", "limit", "where")
    return [
        {"code": code, "question": f"Is it {code}?"} | dict(zip(fields, of, strict=True))
        for code, of in answers.items()
    ]


def example_series():
    several = []
    for log, role, seconds, seed in (
        ("logs/30sec_12harm.csv", "fit", 30, 1),
        ("logs/40sec_12harm.csv", "validation", 40, 2),
    ):
        rng = np.random.default_rng(seed)
        time = np.arange(0, seconds, 0.004)
        size = np.array([60, 80, 45, 8, 7, 3.0])
        waves = sum(np.sin(2 * np.pi * k * 0.1 * time[:, None] + rng.uniform(0, 6, 6)) / k for k in range(1, 6))
        predicted = size * waves
        measured = predicted + 0.03 * size * (rng.normal(size=predicted.shape) + np.sin(3 * time)[:, None])
        measured[2500:2800] = np.nan
        predicted[2500:2800] = np.nan
        several.append(Series(log, role, JOINTS, ("N·m",) * 6, time, measured, predicted))
    return several


def cell(low, high, mass):
    low, high = np.array(low, float), np.array(high, float)
    half, middle = (high - low) / 2, (high + low) / 2
    return {"kind": "cuboid", "half": half.tolist(), "position": middle.tolist(), "rotation": np.eye(3).tolist(),
            "mass": mass}  # fmt: skip


def example_scene():
    """Every body a box on top of the one before, the last with the hostile name; the base a cylinder."""
    bodies = {}
    for k, name in enumerate(BODIES):
        pose = np.eye(4)
        pose[2, 3] = 0.2 * k
        bodies[name] = {"pose": pose.tolist(), "shapes": [cell([-0.05, -0.05, 0], [0.05, 0.05, 0.2], 1.0)]}
    bodies["(load)"] = {"pose": pose.tolist(), "shapes": []}
    round_ = {"kind": "cylinder", "half": [0.1, 0.1, 0.05], "position": [0, 0, -0.05], "rotation": np.eye(3).tolist()}
    return {"schema": 1, "robot": "ur10", "posture": {}, "bodies": bodies, "fixed": [round_]}


def divided(estimate):
    """The same several by shapes, after two divisions, with a load."""
    left, right = cell([-0.05, -0.05, 0], [0, 0.05, 0.2], 0.3), cell([0, -0.05, 0], [0.05, 0.05, 0.2], 0.7)
    steps = [
        {"k": k, "objective": 100.0 / 4**k, "change": None, "shapes": k + 1, "done": [],
         "bodies": {name: {"mass": 1.0 + 0.1 / 2**k, "com": [0.01 * k, 0, 0.1]} for name in ("(load)", HOSTILE)},
         "cells": {name: [left, right][: k + 1] for name in ("(load)", HOSTILE)}}
        for k in range(3)
    ]  # fmt: skip
    load = estimate["links"][BODIES[0]] | {
        "link": HOSTILE, "mass": 1.0, "com": [0.01, 0, 0.1], "com_std": [1e-3] * 3, "shapes": [left, right],
    }  # fmt: skip
    shapes = {name: [left, right] for name in BODIES}
    return estimate | {"method": "shapes", "loads": [load], "shapes": shapes, "divisions": steps}


def example_courses():
    """A mass that settles over time."""
    time = np.linspace(0.0, 5.0, 2000)
    parameters = np.tile(parameters_of_load(), (2000, 1)) * (1 + 0.5 * np.exp(-time))[:, None]
    return time, parameters, np.abs(parameters) * np.exp(-time)[:, None] + 1e-3


def parameters_of_load():
    return np.array(parameters(1.0, (0.05, 0.0, 0.08), 0.03))


@pytest.fixture
def estimate():
    return example_estimate()


@pytest.fixture(scope="session")
def series():
    return example_series()
