"""A headless Chromium driven over the DevTools pipe: null-separated JSON, standard library only."""

import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

BINARY = "/usr/bin/chromium"
PATIENCE = 600  # s: a browser that is silent for so long hangs, however busy the machine
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-unsafe-swiftshader",  # WebGL where there is no graphics card
    "--remote-debugging-pipe",
)


class Chromium:
    """One page; ``events`` holds all that the browser reported about it."""

    def __init__(self, width=1200, height=1000, flags=()):
        self.events = []
        self._count = 0
        self._buffer = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        its_in, self._out = os.pipe()
        self._in, its_out = os.pipe()
        arguments = [*FLAGS, *flags, f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}"]
        # The protocol wants descriptors 3 and 4; the shell moves ours there.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{its_in} 4>&{its_out}', "bash", BINARY, *arguments, "about:blank"],
            pass_fds=(its_in, its_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_in)
        os.close(its_out)
        self._session = None
        target = self._call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in target if t["type"] == "page")
        self._session = None
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self._call("Browser.close", timeout=10)
            self._process.wait(timeout=20)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def send(self, method, **params):
        return self._call(method, session=self._session, **params)

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression, timeout=PATIENCE):
        end = time.monotonic() + timeout
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def seen(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]

    def _call(self, method, session=None, timeout=PATIENCE, **params):
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while True:
            answer = self._read(end)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _read(self, end):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium did not answer")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise OSError("Chromium has gone")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


@pytest.fixture
def chromium(request):
    """A browser; parametrized, with further flags."""
    if not Path(BINARY).exists():
        pytest.skip(f"{BINARY} is not installed; on Debian: apt-get install chromium")
    with Chromium(flags=getattr(request, "param", ())) as browser:
        yield browser
