"""A finding on the command line: keywords of Python become flags of the verb, and remedies flags that can be typed."""

from __future__ import annotations

import shlex

import pytest

from steelyard.cli.finding_text import ALIASES, finding_text, options_of
from steelyard.cli.main import VERBS
from steelyard.errors import Finding

# The sentences are those of these tests, also with --other-words: they are what is rewritten.
pytestmark = pytest.mark.usefixtures("own_words")


@pytest.fixture
def own_words(monkeypatch, other_words):
    monkeypatch.undo()


def text(verb="identify", where="run.csv", what="is late", fix="Correct it", **remedy):
    return finding_text(Finding("some-code", where, what, fix, remedy), verb)


def added(verb="identify", **remedy):
    """The flags that are appended to the fix, as a shell splits them."""
    line = text(verb, **remedy).removeprefix("run.csv: is late. Correct it").removesuffix(". [some-code]")
    return shlex.split(line.removeprefix(":"))


def test_a_finding_is_one_line_of_place_fault_fix_and_code():
    assert text() == "run.csv: is late. Correct it. [some-code]"


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("bootstrap=3", "--bootstrap 3"),
        ("prior_weight=-1.0", "--prior-weight -1.0"),
        ("links=forearm", "--links forearm"),
        ("earlier=old folder", "--from old folder"),
        ("kinematics=0", "--kinematics-cutoff 0"),  # a field of the filter
        ("per_edge=1", "--points 1"),  # a field of a method
        ("method=", "--method"),
        ("colour=red", "colour=red"),  # no option of any verb
        ("run.csv, q.elbow", "run.csv, q.elbow"),
        ("a=b/run.csv, q.elbow", "a=b/run.csv, q.elbow"),
    ],
)
def test_a_keyword_as_place_becomes_its_flag(where, shown):
    assert text(where=where).startswith(f"{shown}: is late. ")


@pytest.mark.parametrize(
    ("remedy", "flags"),
    [
        ({}, []),
        ({"repair_prior": True}, ["--repair-prior"]),
        ({"repair_prior": False}, []),  # no flag switches it off
        ({"mapping": None}, ["--mapping", "…"]),
        ({"delay": 0.027}, ["--delay", "0.027"]),
        ({"base": "floating", "feet": ["left", "right"]}, ["--base", "floating", "--feet", "left,right"]),
        ({"validate": ("a.csv", "my log.csv")}, ["--validate", "a.csv", "--validate", "my log.csv"]),
        ({"gravity": [0.0, 0.0, 9.81]}, ["--gravity", "0", "0", "9.81"]),
        ({"lock": {"elbow": 0.5, "wrist 1": 0}}, ["--lock", "elbow=0.5", "--lock", "wrist 1=0"]),
        ({"topics": {"imu": "/imu/data"}}, ["--topic", "imu=/imu/data"]),
        ({"ridge": 0.01}, ["--point-ridge", "0.01"]),
        ({"column": "tau.elbow", "scale": 0.001}, []),  # for programs: the command line has no such option
        ({"name": "elbow_joint", "delay": 0.01}, ["--delay", "0.01"]),
    ],
    ids=str,
)
def test_a_remedy_becomes_flags_that_can_be_typed(remedy, flags):
    assert added(**remedy) == flags


def test_false_is_the_flag_that_switches_an_option_off():
    assert added("calibrate", tilt=False) == ["--no-tilt"]


def test_only_flags_that_the_verb_has_are_named():
    assert added("check", delay=0.01, prior="none") == ["--delay", "0.01"]
    assert added("simulate", delay=0.01) == []
    assert text("simulate", where="bootstrap=3").startswith("bootstrap=3: ")


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("Compensate with delay=0.027, or correct the stamps", "Compensate with --delay 0.027, or correct the stamps"),
        ("Use equations='contact-free' (feet=[…])", "Use --equations contact-free (--feet …)"),
        ("Set repair_prior=True", "Set --repair-prior"),
        ("Lock it (lock={joint: q})", "Lock it (--lock joint=q)"),
        ("Lock it (lock={'elbow': 0.5})", "Lock it (--lock elbow=0.5)"),
        ("Give gravity=[0.0, 0.0, -9.81], or turn the base", "Give --gravity 0 0 -9.81, or turn the base"),
        ("Use prior='none'", "Use --prior none"),
        ("Install with extra=sim", "Install with extra=sim"),
        ("Write e.g. --lock finger=0.04", "Write e.g. --lock finger=0.04"),
    ],
)
def test_keywords_in_sentences_become_flags(sentence, shown):
    assert text(fix=sentence).endswith(f". {shown}. [some-code]")
    assert text(what=sentence).startswith(f"run.csv: {shown}. ")


def test_a_remedy_that_the_sentence_names_is_not_named_twice():
    line = text(fix="Compensate with delay=0.027, or correct the stamps", delay=0.027)
    assert line == "run.csv: is late. Compensate with --delay 0.027, or correct the stamps. [some-code]"
    assert text(fix="Use --method lmi", method="lmi").count("--method") == 1


def test_every_alias_is_an_option_of_some_verb_and_no_keyword_of_it():
    for keyword, name in ALIASES.items():
        verbs = [verb for verb in VERBS if name in options_of(verb)]
        assert verbs
        assert all(options_of(verb)[keyword] is options_of(verb)[name] for verb in verbs)


def test_every_verb_has_its_options_and_an_unknown_one_has_none():
    assert {"links", "validate", "earlier", "delay", "per_edge"} <= set(options_of("identify"))
    assert {"robot", "out"} <= set(options_of("demo"))
    assert {"tilt", "periods"} <= set(options_of("calibrate"))  # of both its subcommands
    assert options_of("nonsense") == {}
