"""How large the house is and how tidy: counts of what makes code hard to carry on, of any checkout.

python -m bench house [--tree FOLDER]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FEW = 8  # arguments
BAGS = ("Options", "EquationOptions", "Filter")  # what ``Options`` consists of, and the bag of the first version
ESTIMATE = ("steelyard.identify.estimate", "steelyard.estimate")  # now, and in the first version


def house(tree: Path = ROOT) -> dict[str, Any]:
    """Counts of the package in a checkout."""
    package = tree / "steelyard"
    sources = {path: ast.parse(path.read_text("utf-8")) for path in sorted(package.rglob("*.py"))}
    classes = defaultdict(list)
    for path, source in sources.items():
        for node in ast.walk(source):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(str(path.relative_to(tree)))
    files = defaultdict(list)
    for path in sources:
        if not path.name.startswith("__"):
            files[path.name].append(str(path.relative_to(tree)))
    wide = [
        f"{path.relative_to(tree)}:{f.lineno} {f.name}"
        for path, source in sources.items()
        for f in ast.walk(source)
        if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) and _arguments(f) > FEW
    ]
    return {
        "modules": len(sources),
        "modules at the root": sum(not path.name.startswith("__") for path in package.glob("*.py")),
        "statements": sum(isinstance(node, ast.stmt) for source in sources.values() for node in ast.walk(source)),
        "fields of options": _fields(sources),
        "places that construct Rows": sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Rows"
            for source in sources.values()
            for node in ast.walk(source)
        ),
        "functions of more than 8 arguments": len(wide),
        "fmt: skip": sum(len(re.findall(r"# fmt: skip", path.read_text("utf-8"))) for path in sources),
        "class names used twice": sum(len(places) > 1 for places in classes.values()),
        "file names used twice": sum(len(places) > 1 for places in files.values()),
        "modules that the estimate imports": _closure(tree),
        "where": {"wide": wide, "twice": {name: at for name, at in (classes | files).items() if len(at) > 1}},
    }


def _arguments(f: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = f.args
    return len([*a.posonlyargs, *a.args, *a.kwonlyargs]) - sum(x.arg in ("self", "cls") for x in a.args[:1])


def _fields(sources: dict[Path, ast.Module]) -> int:
    """Of ``Options`` and all that it contains."""
    classes = {
        node.name: node for source in sources.values() for node in ast.walk(source) if isinstance(node, ast.ClassDef)
    }
    return sum(
        isinstance(x, ast.AnnAssign) and "ClassVar" not in ast.unparse(x.annotation)
        for name in BAGS
        if name in classes
        for x in classes[name].body
    )


def _closure(tree: Path) -> int:
    """Modules of the package that importing the estimate pulls in."""
    name = next(n for n in ESTIMATE if (tree / (n.replace(".", "/") + ".py")).exists())
    code = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)];"  # of another checkout
        f"import {name}; print(sum(m.split('.')[0] == 'steelyard' for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=True)
    return int(done.stdout)


def table(counts: dict[str, Any]) -> Iterator[str]:
    """A line a count."""
    for name, value in counts.items():
        if name != "where":
            yield f"{value:7d}  {name}"
