"""What tests may rely on: nothing outside ``tests/`` imports them, and no test module imports another one."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = ("steelyard", "bench", "papers", "examples", "docs")
IMPORT = re.compile(r"^\s*(?:from|import) (tests\b[\w.]*)", re.MULTILINE)


def imports_of_tests(path: Path) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {name}" for name in IMPORT.findall(path.read_text(encoding="utf-8"))]


def test_nothing_outside_tests_imports_tests():
    files = [path for room in OUTSIDE for kind in ("py", "md") for path in (ROOT / room).rglob(f"*.{kind}")]
    assert len(files) > 300
    assert not [line for path in [ROOT / "README.md", *files] for line in imports_of_tests(path)]


def test_no_test_module_imports_another():
    lines = [line for path in (ROOT / "tests").rglob("*.py") for line in imports_of_tests(path)]
    assert not [line for line in lines if re.search(r"\.test_\w+$", line)]
