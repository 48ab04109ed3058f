"""A real arm with an unknown load and unknown drive gains: UR10e, the same motion without and with 2.805 kg."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard import Options
from steelyard.identify import weigh_load

pytestmark = pytest.mark.slow

TRUE = 2.805  # kg, as published with the data
BASELINES = (3.07, 2.46, 2.33)  # kg: plain least squares with De Luca's gains, the authors', and its own


@pytest.fixture
def mapping(tmp_path):
    """The guide's mapping for these two runs; with or without its gains."""

    def write(gains: bool) -> Path:
        guide = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
        text = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0]
        path = tmp_path / f"{gains}.toml"
        path.write_text(text if gains else text.partition("[gains]")[0])
        return path

    return write


def weigh(folder, mapping):
    empty, loaded = (folder / f"ur-20_02_19_14harm50sec{which}.csv.gz" for which in ("", "Load"))
    options = Options(friction="all")
    return weigh_load(folder / "ur10e.urdf", [loaded], "wrist_3_link", options, empty=[empty], mapping=mapping).estimate


def test_gains_and_load_together_come_nearer_to_the_load_than_every_baseline(measured, mapping):
    estimate = weigh(measured("ur10e"), mapping(gains=False))
    (load,) = estimate.loads
    assert estimate.consistent
    assert estimate.certificate.holds
    assert abs(load.mass - TRUE) < min(abs(m - TRUE) for m in BASELINES)
    assert abs(load.mass - TRUE) < 1.96 * load.std[0]
    assert load.source.mass == "prior"  # the scale of all masses is the description's
    assert load.source.com == "data"
    assert estimate.scale.load_std < 0.06
    assert estimate.fit.relative < 0.05
    for terms in estimate.joints.values():
        assert 9 < terms["gain"].value < 15


def test_with_given_gains_the_load_is_as_wrong_as_the_gains(measured, mapping):
    """Its interval knows the noise, not the gains: why they should be doubted."""
    estimate = weigh(measured("ur10e"), mapping(gains=True))
    (load,) = estimate.loads
    assert estimate.consistent
    assert load.mass == pytest.approx(BASELINES[0], abs=0.03)
    assert load.source.mass == "data"
    assert 1.96 * load.std[0] < 0.1
