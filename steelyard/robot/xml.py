"""Untrusted XML: bytes → a tree of plain nodes, or a refusal that names file, line and fix.

Expat does the parsing. A document type declaration is refused, so no entity, internal or external, is ever expanded;
size, depth and number of elements are bounded. Each node keeps its position in the source, so that a writer can change
one element and leave every other byte as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from steelyard.errors import DescriptionError, Finding

MAX_BYTES = 32 * 2**20
MAX_DEPTH = 256
MAX_ELEMENTS = 500_000

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """Position of an element in the UTF-8 source, in bytes."""

    start: int  # of "<"
    opened: int  # just after the ">" of the opening tag
    end: int  # just after the whole element


@dataclass(frozen=True)
class Node:
    """One element. Text between elements is not kept: no robot description needs it."""

    tag: str
    attributes: Mapping[str, str]
    line: int  # 1-based
    children: tuple[Node, ...]
    span: Span

    def all(self, tag: str) -> Iterator[Node]:
        """Direct children with this tag, in order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Node | None:
        """The first direct child with this tag."""
        return next(self.all(tag), None)

    def walk(self) -> Iterator[Node]:
        """This node and all its descendants, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Findings:
    """Collects the faults of one file, so that it is refused once with every reason."""

    file: str
    collected: list[Finding] = field(default_factory=list)

    def add(
        self, code: str, node: Node | None, element: str, what: str, fix: str, remedy: Mapping[str, Any] | None = None
    ) -> None:
        """Add the fault of an element such as ``link 'shoulder'``."""
        self.collected.append(Finding(code, self.where(node, element), what, fix, remedy or {}))

    def where(self, node: Node | None, element: str) -> str:
        """File, line and element."""
        line = f":{node.line}" if node else ""
        return f"{self.file}{line} {element}".rstrip()

    def numbers(
        self,
        node: Node,
        attribute: str,
        count: int,
        element: str,
        default: str | None = None,
        infinite: bool = False,
    ) -> np.ndarray | None:
        """Parse ``count`` finite numbers of an attribute; None after adding the reason why it has none."""
        where = attribute_of(node, attribute, element)
        text = node.attributes.get(attribute, default)
        if text is None:
            self.add("attribute-missing", node, where, "is missing", f"Give {_of(count)}")
            return None
        words = text.split()
        if bad := [w for w in words if not _NUMBER.fullmatch(w) and not _NOT_FINITE.fullmatch(w)]:
            what = f"is '{text}': '{bad[0]}' is not a number"
            self.add("number-malformed", node, where, what, f"Write {_of(count)} like 0.25")
            return None
        if len(words) != count:
            self.add("number-count", node, where, f"is '{text}': {_of(len(words))}", f"Give {_of(count)}")
            return None
        values = np.array([float(w) for w in words])
        if np.isnan(values).any() or (np.isinf(values).any() and not infinite):
            self.add("number-not-finite", node, where, f"is '{text}'", f"Give {_of(count)}, finite")
            return None
        return values

    def raise_if_any(self) -> None:
        """Refuse the file with all its faults."""
        if self.collected:
            raise DescriptionError(self.collected)


def read_xml(path: Path) -> tuple[str, Node]:
    """Return the source text and the element tree of an XML file."""
    return parse_xml(read_bytes(path), path.name)


def read_bytes(path: Path) -> bytes:
    """Return all bytes of an XML file of at most ``MAX_BYTES``."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            _refuse_size(path.name, size)
        return path.read_bytes()
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        _refuse("file-unreadable", path.name, None, what, "Give a file that exists and can be read", error)


def parse_xml(data: bytes, name: str) -> tuple[str, Node]:
    """Return the source text and the element tree of XML given as bytes; ``name`` is for messages."""
    if len(data) > MAX_BYTES:
        _refuse_size(name, len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{data[error.start]:02x} is not UTF-8"
        _refuse("file-not-utf8", name, line, what, "Save the file as UTF-8", error)
    builder = _Builder(name, text.encode())
    return text, builder.root()


_TOO_LARGE = "Keep meshes and other data in files of their own"


class _Builder:
    """Expat's callbacks; the children of an element are collected in a list until it ends."""

    def __init__(self, name: str, data: bytes):
        self.name, self.data = name, data
        self.open: list[tuple[str, dict[str, str], int, int, list[Node]]] = []
        self.top: list[Node] = []
        self.elements = 0
        # The encoding is fixed: the XML declaration cannot change how bytes are decoded.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end

    def root(self) -> Node:
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            what = f"is not well-formed XML: {expat.ErrorString(error.code)}"
            _refuse("xml-malformed", self.name, error.lineno, what, "Correct the XML at this line", error)
        return self.top[0]

    def _doctype(self, *_: object) -> None:
        what, fix = "has a document type declaration (DTD)", "Remove <!DOCTYPE …> and its entities"
        _refuse("xml-doctype", self.name, self.parser.CurrentLineNumber, what, fix)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            _refuse("file-too-large", self.name, line, f"has more than {MAX_ELEMENTS} elements", _TOO_LARGE)
        if len(self.open) >= MAX_DEPTH:
            _refuse("xml-too-deep", self.name, line, f"is nested deeper than {MAX_DEPTH}", "Flatten the elements")
        self.open.append((tag, attributes, line, self.parser.CurrentByteIndex, []))

    def _end(self, _: str) -> None:
        tag, attributes, line, start, children = self.open.pop()
        opened = _tag_end(self.data, start)
        # For <a/> expat reports the end just after the tag, else the start of "</a>".
        empty = self.data[opened - 2 : opened] == b"/>"
        end = opened if empty else self.data.index(b">", self.parser.CurrentByteIndex) + 1
        node = Node(tag, attributes, line, tuple(children), Span(start, opened, end))
        (self.open[-1][4] if self.open else self.top).append(node)


_TAG = re.compile(rb"""<(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")


def _tag_end(data: bytes, start: int) -> int:
    match = _TAG.match(data, start)
    assert match is not None  # expat has accepted this tag
    return match.end()


def attribute_of(node: Node, attribute: str, element: str) -> str:
    """An attribute as findings name it: ``link 'shoulder' <mass value>``."""
    name = f"<{node.tag} {attribute}>"
    return name if element in ("", f"<{node.tag}>") else f"{element} {name}"


def _of(count: int) -> str:
    return "one number" if count == 1 else f"{count or 'no'} numbers"


def _refuse_size(name: str, size: int) -> NoReturn:
    what = f"is {size / 2**20:.0f} MB, more than {MAX_BYTES >> 20}"
    _refuse("file-too-large", name, None, what, _TOO_LARGE)


def _refuse(code: str, name: str, line: int | None, what: str, fix: str, cause: Exception | None = None) -> NoReturn:
    raise DescriptionError(Finding(code, name if line is None else f"{name}:{line}", what, fix)) from cause
