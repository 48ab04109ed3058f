"""Bootstrap over logs: replicates spread as the noise model predicts, and as far as the truth is away."""

import json

import numpy as np
import pytest

from steelyard import UsageError
from steelyard.fleet import FleetOptions, identify_many
from steelyard.inertia import NAMES
from tests.scale.conftest import ASKED, OPTIONS

pytestmark = pytest.mark.slow

LOGS, REPLICATES = 64, 80
SAME = 1e-9


def ratios(result):
    return np.array([x.std / x.analytic for x in result.estimate.bootstrap.base.values()])


@pytest.fixture(scope="module")
def drawn(fleet, tmp_path_factory):
    """Of logs whose noise is known, by one process."""
    shelf = tmp_path_factory.mktemp("shelf")
    return shelf, identify_many(
        "demo_arm", fleet.names[:LOGS], OPTIONS, FleetOptions(checkpoint=shelf, replicates=REPLICATES)
    )


def test_replicates_spread_as_the_noise_model_predicts(drawn):
    each = 1 / np.sqrt(2 * LOGS) + 1 / np.sqrt(2 * REPLICATES)  # of a deviation, by so many logs and replicates
    r = ratios(drawn[1])
    assert len(r) > 50
    assert np.median(r) == pytest.approx(1, abs=each)
    assert np.all(np.abs(np.log(r)) < 4 * each)
    for x in drawn[1].estimate.bootstrap.base.values():
        assert (x.high - x.low) / (2 * 1.96 * x.std) == pytest.approx(1, abs=0.4)


def test_the_truth_is_as_far_away_as_replicates_spread(drawn):
    estimate = drawn[1].estimate
    true = {f"{body}.{name}": x for body, p in estimate.truth.items() for name, x in zip(NAMES, p, strict=True)}
    z = [
        (p.value - sum(x * true[term] for term, x in p.terms.items())) / estimate.bootstrap.base[p.name].std
        for p in estimate.base
        if p.terms.keys() <= true.keys()
    ]
    assert len(z) > 30
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5


def test_replicates_do_not_depend_on_the_workers(drawn, fleet, pair):
    shelf, one = drawn
    options = FleetOptions(pair, checkpoint=shelf, replicates=REPLICATES)
    two = identify_many("demo_arm", fleet.names[:LOGS], OPTIONS, options)
    a, b = one.estimate, two.estimate
    same = [p.name for p, q in zip(a.base, b.base, strict=True) if p.terms.keys() == q.terms.keys()]
    assert len(same) > 40  # which parameters lead may depend on rounding, where two do as well
    pairs = [(a.bootstrap.base[name], b.bootstrap.base[name]) for name in same]
    pairs += [(x, b.bootstrap.masses[name]) for name, x in a.bootstrap.masses.items()]
    for x, y in pairs:
        assert [y.low, y.high, y.std] == pytest.approx([x.low, x.high, x.std], rel=SAME, abs=1e-12)


def test_the_command_reports_replicates_and_refuses_too_few(fleet, steelyard, tmp_path):
    asked = ("identify", "demo_arm", *fleet.names[:9], *ASKED, "-o", tmp_path / "out")
    ran = steelyard(*asked, "--bootstrap", 40)
    assert ran.code in (0, 4), ran.err
    assert "bootstrap" in ran.out
    written = json.loads((tmp_path / "out" / "estimate.json").read_text())
    resampled = written["bootstrap"]
    assert [resampled[key] for key in ("replicates", "logs", "units", "total")] == [40, 9, 9, None]
    assert list(resampled["base_parameters"]) == [p["name"] for p in written["base_parameters"]["parameters"]]
    for link, masses in resampled["links"].items():
        assert masses["mass"]["low"] <= masses["mass"]["high"]
        assert masses["mass"]["analytic"] == written["links"][link]["std"][0]
    few = steelyard("identify", "demo_arm", *fleet.names[:3], *ASKED, "-o", tmp_path / "few", "--bootstrap", 10)
    assert few.code == 2
    assert few.err.count("--bootstrap 10: ") == 2
    assert "[option-value]" in few.err
    assert "[logs-too-few]" in few.err
    (tmp_path / "torn.parquet").write_bytes(b"torn")
    names = [*fleet.names[:7], str(tmp_path / "torn.parquet")]
    with pytest.raises(UsageError) as refused:
        identify_many("demo_arm", names, OPTIONS, FleetOptions(skip=True, replicates=40))
    assert [(f.code, f.where) for f in refused.value.findings] == [("logs-too-few", "bootstrap=40")]


def test_of_very_many_logs_neighbours_are_drawn_together(fleet, monkeypatch):
    monkeypatch.setattr("steelyard.fleet.resample_logs.UNITS", 10)
    result = identify_many("demo_arm", fleet.names[:25], OPTIONS, FleetOptions(replicates=40)).estimate.bootstrap
    assert (result.logs, result.units) == (25, 10)
    assert "10 bundles of 25 logs" in str(result)
