"""XML text: numbers that are read back exactly, comments, edits of a source in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from steelyard.errors import DescriptionError, unknown_name
from steelyard.robot.description import Description
from steelyard.robot.xml import Node

Inertial = tuple[float, np.ndarray, np.ndarray]  # mass, CoM (3,), inertia (3, 3) about the CoM
Inertials = Mapping[str, Inertial]  # by link
Edit = tuple[int, int, str]  # start and end in bytes, and the replacement

_ATTRIBUTE = re.compile(rb"""([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")


def check_links(description: Description, inertials: Inertials) -> None:
    """Refuse values for links that the description does not have."""
    if unknown := [name for name in inertials if name not in description.links]:
        fix = f"Name some of: {', '.join(description.links)}"
        where = description.path.name
        raise DescriptionError([unknown_name(where, f"has no link {n}", n, description.links, fix) for n in unknown])


def xml_comment(text: str) -> str:
    """An XML comment of any text; two hyphens would end it, and control characters are not XML."""
    clean = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", text)
    clean = re.sub(r"-(?=-)", "- ", clean)
    return f"<!-- {clean} -->"


def numbers(values: ArrayLike) -> str:
    """Shortest decimals that are read back as the same doubles."""
    return " ".join(repr(float(v) + 0.0) for v in np.ravel(values))


def symmetric(inertia: np.ndarray) -> np.ndarray:
    """The symmetric part of a matrix."""
    return np.asarray((inertia + np.transpose(inertia)) / 2)


def apply_edits(source: bytes, edits: Iterable[Edit]) -> str:
    """The source with all edits applied."""
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text.encode() + source[end:]
    return source.decode()


def replace_node(source: bytes, node: Node, lines: Sequence[str]) -> Edit:
    """Replace an element by lines, with its indentation."""
    return node.span.start, node.span.end, f"\n{_margin(source, node)}".join(lines)


def insert_child(source: bytes, node: Node, lines: Sequence[str]) -> Edit:
    """Insert lines as the first child of an element, which may be empty."""
    margin, opened = _margin(source, node), node.span.opened
    inside = "".join(f"\n{margin}  {line}" for line in lines)
    if node.span.end == opened:  # <link name="x"/>
        return source.rindex(b"/", 0, opened), opened, f">{inside}\n{margin}</{node.tag}>"
    return opened, opened, inside


def set_attribute(source: bytes, node: Node, name: str, value: str | None) -> Edit:
    """Change an attribute of an opening tag, or remove it."""
    for match in _ATTRIBUTE.finditer(source, node.span.start, node.span.opened):
        if match[1].decode() == name:
            if value is None:
                return match.start(), match.end(), ""
            return match.start(2), match.end(2), quoteattr(value)
    raise AssertionError(f"<{node.tag}> has no attribute {name}")


def _margin(source: bytes, node: Node) -> str:
    """Indentation of an element's line."""
    margin = source[source.rfind(b"\n", 0, node.span.start) + 1 : node.span.start].decode()
    return "" if margin.strip() else margin
