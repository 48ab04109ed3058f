"""A check is one file: put beside the others it runs, through Python and through the command line."""

import json

import pytest

from steelyard.check import checks
from steelyard.check.survey import survey

FILE = '''
"""Logs that are shorter than a minute."""

from steelyard.check.subject import Check, Subject
from steelyard.errors import Finding


class Brief(Check):
    rank = 15

    def find(self, subject: Subject) -> list[Finding]:
        seconds = float(subject.log.time[-1] - subject.log.time[0])
        if seconds >= 60:
            return []
        remedy = {"seconds": 60}
        return [Finding("log-short", subject.log.source, f"lasts {seconds:.0f} s only", "Record a minute", remedy)]

    def facts(self, subject: Subject) -> dict[str, str]:
        return {"patience": "a minute"}
'''


@pytest.fixture
def brief(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "brief_for_a_test.py").write_text(FILE)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(folder)])


def test_a_check_in_one_file_runs_beside_the_others(brief, arm):
    result = survey("demo_arm", arm.train)
    assert [(f.code, f.remedy) for f in result.findings] == [("log-short", {"seconds": 60})]
    assert result.facts["patience"] == "a minute"


def test_the_command_runs_it_too(brief, steelyard, arm):
    run = steelyard("check", "demo_arm", arm.train, "--json")
    assert run.code == 3
    assert [f["code"] for f in json.loads(run.out)["findings"]] == ["log-short"]


def test_without_it_the_log_is_usable(arm):
    assert not survey("demo_arm", arm.train).findings
