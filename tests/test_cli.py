"""The command line as a user meets it: results, exit codes, messages, nothing half-written."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from steelyard.equations.match import match
from steelyard.log.table import read_log, write_log
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot


@pytest.fixture(scope="module")
def identified(arm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "deep" / "result"
    command = [sys.executable, "-m", "steelyard.cli.main", "identify", "demo_arm", arm.train, "-o", folder]
    command += ["--friction", "all", "--validate", arm.test]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, done


def codes(outcome):
    """Codes of the findings that a command printed."""
    return re.findall(r"\[([a-z-]+)\]$", outcome.err, re.MULTILINE)


def test_identify_writes_what_the_contract_promises(identified, arm):
    folder, _ = identified
    assert {p.name for p in folder.iterdir()} >= {"estimate.json", "robot.urdf", "report.html", "information.npz"}
    estimate = json.loads((folder / "estimate.json").read_text(), parse_constant=pytest.fail)
    assert estimate["schema"] == 2
    assert estimate["method"] == "lmi"
    assert estimate["equations"] == "joint"
    assert set(estimate["links"]) == {b.name for b in arm.robot.bodies}
    for link in estimate["links"].values():
        assert set(link) >= {"mass", "com", "inertia", "parameters", "std", "std_data", "source", "sources"}
        assert link["consistent"] is True
        assert link["source"] in ("data", "narrowed", "prior")
    assert set(estimate["joints"]["elbow_joint"]) == {"family", "viscous", "coulomb", "armature", "offset", "gain"}
    assert estimate["validation"][str(arm.test)]["relative"] < 0.03
    assert set(estimate["fit"]) == {"rows", "objective", "rmse", "relative", "relative_filtered"}
    assert estimate["certificate"]["gap"] < 1e-6
    assert str(arm.train) in estimate["provenance"]["inputs"]
    assert estimate["bodies_welded"]["wrist_3_link"] == ["wrist_3_link", "tool0"]


def test_results_go_to_stdout_and_progress_to_stderr(identified):
    _, done = identified
    assert "solving" in done.stderr
    assert "solving" not in done.stdout
    assert done.stdout.strip().splitlines()[-1].startswith("Trusted: ")


def test_the_exported_robot_has_the_estimated_bodies(identified):
    folder, _ = identified
    estimate = json.loads((folder / "estimate.json").read_text())
    for file in ("robot.urdf", "robot.xml"):
        if file.endswith("xml"):
            pytest.importorskip("mujoco")
        robot = build(read_description(folder / file), base="fixed")
        for body in robot.bodies:
            np.testing.assert_allclose(body.parameters, estimate["links"][body.name]["parameters"], atol=1e-11)


def test_the_estimate_of_an_arm_is_nearer_to_the_truth_than_its_description(identified, arm):
    from steelyard.cli.demonstration import reference_motion
    from steelyard.equations.columns import Columns
    from steelyard.identify.scoring import base_error

    folder, _ = identified
    estimate = json.loads((folder / "estimate.json").read_text())
    names = [b.name for b in arm.robot.bodies]
    yardstick = reference_motion(arm.robot, Columns(tuple(names)))
    truth = np.concatenate([arm.truth[name] for name in names])
    estimated = np.concatenate([estimate["links"][name]["parameters"] for name in names])
    assert base_error(yardstick, estimated, truth) < 0.2 * base_error(yardstick, arm.robot.prior, truth)


def test_json_on_stdout_is_the_estimate(steelyard, arm, tmp_path):
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--json", "--friction", "all")
    assert done.code == 0
    assert json.loads(done.out) == json.loads((tmp_path / "out" / "estimate.json").read_text())


def test_an_inconsistent_least_squares_estimate_exits_with_4_but_writes_its_files(steelyard, arm, tmp_path):
    done = steelyard(
        "identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--method", "least-squares", "--friction", "all"
    )
    estimate = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert not all(link["consistent"] for link in estimate["links"].values())
    assert done.code == 4
    assert "not physical" in done.out.splitlines()[-1]


def test_a_robot_that_stands_still_is_not_trusted(steelyard, arm, tmp_path):
    log = read_log(arm.train)
    rng = np.random.default_rng(0)
    columns = {c: np.full(len(log), x[0]) + 1e-3 * rng.normal(size=len(log)) for c, x in log.columns.items()}
    write_log(tmp_path / "still.parquet", type(log)(log.time, columns))
    done = steelyard("identify", "demo_arm", tmp_path / "still.parquet", "-o", tmp_path / "out")
    estimate = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert "data" not in {link["source"] for link in estimate["links"].values()}
    assert "move" in done.out.splitlines()[-1]


def test_links_that_are_not_identified_stay_exactly_at_the_description(steelyard, arm, tmp_path):
    done = steelyard(
        "identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--links", "tool0,forearm_link", "--friction", "all"
    )
    assert done.code in (0, 4)  # the bodies that are held are not as described
    links = json.loads((tmp_path / "out" / "estimate.json").read_text())["links"]
    for body in arm.robot.bodies:
        same = links[body.name]["parameters"] == pytest.approx(body.parameters.tolist(), abs=0)
        assert same == (body.name not in ("wrist_3_link", "forearm_link"))


@pytest.mark.parametrize(
    ("arguments", "code", "where"),
    [
        ("--links forearm", "name-unknown", "forearm"),
        ("--lock elbow_joint", "option-value", "--lock elbow_joint"),
        ("--lock elbow=0", "name-unknown", "elbow"),
        ("--feet tool0", "option-conflict", "--feet tool0"),
        ("--feet tool0:sole --base floating --repair-prior", "option-value", "--feet tool0:sole"),
        ("--equations base", "option-conflict", "--equations base"),
        ("--equations contact-free --base floating", "feet-missing", "--equations contact-free"),
        ("--base floating", "feet-missing", "train.parquet"),
        ("--cutoff -1", "option-value", "--cutoff -1"),
        ("--method nonlinear --ellipsoid", "option-conflict", "--ellipsoid"),
        ("--method constrained --symmetric auto", "pairs-missing", "--symmetric auto"),
    ],
)
def test_a_bad_call_exits_with_2_and_names_the_option(steelyard, arm, tmp_path, arguments, code, where):
    out = tmp_path / "out"
    done = steelyard("identify", "demo_arm", arm.train, "-o", out, *arguments.split())
    assert done.code == 2, done.err
    assert codes(done) == [code]
    assert where in done.err
    assert "Traceback" not in done.err
    assert not out.exists()


def test_a_choice_that_does_not_exist_exits_with_2(steelyard, arm, tmp_path):
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--friction", "sticky")
    assert done.code == 2
    assert "sticky" in done.err


def test_bad_data_exits_with_3_and_every_reason(steelyard, arm, tmp_path):
    log = read_log(arm.train)
    columns = {k: v for k, v in log.columns.items() if k not in ("q.elbow_joint", "tau.wrist_1_joint")}
    write_log(tmp_path / "bad.csv", type(log)(log.time, columns))
    done = steelyard("identify", "demo_arm", tmp_path / "bad.csv", "-o", tmp_path / "out")
    assert done.code == 3
    assert codes(done) == ["column-missing"] * 2
    assert "q.elbow_joint" in done.err
    assert "tau.wrist_1_joint" in done.err
    assert not (tmp_path / "out").exists()


def test_a_joint_without_columns_is_locked_with_a_notice(steelyard, arm, tmp_path):
    log = read_log(arm.train)
    columns = {k: v for k, v in log.columns.items() if "wrist_3" not in k}
    write_log(tmp_path / "five.npz", type(log)(log.time, columns))
    done = steelyard("identify", "demo_arm", tmp_path / "five.npz", "-o", tmp_path / "out", "--friction", "all")
    (notice,) = match(arm.robot.description, read_log(tmp_path / "five.npz"), {}, torques=True).notices
    assert (notice.code, notice.remedy) == ("joint-locked", {"lock": {"wrist_3_joint": 0.0}})
    assert f"note: {notice}" in done.out
    estimate = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert str(notice) in estimate["notices"]
    assert estimate["bodies_welded"]["wrist_2_link"] == ["wrist_2_link", "wrist_3_link", "tool0"]


def test_a_training_log_cannot_be_held_out(steelyard, arm, tmp_path):
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "out", "--validate", arm.train)
    assert done.code == 2
    assert codes(done) == ["validation-log-in-training"]


def test_an_output_that_is_a_file_is_refused_before_any_work(steelyard, arm, tmp_path):
    (tmp_path / "file").write_text("mine")
    done = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "file" / "result")
    assert done.code == 2
    assert codes(done) == ["folder-is-file"]


def test_an_input_is_never_overwritten(steelyard, arm, tmp_path):
    source = tmp_path / "robot.urdf"
    source.write_text(read_description("demo_arm").text)
    done = steelyard("identify", source, arm.train, "-o", tmp_path)
    assert done.code == 2
    assert codes(done) == ["input-overwritten"]
    assert source.read_text() == read_description("demo_arm").text


@pytest.mark.slow
def test_interrupting_leaves_nothing_behind(arm, tmp_path):
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "steelyard.cli.main", "identify", "demo_arm", str(arm.train), "-o", str(folder)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells have background jobs ignore it
    )  # fmt: skip
    for line in process.stderr:
        if "weighting" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate()[1]
    assert process.returncode == 130
    assert "no result was written" in rest
    assert not folder.exists()


@pytest.mark.slow
def test_a_full_disk_leaves_no_half_written_file(arm, tmp_path):
    folder = tmp_path / "out"

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # the report is larger

    command = [sys.executable, "-m", "steelyard.cli.main", "identify", "demo_arm", str(arm.train), "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=small_disk)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert not folder.exists()


def test_check_reports_what_the_motion_excites(steelyard, arm):
    done = steelyard("check", "demo_arm", arm.train)
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("Usable: the motion excites")
    facts = json.loads(steelyard("check", "demo_arm", arm.train, "--json").out)
    assert facts["findings"] == []
    assert "36 possible" in facts["facts"]["base parameters"]


def test_check_lists_what_is_to_be_corrected(steelyard, arm, tmp_path):
    log = read_log(arm.train)
    columns = {k: (57.29578 * v if k == "q.elbow_joint" else v) for k, v in log.columns.items()}
    write_log(tmp_path / "degrees.parquet", type(log)(log.time, columns))
    done = steelyard("check", "demo_arm", tmp_path / "degrees.parquet")
    assert done.code == 3
    (line,) = [line for line in done.out.splitlines() if line.startswith("to correct: ")]
    assert ", q.elbow_joint: " in line
    assert line.endswith("[column-unit]")


def test_compare_takes_estimates_and_descriptions(steelyard, identified, tmp_path):
    folder, _ = identified
    same = json.loads(steelyard("compare", folder, folder, "--json").out)
    assert all(d["deviations"] == 0 for d in same)
    other = json.loads(steelyard("compare", folder, read_description("demo_arm").path, "--json").out)
    assert max(d["deviations"] for d in other) > 0.1
    assert "bodies agree" in steelyard("compare", folder, folder).out
    missing = steelyard("compare", folder, tmp_path / "absent.json")
    assert missing.code == 3
    assert codes(missing) == ["file-missing"]


def test_report_can_be_written_again(steelyard, identified, tmp_path):
    folder, _ = identified
    done = steelyard("report", folder, "-o", tmp_path / "again.html")
    assert done.code == 0
    assert (tmp_path / "again.html").read_text() == (folder / "report.html").read_text()


def test_robots_lists_names_and_where_they_come_from(steelyard):
    entries = {e["name"]: e for e in json.loads(steelyard("robots", "--json").out)}
    assert {"a1", "go2", "talos", "g1", "ur10", "panda", "demo_arm"} <= set(entries)
    assert entries["demo_arm"]["source"] == "steelyard"
    assert "demo_arm" in steelyard("robots").out


def test_demo_ends_with_the_report_and_a_verdict(steelyard, tmp_path):
    done = steelyard("demo", "--robot", "ur10", "-o", tmp_path / "demo")
    assert done.code == 0
    assert "Arm demonstration" in done.out
    *_, sentence, _, last = done.out.splitlines()
    assert sentence.startswith("Trusted")
    assert last == f"Report: {tmp_path / 'demo' / 'report.html'}"
    assert steelyard("demo", "--robot", "toaster", "-o", tmp_path / "x").code == 2


@pytest.mark.slow
def test_the_demo_identifies_a_trotting_quadruped_and_its_unknown_load(steelyard, tmp_path):
    folder = tmp_path / "demo"
    done = steelyard("demo", "-o", folder)
    assert done.code == 0
    assert "held at the description: RL_hip" in done.out
    *_, sentence, _, last = done.out.splitlines()
    assert sentence.startswith("Trusted")
    assert last == f"Report: {folder / 'report.html'}"
    content = json.loads((folder / "estimate.json").read_text())
    (load,) = json.loads((folder / "load.json").read_text())["loads"]
    truth = np.array(content["truth"]["(load)"]["parameters"])
    assert load["mass"] == pytest.approx(truth[0], abs=0.03)
    assert 1e3 * np.linalg.norm(load["com"] - truth[1:4] / truth[0]) < 4
    trunk, true = content["links"]["trunk"], np.array(content["truth"]["trunk"]["parameters"])
    assert np.linalg.norm(trunk["parameters"] - true) < 0.03
    assert trunk["sources"] == {"mass": "data", "com": "data", "inertia": "data"}


def test_help_imports_nothing_heavy():
    code = (
        "import sys, steelyard.cli.main; "
        "print(*{'pinocchio', 'numpy', 'scipy', 'mujoco', 'rich.table'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
    shown = subprocess.run(
        [sys.executable, "-m", "steelyard.cli.main", "--help"], capture_output=True, text=True, check=True
    )
    assert "identify" in shown.stdout


def test_the_help_of_identify_has_what_most_people_need_first(steelyard):
    shown = steelyard("identify", "--help").out
    panels = ["Options", "Robot and equations", "Prior and weights", "Options of one method", "Ranges", "Many logs"]
    places = [shown.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)
    for flag in ("--out", "--validate", "--friction", "--links", "--method", "--json"):
        assert places[0] < shown.index(flag) < places[1], flag
    assert shown.index("--scheduler") > places[-1]
    assert "─ Many logs ─" not in steelyard("search", "--help").out  # the option is shared, its panel is not


def test_public_names_are_few_and_importable():
    import steelyard

    assert len(steelyard.__all__) <= 35
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = steelyard.nothing
    assert steelyard.Robot is Robot
