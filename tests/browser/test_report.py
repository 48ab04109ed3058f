"""The report in a real browser: it draws, stays silent, asks no host, and follows the colour scheme."""

import runpy
from pathlib import Path

import pytest

from steelyard.output.report.page import render

pytestmark = pytest.mark.slow

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "report" / "conftest.py"))


VISIBLE = "[...document.querySelectorAll('.plot')].filter((d) => d.offsetParent)"
DRAWN = f"{VISIBLE}.every((d) => d.querySelector('.main-svg .trace path'))"


@pytest.fixture
def page(chromium, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(EXAMPLE["example_estimate"](), EXAMPLE["example_series"]()), encoding="utf-8")
    chromium.open(path.as_uri())
    # Plots are drawn as they come near the window: make it tall enough for all.
    resize(chromium, 1200, chromium.evaluate("document.documentElement.scrollHeight"))
    chromium.wait_for(DRAWN)
    return chromium


def resize(page, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page.send("Emulation.setDeviceMetricsOverride", **size)


def test_all_is_drawn_without_a_word_on_the_console_or_a_request(page):
    assert page.evaluate(f"{VISIBLE}.length") == 12  # six bodies, six rows of the first log
    page.evaluate("document.querySelectorAll('[role=tab]')[1].click()")
    page.wait_for(DRAWN)
    assert page.evaluate("document.querySelectorAll('.plot .main-svg').length") >= 18
    assert page.evaluate("document.getElementById('panel-0').hidden")

    assert page.seen("Runtime.exceptionThrown") == []
    assert page.seen("Runtime.consoleAPICalled") == []
    assert page.seen("Log.entryAdded") == []
    urls = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    assert len(urls) >= 1
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in urls if url.startswith("file:")]) == 1


def test_hostile_names_are_shown_as_text_and_make_no_element(page):
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    shown = page.evaluate("[...document.querySelectorAll('.name')].map((e) => e.textContent)")
    assert EXAMPLE["HOSTILE"] in shown


def test_zooming_one_row_in_time_zooms_its_log(page):
    page.evaluate("Plotly.relayout('row-0-0', {'xaxis.range': [5, 7]}).then(() => 0)")
    page.wait_for("document.getElementById('row-0-5').layout.xaxis.range.join() === '5,7'")


def test_plots_follow_the_colour_scheme(page):
    text = "document.querySelector('.plot .ytick text').style.fill"
    seen = []
    for scheme, muted in (("light", "rgb(86, 97, 109)"), ("dark", "rgb(163, 175, 186)")):
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.wait_for(f"{text} === '{muted}'")
        seen.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert seen == ["rgb(255, 255, 255)", "rgb(18, 24, 30)"]


def test_nothing_is_wider_than_the_window(page):
    for width in (1200, 800, 400):
        resize(page, width, 1000)
        page.wait_for(f"innerWidth === {width} && document.documentElement.scrollWidth <= {width}")


def test_every_question_opens_and_fits_a_phone(page):
    page.evaluate(
        "document.querySelectorAll('details.question').forEach((d) => { d.querySelector('summary').click(); })"
    )
    assert page.evaluate("document.querySelectorAll('details.question[open]').length") == 9
    for width in (1200, 400):
        resize(page, width, 1000)
        page.wait_for(f"innerWidth === {width} && document.documentElement.scrollWidth <= {width}")
        bars = page.evaluate("[...document.querySelectorAll('#question-better .bar')].map((b) => b.offsetWidth)")
        described, identified = bars[0::2], bars[1::2]
        assert all(b > 3 * i > 0 for b, i in zip(described, identified, strict=True))
