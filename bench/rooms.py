"""The rooms of ``steelyard/`` and which imports which, drawn from the import graph: ``docs/images/rooms.svg``.

A staircase: every room is a step, in the order of the import-linter contract. A disc to the right of a step, straight
above a lower one: the room of the step imports the lower room, and at least so many of its modules do. Left of the
stairs would be an import in the wrong direction, drawn in red.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"

STEP, TOP, LEFT, RIGHT, BOTTOM = 34, 92, 372, 30, 20  # pixels
CLASSES = (20, 10, 5, 2, 1)  # how many modules at least: coarse, so that not every new import is a new picture
INK, GREY, RULE, BLUE, RED = "#1f2937", "#6b7280", "#cbd5e1", "#0b6e99", "#b91c1c"
LEGEND = (
    "From a room go right to a disc, then straight down to the room that it imports.",
    "The number: at least so many of its modules do ({a} imports {b} in {count}). Dark box: folder; white box: module.",
    "Left of the stairs a disc would be an import in the wrong direction: it is red, and lint-imports refuses it.",
)


@dataclass(frozen=True)
class Room:
    """A folder, or a single module, at the root of the package."""

    name: str
    purpose: str  # its docstring's first sentence, up to a colon
    is_folder: bool


def rooms(root: Path = ROOT) -> list[Room]:
    """All rooms, from the top of the contract of layers in ``pyproject.toml`` to its bottom."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    return [_room(root / "steelyard", name.strip()) for layer in layers for name in layer.split("|")]


def _room(package: Path, name: str) -> Room:
    folder = package / name
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    line = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0].replace("``", '"')
    ends = [at for end in (".", ":", "?", ";") if (at := line.find(end)) > 0]
    first = line[: min(ends)] if ends else line
    return Room(name, first + "?" * line.startswith(first + "?"), folder.is_dir())


def imports() -> Counter[tuple[str, str]]:
    """(room, room that it imports) → how many of its modules do, lazy and type-checking imports included."""
    import grimp

    graph = grimp.build_graph("steelyard", exclude_type_checking_imports=False, cache_dir=None)
    pairs = {
        (module, module.split(".")[1], imported.split(".")[1])
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if "." in module and "." in imported
    }
    return Counter((a, b) for _, a, b in pairs if a != b)


def picture() -> str:
    """The staircase as SVG text."""
    steps, counts = rooms(), imports()
    place = {room.name: k for k, room in enumerate(steps)}
    edges = [(place[a], place[b], n) for (a, b), n in sorted(counts.items()) if a in place and b in place]
    width, height = LEFT + STEP * len(steps) + RIGHT, TOP + STEP * len(steps) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12" role="img">',
        "<title>Rooms of Steelyard, and which imports which</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    count, a, b = max((_at_least(n), a, b) for (a, b), n in counts.items())
    for k, line in enumerate(LEGEND):
        text = escape(line.format(a=a, b=b, count=count))
        parts.append(f'<text x="16" y="{26 + 18 * k}" font-size="13" fill="{INK}">{text}</text>')
    for k in range(len(steps)):
        x, y = _centre(k, k)
        last = max((b for a, b, _ in edges if a == k), default=k)
        first = min((a for a, b, _ in edges if b == k), default=k)
        parts.append(f'<path d="M{x} {y}H{_centre(k, last)[0]}M{x} {y}V{_centre(first, k)[1]}" stroke="{RULE}"/>')
        parts.append(f'<path d="M{x} {y - 9}l-4 -6h8z" fill="{GREY}"/>' if first < k else "")
    parts += [_step(k, room) for k, room in enumerate(steps)]
    parts += [_disc(*edge) for edge in edges]
    return "\n".join([*filter(None, parts), "</svg>"]) + "\n"


def _at_least(count: int) -> int:
    return next(least for least in CLASSES if least <= count)


def _centre(row: int, column: int) -> tuple[int, int]:
    return LEFT + STEP * column + STEP // 2, TOP + STEP * row + STEP // 2


def _step(k: int, room: Room) -> str:
    x, y = _centre(k, k)
    fill = f'fill="{INK}"' if room.is_folder else f'fill="white" stroke="{INK}" stroke-width="1.5"'
    return (
        f'<rect x="{x - 8}" y="{y - 8}" width="16" height="16" rx="3" {fill}/>'
        f'<text x="{x - 16}" y="{y + 4}" text-anchor="end" fill="{GREY}" font-size="11">{escape(room.purpose)}'
        f'<tspan dx="8" fill="{INK}" font-size="14" font-weight="bold">{escape(room.name)}</tspan></text>'
    )


def _disc(row: int, column: int, count: int) -> str:
    x, y = _centre(row, column)
    least = _at_least(count)
    radius = 7 + least**0.5
    return (
        f'<circle cx="{x}" cy="{y}" r="{radius:.1f}" fill="{BLUE if column > row else RED}"/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="white" font-size="11">{least}</text>'
    )


def main() -> int:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
