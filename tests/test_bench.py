"""The studies of ``python -m bench`` in their small form; their full form is a command."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.__main__ import PHYSICAL, main
from bench.ceres import ceres, evaluate
from bench.consistency import consistency, table
from bench.coverage import coverage
from bench.excite import excite
from bench.excite import kept as excite_kept
from bench.excite import table as excite_table
from bench.identify import identify
from bench.kernels import PROMISED as KERNELS
from bench.kernels import kept as kernels_kept
from bench.kernels import kernels
from bench.kernels import table as kernels_table
from bench.online import PROMISED as ONLINE
from bench.online import kept as online_kept
from bench.online import online
from bench.points import figure, points
from bench.problems import CASES
from bench.ranges import ranges
from bench.search import bench_search
from bench.search import kept as search_kept
from bench.solvers import PROMISED, kept, solvers
from papers.ayusawa.readings import readings
from steelyard.identify.method import method_names
from steelyard.solve import log_cholesky_newton
from steelyard.solve.log_cholesky import Chart
from tests.bodies import SIZE
from tests.cone_problems import problem
from tests.motions import installed


@pytest.mark.study
def test_intervals_of_base_parameters_hold_the_truth_as_often_as_they_promise():
    study = coverage(seeds=24, seconds=12.0)
    assert study.parameters == 58  # base parameters of the arm's 60 link parameters and 24 joint terms
    assert 0.92 < study.covered < 0.98  # 1392 intervals; the full study is held to 93 to 97 %
    assert study.naive < 0.8  # what plain least squares would promise on the same filtered rows


@pytest.mark.study
def test_bench_reports_ratios_of_one_run():
    case = identify(repeats=1)["demo_arm"]
    assert case["ours"]["min"] <= case["ours"]["median"]
    assert case["ratio"]["naive"] == case["naive"]["min"] / case["ours"]["min"]


@pytest.mark.study
@installed
def test_solvers_are_compared_on_the_same_windows_with_their_correctness_beside_their_time():
    cases = solvers(repeats=1, windows=3, talos=False)
    for name, n in (("a1_shapes_11", 11), ("a1_points_54", 54)):
        case = cases[name]
        assert (case["n"], case["problems"]) == (n, 3)
        assert case["ours"]["right"]
        assert abs(case["ours"]["excess"]) < 1e-9  # of the proved optimum: an active set ends at it but for rounding
        assert case["scipy"]["right"]
        assert case["ours_certified"]["gap"] < 1e-6  # RIGHT, the limit of every solver of the study
        assert case["ratio"]["scipy"] == case["scipy"]["min"] / case["ours"]["min"]


@pytest.mark.study
@installed
def test_kernels_are_timed_against_loops_that_make_the_same_rows():
    result = kernels(repeats=1, robots=("a1", "ur10"), everyone=False)
    for name, rows in (("a1", 18), ("ur10", 6)):  # base and joints: 6 + 12, and 6 on a fixed base
        case = result[name]
        assert case["rows"] == rows
        assert set(case["agreement"]) >= {"pinocchio", "figaroh"}
        assert max(case["agreement"].values()) < 1e-10  # AGREE: the same sums in another order
        assert case["ratio"]["pinocchio"] == case["pinocchio"]["min"] / case["ours"]["min"]
    assert kernels_table(result).count("\n| ") == 2
    assert result["packed"]["panels.row"]["packed"] > 0


def test_kernels_keep_their_promise_only_if_fast_right_and_packed(capsys):
    case = {"ratio": dict.fromkeys(KERNELS, 100.0), "agreement": dict.fromkeys(KERNELS, 1e-15)}
    good = dict.fromkeys(("a1", "g1", "talos"), case) | {
        "index": {"agreement": 0.0},
        "packed": {"x": {"packed": 1}},
    }
    assert kernels_kept(good)
    for broken in (
        {"g1": {"ratio": case["ratio"] | {"idyntree": 59.0}, "agreement": case["agreement"]}},  # 60 is promised
        {"a1": {"ratio": case["ratio"], "agreement": case["agreement"] | {"pinocchio": 1e-9}}},  # AGREE is 1e-10
        {"talos": {"ratio": {"pinocchio": 20.0}, "agreement": {"pinocchio": 0.0}}},
        {"index": {"agreement": 1e-9}},
        {"packed": {"x": {"packed": 0}}},
    ):
        assert not kernels_kept(good | broken)
    assert "no packed vector instructions" in capsys.readouterr().err


@pytest.mark.study
@installed
def test_the_online_step_is_timed_with_its_proof_and_its_slowest_steps(capsys):
    result = online(repeats=1, steps=200, windows=20)
    case = result["a1"]
    assert case["proof"]["holds"]
    assert case["e_p"] < 0.2  # of the same 0.4 s over and over
    assert case["steps"]["p50"] <= case["steps"]["p99"] <= case["steps"]["p99.9"] <= case["steps"]["max"]
    assert round(case["paper"]["nonlinear"]) == 69  # Xu, Table I: 3.086 ms over 0.045 ms
    assert case["methods"]["nonlinear"]["right"] == case["methods"]["nonlinear"]["of"] == 20  # windows
    good = {"a1": {"proof": {"holds": True}, "ratio": dict.fromkeys(ONLINE, 1000.0), "methods": {}}}
    assert online_kept(good)
    assert not online_kept({"a1": good["a1"] | {"proof": {"holds": False}}})
    for name in ONLINE:
        assert not online_kept({"a1": good["a1"] | {"ratio": good["a1"]["ratio"] | {name: 0.1}}})
    assert not online_kept({"a1": good["a1"] | {"methods": {"ceres": {"ratio": 0.1}}}})
    assert capsys.readouterr().err.count("promised") == len(ONLINE) + 1


def one_body(noise):
    p = problem(1, bodies=1, noise=noise)
    return p, Chart(float(p.start[0]), p.lower[0], SIZE)


@pytest.mark.study
def test_ceres_is_given_the_residual_of_the_chart_and_its_jacobian():
    p, chart = one_body(0.3)
    R, z = np.ascontiguousarray(p.information.R), np.array(p.information.z)
    xi = chart.coordinates(p.start) + 0.1 * np.random.default_rng(0).normal(size=10)
    body = np.array([p.start[0], p.lower[0], SIZE, chart.margin])
    room, residual, jacobian = np.empty((11, 10)), np.empty(10), np.empty(100)
    assert evaluate(xi, R, z, body, room, residual, jacobian)
    # Both sides are the same closed form, compiled and in NumPy: rounding alone.
    np.testing.assert_allclose(residual, R @ chart.parameters(xi) - z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(jacobian.reshape(10, 10), R @ chart.jacobian(xi), rtol=0, atol=1e-9)
    assert not evaluate(xi + 1000.0, R, z, body, room, residual, jacobian)


def test_ceres_finds_the_same_body_as_nonlinear_where_it_lies_inside():
    pytest.importorskip("pyceres")
    p, chart = one_body(0.01)
    solve = ceres(p, chart, tight=True)
    solve()
    np.testing.assert_allclose(
        # 1e-12 of the objective (TIGHT) is 1e-6 of the coordinates: a minimum is flat
        solve.theta() / p.scale,
        log_cholesky_newton.solve(p, [chart]).theta / p.scale,
        atol=1e-5,
    )
    assert solve.steps() > 0
    assert solve.net() > 0


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


@pytest.mark.study
@installed
@pytest.mark.parametrize(("case", "problems"), [("a1 base", 10), ("ur10", 5), ("panda", 5), ("talos", 1)])
def test_methods_that_promise_robots_that_can_exist_return_them_where_others_do_not(case, problems):
    result = consistency(problems, [case])["cases"][case]
    assert set(result) == set(method_names())
    for method in PHYSICAL:
        assert method not in result or (result[method]["consistent"], result[method]["failed"]) == (1.0, 0)
    if case != "a1 base":  # a single body with all its parameters excited may come out physical by luck
        assert result["least-squares"]["consistent"] == 0.0
        assert result["mata"]["bodies"] < 1.0


@pytest.mark.study
@installed
@pytest.mark.parametrize("case", ["talos", "g1", "simple_humanoid"])
def test_every_body_of_a_humanoid_can_exist(case):
    result = consistency(1, [case], ["lmi", "least-squares"])["cases"][case]
    assert result["lmi"]["consistent"] == 1.0
    assert result["least-squares"]["consistent"] == 0.0


@pytest.mark.study
@installed
def test_every_case_of_the_study_can_be_posed_and_its_table_be_read():
    assert set(CASES) == {"a1 base", "ur10", "panda", "talos", "g1", "simple_humanoid"}
    lines = table(consistency(1, ["a1 base", "ur10"], ["lmi"])).splitlines()
    assert lines == ["| case | lmi |", "|---|---|", "| a1 base | 100.0 |", "| ur10 | 100.0 |"]


@pytest.mark.study
@installed
def test_ranges_hold_the_truth_and_shrink_to_the_interval_where_the_data_decide():
    result = ranges(2, ["demo_arm"]) | ranges(12, ["a1 base"])
    held = [share for case in result.values() for share in case["held"].values()]
    assert min(held) > 0.9  # the full study, with 200 problems, is held to 95 %
    assert sum(held) / len(held) > 0.95  # nominal coverage; ranges are conservative
    base = result["a1 base"]
    # With data that decide, range and interval are the same ellipsoid: widths are equal but for the solver's tolerance.
    # Twelve problems of a body with ten parameters give enough of them for a median.
    assert base["decided"] > 50
    assert base["decided, width over interval"][1] == pytest.approx(1.0, abs=0.02)
    assert result["demo_arm"]["masses without upper limit"] == pytest.approx(1 / 3)  # shoulder and upper arm


@pytest.mark.study
def test_more_masses_come_nearer_to_any_mass_distribution_and_never_past_it():
    study = points(seeds=1, robots=["demo_arm"])["demo_arm"]
    coarse, fine, auto = study["points"]
    assert (coarse["points"], fine["points"], auto["points"]) == (2, 3, "auto")
    assert (coarse["masses"], fine["masses"]) == (84, 162)  # 14 and 27 a body
    assert coarse["objective_excess"] > fine["objective_excess"] > -1e-6  # lmi is optimal to its solver's 1e-6
    assert (coarse["not_covered"], auto["not_covered"]) == (6, 0)  # of six bodies; auto adds points until all are
    assert study["not_covered"]["box"] == {3: 0, 5: 0}
    assert fine["base_error"] < 0.2 * study["described"]  # papers/ayusawa, A1: 0.9 against 5.2 %


def test_the_figure_shows_every_robot_and_its_command():
    row = {"masses": 160, "objective_excess": 0.1, "base_error": 0.01, "seconds": 0.2}
    study = {"bodies": 6, "lmi": {"base_error": 0.008, "seconds": 0.1}}
    rows = [{**row, "points": 2, "masses": 66}, {**row, "points": 3}, {**row, "points": "auto", "masses": 200}]
    drawn = figure(
        {"arm <1>": {**study, "points": rows}, "flat": {**study, "points": rows[:2]}}, "python -m bench points"
    )
    root = ElementTree.fromstring(drawn)
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("arm <1>") == texts.count("flat") == texts.count("masses a body") == 3
    assert texts[-1] == "python -m bench points. Dashed: lmi; diamond: auto."
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 12  # two grids, two robots, three panels


@pytest.mark.study
def test_a_prior_keeps_single_parameters_that_least_squares_loses_however_the_paper_is_read():
    result = readings("demo_arm", 1)
    proposed = result["A, as Steelyard reads it"]
    # papers/ayusawa, on an A1: base parameters 0.89 % against 5.24 % of the description; all parameters 504 by least
    # squares, at most 4.7 by any other. The limits leave room for another robot and one seed.
    assert proposed[0] < 0.5 * result["C, the description"][0]
    assert all(every < 0.2 * result["B, least squares"][1] for name, (_, every) in result.items() if name[0] != "B")
    assert proposed[1] < result["A, (28) with variances as weights"][1]


@pytest.mark.study
@installed
@pytest.mark.parametrize("study", ["consistency", "ranges"])
def test_a_study_is_one_json_object_and_its_gate_holds(study, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", study, "--cases", "a1 base", "--problems", "20", "--json", "--gate"])
    assert main() == 0
    assert "a1 base" in json.dumps(json.loads(capsys.readouterr().out))


@pytest.mark.study
@installed
def test_exciting_motions_beat_random_ones_within_all_limits():
    result = excite(("ur10", "g1"), quick=True)
    assert excite_kept(result)
    arm = result["ur10"]
    assert arm["base parameters"] == 36  # of any arm of six revolute joints in general position
    assert arm["ours"]["log_det"] > arm["random"]["best log_det"]
    assert arm["ours, condition"]["condition"] < arm["random"]["condition"]
    assert arm["random"]["speed"] <= 1
    assert not excite_kept({"ur10": arm | {"figaroh": {"log_det": 1e9}}})
    assert not excite_kept({"ur10": arm | {"ours": arm["ours"] | {"runs": [arm["ours"]["runs"][0] | {"speed": 1.1}]}}})
    lines = excite_table(result).splitlines()
    assert sum(line.startswith("| ur10 |") for line in lines) == 3
    assert lines[-1].startswith("| g1 | 30 | 41 |")  # bodies, and convex pieces of their collision shapes


@pytest.mark.study
def test_short_simulations_are_compared_with_mujocos_and_their_gate_holds_only_where_they_are_equal():
    pytest.importorskip("mujoco")
    result = bench_search(repeats=1)
    assert all(case["equal"] < 1e-10 for case in result.values())  # EQUAL: the same integrator
    case = {"ratio": {"mujoco.rollout": 2.5}, "equal": 1e-12}
    assert search_kept({"puma560": case})
    assert not search_kept({"puma560": case | {"equal": 1e-9}})
    assert not search_kept({"puma560": case | {"ratio": {"mujoco.rollout": 1.9}}})
