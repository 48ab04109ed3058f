"""The page: sections, one template, plotly.js inlined once; a single file without external requests.

Names come from untrusted files. Jinja2 escapes them in HTML, its ``tojson`` in the data of the plots, and a content
security policy allows no script but the page's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import Finding, SteelyardError
from steelyard.identify.estimate_json import SCHEMA
from steelyard.identify.series import Series
from steelyard.output.report.package_missing import package_missing
from steelyard.output.report.section import Report
from steelyard.output.report.sections import make_sections
from steelyard.output.report.words import figure, percent

if TYPE_CHECKING:
    import jinja2

FOLDER = Path(__file__).parent


def render(
    estimate: Mapping[str, Any],
    series: Sequence[Series],
    *,
    title: str | None = None,
    scene: Mapping[str, Any] | None = None,
) -> str:
    """Render the report of an estimate (the content of ``estimate.json``) as one HTML file.

    Beyond the schema it shows, if present: ``notices`` [str], ``verdict`` {sentence, trusted,
    checks}, ``total`` {mass, std, source}, ``prior`` and ``truth`` {body: {parameters [10], std [10]}}, ``courses``
    (``time_courses.py``). ``scene`` is the content of ``scene.json``. The output is deterministic.
    """
    if estimate.get("schema") != SCHEMA:
        what = f"has schema {estimate.get('schema')}, and this version reads {SCHEMA}"
        fix = "Identify again, or use the version that wrote it"
        code = "old-schema" if estimate.get("schema") == 1 else "schema-unsupported"
        raise SteelyardError(Finding(code, "estimate", what, fix))
    environment, plotly = _environment(), _plotly()
    report = Report(estimate, tuple(series), scene)
    sections = make_sections(report)
    figures = {name: plot for section in sections for name, plot in section.plots.items()}
    page = environment.get_template("page.html").render(
        title=title or f"{estimate.get('robot') or 'Robot'}: inertial parameters",
        estimate=estimate,
        sections=sections,
        figures=figures,
        plotly=plotly,
        style=(FOLDER / "page.css").read_text(encoding="utf-8"),
        nonce=hashlib.sha256(json.dumps(estimate, sort_keys=True, default=str).encode()).hexdigest()[:32],
    )
    return page.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate in a name cannot be written


def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError as error:
        raise SteelyardError(package_missing("report", "jinja2")) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([FOLDER, FOLDER / "sections"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": figure, "percent": percent}
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "allow_nan": False, "separators": (",", ":")}
    return environment


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise SteelyardError(package_missing("report", "plotly")) from error
    return str(get_plotlyjs()).replace("</script", "<\\/script")
