"""What tests may import, and which of them ``make test-fast`` leaves out: those that are marked, and no others."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = ("steelyard", "bench", "papers", "examples", "docs")
IMPORT = re.compile(r"^\s*(?:from|import) (tests\b[\w.]*)", re.MULTILINE)
TIERS = {"slow", "study"}
WITHOUT_FAST_TESTS = {"real", "browser"}  # they need measured data, or Chromium
MODULES = sorted((ROOT / "tests").rglob("test_*.py"))


def imports_of_tests(path: Path) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {name}" for name in IMPORT.findall(path.read_text(encoding="utf-8"))]


def tiers(nodes: list[ast.expr]) -> set[str]:
    """Tiers among ``pytest.mark.NAME`` expressions."""
    return {n.attr for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute)} & TIERS


def tiers_of_module(tree: ast.Module) -> set[str]:
    """Those that ``pytestmark`` gives to all tests of a module."""
    values = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "pytestmark"]
    return tiers(values)


def fast_tests(tree: ast.Module) -> list[str]:
    """Tests that ``make test-fast`` runs."""
    if tiers_of_module(tree):
        return []
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    return [n.name for n in functions if not tiers(n.decorator_list)]


def test_nothing_outside_tests_imports_tests():
    files = [path for room in OUTSIDE for kind in ("py", "md") for path in (ROOT / room).rglob(f"*.{kind}")]
    assert len(files) > 300
    assert not [line for path in [ROOT / "README.md", *files] for line in imports_of_tests(path)]


def test_no_test_module_imports_another():
    lines = [line for path in (ROOT / "tests").rglob("*.py") for line in imports_of_tests(path)]
    assert not [line for line in lines if re.search(r"\.test_\w+$", line)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_a_module_without_fast_tests_is_marked_at_its_top_and_none_is_left_out_silently(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert bool(fast_tests(tree)) != bool(tiers_of_module(tree))
    keywords = [n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword)]
    assert "allow_module_level" not in keywords


def test_no_module_is_ignored_by_pytest():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert not {"norecursedirs", "python_files", "python_functions"} & settings.keys()
    assert not re.search(r"--(ignore|deselect)|-[mk] ", settings["addopts"])
    assert not [p for p in (ROOT / "tests").rglob("conftest.py") if "collect_ignore" in p.read_text(encoding="utf-8")]


def test_the_fast_tier_is_all_but_the_declared_tiers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert {marker.split(":")[0] for marker in settings["markers"]} >= TIERS
    (chosen,) = re.findall(r'^test-fast:.*\n\t.* -m "(.*)"$', (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"not (\w+)", chosen)) == TIERS


def test_every_folder_of_tests_has_fast_ones():
    folders = {path.parent for path in MODULES}
    fast = {path.parent for path in MODULES if fast_tests(ast.parse(path.read_text(encoding="utf-8")))}
    assert {folder.name for folder in folders - fast} == WITHOUT_FAST_TESTS
