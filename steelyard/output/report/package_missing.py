"""The finding about a package of the ``report`` extra that is not installed."""

from __future__ import annotations

from steelyard.errors import Finding

EXTRA = "steelyard[report]"


def package_missing(where: str, package: str) -> Finding:
    """Of what needs the package: ``report`` or ``view``."""
    fix = f'Install the extra: pip install "{EXTRA}"'
    return Finding("package-missing", where, f"{package} is not installed", fix, {"install": EXTRA})
