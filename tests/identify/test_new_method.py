"""A method is one file: put beside the others it runs, with its own options, through Python and the command line."""

import json
import sys

import pytest

from steelyard import Options, UsageError, identify
from steelyard.identify import methods
from steelyard.identify.method import method_names, method_type
from tests.refusals import refuses

FILE = '''
"""Bodies that are as described but for one factor of all ten parameters each."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.equations.option_field import option
from steelyard.identify.method import Composed


@dataclass(frozen=True)
class ScaledForATest(Composed):
    """As described, times a factor a body, at least ``least``."""

    least: float = option(0.1, "Method scaled-for-a-test: least factor.", flag="--least-factor", metavar="X")

    def composition(self, body, prior):
        import numpy as np

        from steelyard.compose.composition import Composition

        one = np.ones(1)
        return Composition(body.parameters[:, None], one, one, (), self.least * one)
'''


@pytest.fixture
def scaled(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "scaled_for_a_test.py").write_text(FILE)
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(folder)])
    return method_type("scaled-for-a-test")


@pytest.fixture
def fresh_steelyard(scaled, steelyard, monkeypatch):
    """The command line as a new process would have it: its options are read off the methods when it starts."""
    for name in [name for name in sys.modules if name.startswith("steelyard.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("COLUMNS", "300")
    return steelyard


def test_a_method_in_one_file_identifies_by_its_name_and_as_an_object(scaled, arm):
    assert "scaled-for-a-test" in method_names()
    by_name = identify("demo_arm", [arm.train], Options(method="scaled-for-a-test", friction="all"))
    assert by_name.estimate.method == "scaled-for-a-test"
    assert by_name.estimate.certificate.holds
    for body in by_name.estimate.bodies:
        factor = body.parameters[0] / body.prior[0]
        assert body.parameters == pytest.approx(factor * body.prior, rel=1e-9, abs=1e-12)
    heavy = identify("demo_arm", [arm.train], Options(method=scaled(least=1.5), friction="all"))
    assert all(b.mass >= 1.5 * b.prior[0] * (1 - 1e-9) for b in heavy.estimate.bodies)
    assert heavy.estimate.objective > by_name.estimate.objective


def test_the_command_line_offers_it_with_its_options(scaled, arm, tmp_path, fresh_steelyard):
    shown = fresh_steelyard("identify", "--help")
    assert "scaled-for-a-test" in shown.out
    assert "--least-factor" in shown.out
    run = fresh_steelyard(
        "identify",
        "demo_arm",
        arm.train,
        "--method",
        "scaled-for-a-test",
        "--least-factor",
        "1.5",
        "-o",
        tmp_path / "o",
    )
    content = json.loads((tmp_path / "o" / "estimate.json").read_text())
    assert run.code in (0, 4)
    assert content["method"] == "scaled-for-a-test"
    assert all(content["links"][k]["mass"] >= 1.49 * p["parameters"][0] for k, p in content["prior"].items())
    other = fresh_steelyard("identify", "demo_arm", arm.train, "--least-factor", "1.5", "-o", tmp_path / "x")
    assert other.code == 2
    assert "--least-factor: " in other.err
    assert "--method scaled-for-a-test" in other.err
    assert "[option-conflict]" in other.err


def test_a_method_without_a_file_is_unknown(arm):
    with refuses(UsageError, "option-unknown-choice", "method=scaled-for-a-test"):
        Options(method="scaled-for-a-test")
