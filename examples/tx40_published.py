"""Published base parameters of a Stäubli TX40 beside an estimate of Steelyard.

python examples/tx40_published.py DATA RESULT    # DATA holds TX40_bp_5.csv, RESULT is what `identify -o` wrote
"""

import csv
import json
import re
import sys
from pathlib import Path

BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
TERMS = {"Ia": "armature", "fv": "viscous", "fs": "coulomb", "off": "offset"}
data, result = map(Path, sys.argv[1:])
estimate = json.loads((result / "estimate.json").read_text(encoding="utf-8"))
motor = estimate["motors"]["joint_6"]


def value(kind: str, k: str) -> float:
    """A parameter as the table defines it: motor 6's inertia and viscous friction are in those of joints 5 and 6."""
    if kind in BODY:
        return estimate["links"][f"link_{k}"]["parameters"][BODY.index(kind)]
    if kind in ("Iam", "fvm", "fsm"):
        return motor[TERMS[kind[:-1]]]["value"]
    share = motor[TERMS[kind]]["value"] if kind in ("Ia", "fv") and k in "56" else 0.0
    return estimate["joints"][f"joint_{k}"][TERMS[kind]]["value"] + share


agree, judged = 0, 0
for expression, published, percent, *_ in csv.reader((data / "TX40_bp_5.csv").read_text().splitlines()):
    parts = re.findall(r"([+-]?) ?(?:([\d.]+)\*)?([A-Za-z]+)(\d)", expression)
    ours = sum(float(f"{sign}{factor or 1}") * value(kind, k) for sign, factor, kind, k in parts)
    given, std = float(published), float(percent) / 100
    if std < 0.1:  # known to the authors to a tenth
        off = ours / given - 1
        judged, agree = judged + 1, agree + (abs(off) <= max(3 * std, 0.05))
        name = expression.split()[0] + (" + …" if len(parts) > 1 else "")
        print(f"{name:10} {ours:8.4f}, {100 * off:+5.1f} % from the published one, {abs(off) / std:.1f} of its σ")
print(f"{agree} of {judged} agree within 3 σ or 5 %")
