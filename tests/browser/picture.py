"""A picture of a section of a report, for the documentation.

python -m tests.browser.picture FILE.html OUT.png [--section scene] [--dark] [--width 1148] [--height 1800]
"""

import argparse
import base64
from pathlib import Path

from tests.browser.conftest import Chromium

DRAWN = (
    "[...document.querySelectorAll('.plot')].filter((d) => d.offsetParent).every((d) => d.querySelector('svg, canvas'))"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.picture", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--section", help="its id; default the whole page")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1148)
    parser.add_argument("--height", type=int, help="no more than so many pixels from its top")
    options = parser.parse_args()
    with Chromium(options.width) as page:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if options.dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.open(options.file.resolve().as_uri())
        height = page.evaluate("document.documentElement.scrollHeight")
        size = {"width": options.width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.send("Emulation.setDeviceMetricsOverride", **size)
        page.wait_for(DRAWN)
        page.evaluate("new Promise((done) => setTimeout(done, 2000))")  # until the view in space has settled
        where = f"document.getElementById('{options.section}')" if options.section else "document.documentElement"
        x, y, w, h = page.evaluate(
            f"(({{x, y, width, height}}) => [x, y, width, height])({where}.getBoundingClientRect())"
        )
        h = min(h, options.height or h)
        clip = {"x": max(0, x - 16), "y": y + 24, "width": w + 32, "height": h, "scale": 1}
        shot = page.send("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        options.out.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
