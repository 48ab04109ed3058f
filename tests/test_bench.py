"""The studies of ``python -m bench`` in their small form; their full form is a command."""

from __future__ import annotations

import json

import pytest

from bench.__main__ import PHYSICAL, main
from bench.consistency import consistency, methods, table
from bench.coverage import coverage
from bench.identify import identify
from bench.problems import CASES
from bench.ranges import ranges
from tests.motions import installed


def test_intervals_of_base_parameters_hold_the_truth_as_often_as_they_promise():
    study = coverage(seeds=24, seconds=12.0)
    assert study.parameters == 58
    assert 0.92 < study.covered < 0.98  # 1392 intervals; the full study is held to 93 to 97 %
    assert study.naive < 0.8  # what plain least squares would promise on the same filtered rows


def test_bench_reports_ratios_of_one_run():
    case = identify(repeats=1)["demo_arm"]
    assert case["ours"]["min"] <= case["ours"]["median"]
    assert case["ratio"]["naive"] == case["naive"]["min"] / case["ours"]["min"]


@installed
@pytest.mark.parametrize(("case", "problems"), [("a1 base", 10), ("ur10", 5), ("panda", 5)])
def test_methods_that_promise_robots_that_can_exist_return_them_where_others_do_not(case, problems):
    found = consistency(problems, [case])["cases"][case]
    assert set(found) == set(methods())
    for method in PHYSICAL:
        assert method not in found or (found[method]["consistent"], found[method]["failed"]) == (1.0, 0)
    if case != "a1 base":  # a single body with all its parameters excited may come out physical by luck
        assert found["least-squares"]["consistent"] == 0.0
        assert found["mata"]["bodies"] < 1.0


@installed
@pytest.mark.parametrize("case", ["talos", "g1", "simple_humanoid"])
def test_every_body_of_a_humanoid_can_exist(case):
    found = consistency(1, [case], ["lmi", "least-squares"])["cases"][case]
    assert found["lmi"]["consistent"] == 1.0
    assert found["least-squares"]["consistent"] == 0.0


@installed
def test_every_case_of_the_study_can_be_posed_and_its_table_be_read():
    assert set(CASES) == {"a1 base", "ur10", "panda", "talos", "g1", "simple_humanoid"}
    lines = table(consistency(1, ["a1 base", "ur10"], ["lmi"])).splitlines()
    assert lines == ["| case | lmi |", "|---|---|", "| a1 base | 100.0 |", "| ur10 | 100.0 |"]


@installed
def test_ranges_hold_the_truth_and_shrink_to_the_interval_where_the_data_decide():
    found = ranges(2, ["demo_arm"]) | ranges(12, ["a1 base"])
    held = [share for case in found.values() for share in case["held"].values()]
    assert min(held) > 0.9  # the full study, with 200 problems, is held to 95 %
    assert sum(held) / len(held) > 0.95
    base = found["a1 base"]
    assert base["decided"] > 50
    assert base["decided, width over interval"][1] == pytest.approx(1.0, abs=0.02)
    assert found["demo_arm"]["masses without upper limit"] == pytest.approx(1 / 3)  # shoulder and upper arm


@installed
@pytest.mark.parametrize("study", ["consistency", "ranges"])
def test_a_study_is_one_json_object_and_its_gate_holds(study, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", study, "--cases", "a1 base", "--problems", "20", "--json", "--gate"])
    assert main() == 0
    assert "a1 base" in json.dumps(json.loads(capsys.readouterr().out))
