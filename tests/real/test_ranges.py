"""What a real arm's log knows about masses if nobody believes the description."""

from __future__ import annotations

import pytest

from steelyard import Job, Options, RangeOptions, identify, weigh_load
from tests.real.measured_logs import ur10e_log

pytestmark = pytest.mark.slow


def test_the_links_of_a_ur10e_stay_open_and_what_it_carries_does_not(measured):
    folder = measured("ur10e")
    empty = ur10e_log(folder / "ur-20_02_19_14harm50sec.csv.gz", 195, 4966)
    loaded = ur10e_log(folder / "ur-20_02_19_14harm50secLoad.csv.gz", 308, 5071)
    options, job = Options(friction="all"), Job(ranges=RangeOptions("masses"))
    estimate = weigh_load(folder / "ur10e.urdf", [loaded], "wrist_3_link", options, empty=[empty], job=job).estimate
    (load,) = estimate.loads
    low, high = estimate.ranges.bodies[load.name].mass
    assert 0.9 < (high - low) / (2 * 1.96 * load.std[0]) < 1.1  # the data decide: the range is the interval
    assert estimate.ranges.bodies["shoulder_link"].mass == (0.0, None)
    assert not estimate.ranges.refuted
    for body in estimate.bodies:
        least, most = estimate.ranges.bodies[body.name].mass
        assert least <= body.prior[0], "nothing speaks against the description"
        assert most is None or (body.prior[0] <= most and most - least > 10 * (high - low))


def test_a_shorter_motion_leaves_wider_ranges(measured):
    folder = measured("ur10e")
    log, short = (ur10e_log(folder / "ur-20_02_10-30sec_12harm.csv.gz", 635, last) for last in (3510, 1634))
    options, job = Options(friction="all"), Job(ranges=RangeOptions("masses"))
    whole, part = (identify(folder / "ur10e.urdf", [x], options, job=job).estimate.ranges for x in (log, short))
    assert part.bodies["forearm_link"].mass[1] > whole.bodies["forearm_link"].mass[1]
