"""The page about many logs: its snippet runs."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"


def test_the_snippet_prints_its_documented_output(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "[1, 4, 9]\n14\n[(0, 1), (1, 4), (2, 9)]\n"
