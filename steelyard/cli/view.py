"""``steelyard view``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `identify` or `load` wrote.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen; the next free one if taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Look at a finished identification in three dimensions and move its joints; served to this machine alone."""
    import webbrowser
    from contextlib import redirect_stdout

    from steelyard.output.viewer import LOOPBACK, serve

    with redirect_stdout(sys.stderr):  # viser greets
        server = serve(folder, port)
    url = f"http://{LOOPBACK}:{server.get_port()}"
    print(f"{url} (Ctrl+C ends it)", flush=True)
    if browser:
        webbrowser.open(url)
    try:
        server.sleep_forever()
    except KeyboardInterrupt:
        with redirect_stdout(sys.stderr):
            server.stop()
