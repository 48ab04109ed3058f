"""The studies of ``python -m bench`` in their small form; their full form is a command."""

from __future__ import annotations

from bench.coverage import coverage
from bench.identify import identify


def test_intervals_of_base_parameters_hold_the_truth_as_often_as_they_promise():
    study = coverage(seeds=24, seconds=12.0)
    assert study.parameters == 58
    assert 0.92 < study.covered < 0.98  # 1392 intervals; the full study is held to 93 to 97 %
    assert study.naive < 0.8  # what plain least squares would promise on the same filtered rows


def test_bench_reports_ratios_of_one_run():
    case = identify(repeats=1)["demo_arm"]
    assert case["ours"]["min"] <= case["ours"]["median"]
    assert case["ratio"]["naive"] == case["naive"]["min"] / case["ours"]["min"]
