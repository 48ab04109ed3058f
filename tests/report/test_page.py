"""The page shows every result with its source, and hostile names in the input remain text."""

import builtins
import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import SteelyardError
from steelyard.identify.series import Series
from steelyard.output.report.decimate import break_at_gaps, keep
from steelyard.output.report.page import render
from steelyard.output.report.scores import compare, row_unit
from steelyard.output.report.words import figure, light, meaning, percent, with_interval
from tests.refusals import refuses

EXAMPLE = runpy.run_path(str(Path(__file__).with_name("conftest.py")))
BODIES, HOSTILE, JOINTS, MASSES = (EXAMPLE[name] for name in ("BODIES", "HOSTILE", "JOINTS", "MASSES"))
VOID = {"meta", "link", "br", "img", "input", "hr", "rect", "circle", "path"}


class Page(HTMLParser):
    """Elements, visible text and the data of the plots."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.text, self.open = [], [], [], []
        self.feed(html)
        self.close()
        self.words = " ".join(" ".join(self.text).split())
        self.figures = json.loads(self.scripts[0][1], parse_constant=pytest.fail)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append([dict(attrs), ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1][1] += data
        elif self.open[-1:] != ["style"]:
            self.text.append(data)

    def values(self, attribute):
        return [attrs[attribute] for _, attrs in self.elements if attribute in attrs]


@pytest.fixture
def page(estimate, series):
    return Page(render(estimate, series))


def test_all_sections_are_in_order(page):
    keys = [attrs["id"] for tag, attrs in page.elements if tag == "section"]
    assert keys == [
        "summary",
        "questions",
        "contradictions",
        "bodies",
        "parameters",
        "prediction",
        "validation",
        "provenance",
    ]
    assert page.open == []


def test_headline_carries_the_verdict_the_counts_and_the_notices(page):
    assert "Trusted: every body is consistent" in page.words
    assert "Trusted. Trusted" not in page.words
    for words in (
        "1 data",
        "3 narrowed",
        "2 prior",
        "of 6 moving bodies",
        "6 of 6",
        "condition number 143",
    ):
        assert words in page.words
    assert "4.32 %" in page.words
    assert "2.1×10⁻⁹" in page.words
    assert "4.7×10⁻¹⁰" in page.words
    assert "30.42 ± 0.22 kg" in page.words
    assert "welded to the last body" in page.words


def test_every_body_has_its_mass_with_interval_and_source_and_a_sentence(page, estimate):
    table = page.words[page.words.index("smallest eigenvalue") :]
    for name, body in estimate["links"].items():
        source = body["sources"]["mass"]
        mass = with_interval(body["mass"], body["std"][0])
        assert re.search(rf"{re.escape(name)} .*?{body['source']} {re.escape(mass)} {source}", table)
        assert meaning(body["sources"]) in table
    assert len({meaning(body["sources"]) for body in estimate["links"].values()}) > 2
    assert "includes ee_link, tool0" in table


def test_sources_have_a_word_and_an_icon_beside_their_colour(page):
    for k, (tag, attrs) in enumerate(page.elements):
        if tag == "span" and "chip" in attrs.get("class", "").split():
            assert page.elements[k + 1][0] == "svg"
    assert {"chip data", "chip narrowed", "chip prior"} <= set(page.values("class"))


def test_parameters_come_with_both_intervals_the_description_and_the_truth(page):
    for words in ("Estimate 95 %", "Data only 95 %", "Description", "Truth", "— unbounded", "kg·m²", "kg·m"):
        assert words in page.words
    assert len([name for name in page.figures if name.startswith("forest-")]) == len(BODIES)
    bands = [len(trace["x"]) for trace in page.figures["forest-2"]["data"]]
    assert bands == [30, 0, 30, 30, 10, 10, 10]  # prior, unbounded, data, posterior; prior, estimate, truth
    assert len(page.figures["forest-5"]["data"][1]["x"]) == 30  # all unbounded


def test_joints_show_only_columns_with_values(page):
    assert "viscous N·m·s/rad coulomb N·m armature kg·m² offset N·m shoulder_pan_joint 3.210 ± 0.061 data" in page.words
    assert "N·m/A" not in page.words


def test_validation_lists_every_log_and_row_held_out_first(page):
    table = page.words[page.words.index("Log and row") :]
    for words in ("40sec_12harm.csv held out, all rows — 4.32 % 2.43 % 8.64 %", "30sec_12harm.csv training, all rows"):
        assert words in table
    assert table.index("held out") < table.index("training")
    assert re.search(r"shoulder_pan_joint 3\.06 N·m [\d.]+ % — [\d.]+ % 0\.9971", table)


def test_provenance_names_command_versions_inputs_filter_seed_and_schema(page):
    words = page.words[page.words.index("Definitions") :]
    for expected in (
        "3f" * 32,
        "a1" * 32,
        "numpy 2.4.0",
        "cutoff_hz 10.0",
        "Seed 0",
        "Schema 2",
        "--friction all",
    ):
        assert expected in words
    assert "‖τ̂ − τ‖ / ‖τ‖" in words


def test_hostile_names_stay_text(estimate, series):
    estimate |= {"robot": HOSTILE, "method": HOSTILE, "notices": [HOSTILE], "information": HOSTILE}
    estimate["verdict"] = {"sentence": HOSTILE, "trusted": False}
    estimate["sensors"] = {HOSTILE: {"offset": [1.0, None, 0.0, 0.0, 0.0, 0.0]}}
    estimate["validation"] = {HOSTILE: estimate["validation"].popitem()[1]}
    estimate["links"][BODIES[0]] |= {"source": HOSTILE, "mass": HOSTILE}
    estimate["provenance"] |= {
        "command": [HOSTILE],
        "inputs": {HOSTILE: HOSTILE},
        "versions": {HOSTILE: HOSTILE},
    }
    s = series[0]
    series = [Series(HOSTILE, "validation", s.rows, (HOSTILE,) * 6, s.time, s.measured, s.predicted)]
    html = render(estimate, series)
    page = Page(html)
    assert not [attrs for tag, attrs in page.elements if tag in ("img", "iframe", "object", "embed")]
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert [s[0].get("type") for s in page.scripts] == ["application/json", None, None]
    assert page.words.count(HOSTILE) > 20
    assert "<img src=x" not in html.replace(page.scripts[1][1], "")
    assert "<" not in page.figures["row-0-0"]["layout"]["yaxis"]["title"]["text"]


def test_only_the_scripts_of_the_page_may_run_and_nothing_is_fetched(page):
    (policy,) = [c for c in page.values("content") if "default-src" in c]
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert page.values("src") == []
    assert all(href.startswith(("#", "data:")) for href in page.values("href"))


def test_missing_values_are_dashes_and_never_nan(estimate):
    body = {
        "mass": None,
        "com": None,
        "inertia": [None] * 6,
        "parameters": [None] * 10,
        "std": [None] * 10,
        "std_data": [None] * 10,
        "source": None,
        "sources": None,
        "consistent": None,
        "min_eigenvalue": None,
    }
    nothing = dict.fromkeys(estimate) | {"schema": 2, "links": {"arm": body, "hand": None}}
    page = Page(render(nothing, []))
    assert "arm — — — — — — — — —" in page.words
    assert not re.search(r"\bnan\b|\bnone\b|\binf\b|\bnull\b", page.words, re.IGNORECASE)
    page = Page(render(estimate | {"fit": {"relative": float("nan"), "rmse": {"j": float("inf")}}}, []))
    assert not re.search(r"\bnan\b|\binf\b", page.words, re.IGNORECASE)


def test_an_empty_estimate_still_makes_a_page():
    page = Page(render({"schema": 2}, [], title="Nothing"))
    assert [attrs["id"] for tag, attrs in page.elements if tag == "section"] == ["summary", "provenance"]
    assert page.figures == {}


def test_the_page_reports_that_no_log_was_held_out(estimate, series):
    page = Page(render(estimate | {"validation": {}}, series[:1]))
    assert "no held-out log; fit 3.91 %" in page.words
    assert "No log was held out" in page.words


def test_an_inconsistent_body_and_a_distrusted_result_are_reported_in_words(estimate, series):
    estimate["links"]["forearm_link"]["consistent"] = False
    estimate["verdict"] = {"sentence": "The certificate failed.", "trusted": False}
    page = Page(render(estimate, series))
    assert "Not trusted. The certificate failed." in page.words
    assert "5 of 6" in page.words
    assert "card alarm" in page.values("class")


def test_without_a_given_sentence_the_counts_make_one(estimate):
    del estimate["verdict"]
    words = Page(render(estimate, [])).words
    assert (
        "1 of 6 bodies are determined by the data, 3 narrowed by them, 2 taken from the description; every body is"
        in words
    )


def test_same_input_gives_the_same_bytes(estimate, series):
    assert render(estimate, series) == render(estimate, series)


def test_the_file_stays_below_six_megabytes_however_many_logs(estimate, series):
    assert len(render(estimate, series).encode()) < 6e6
    s = series[1]
    wide = Series("wide", "fit", tuple(f"j{k}" for k in range(48)), ("N",) * 48, s.time, *[np.tile(s.measured, 8)] * 2)
    html = render(estimate, [*series, wide, wide, wide, wide])
    assert len(html.encode()) < 6e6
    assert "more logs are not plotted" in html


def test_a_name_that_utf8_cannot_hold_does_not_stop_the_report(estimate):
    assert render(estimate | {"robot": "arm \ud800"}, []).encode()


@pytest.mark.parametrize(
    ("schema", "code"), [(1, "old-schema"), (3, "schema-unsupported"), (None, "schema-unsupported")]
)
def test_another_schema_is_refused(estimate, schema, code):
    with refuses(SteelyardError, code, "estimate"):
        render(estimate | {"schema": schema}, [])


@pytest.mark.parametrize("name", ["plotly", "jinja2"])
def test_a_missing_extra_is_a_finding_with_its_remedy(estimate, monkeypatch, name):
    real = builtins.__import__

    def without(module, *rest):
        if module.split(".")[0] == name:
            raise ImportError(module)
        return real(module, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with refuses(SteelyardError, "package-missing", "report", {"install": "steelyard[report]"}):
        render(estimate, [])


def test_decimation_keeps_every_peak_and_breaks_at_gaps(page):
    rng = np.random.default_rng(0)
    channels = rng.normal(size=(100_000, 3))
    channels[54_321, 1] = 99.0
    channels[70_000, 2] = -99.0
    channels[20_000:20_003] = np.nan
    kept = keep(channels, 3000)
    assert len(kept) <= 3000
    assert {0, 54_321, 70_000, 99_999} <= set(kept)
    assert np.isnan(channels[kept]).all(axis=1).any()
    drawn = int(re.search(r"at most (\d+) points", page.words)[1])
    assert 2000 < drawn <= 3000
    assert all(len(plot["arrays"]["time"]) <= 16 * drawn / 3 + 4 for k, plot in page.figures.items() if k[:3] == "row")


@pytest.mark.parametrize("samples", [0, 1, 2, 2999, 3000, 3001, 3002, 6001])
def test_decimation_holds_its_limit_at_every_length(samples):
    kept = keep(np.zeros((samples, 3)), 3000)
    assert len(kept) <= 3000
    assert set(kept) >= ({0, samples - 1} if samples else set())


def test_a_step_in_time_gets_one_missing_sample():
    time, channels = break_at_gaps(np.array([0.0, 0.1, 0.2, 5.0, 5.1]), np.ones((5, 2)))
    assert time.tolist() == pytest.approx([0.0, 0.1, 0.2, 2.6, 5.0, 5.1])
    assert np.isnan(channels).all(axis=1).tolist() == [False, False, False, True, False, False]


def test_scores_follow_the_definition_and_skip_missing_samples():
    score = compare(np.array([3.0, 4.0, np.nan]), np.array([3.0, 3.0, 1.0]))
    assert score.relative == pytest.approx(1 / 5)
    assert score.rmse == pytest.approx(0.5**0.5)
    assert score.correlation is None  # a constant has none
    assert compare(np.array([np.nan]), np.array([1.0])).rmse is None
    assert compare(np.zeros(3), np.ones(3)).relative is None


def test_units_of_rows_come_from_the_samples_or_the_name(series):
    rows = (JOINTS[0], "base.fx", "base.mz", "slide")
    assert [row_unit(r, series) for r in rows] == ["N·m", "N", "N·m", "N·m or N"]


def test_numbers_are_written_to_their_last_significant_digit():
    assert with_interval(3.81234, 0.0107) == "3.812 ± 0.021"
    assert with_interval(1.2345e-5, 2e-7) == "(1.234 ± 0.039)×10⁻⁵"
    assert with_interval(2.0, 0.0) == with_interval(2.0, None) == "2.000"
    assert with_interval(-1.0, 100.0) == "−1 ± 196"
    assert with_interval(None, 1.0) == figure(float("nan")) == figure("3") == figure(True) == percent(None) == "—"
    assert [figure(x) for x in (36, 0.0, -0.5, 1.5e-9, 1234567.0)] == [
        "36",
        "0",
        "−0.5000",
        "1.500×10⁻⁹",
        "1.235×10⁶",
    ]
    assert meaning({}) == "—"
    assert [light(x) for x in (0.0304, 0.9, 4.0, None)] == ["30 g", "900 g", "4.0 kg", "—"]


def test_the_sentences_of_a_body_name_each_quantity_once_by_its_source():
    one = meaning({"mass": "data", "com": "narrowed", "inertia": "prior"})
    assert [sentence.split(" ")[:2] for sentence in one.split(". ")] == [
        ["The", "mass"],
        ["The", "centre"],
        ["The", "inertia"],
    ]
    together = meaning(dict.fromkeys(("mass", "com", "inertia"), "prior"))
    assert together.startswith("The mass, the centre of mass and the inertia are ")
    assert together.count(".") == 1


def with_ranges(estimate):
    ranges = {
        name: {"mass": [0.5 * m, 2 * m], "com": [[-0.1, 0.1]] * 3} for name, m in zip(BODIES, MASSES, strict=True)
    }
    ranges[BODIES[0]] = {"mass": [0.0, None], "com": [[None, None]] * 3}
    about = {"total": [20.0, None], "confidence": 0.95, "together": False, "inside": [BODIES[1]]}
    return estimate | {"ranges": ranges, "ranges_about": about}


def test_ranges_are_plotted_and_tabulated_where_they_were_requested(estimate, series):
    page = Page(render(with_ranges(estimate), series))
    keys = [attrs["id"] for tag, attrs in page.elements if tag == "section"]
    assert keys.index("ranges") == keys.index("parameters") - 1
    for words in ("at 95 % confidence each", "The whole robot: at least 20.0 kg", "1.94 to 7.74", "x −100 to 100"):
        assert words in page.words
    plot = page.figures["ranges-mass"]
    closed, open_ended, lines, described, estimates, true = plot["data"]
    assert [x for x in closed["x"] if x is not None] == [0.5, 2.0] * 5
    assert open_ended["x"][0] == 0.0
    assert open_ended["x"][1] == plot["layout"]["xaxis"]["range"][1]
    assert described["x"] == [1.0] * 6
    assert len(estimates["x"]) == len(true["x"]) == 6
    assert lines["y"][:2] == [0.0, 0.0]
    assert all("<img" not in text for text in (*plot["layout"]["yaxis"]["ticktext"], *estimates["text"]))


def test_a_body_at_the_limit_of_consistency_is_shown_with_both_ends_of_its_interval(estimate, series):
    estimate["links"][BODIES[1]]["interval"] = {"mass": [11.0, 15.5], "com": [[0, 1]] * 3}
    assert "(11.0 to 15.5)" in Page(render(estimate, series)).words


def opened(page_html, code):
    """The words of one question, from its summary to the next."""
    start = page_html.index(f'id="question-{code}"')
    return Page(f"<main>{page_html[page_html.rindex('<', 0, start) : page_html.index('</details>', start) + 10]}</main>"
                '<script type="application/json">{}</script>').words  # fmt: skip


def test_every_question_has_its_answer_as_icon_and_word_with_figure_limit_and_place(page, estimate):
    answers = [attrs["class"] for tag, attrs in page.elements if tag == "span" and "answer" in attrs.get("class", "")]
    assert answers == [f"answer {q['result']}" for q in estimate["verdict"]["checks"]]
    for k, (tag, attrs) in enumerate(page.elements):
        if tag == "span" and attrs.get("class", "").startswith("answer"):
            assert page.elements[k + 1][0] == "svg"
    for words in (
        "fail Is it explained? explained 31.0 % ≤ 25 % shoulder_lift_joint",
        "unknown Is it stable? stable — ≤ 3 σ",
    ):
        assert words in page.words


def test_each_question_opens_to_what_shows_its_answer(estimate, series):
    html = render(estimate, series)
    for code, words in {
        "physical": "Least eigenvalue",
        "proved": "KKT residual 2.1×10⁻⁹ 1.0×10⁻⁵ duality gap 4.7×10⁻¹⁰ 1.0×10⁻⁶",
        "log": "torque-delayed lags behind Give delay=0.012 delay=0.012",
        "informative": "Bodies: 1 of 2 from the data",
        "explained": "shoulder_lift_joint 31.0 %",
        "structure": "elbow_joint by speed 1.00 %",
        "stable": "1.1 of their standard deviations",
        "plausible": "forearm_link 3.870",
        "better": "all equations 21.0 % → 4.00 %",
    }.items():
        assert words in opened(html, code), code
    assert "Joints: 1 of 1 from the data" in opened(html, "informative")


def test_bars_are_as_long_as_their_values_and_the_limit_is_on_the_same_axis(estimate, series):
    html = render(estimate, series)
    block = html[html.index('id="question-explained"') : html.index('id="question-structure"')]
    widths = [float(x) for x in re.findall(r'class="bar [^"]*" style="width:([\d.]+)%', block)]
    (limit,) = {float(x) for x in re.findall(r'class="limit" style="left:([\d.]+)%', block)}
    assert widths[1] / limit == pytest.approx(0.31 / 0.25, rel=1e-3)
    assert widths[0] / limit == pytest.approx(0.04 / 0.25, rel=1e-2)
    assert [" over" in look for look in re.findall(r'class="bar ([^"]*)"', block)] == [False, True, *[False] * 4]


def test_contradictions_have_a_section_only_where_there_are_some(estimate, series):
    assert "+31 % 7.5 σ" in Page(render(estimate, series)).words
    keys = [a["id"] for tag, a in Page(render(estimate | {"contradictions": []}, series)).elements if tag == "section"]
    assert "contradictions" not in keys


def test_an_estimate_without_evidence_still_has_its_questions(estimate, series):
    bare = estimate | {"held_out": None, "evidence": None, "findings": None, "validation": {}}
    words = Page(render(bare, series)).words
    assert words.count("too short to be cut into blocks") == 4
    assert "were not diagnosed" in words


def test_a_load_that_is_not_seen_is_bounded_in_grams(estimate, series):
    load = estimate["links"][BODIES[5]] | {"link": "tool0", "seen": False, "at_most": 0.0304}
    assert "no load is seen: at most 30 g" in Page(render(estimate | {"loads": [load]}, series)).words
    assert "no load is seen" not in Page(render(estimate | {"loads": [load | {"seen": True}]}, series)).words
