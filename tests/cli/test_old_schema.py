"""A result of schema 1, which an earlier version wrote, is refused wherever a result is read."""

from __future__ import annotations

import json

import pytest

from steelyard import compare
from steelyard.errors import SteelyardError
from steelyard.identify.resume import Earlier
from steelyard.output.viewer import serve
from tests.refusals import refuses


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    content = {"schema": 1, "links": {"forearm_link": {"verdict": "identified"}}, "information": "information.npz"}
    (folder / "estimate.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "scene.json").write_text(json.dumps({"schema": 1, "bodies": {}}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("read", [serve, Earlier.read, lambda folder: compare(folder, "demo_arm")])
def test_python_refuses_it(old, read):
    with refuses(SteelyardError, "old-schema", "estimate.json"):
        read(old)


@pytest.mark.parametrize(
    "command",
    [
        ("report", "{old}"),
        ("view", "{old}", "--no-browser"),
        ("compare", "{old}", "demo_arm"),
        ("compare", "demo_arm", "{old}/estimate.json"),
        ("identify", "demo_arm", "{log}", "--from", "{old}", "-o", "{out}"),
        ("load", "demo_arm", "{log}", "--on", "wrist_3_link", "--from", "{old}", "-o", "{out}"),
    ],
)
def test_every_command_refuses_it_and_writes_nothing(steelyard, arm, old, tmp_path, command):
    out = tmp_path / "out"
    done = steelyard(*(part.format(old=old, log=arm.train, out=out) for part in command))
    assert done.code != 0
    assert "[old-schema]" in done.err
    assert not out.exists()
    assert not (old / "report.html").exists()
