"""The exit code says what the verdict says: over faults of the log and options of the run."""

import json
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.log.table import read_log, write_log
from tests.planted import changed, frozen, late, scaled, timed

FAULTS = {
    "none": lambda log: log,
    "torques halved": scaled("tau.", 0.5),
    "torques tenfold": scaled("tau.", 10.0),
    "torques reversed": scaled("tau.", -1.0),
    "torques late": late(0.03),
    "torques much late": late(0.1),
    "position frozen": frozen("q.elbow_joint", 1.0),
    "time doubled": timed(2.0),
    "elbow misspelt": lambda log: changed(
        type(log)(log.time, {c: x for c, x in log.columns.items() if not c.endswith(".elbow_joint")}),
        **{c.replace("_joint", ""): x for c, x in log.columns.items() if c.endswith(".elbow_joint")},
    ),
    "stamp wrong": lambda log: type(log)(log.time + 0.002 * (log.time == log.time[400]), log.columns),
}
pytestmark = pytest.mark.slow

DESPITE = "sign-reversed,torque-delayed,position-frozen,time-scale,joint-misspelt,stamp-jitter,gravity-direction"
runs = count()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fault=st.sampled_from(sorted(FAULTS)),
    friction=st.sampled_from(["none", "all"]),
    method=st.sampled_from(["lmi", "least-squares", "constrained"]),
    despite=st.booleans(),
)
def test_the_exit_code_follows_from_the_verdict(arm, steelyard, tmp_path, fault, friction, method, despite):
    log, out = tmp_path / "log.parquet", tmp_path / f"out{next(runs)}"
    write_log(log, FAULTS[fault](read_log(arm.train)))
    options = ["--friction", friction, "--method", method, "--no-report", *(["--despite", DESPITE] if despite else [])]
    done = steelyard("identify", "demo_arm", log, "-o", out, *options)
    assert done.code in (0, 3, 4), done.err
    if done.code == 3:
        assert not out.exists()
        return
    verdict = json.loads((out / "estimate.json").read_text())["verdict"]
    results = [c["result"] for c in verdict["checks"]]
    assert verdict["trusted"] == ("fail" not in results)
    assert done.code == (0 if verdict["trusted"] else 4)
    assert done.out.rstrip().endswith(verdict["sentence"])
    if verdict["trusted"]:
        assert all(c["code"] in verdict["sentence"] for c in verdict["checks"] if c["result"] == "unknown")


def test_on_a_good_log_of_a_minute_no_question_is_unknown(steelyard, tmp_path):
    import numpy as np

    from steelyard.experiment.simulate.simulate_arm import Friction, simulate_arm
    from steelyard.experiment.simulate.truth import perturbed
    from steelyard.robot.model import Robot

    robot, rng = Robot.load("demo_arm"), np.random.default_rng(8)
    truth, friction = perturbed(robot, rng), Friction.random(robot, rng)
    write_log(tmp_path / "log.parquet", simulate_arm(robot, truth, seed=8, seconds=60.0, friction=friction))
    done = steelyard("identify", "demo_arm", tmp_path / "log.parquet", "--friction", "all", "-o", tmp_path / "out")
    assert done.code == 0, done.out
    verdict = json.loads((tmp_path / "out" / "estimate.json").read_text())["verdict"]
    assert {c["result"] for c in verdict["checks"]} == {"pass"}
