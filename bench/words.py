"""Words that the field does not use for what we mean: where they stand, and the field's word for each.

python -m bench words [--in FOLDER OR FILE …]     every place, then counts
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVERYWHERE = ("steelyard", "docs", "papers", "bench", "examples", "README.md", "CONTRIBUTING.md")

# Pattern in running text (docstrings, comments, messages, pages) → what the field says.
PROSE = {
    r"\b(?:un)?told\b|\btells?\b|\btelling\b": "measured, excited, informative; shows, reports",
    r"\bsaid\b|\bsays?\b|\bsaying\b": "reported, returned, stated",
    r"\bweighed (?:rows?|equations?|residuals?|by)\b|\brows? (?:are|is) weighed\b": "weighted",
    r"\bremembers?\b|\bremembered\b": "autocorrelation; kept",
    r"\bdust\b": "negligible directions",
    r"\bmeat\b": "score covariance",
    r"\bweighed before\b": "identified before",
    r"\bcan(?:not)? exist\b|\bcould (?:not )?exist\b": "physically consistent",
    r"\bbroken off\b|\bgoes on\b|\bgo on\b": "interrupted, resumes",
    r"\brows of a kind\b": "equations of motion, regressor rows",
    r"\bclear of itself\b": "free of self-collision",
    r"\bwho says so\b": "source",
    r"\bthe prior's share\b": "taken from the description",
    r"\bis no (?:number|weight|height|time|mass|length|share|rate)\b": "must be > 0 (got …)",
    r"\bhow well it predicts\b": "validation error",
    r"\bhow long noise\b": "residual autocorrelation",
    r"\bwhat it carries\b": "payload, load",
}
ANY = re.compile("|".join(PROSE), re.IGNORECASE)  # one pass over a line
# Parts of names in code → what to name instead.
NAMES = {
    **dict.fromkeys(("told", "tell", "tells", "telling", "said", "says", "say"), "measured, excites, reported"),
    **dict.fromkeys(("weighed", "remembered", "remembers", "dust", "meat"), "weighted, kept, negligible, score"),
    **dict.fromkeys(("here", "there", "made", "sent", "found"), "what it is"),
}


def places(paths: list[Path]) -> Iterator[tuple[str, Path, int, str]]:
    """Each word, with file, line number and line."""
    for path in sorted(p for top in paths for p in ([top] if top.is_file() else top.rglob("*"))):
        if path == Path(__file__).resolve():  # the list itself
            continue
        if path.suffix in (".md", ".html"):
            yield from _prose(path, enumerate(path.read_text("utf-8").split("\n"), 1))
        elif path.suffix == ".py":
            source = path.read_text("utf-8")
            yield from _prose(path, _texts(source))
            yield from _names(path, source)


def _prose(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, Path, int, str]]:
    for number, line in lines:
        for match in ANY.finditer(line):
            yield match.group().lower(), path, number, line.strip()


def _texts(source: str) -> Iterator[tuple[int, str]]:
    """Lines of strings and comments."""
    kinds = tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            for offset, line in enumerate(token.string.split("\n")):
                yield token.start[0] + offset, line


def _names(path: Path, source: str) -> Iterator[tuple[str, Path, int, str]]:
    """Names that are given: of functions, classes, arguments, variables, fields."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        name = None
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
        parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name or "")}
        if part := parts & set(NAMES):
            yield f"name {min(part)}", path, node.lineno, lines[node.lineno - 1].strip()


def table(tops: list[Path]) -> Iterator[str]:
    """A line a place, then a line a word."""
    counts: Counter[str] = Counter()
    files: dict[str, set[Path]] = defaultdict(set)
    for word, path, number, line in places([top for top in tops if top.exists()]):
        counts[word] += 1
        files[word].add(path)
        yield f"{path.relative_to(ROOT)}:{number}: {word}: {line}"
    for word, count in counts.most_common():
        yield f"{count:5d}  {word} ({len(files[word])} files)"
    yield f"{sum(counts.values()):5d}  in all"
