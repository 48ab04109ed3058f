"""What the documentation names is there: modules, names in them, files, links; its picture of the rooms is today's."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from bench.rooms import PICTURE, ROOT, imports, picture, rooms
from bench.words import EVERYWHERE, places, table

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "papers").glob("**/*.md")])
FOLDERS = (ROOT, ROOT / "steelyard")  # `bench/points.py`; `identify/estimate.py`


def test_the_picture_of_the_rooms_is_drawn_from_the_imports_of_today():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "it has changed: python -m bench rooms"


def test_the_picture_has_every_room_and_counts_importing_modules():
    names = [room.name for room in rooms()]
    assert (names[0], names[-1]) == ("cli", "errors")
    found = imports()
    assert found["log", "errors"] > found["solve", "errors"] >= 1
    assert ("errors", "log") not in found
    text = picture()
    assert all(f">{name}</tspan>" in text for name in names)


@pytest.mark.study
def test_no_text_or_name_has_a_word_that_the_field_does_not_use():
    *where, total = table([ROOT / top for top in EVERYWHERE])
    assert not where
    assert total.split()[0] == "0"


def test_such_words_are_detected_in_comments_strings_names_and_pages_and_not_inside_other_words(tmp_path):
    (tmp_path / "module.py").write_text('FOUND = 1  # as told\nfounded = "industry"\n', encoding="utf-8")
    (tmp_path / "page.md").write_text("Bodies that could exist.\nIndustry standards.\n", encoding="utf-8")
    (tmp_path / "data.csv").write_text("told\n", encoding="utf-8")
    words = [(word, path.name, line) for word, path, line, _ in places([tmp_path])]
    assert words == [("told", "module.py", 1), ("name found", "module.py", 1), ("could exist", "page.md", 1)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_and_names_on_the_page_exist(page):
    text = page.read_text(encoding="utf-8")
    named = {(m, "") for m in re.findall(r"\bsteelyard(?:\.\w+)+", text)}
    for module, names in re.findall(r"^(?:>>> )?from (steelyard[\w.]*) import ([\w, ]+)", text, re.MULTILINE):
        named |= {(module, name.split(" as ")[0].strip()) for name in names.split(",")}
    missing = sorted(f"{module}.{name}" for module, name in named if not _is_defined(module, name))
    assert not missing


def test_the_way_of_one_log_is_that_of_the_code():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    names = re.findall(rf"`((?:{'|'.join(room.name for room in rooms())})(?:\.\w+)+)`", text)
    assert len(names) >= 10
    assert not [name for name in names if not _is_defined(f"steelyard.{name}", "")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_links_on_the_page_exist(page):
    text = page.read_text(encoding="utf-8")
    sources = re.findall(r"`((?:[\w.]+/)+\w+\.(?:py|urdf))`", text) + re.findall(r"`(\w+\.py)`", text)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    missing = [s for s in sources if not any((folder / s).exists() for folder in (*FOLDERS, page.parent))]
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing


MODULES = sorted([*(ROOT / "steelyard").rglob("*.py"), *(ROOT / "bench").glob("*.py")])


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_docstrings_name_exist(module):
    """Beside the module, in its room, in the package or in the repository."""
    text = module.read_text(encoding="utf-8")
    named = re.findall(r"``((?:[\w.]+/)*\w+\.py)``", text)
    near = [folder for folder in module.parents if ROOT in (folder, *folder.parents)]
    assert not [name for name in named if name != "NAME.py" and not any((folder / name).exists() for folder in near)]


def _is_defined(module: str, name: str) -> bool:
    """Whether ``steelyard.a.b.name`` is a module, or a name at the top of one (or an attribute of such a name)."""
    parts = [*module.split("."), *([name] if name else [])]
    for k in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:k])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.exists():
            return k == len(parts) or parts[k] in _names(file)
    return False


@cache
def _names(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.ImportFrom():
                found |= {alias.asname or alias.name for alias in node.names}
            case ast.Constant(value=str()) if file.name == "__init__.py":  # names that are imported when first used
                found.add(node.value)
    return found


def test_codes_of_findings_in_tables_of_the_pages_exist():
    """Cells of a column "code": words in kebab case."""
    codes = set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', "\n".join(p.read_text("utf-8") for p in MODULES)))
    named = dict[str, str]()
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").split("\n")
        at = None
        for line in lines:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
            heads = [k for k, cell in enumerate(cells) if cell in ("code", "code or symptom")]
            at = heads[0] if heads else at if cells else None
            if at is not None and cells:
                named |= dict.fromkeys(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", cells[at]), page.name)
    assert len(named) > 40
    assert {code: page for code, page in named.items() if code not in codes} == {}


@pytest.mark.slow
def test_the_python_of_the_readme_runs(arm, tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for name, log in (("my_log", arm.train), ("other_log", arm.test)):
        (tmp_path / f"{name}.parquet").write_bytes(log.read_bytes())
    exec(compile(code.replace("my_robot.urdf", "demo_arm"), "README.md", "exec"), {})
    assert "base parameters" in capsys.readouterr().out
