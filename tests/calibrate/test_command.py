from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.usefixtures("a1_robot")
def test_com_writes_its_estimate_beside_the_truth(steelyard, tmp_path):
    run = steelyard("calibrate", "com", "a1", "--load", "1.5@trunk:0.05,0.02,0.1", "--no-tilt", "-o", tmp_path / "out")
    assert run.code == 0, run.err
    kept = json.loads((tmp_path / "out" / "calibration.json").read_text())
    off = [a - b for a, b in zip(kept["com"], kept["truth"]["com"], strict=True)]
    assert abs(off[0]) < 3e-3
    assert abs(off[1]) < 3e-3
    assert not kept["z_measured"]
    drawn = (tmp_path / "out" / "com.svg").read_text()
    assert drawn.startswith("<svg")
    assert "FL_foot" in drawn


@pytest.mark.slow
@pytest.mark.usefixtures("a1_robot")
def test_inertia_prints_and_writes_effective_and_composite_moments(steelyard, tmp_path):
    run = steelyard("calibrate", "inertia", "a1", "--periods", 2, "-o", tmp_path)
    assert run.code == 0, run.err
    assert "effective (95 %)" in run.out
    assert "composite (95 %)" in run.out
    saved = json.loads((tmp_path / "calibration.json").read_text())
    assert [one["axis"] for one in saved["effective"]] == ["x", "y", "z"]
    assert saved["effective"][2]["inertia"] == pytest.approx(saved["truth"]["effective"][2], rel=0.02)


def test_the_skeleton_in_the_docs_is_a_rig(loaded):
    from steelyard.experiment.calibrate.com import weigh
    from steelyard.experiment.calibrate.quadruped_stance import QuadrupedStance
    from steelyard.experiment.calibrate.simulated import true_stance

    code = (ROOT / "docs" / "calibrate.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    names: dict = {}
    exec(code, names)
    rig = loaded(noise="none")

    class Driver:
        def stand_up(self, posture):
            rig.posture = posture
            rig.stand()

        def step(self, targets):
            log = rig.follow({j: np.array([x]) for j, x in targets.items()})
            return SimpleNamespace(
                q={j: log.columns[f"q.{j}"][0] for j in targets}, tau={j: log.columns[f"tau.{j}"][0] for j in targets},
                gyro=log.vector("imu.gyro")[0], acc=log.vector("imu.acc")[0],
            )  # fmt: skip

    mine = names["MyRig"](Driver())
    mine.posture = dict(rig.posture)
    assert weigh(mine, QuadrupedStance.of(mine.robot, mine.feet, mine.posture)) == pytest.approx(
        true_stance(rig).mass, rel=2e-3
    )


def test_a_paper_that_is_not_reproduced_is_refused(steelyard):
    run = steelyard("reproduce", "newton")
    assert run.code == 2
    assert "[option-unknown-choice]" in run.err


def test_reproduce_hands_its_options_to_the_paper(steelyard):
    run = steelyard("reproduce", "lee", "--help")
    assert run.code == 0
    assert "--quick" in run.out
