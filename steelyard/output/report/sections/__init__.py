"""The sections, in the order of the page. To add one: write a function, add it here."""

from __future__ import annotations

from steelyard.output.report.section import Make
from steelyard.output.report.sections.base import base
from steelyard.output.report.sections.convergence import convergence
from steelyard.output.report.sections.division import division
from steelyard.output.report.sections.headline import headline
from steelyard.output.report.sections.parameters import parameters
from steelyard.output.report.sections.prediction import prediction
from steelyard.output.report.sections.provenance import provenance
from steelyard.output.report.sections.ranges import ranges
from steelyard.output.report.sections.scene import scene
from steelyard.output.report.sections.validation import validation
from steelyard.output.report.sections.verdicts import verdicts

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
