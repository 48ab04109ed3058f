"""Bodies that were held exactly as described: the page says so, and shows no intervals that they do not have."""

from __future__ import annotations

from steelyard import Options, identify
from steelyard.identify.estimate_json import estimate_json
from steelyard.output.report import render


def test_a_body_that_was_held_is_said_to_be_held(arm):
    result = identify("demo_arm", [arm.train], Options(friction="all", links=("forearm_link",)))
    content = estimate_json(result.estimate)
    assert [name for name, link in content["links"].items() if link["free"]] == ["forearm_link"]
    page = render(content, result.series)
    assert page.count("Held exactly as described.") == len(content["links"]) - 1
    assert f"{len(content['links']) - 1} bodies were held exactly as described" in page
    assert page.count("forest-2") >= 1
    assert "forest-0" not in page
