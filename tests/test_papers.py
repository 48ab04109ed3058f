"""What the folders of the papers print is what the pages say they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(module, *arguments):
    """What a module prints that is started from the root of the project."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cube_is_looked_for_by_every_rule_and_best_by_the_default():
    header, *rows = run("papers.xu.divide", "--cubes", 10, "--noise", 0).splitlines()
    assert header.split() == ["rule", "mm", "median", "worst", "g", "median", "worst", "divisions", "shapes"]
    worst = {row[:32].strip(): float(row[42:50]) for row in rows}
    assert len(worst) == 10
    assert worst["look-ahead"] < 1.0
    assert worst["Algorithm 1, (16), ε = 0.01"] > 20


def test_the_picture_of_the_divisions_is_the_one_in_the_docs(tmp_path):
    run("papers.xu.divide", "--svg", tmp_path / "division.svg")
    drawn = (tmp_path / "division.svg").read_text(encoding="utf-8")
    kept = (ROOT / "docs" / "images" / "division.svg").read_text(encoding="utf-8")
    assert drawn.count("<text") == kept.count("<text") == 8
    assert drawn.count("k = 0: ") == kept.count("k = 0: ") == 1
    assert drawn.split("<text")[1].split("</text>")[0] == kept.split("<text")[1].split("</text>")[0]
