"""The end of the terminal output: before and after, contradictions, doubts, nine questions, and the sentence last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard import Options, identify
from steelyard.cli.conclusion import CONTRADICTIONS, EQUATIONS
from steelyard.cli.terminal import print_bodies, print_end
from steelyard.errors import Finding
from steelyard.identify.contradictions import Contradiction
from steelyard.identify.evidence import HeldOut
from steelyard.identify.verdict import answer_questions
from steelyard.output.question_text import question_figure, question_limit
from steelyard.output.report.words import light

WRONG = Contradiction("m", ("forearm_link",), (1.3,), (1.0,), (9.0,), 1.0)


@pytest.fixture(scope="module")
def result(arm):
    return identify("demo_arm", [arm.train], Options(friction="all"))


@pytest.fixture
def printed(capsys):
    def of(result, **changed):
        print_end(replace(result, estimate=replace(result.estimate, **changed)), [], "identify")
        return capsys.readouterr().out

    return of


def cells(line):
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


def test_the_questions_stand_before_the_sentence_with_figure_and_limit(result, printed):
    lines = printed(result).rstrip().splitlines()
    assert lines[-1] == result.verdict.sentence
    table = [cells(line) for line in lines if line.strip()][-10:-1]
    for row, q in zip(table, answer_questions(result.estimate), strict=True):
        shown = [q.question, q.result, question_figure(q.code, q.figure), question_limit(q.code, q.limit)]
        assert row == [*shown[:1], shown[1] if q.result == "pass" else shown[1].upper(), *shown[2:]]


def test_every_equation_is_shown_by_the_description_and_as_identified(result, printed):
    rows = {row[0]: row[1:] for row in map(cells, printed(result).splitlines()) if len(row) == 3}
    held = result.estimate.evidence.held_out
    assert set(rows) >= {*held, "all equations"}
    assert rows["elbow_joint"] == [f"{100 * x:.3g} %" for x in vars(held["elbow_joint"]).values()]


def test_of_many_equations_the_worst_are_shown(result, printed):
    many = {f"joint_{k}": HeldOut(1.0, 0.001 * (1 + k)) for k in range(50)}
    out = printed(result, evidence=replace(result.estimate.evidence, held_out=many))
    assert [f"joint_{k} " in out for k in (0, 37, 38, 49)] == [False, False, True, True]
    assert f"and {50 - EQUATIONS} more" in out


def test_nothing_is_compared_where_no_block_was_held_out(result, printed):
    assert "all equations" not in printed(result, evidence=replace(result.estimate.evidence, pooled=None))


@pytest.mark.parametrize("count", [0, 1, CONTRADICTIONS, CONTRADICTIONS + 3])
def test_at_most_five_contradictions_are_printed_and_the_rest_counted(result, printed, count):
    lines = [line for line in printed(result, contradictions=(WRONG,) * count).splitlines() if "description: " in line]
    lines = [line for line in lines if line.startswith("description: ")]
    assert lines[:CONTRADICTIONS] == [f"description: {WRONG}"] * min(count, CONTRADICTIONS)
    assert len(lines) == min(count, CONTRADICTIONS + 1)
    assert (f"{count - CONTRADICTIONS} more" in lines[-1]) if count > CONTRADICTIONS else True


def test_doubts_are_printed_with_their_flag_and_code_and_notes_are_not(result, printed):
    doubt = Finding("torque-delayed", "tau.elbow_joint", "is late", "Correct it", {"delay": 0.012}, "doubt")
    remark = Finding("log-long", "run.csv", "is long", "Cut it", {}, "note")
    lines = [line for line in printed(result, findings=(doubt, remark)).splitlines() if line.startswith("doubtful: ")]
    assert len(lines) == 1
    assert lines[0].startswith("doubtful: tau.elbow_joint: ")
    assert "--delay 0.012" in lines[0]
    assert lines[0].endswith("[torque-delayed]")


def test_the_table_of_bodies_has_sources_and_how_far_each_moved(result, capsys):
    print_bodies(result)
    rows = {row[0]: row for row in map(cells, capsys.readouterr().out.splitlines()) if row}
    for body in result.estimate.bodies:
        source = body.source
        assert rows[body.name][2] == source.mass
        assert rows[body.name][4:] == [source.com, source.inertia, f"{source.moved:.1f} σ"]
    assert "physical" not in rows["body"]


def test_a_load_that_is_not_seen_is_bounded_in_grams(result, capsys):
    body = result.estimate.bodies[-1]
    load = replace(body, carrier="tool", std=body.std * 0 + body.mass, interval=None)
    assert not load.seen
    print_bodies(replace(result, estimate=replace(result.estimate, loads=(load,))))
    assert f"at most {light(load.at_most)}" in capsys.readouterr().out
