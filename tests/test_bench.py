"""The studies of ``python -m bench`` in their small form; their full form is a command."""

from __future__ import annotations

from xml.etree import ElementTree

from bench.coverage import coverage
from bench.identify import identify
from bench.points import figure, points
from papers.ayusawa.readings import readings


def test_intervals_of_base_parameters_hold_the_truth_as_often_as_they_promise():
    study = coverage(seeds=24, seconds=12.0)
    assert study.parameters == 58
    assert 0.92 < study.covered < 0.98  # 1392 intervals; the full study is held to 93 to 97 %
    assert study.naive < 0.8  # what plain least squares would promise on the same filtered rows


def test_bench_reports_ratios_of_one_run():
    case = identify(repeats=1)["demo_arm"]
    assert case["ours"]["min"] <= case["ours"]["median"]
    assert case["ratio"]["naive"] == case["naive"]["min"] / case["ours"]["min"]


def test_more_masses_come_nearer_to_any_mass_distribution_and_never_past_it():
    study = points(seeds=1, robots=["demo_arm"])["demo_arm"]
    coarse, fine, auto = study["points"]
    assert (coarse["points"], fine["points"], auto["points"]) == (2, 3, "auto")
    assert (coarse["masses"], fine["masses"]) == (66, 162)
    assert coarse["objective_excess"] > fine["objective_excess"] > -1e-6
    assert (coarse["not_covered"], auto["not_covered"]) == (6, 0)
    assert study["not_covered"]["box"] == {3: 0, 5: 0}
    assert fine["base_error"] < 0.2 * study["described"]


def test_the_figure_shows_every_robot_and_tells_its_command():
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
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 12


def test_a_prior_keeps_single_parameters_that_least_squares_loses_however_the_paper_is_read():
    found = readings("demo_arm", 1)
    proposed = found["A, as Steelyard reads it"]
    assert proposed[0] < 0.5 * found["C, the description"][0]
    assert all(every < 0.2 * found["B, least squares"][1] for name, (_, every) in found.items() if name[0] != "B")
    assert proposed[1] < found["A, (28) with variances as weights"][1]
