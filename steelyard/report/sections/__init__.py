"""The sections, in the order of the page. To add one: write a function, add it here."""

from __future__ import annotations

from steelyard.report.section import Make
from steelyard.report.sections.base import base
from steelyard.report.sections.convergence import convergence
from steelyard.report.sections.division import division
from steelyard.report.sections.headline import headline
from steelyard.report.sections.parameters import parameters
from steelyard.report.sections.prediction import prediction
from steelyard.report.sections.provenance import provenance
from steelyard.report.sections.ranges import ranges
from steelyard.report.sections.scene import scene
from steelyard.report.sections.validation import validation
from steelyard.report.sections.verdicts import verdicts

SECTIONS: tuple[Make, ...] = (
    headline,
    verdicts,
    scene,
    division,
    convergence,
    base,
    ranges,
    parameters,
    prediction,
    validation,
    provenance,
)
