"""The site in a real browser: pages come from their own server alone, are silent on the console, and fit the window."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import steelyard
from steelyard.cli.main import VERBS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "index.html",
    "how-to-quadruped.html",
    "method.html",
    "check.html",
    "python.html",
    "reference/cli.html",
    "reference/api.html",
    "papers/ayusawa.html",
    "glossary.html",
    "contributing.html",
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a strict build: a warning of MkDocs is an error."""
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def resize(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.send("Emulation.setDeviceMetricsOverride", **size)
    page.wait_for(f"innerWidth === {width}")


def test_ten_pages_request_nothing_but_their_own_server_and_are_silent(chromium, address):
    for name in PAGES:
        chromium.open(address + name)
        chromium.wait_for("document.querySelector('article h1') !== null")
    assert chromium.seen("Runtime.exceptionThrown") == []
    assert chromium.seen("Runtime.consoleAPICalled") == []
    assert chromium.seen("Log.entryAdded") == []
    urls = [event["request"]["url"] for event in chromium.seen("Network.requestWillBeSent")]
    assert len(urls) >= len(PAGES)
    assert [url for url in urls if not url.startswith((address, "data:", "blob:" + address))] == []
    failed = [e for e in chromium.seen("Network.loadingFailed") if not e.get("canceled")]
    assert failed == []


def test_no_page_is_wider_than_a_desktop_or_a_phone(chromium, address):
    for name in PAGES:
        chromium.open(address + name)
        for width in (1200, 400):
            resize(chromium, width)
            chromium.wait_for(f"document.documentElement.scrollWidth <= {width}", timeout=30)


def test_search_finds_a_term_of_the_glossary_without_the_network(chromium, address):
    chromium.open(address + "index.html")
    resize(chromium, 1200)
    chromium.evaluate("document.querySelector('input.md-search__input').focus()")
    chromium.send("Input.insertText", text="pseudo-inertia")
    listed = "[...document.querySelectorAll('.md-search-result__link')].some((a) => a.href.includes('glossary.html'))"
    chromium.wait_for(listed, timeout=60)


def test_the_references_have_every_command_and_every_public_name(site):
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f'<h2 id="{verb}">' not in commands] == []
    names = (site / "reference" / "api.html").read_text(encoding="utf-8")
    public = [name for name in steelyard.__all__ if not name.startswith("_")]
    assert [name for name in public if f'.{name}" class="doc doc-heading"' not in names] == []
