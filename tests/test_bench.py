"""The studies of ``python -m bench`` in their small form; their full form is a command."""

from __future__ import annotations

from bench.coverage import coverage
from bench.identify import identify
from bench.solvers import PROMISED, kept, solvers
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
def test_solvers_are_compared_on_the_same_windows_with_their_correctness_beside_their_time():
    cases = solvers(repeats=1, windows=3, talos=False)
    for name, n in (("a1_shapes_11", 11), ("a1_points_54", 54)):
        case = cases[name]
        assert (case["n"], case["problems"]) == (n, 3)
        assert case["ours"]["right"]
        assert abs(case["ours"]["excess"]) < 1e-9
        assert case["scipy"]["right"]
        assert case["ours_certified"]["gap"] < 1e-6
        assert case["ratio"]["scipy"] == case["scipy"]["min"] / case["ours"]["min"]


def test_a_promise_is_kept_only_if_ours_is_right_and_every_rival_is_slower_by_what_was_promised(capsys):
    everyone = dict.fromkeys(("daqp", "quadprog", "piqp", "scipy", "proxsuite", "clarabel", "osqp", "cvxpy"), 100.0)
    cases = {name: {"ours": {"right": True}, "ratio": dict(everyone)} for name in PROMISED}
    assert kept(cases)
    for change in ({"ours": {"right": False}}, {"ratio": everyone | {"piqp": 0.5}}, {"ratio": {"piqp": 100.0}}):
        for name in ("a1_shapes_11", "talos_points_891"):
            broken = cases | {name: cases[name] | change}
            expected = name == "talos_points_891" and change == {"ratio": {"piqp": 100.0}}  # PIQP alone counts there
            assert kept(broken) is expected
    assert "promised" in capsys.readouterr().err
