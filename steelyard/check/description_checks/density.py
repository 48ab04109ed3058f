"""Mass against the volume of the shapes."""

from __future__ import annotations

from steelyard.check.description_lint import DescribedRobot, DescriptionCheck
from steelyard.errors import Finding

LIGHTEST = 50.0  # kg/m³, mass over the volume of the convex hull: packing foam
HEAVIEST = 20000.0  # kg/m³: tungsten and gold have 19300


class Density(DescriptionCheck):
    """Bodies that no material of robots is as light or as heavy as."""

    rank = 20

    def find(self, subject: DescribedRobot) -> list[Finding]:
        """Findings of this check."""
        findings = []
        for body in subject.bodies:
            densities = [float(body.parameters[0]) / solid.volume for solid in subject.solids.get(body.name, ())]
            if not densities or (min(densities) <= HEAVIEST and max(densities) >= LIGHTEST):
                continue
            density = densities[-1]
            what = f"its {body.parameters[0]:.3g} kg fill the hull of its shapes with {density:.3g} kg/m³"
            fix = "Check the mass, and the unit or scale of the shapes"
            findings.append(Finding("density-implausible", subject.place_of(body), what, fix, severity="doubt"))
        return findings
