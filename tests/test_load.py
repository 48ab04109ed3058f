"""A load is weighed against the robot without it: by logs, by an earlier estimate, or by the description."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from steelyard import Job, Options, UnknownLoad, UsageError, identify, inertia, weigh_load
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.log.table import write_log
from steelyard.output.results import write_results
from steelyard.robot.model import LOAD
from tests.floating import floating_log
from tests.motions import carrying
from tests.refusals import refuses

GAIN = np.array([14.0, 12.0, 11.0, 8.0, 9.0, 10.0])
BLOCK = inertia.pack(2.4, np.array([0.02, -0.03, 0.09]), np.diag([0.006, 0.008, 0.005]))  # in the carrier's axes
ON = "tool0"


def currents(log, joints, gains=GAIN, known=()):
    columns = {k: v for k, v in log.columns.items() if not k.startswith("tau.")}
    columns |= {f"current.{j}": log.columns[f"tau.{j}"] / k for j, k in zip(joints, gains, strict=True)}
    given = {j: float(k) for j, k in zip(joints, gains, strict=True) if j in known}
    return replace(log, columns=columns, metadata={"gains": given})


@pytest.fixture(scope="module")
def pair(arm):
    """The arm without and with a block on its tool, which sits away from the frame of its moving body."""
    assert not np.allclose(arm.robot.frames[ON].placement, np.eye(4))
    loaded = carrying(arm.robot, arm.truth, ON, BLOCK)
    runs = [
        simulate_arm(arm.robot, t, seed=seed, seconds=15, noise="low", friction=arm.friction)
        for t, seed in ((arm.truth, 30), (loaded, 31))
    ]
    return [replace(log, metadata={}) for log in runs]


def deviations(load, truth):
    return (load.parameters - truth) / load.std


def test_a_load_is_identified_against_logs_without_it_in_the_axes_of_its_carrier(arm, pair):
    empty, loaded = pair
    estimate = weigh_load("demo_arm", [loaded], ON, Options(friction="all"), empty=[empty]).estimate
    (load,) = estimate.loads
    assert load.carrier == ON
    assert estimate.consistent
    assert load.source.mass == load.source.com == "data"
    assert load.mass == pytest.approx(BLOCK[0], rel=0.02)
    np.testing.assert_allclose(load.parameters[1:4] / load.mass, BLOCK[1:4] / BLOCK[0], atol=2e-3)
    assert np.max(np.abs(deviations(load, BLOCK))) < 4
    assert LOAD not in {b.name for b in estimate.bodies}


def test_a_log_without_the_load_has_no_information_about_it(arm, pair):
    empty, _ = pair
    (load,) = identify("demo_arm", [empty], job=Job(load=UnknownLoad(ON))).estimate.loads
    assert load.source.worst == "prior"
    assert load.std_data == (None,) * 10


def test_an_earlier_estimate_identifies_the_load_as_its_logs_do(arm, pair, tmp_path):
    """Information adds up: fitting both logs at once, or one after the other, is the same but for the noise model."""
    empty, loaded = pair
    options = Options(friction="all")
    (at_once,) = weigh_load("demo_arm", [loaded], ON, options, empty=[empty]).estimate.loads
    write_results(identify("demo_arm", [empty], options), tmp_path / "empty")
    for path in (tmp_path / "empty", tmp_path / "empty" / "estimate.json"):
        (later,) = weigh_load("demo_arm", [loaded], ON, earlier=path).estimate.loads
        assert later.mass == pytest.approx(at_once.mass, abs=0.5 * at_once.std[0])
        assert later.std[0] == pytest.approx(at_once.std[0], rel=0.3)


def test_without_logs_or_estimate_the_robot_is_held_at_its_description(arm, pair):
    _, loaded = pair
    exact = {b.name: b.parameters for b in arm.robot.bodies}
    log = simulate_arm(arm.robot, carrying(arm.robot, exact, ON, BLOCK), seed=4, noise="low", seconds=10)
    result = weigh_load("demo_arm", [replace(log, metadata={})], ON)
    (load,) = result.estimate.loads
    assert load.mass == pytest.approx(BLOCK[0], rel=0.01)
    assert not any(b.free for b in result.estimate.bodies)
    assert not any(b.free for b in result.estimate.bodies)
    wrong = weigh_load("demo_arm", [loaded], ON, Options(friction="all")).estimate.loads[0]
    assert abs(wrong.mass - BLOCK[0]) > 5 * abs(load.mass - BLOCK[0])  # another robot than described: why the sentence


@pytest.mark.parametrize("known", [(), ("shoulder_lift_joint",)])
def test_drive_gains_and_a_load_are_identified_together(arm, pair, known):
    """Without a known gain only ratios are data; with one, gains and load are absolute."""
    joints = arm.robot.joints
    empty, loaded = (currents(log, joints, known=known) for log in pair)
    estimate = weigh_load("demo_arm", [loaded], ON, Options(friction="all"), empty=[empty]).estimate
    (load,) = estimate.loads
    identified_gains = np.array(
        [(t.value if (t := estimate.joints[j]["gain"]) else GAIN[k]) for k, j in enumerate(joints)]
    )
    ratio = identified_gains / GAIN
    excited = slice(0, 5)  # the last joint has friction alone
    np.testing.assert_allclose(ratio[excited] / np.median(ratio[excited]), 1, atol=0.03)
    assert estimate.consistent
    assert abs(load.mass - BLOCK[0]) < 1.96 * load.std[0]
    assert load.mass / np.median(ratio[excited]) == pytest.approx(BLOCK[0], rel=0.03)
    assert load.source.com == "data"  # a ratio
    if known:
        assert estimate.scale is None
        assert load.source.mass == "data"
        assert load.mass == pytest.approx(BLOCK[0], rel=0.03)
    else:
        assert estimate.scale is not None
        assert load.source.mass == "prior"
        assert load.std_data[0] is None
        assert load.std[0] == pytest.approx(estimate.scale.doubt * load.mass, rel=0.2)
        assert estimate.scale.load_std < 0.1 * load.std[0]
        assert estimate.scale is not None


@pytest.mark.slow
def test_the_uncertainty_of_the_scale_is_taken_over_from_an_earlier_estimate(arm, pair, tmp_path):
    empty, loaded = (currents(log, arm.robot.joints) for log in pair)
    before = identify("demo_arm", [empty], Options(friction="all"))
    write_results(before, tmp_path)
    estimate = weigh_load("demo_arm", [loaded], ON, earlier=tmp_path).estimate
    (load,) = estimate.loads
    assert estimate.scale is not None
    assert estimate.scale.doubt == before.estimate.scale.doubt
    assert load.source.mass == load.source.inertia == "prior"
    assert abs(load.mass - BLOCK[0]) < 1.96 * load.std[0]
    assert load.std[0] > 0.9 * estimate.scale.doubt * load.mass


@pytest.mark.slow
def test_the_load_of_a_walking_robot_is_identified_from_currents(a1_robot):
    """Contact-free rows mix joints; gains are identified nevertheless."""
    feet = [f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")]
    truth = {b.name: b.parameters for b in a1_robot.bodies}
    block = inertia.pack(1.5, np.array([0.05, 0.02, 0.1]), 0.004 * np.eye(3))
    gains = np.linspace(0.8, 1.4, len(a1_robot.joints))
    noise = (1e-5, 1e-3, 1e-2, 0.02)
    logs = []
    for k, true in enumerate((truth, carrying(a1_robot, truth, "trunk", block))):
        log = floating_log(a1_robot, true, feet, seed=k, seconds=6, rate=250, noise=noise)
        logs.append(currents(log, a1_robot.joints, gains, known=("FR_calf_joint",)))
    options = Options(feet=tuple(feet))
    estimate = weigh_load("a1", logs[1:], "trunk", options, empty=logs[:1]).estimate
    (load,) = estimate.loads
    identified_gains = np.array(
        [t.value if (t := estimate.joints.get(j, {}).get("gain")) else gains[k] for k, j in enumerate(a1_robot.joints)]
    )
    np.testing.assert_allclose(identified_gains / gains, 1, atol=0.05)
    assert load.mass == pytest.approx(1.5, abs=0.1)


def test_load_json_keeps_its_contract(steelyard, arm, pair, tmp_path):
    paths = [tmp_path / name for name in ("empty.parquet", "loaded.parquet")]
    for path, log in zip(paths, pair, strict=True):
        write_log(path, log)
    run = steelyard(
        "load", "demo_arm", paths[1], "--empty", paths[0], "--on", ON, "--friction", "all", "--ranges", "masses",
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert run.code == 0
    assert f"load on {ON}" in run.out
    assert f"the load on {ON} weighs 2.4" in run.out
    content = json.loads((tmp_path / "out" / "load.json").read_text())
    assert content["schema"] == 2
    (load,) = content["loads"]
    assert load["link"] == ON
    assert load["shapes"] == content["divisions"] == []
    assert content["fixed"] == {}
    low, high = content["ranges"]["mass"]
    assert low < BLOCK[0] < high < low + 0.5
    mass, com, I = inertia.unpack(np.array(load["parameters"]))
    assert load["mass"] == mass
    np.testing.assert_allclose(load["com"], com)
    np.testing.assert_allclose(load["inertia"], inertia.six(I))
    assert len(load["std"]) == 10
    assert set(content["certificate"]) == {"kkt", "gap"}
    assert f"load on {ON}" in (tmp_path / "out" / "report.html").read_text()
    held = steelyard("load", "demo_arm", paths[1], "--on", ON, "-o", tmp_path / "held", "--json")
    assert set(json.loads(held.out)["fixed"]) == {b.name for b in arm.robot.bodies}


def test_arguments_that_conflict_or_do_not_exist_are_refused(steelyard, arm, pair, tmp_path):
    write_log(tmp_path / "log.parquet", pair[1])
    common = ("load", "demo_arm", tmp_path / "log.parquet", "-o", tmp_path / "out")
    both = steelyard(*common, "--on", ON, "--empty", arm.train, "--from", tmp_path)
    assert both.code == 2
    assert f"--from {tmp_path}: " in both.err
    assert "[option-conflict]" in both.err
    assert "[name-unknown]" in steelyard(*common, "--on", "nowhere").err
    assert "[link-on-fixed-base]" in steelyard(*common, "--on", "base_link").err
    assert "[file-missing]" in steelyard(*common, "--on", ON, "--from", tmp_path / "none").err
    (tmp_path / "estimate.json").write_text(
        json.dumps({"schema": 2, "links": {}, "information": "information.npz", "provenance": {"options": {}}})
    )
    unreadable = steelyard(*common, "--on", ON, "--from", tmp_path).err
    assert "information.npz: " in unreadable
    assert "[file-unreadable]" in unreadable
    result = identify("demo_arm", [arm.train], Options(lock={"wrist_3_joint": 0.0}))
    write_results(result, tmp_path / "locked")
    content = json.loads((tmp_path / "locked" / "estimate.json").read_text())
    content["provenance"]["options"]["friction"] = "sticky"
    (tmp_path / "locked" / "estimate.json").write_text(json.dumps(content))
    assert "[schema-unsupported]" in steelyard(*common, "--on", ON, "--from", tmp_path / "locked").err
    assert not (tmp_path / "out").exists()


def test_an_estimate_about_other_parameters_is_refused(arm, pair, tmp_path):
    write_results(identify("demo_arm", [arm.train], Options(friction="all")), tmp_path)
    content = json.loads((tmp_path / "estimate.json").read_text())
    content["provenance"]["options"]["friction"] = "none"
    (tmp_path / "estimate.json").write_text(json.dumps(content))
    with refuses(UsageError, "earlier-parameters-differ", ".viscous"):
        weigh_load("demo_arm", [pair[1]], ON, earlier=tmp_path)
