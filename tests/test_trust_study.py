"""The study of trust: its faults change what they name, its errors are true, its gates hold only where they should."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bench.__main__ import main
from bench.trust import robots, study
from bench.trust.cases import UNHARMED, Case, errors, severity
from bench.trust.faults import EVERY, FAULTS, UNFINDABLE
from bench.trust.robots import SUBJECTS, arm_torques, exact_scene, measure
from bench.trust.table import gates, limits, table
from steelyard import identify
from tests.motions import installed

ARM = SUBJECTS["demo_arm"]


def scene_of(name, tmp_path, span=(0.0, 6.0)):
    return exact_scene(SUBJECTS[name], 3, span, 100.0, tmp_path)


def record(fault="encoder-zero", ratio=2.0, outcome="trusted", robot="panda", **other):
    """A case of the reporting half, as the study records it."""
    case = {"key": "", "robot": robot, "fault": fault, "size": 1.0, "half": "reporting", "outcome": outcome}
    found = {"stage": "verdict", "codes": [], "checks": {}, "error": 0.1 * ratio, "description": 0.1, "seconds": 1.0}
    return {**case, **found, **other}


def good(count=100, **other):
    return [record(UNHARMED, 0.1, **other) for _ in range(count)]


def test_both_halves_have_an_arm_a_quadruped_and_a_humanoid_and_enough_cases():
    halves = Counter((s.half, s.kind) for s in SUBJECTS.values())
    assert all(halves[half, kind] for half in ("tuning", "reporting") for kind in EVERY)
    every = study.cases(list(SUBJECTS), [])
    assert sum(c.fault == UNHARMED for c in every) >= 200
    for name in SUBJECTS:
        assert sum(c.fault != UNHARMED for c in every if c.robot == name) >= 45
    assert len({c.key for c in every}) == len(every)


def test_few_faults_are_called_unfindable_and_each_is_one_of_the_study():
    assert len(UNFINDABLE) <= 4
    assert all(size in FAULTS[fault].sizes for fault, size in UNFINDABLE)


@pytest.mark.parametrize("fault", [f for f in FAULTS.values() if "arm" in f.kinds], ids=lambda f: f.name)
def test_a_fault_changes_the_log_or_the_description_of_an_arm(fault, tmp_path):
    exact = scene_of("demo_arm", tmp_path)
    before = exact if fault.stage == "exact" else measure(exact, 0, speeds=fault.speeds)
    for size in fault.sizes:
        after = fault.plant(before, size, np.random.default_rng(0))
        same_log = after.log.columns.keys() == before.log.columns.keys() and np.array_equal(
            after.log.time, before.log.time
        )
        same_log = same_log and all(np.array_equal(x, before.log.columns[c]) for c, x in after.log.columns.items())
        assert not same_log or after.description is not before.description


@installed
@pytest.mark.parametrize("fault", [f for f in FAULTS.values() if "humanoid" in f.kinds], ids=lambda f: f.name)
def test_a_fault_changes_the_log_or_the_description_of_a_humanoid(fault, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(robots, "LONG", 3.0)
    exact = scene_of("g1", tmp_path_factory.getbasetemp() / "humanoid", (0.0, 3.0))
    before = exact if fault.stage == "exact" else measure(exact, 0)
    for size in fault.sizes:
        after = fault.plant(before, size, np.random.default_rng(0))
        changed = after.log.columns.keys() != before.log.columns.keys() or any(
            not np.array_equal(x, before.log.columns[c]) for c, x in after.log.columns.items()
        )
        changed |= len(after.log) != len(before.log) or not np.array_equal(after.log.time, before.log.time)
        assert changed or after.description is not before.description


def test_the_torques_of_an_unharmed_arm_are_those_of_its_truth(tmp_path):
    scene = scene_of("demo_arm", tmp_path)
    np.testing.assert_array_equal(scene.matrix("tau"), arm_torques(scene))
    tilted = FAULTS["base-tilted"].plant(scene, 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(tilted.matrix("tau"), scene.matrix("tau"), atol=1e-9)  # N·m, rounding


def test_a_case_gives_the_same_log_every_time(tmp_path):
    case = Case("demo_arm", "stamps-jitter", 1e-3)
    first, second = case.scene(tmp_path).log, case.scene(tmp_path).log
    assert all(np.array_equal(x, second.columns[c]) for c, x in first.columns.items())
    assert not np.array_equal(
        first.columns["q.elbow_joint"], replace(case, seed=1).scene(tmp_path).log.columns["q.elbow_joint"]
    )


def test_an_answer_from_a_good_log_is_far_better_than_the_description_and_one_with_a_locked_joint_is_worse(tmp_path):
    scene = Case("demo_arm", number=0).scene(tmp_path)
    own, described = errors(scene, identify(scene.description, scene.log, **scene.options))
    assert own < 0.2 * described
    locked = FAULTS["column-misspelt"].plant(scene, 0.0, np.random.default_rng(0))
    own, again = errors(scene, identify(locked.description, locked.log, **locked.options, despite=("joint-misspelt",)))
    assert own > again
    assert again == pytest.approx(described, rel=0.5)  # the same robot on other random states


def test_severity_is_by_the_error_beside_that_of_the_description():
    kinds = {ratio: severity(record(ratio=ratio)) for ratio in (1.1, 0.9, 0.3)}
    assert kinds == {1.1: "harmful", 0.9: "between", 0.3: "mild"}
    assert severity(record(error=None)) == "no answer"
    assert severity(record(UNHARMED, 2.0)) == "unharmed"


def test_gates_hold_only_if_harm_is_seen_and_good_logs_are_trusted():
    seen = [record(outcome="doubted") for _ in range(99)]
    mild = [record(ratio=0.1), record(ratio=0.1, outcome="refused", stage="check", codes=["torque-delayed"])]
    assert gates([*good(), *seen, *mild])["kept"]
    assert gates([*good(), *seen, *mild, record()])["held"]["harmful"]
    broken = {
        "harmful": [*good(), *seen[:20], *mild, record()],
        "twice": [*good(), *seen, *seen, *mild, record(), record(robot="go2")],
        "unharmed": [*good(96), *good(4, outcome="doubted"), *seen, *mild],
        "mild": [*good(), *seen, mild[1]],
        "crashed": [*good(), *seen, *mild, record(outcome="crashed", stage="solve", error=None)],
    }
    for name, records in broken.items():
        result = gates(records)
        assert [gate for gate, held in result["held"].items() if not held] == [name]
        assert not result["kept"]


def test_gates_do_not_count_the_other_half_unreadable_tables_and_unfindable_faults():
    fault, size = next(iter(UNFINDABLE))
    others = [
        record(half="tuning"),
        record(fault, size=size),
        record(outcome="refused", stage="log", codes=["time-not-increasing"]),
        record(outcome="refused", stage="check", codes=["column-unit"]),
    ]
    assert gates([*good(), *others])["counts"] == gates(good())["counts"]


def test_the_table_has_a_row_for_each_fault_and_size_and_names_what_failed():
    failed = {"explained": {"result": "fail"}, "log": {"result": "pass"}}
    rows = table([record(outcome="doubted", checks=failed), record(robot="go2", ratio=0.02), *good(3)]).splitlines()
    assert rows[2] == "| encoder-zero | 1° | explained · 2 | Trusted · 0.02 |"
    assert rows[3] == "| unharmed | | 3 of 3 Trusted · 0.1 | – |"


def test_limits_list_the_figures_of_unharmed_and_of_harmful_logs():
    figures = [{"explained": {"result": "pass", "figure": x}} for x in (0.01, 0.03)]
    harmful = {"explained": {"result": "fail", "figure": 0.5}}
    shown = limits([*(record(UNHARMED, 0.1, checks=c) for c in figures), record(checks=harmful)]).splitlines()
    assert shown[:3] == [
        "explained",
        "  unharmed: pass 2",
        "    quantiles 0.5: 0.02, 0.9: 0.028, 0.97: 0.0294, 1: 0.03",
    ]
    assert shown[-1].split() == ["0.5"]


def test_a_run_resumes_after_the_last_whole_line(tmp_path, monkeypatch):
    ran = []

    def run(case, work):
        ran.append(case.key)
        return record(case.fault, key=case.key, robot=case.robot)

    monkeypatch.setattr(study, "run", run)
    keep, chosen = tmp_path / "kept.jsonl", study.cases(["demo_arm"], ["encoder-zero", "base-tilted"])
    study.trust(chosen[:4], jobs=1, keep=keep)
    keep.write_text(keep.read_text()[:-5])
    records = study.trust(chosen, jobs=1, keep=keep)
    assert [r["key"] for r in records] == [c.key for c in chosen]
    assert Counter(ran) == Counter([c.key for c in chosen] + [chosen[3].key])
    assert len(study.kept_records(keep)) == len(chosen)


@pytest.mark.parametrize("option", ["--robots", "--faults"])
def test_an_unknown_name_is_refused(option, monkeypatch):
    monkeypatch.setattr("sys.argv", ["bench", "trust", option, "demo_amr"])
    with pytest.raises(SystemExit):
        main()


@pytest.mark.study
@installed
def test_the_quick_study_is_one_json_object_of_which_good_logs_are_better_than_the_description(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "trust", "--quick", "--json", "--jobs", "1"])
    assert main() == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["robots"]) == set(study.QUICK_ROBOTS)
    assert all(r["error"] < 0.5 * r["description"] for r in result["cases"] if r["fault"] == UNHARMED)
    scaled = [r for r in result["cases"] if r["fault"] == "forces-scaled"]
    assert all(severity(r) in ("harmful", "no answer") for r in scaled)
    assert not any(r["outcome"] == "crashed" for r in result["cases"])
