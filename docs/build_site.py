"""Pages that `mkdocs build` adds to those of docs/: from elsewhere in the repository, and references from the program.

Pages link to each other by their paths in the repository, so that they can be read there. Each such link is resolved
in the repository and rewritten to the place of that file on the site (``PLACES``).
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAPERS = sorted(path.parent.name for path in ROOT.glob("papers/*/README.md"))
PLACES = {  # path in the repository → path on the site; what is in docs/ is at the root of the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
    **{f"papers/{name}/README.md": f"papers/{name}.md" for name in PAPERS},
    **{
        str(p.relative_to(ROOT)): str(p.relative_to(ROOT))
        for kind in ("svg", "json")
        for p in ROOT.glob(f"papers/*/*.{kind}")
    },
    **{f"examples/{path.name}": f"examples/{path.stem}.md" for path in ROOT.glob("examples/*.py")},
}
SOURCES = {place: path for path, place in PLACES.items()}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^( {0,3})(```|~~~)")
TERMINAL = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "TERM": "dumb"}  # of the printed help
ROOMS = {  # room → heading of its names in the reference of the Python API
    "api": "Identification",
    "identify": "Identification",
    "equations": "Identification",
    "output": "Results",
    "check": "Checks",
    "log": "Logs",
    "robot": "Robots",
    "information": "Information",
    "online": "Online identification",
    "errors": "Errors",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages and pictures from outside of docs/, and generated pages."""
    for path, place in PLACES.items():
        source = ROOT / path
        if path.startswith("examples/"):
            text = f"# {source.name}\n\n```python\n{source.read_text('utf-8')}```\n"
            files.append(File.generated(config, place, content=text))
        else:
            files.append(File.generated(config, place, content=source.read_bytes()))
    for place, text in (
        ("reference/cli.md", command_line()),
        ("reference/api.md", python_api()),
        ("reference/json.md", json_files()),
    ):
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links from paths in the repository to paths on the site."""
    uri = page.file.src_uri
    source = SOURCES.get(uri, f"docs/{uri}")
    return "\n".join(
        line if is_code else LINK.sub(lambda match: _on_site(match, source, uri), line)
        for line, is_code in _lines(markdown)
    )


def _on_site(match: re.Match[str], source: str, uri: str) -> str:
    link, _, anchor = match[2].partition("#")
    if not link or "://" in link:
        return match[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    if not (ROOT / path).exists() and path not in SOURCES and not path.startswith("docs/reference/"):
        raise PluginError(f"{source} links to {path}, which is not in the repository")
    place = PLACES.get(path) or path.removeprefix("docs/")
    target = posixpath.relpath(place, posixpath.dirname(uri) or ".")
    return match[1] + target + (f"#{anchor}" if anchor else "") + match[3]


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a block of code."""
    fence = ""
    for line in markdown.split("\n"):
        opened = FENCE.match(line)
        yield line, bool(fence or opened)
        if opened:
            fence = "" if fence else opened[2]


def command_line() -> str:
    """Every command's help, as the program prints it."""
    import typer
    from typer.testing import CliRunner

    from steelyard.cli.main import make_app

    app = make_app()
    program: Any = typer.main.get_command(app)
    lines = ["# Command line", "", "What `steelyard COMMAND --help` prints.", ""]
    for name, command in program.commands.items():
        verbs = [[name], *([name, verb] for verb in getattr(command, "commands", ()))]
        for verb in verbs:
            shown = CliRunner().invoke(app, [*verb, "--help"], env=TERMINAL)
            if shown.exit_code:
                raise PluginError(f"steelyard {' '.join(verb)} --help ends with {shown.exit_code}")
            text = "\n".join(line.rstrip() for line in shown.output.strip("\n").split("\n"))
            text = text.replace("Usage: root ", "Usage: steelyard ")
            lines += [f"{'#' * (1 + len(verb))} {' '.join(verb)}", "", "```text", text, "```", ""]
    return "\n".join(lines)


def python_api() -> str:
    """Every public name of ``steelyard``, grouped by the room that defines it."""
    import steelyard

    names = defaultdict(list)
    for name in steelyard.__all__:
        module = getattr(getattr(steelyard, name), "__module__", None)
        if module is None:
            continue
        room = module.split(".")[1]
        names["Methods" if ".methods." in module else ROOMS.get(room, room.capitalize())].append((name, module))
    order = dict.fromkeys(["Identification", "Methods", *ROOMS.values(), *names])
    start, code = steelyard.__doc__.strip().split("\n\n")[-2:]
    lines = ["# Python API", "", "The public names of `steelyard`. How to use them: [Python](../python.md).", ""]
    lines += [start, "", "```pycon", code, "```", ""]
    for heading in order:
        if heading in names:
            lines += [f"## {heading}", ""]
            functions_first = sorted(names[heading], key=lambda entry: entry[0][0].isupper())
            lines += [line for name, module in functions_first for line in (f"::: {module}.{name}", "")]
    return "\n".join(lines)


def json_files() -> str:
    """The contracts of docs/design.md about files, as a page of their own."""
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    contracts = text.split("\n## Contracts\n", 1)[1].split("\n## ", 1)[0]
    return "# JSON files, rows and exit codes\n" + contracts.replace("](", "](../")
