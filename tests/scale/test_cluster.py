"""A real cluster of separate processes gives the same estimate, even if processes are killed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.fleet import identify_many
from steelyard.fleet.gathering import FleetOptions
from steelyard.fleet.workers import Workers
from steelyard.identify.estimate_json import estimate_json
from tests.scale.conftest import ASKED, LOGS, OPTIONS, difference, environment
from tests.scale.work import whose

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")

SAME = 1e-9


def command(fleet, out, *more):
    return ["identify", "demo_arm", str(fleet.folder / "*.parquet"), *ASKED, "-o", str(out), *map(str, more)]


def started(fleet, out, *more):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *command(fleet, out, *more)],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def kept(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.npz")}


def until(driver, folder, count):
    """Wait for ``count`` finished logs; how many there are."""
    while len(kept(folder)) < count:
        assert driver.poll() is None, driver.stderr.read()
        time.sleep(0.01)
    return len(kept(folder))


def answer(out: Path) -> dict:
    return json.loads((out / "estimate.json").read_text())


def test_two_hundred_logs_on_a_cluster_give_the_estimate_of_one_process(fleet, crew, steelyard, tmp_path):
    outcome = steelyard(*command(fleet, tmp_path / "out", "--scheduler", crew.address))
    assert outcome.code in (0, 4), outcome.err  # least squares may be inconsistent
    estimate = answer(tmp_path / "out")
    assert difference(estimate, fleet.estimate) <= SAME
    assert estimate["provenance"]["inputs"].keys() >= set(fleet.names)
    for one, other in zip(estimate["links"].values(), fleet.estimate["links"].values(), strict=True):
        assert one["std"] == pytest.approx(other["std"], rel=SAME)
        assert one["sources"] == other["sources"]
    assert estimate["fit"]["relative_filtered"] == pytest.approx(fleet.estimate["fit"]["relative_filtered"], rel=SAME)
    assert not (tmp_path / "out" / "triangles").exists()  # the checkpoint is removed


def test_a_worker_that_is_killed_costs_time_and_nothing_else(fleet, crew, tmp_path):
    out, shelf = tmp_path / "out", tmp_path / "shelf"
    doomed = crew.worker()
    with Workers.at(crew.address) as workers:
        while doomed.pid not in workers.map(whose, range(12), 0.02):
            assert doomed.poll() is None
    driver = started(fleet, out, "--scheduler", crew.address, "--checkpoint", shelf)
    assert until(driver, shelf, LOGS // 8) < LOGS
    doomed.kill()
    doomed.wait()
    assert len(kept(shelf)) < LOGS  # the run was not finished
    assert driver.wait() in (0, 4), driver.stderr.read()
    assert difference(answer(out), fleet.estimate) <= SAME


def test_a_killed_driver_resumes_from_the_logs_it_finished(fleet, crew, tmp_path):
    out, shelf = tmp_path / "out", tmp_path / "shelf"
    driver = started(fleet, out, "--scheduler", crew.address, "--checkpoint", shelf)
    until(driver, shelf, LOGS // 4)
    driver.kill()
    driver.wait()
    before = kept(shelf)
    assert LOGS // 4 <= len(before) < LOGS
    assert not (out / "estimate.json").exists()
    with Workers.at(crew.address) as workers:
        resumed = identify_many("demo_arm", fleet.names, OPTIONS, FleetOptions(workers, checkpoint=str(shelf)))
    after = kept(shelf)
    assert len(after) == LOGS  # a given checkpoint stays
    assert {name: after[name] for name in before} == before  # and its files were not written again
    (cached,) = (n.remedy["cached"] for n in resumed.estimate.notices if n.code == "logs-read-once")
    assert len(before) <= cached < LOGS  # workers may have finished what they had begun for the dead driver
    assert difference(estimate_json(resumed.estimate), fleet.estimate) <= SAME


def test_a_corrupt_log_is_named_and_skipped_only_when_asked(fleet, crew, steelyard, tmp_path):
    bad, shelf = tmp_path / "bad.parquet", tmp_path / "shelf"
    bad.write_bytes(Path(fleet.names[0]).read_bytes()[:5000])
    listed = tmp_path / "logs.txt"
    half = len(fleet.names) // 2
    listed.write_text("# all logs\n" + "\n".join([*fleet.names[:half], str(bad), "", *fleet.names[half:]]))
    arguments = ["identify", "demo_arm", "--logs", listed, *ASKED, "--scheduler", crew.address, "--checkpoint", shelf]
    outcome = steelyard(*arguments, "-o", tmp_path / "out")
    assert outcome.code == 3
    assert f"{bad}: " in outcome.err
    assert "[file-unreadable]" in outcome.err
    assert not (tmp_path / "out" / "estimate.json").exists()
    assert len(kept(shelf)) == LOGS  # the rest was finished
    outcome = steelyard(*arguments, "-o", tmp_path / "out", "--skip-unreadable")
    assert outcome.code in (0, 4), outcome.err
    estimate = answer(tmp_path / "out")
    assert difference(estimate, fleet.estimate) <= SAME
    assert f"1 of {LOGS + 1} logs" in estimate["verdict"]["sentence"]
    assert "[file-unreadable]" in estimate["provenance"]["skipped"][str(bad)][0]
    assert any(str(bad) in notice for notice in estimate["notices"])
