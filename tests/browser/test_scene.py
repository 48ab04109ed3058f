"""The robot in three dimensions, its divisions and its convergence, in a real browser."""

import runpy
from pathlib import Path

import pytest

from steelyard.output.report import courses_of, render

pytestmark = pytest.mark.slow

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "report" / "conftest.py"))
VISIBLE = "document.getElementById('robot').data.filter((t) => t.visible).map((t) => t.layer)"
# Colours of a picture of the view that are more than grey: bodies, centres of mass.
COLOURED = """
Plotly.toImage("robot", { format: "png", width: 300, height: 300 }).then((url) => new Promise((done) => {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 300;
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0);
    const pixels = pen.getImageData(0, 0, 300, 300).data;
    let count = 0;
    for (let k = 0; k < pixels.length; k += 4)
      if (pixels[k + 3] > 0 && Math.abs(pixels[k] - pixels[k + 2]) > 25) count += 1;
    done(count);
  };
  image.src = url;
}))
"""


@pytest.fixture
def page(chromium, tmp_path):
    estimate = EXAMPLE["divided"](EXAMPLE["example_estimate"]())
    estimate["courses"] = [c.as_json() for c in courses_of(*EXAMPLE["example_courses"](), name=EXAMPLE["HOSTILE"])]
    path = tmp_path / "report.html"
    path.write_text(render(estimate, EXAMPLE["example_series"](), scene=EXAMPLE["example_scene"]()), encoding="utf-8")
    chromium.open(path.as_uri())
    height = chromium.evaluate("document.documentElement.scrollHeight")
    size = {"width": 1200, "height": height, "deviceScaleFactor": 1, "mobile": False}
    chromium.send("Emulation.setDeviceMetricsOverride", **size)
    return chromium


def silent(page):
    """No message but those of the graphics driver about its speed, and no request but for the page itself."""
    entries = [e["entry"] for e in page.seen("Log.entryAdded") if e["entry"]["source"] != "rendering"]
    urls = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    asked = [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]
    messages = page.seen("Runtime.exceptionThrown") + page.seen("Runtime.consoleAPICalled")
    return entries + messages + asked == [] and len([url for url in urls if url.startswith("file:")]) == 1


def test_the_robot_is_drawn_in_space_and_its_layers_can_be_chosen(page):
    page.wait_for("document.querySelector('#robot canvas') !== null")
    assert page.evaluate(COLOURED) > 300
    assert {"shapes", "com"} <= set(page.evaluate(VISIBLE))
    assert "source" not in page.evaluate(VISIBLE)
    page.evaluate("document.querySelector('[data-layer=source]').click()")
    page.wait_for(f"{VISIBLE}.includes('source')")
    assert "shapes" not in page.evaluate(VISIBLE)
    page.evaluate("document.querySelector('[data-layer=com]').click()")
    page.wait_for(f"!{VISIBLE}.includes('com')")
    assert page.evaluate("getComputedStyle(document.querySelector('.stills')).display") == "none"
    assert silent(page)


def test_the_page_scrolls_past_the_view_until_it_is_clicked(page):
    page.wait_for("document.querySelector('#robot canvas') !== null")
    turned = "(() => { const e = new WheelEvent('wheel', {deltaY: 100, bubbles: true, cancelable: true});"
    turned += "document.querySelector('#robot canvas').dispatchEvent(e); return e.defaultPrevented; })()"
    assert page.evaluate(turned) is False
    page.evaluate("document.querySelector('#robot').dispatchEvent(new PointerEvent('pointerdown'))")
    assert page.evaluate("document.activeElement.id") == "robot"
    assert page.evaluate(turned) is True


def test_divisions_and_convergence_are_drawn(page):
    page.wait_for("['division-objective', 'division-com', 'course-0'].every((id) => "
                  "document.getElementById(id).querySelector('.main-svg .trace path'))")  # fmt: skip
    shown = (
        "[...document.querySelectorAll('details[open] svg.cells polygon.mass')].map((p) => p.getBoundingClientRect())"
    )
    sizes = page.evaluate(f"{shown}.map((r) => [r.width, r.height])")
    assert len(sizes) == 2 * (1 + 2 + 2)  # two views of three steps
    assert all(width > 20 and height > 10 for width, height in sizes)
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert silent(page)


@pytest.mark.parametrize("chromium", [("--disable-3d-apis",)], indirect=True)
def test_without_webgl_two_stills_replace_the_view(page):
    page.wait_for("document.getElementById('robot').hidden")
    boxes = page.evaluate("[...document.querySelectorAll('.stills svg')].map((s) => s.getBoundingClientRect().width)")
    assert len(boxes) == 2
    assert min(boxes) > 100
    assert silent(page)
