"""Bodies held at the description are listed as such on the page, without intervals."""

from __future__ import annotations

from steelyard import Options, identify
from steelyard.identify.estimate_json import estimate_json
from steelyard.output.report import render


def test_held_bodies_are_listed_apart_and_have_no_intervals(arm):
    result = identify("demo_arm", [arm.train], Options(friction="all", links=("forearm_link",)))
    content = estimate_json(result.estimate)
    assert [name for name, link in content["links"].items() if link["free"]] == ["forearm_link"]
    page = render(content, result.series)
    assert page.count("Held at the description.") == len(content["links"]) - 1
    assert f"{len(content['links']) - 1} bodies are held at the description" in page
    assert page.count("forest-2") >= 1
    assert "forest-0" not in page
