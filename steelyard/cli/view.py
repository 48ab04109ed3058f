"""``steelyard view``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results of `identify` or `load`.")],
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port to listen on; the next free one if it is taken.")
    ] = 8080,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
) -> None:
    """View results in three dimensions, and move the joints.

    The page is served to this machine only.
    """
    import webbrowser
    from contextlib import redirect_stdout

    from steelyard.output.viewer import LOOPBACK, serve

    with redirect_stdout(sys.stderr):  # viser prints a banner
        server = serve(folder, port)
    url = f"http://{LOOPBACK}:{server.get_port()}"
    print(f"{url} (Ctrl+C stops it)", flush=True)
    if browser:
        webbrowser.open(url)
    try:
        server.sleep_forever()
    except KeyboardInterrupt:
        with redirect_stdout(sys.stderr):
            server.stop()
