"""Resuming from an earlier identification of the same robot.

Its information adds up with that of new logs: nothing is held at the earlier values, and what was uncertain stays
uncertain, by as much as the new logs leave of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np

from steelyard.equations.equation_options import Friction
from steelyard.errors import Finding, UsageError
from steelyard.identify.estimate import BodyEstimate, Scale
from steelyard.identify.estimate_json import read_estimate
from steelyard.identify.identification import Identification, identify
from steelyard.identify.job import Job
from steelyard.identify.options import Options
from steelyard.information import Information
from steelyard.log.log_source import LogSources, MappingSource, as_logs, as_mapping
from steelyard.robot.description import RobotSource
from steelyard.robot.model import LOAD


@dataclass(frozen=True)
class Earlier:
    """An earlier identification of the same robot."""

    information: Information  # about parameters by name, given the identified drive gains
    gains: dict[str, float]  # joint → N·m/A, identified then
    friction: Friction
    links: tuple[str, ...]  # that were free; () means all
    scale_std: float | None  # standard deviation of the log of the common scale, where it came from the description

    @classmethod
    def read(cls, path: Path) -> Earlier:
        """From the folder that ``identify`` wrote, or its ``estimate.json``."""
        content = read_estimate(path)
        folder = path if path.is_dir() else path.parent
        file = folder / str(content.get("information"))
        try:
            information = Information.load(file)
        except (OSError, ValueError, KeyError) as error:
            what, fix = f"cannot be read ({error})", "Give a folder that `steelyard identify` wrote"
            raise UsageError(Finding("file-unreadable", str(file), what, fix)) from None
        terms = {j: of.get("gain") for j, of in content.get("joints", {}).items()}
        gains = {j: float(gain["value"]) for j, gain in terms.items() if gain is not None}
        relative = np.array([i for i, name in enumerate(information.names) if name.endswith(".gain")], int)
        asked = content.get("provenance", {}).get("options", {})
        friction, links = asked.get("friction", "none"), tuple(str(link) for link in asked.get("links") or ())
        if friction not in get_args(Friction):
            what, fix = f"has friction {friction!r}, which is not known", "Run `steelyard identify` again"
            raise UsageError(Finding("schema-unsupported", str(path), what, fix))
        scale = content.get("scale") or {}
        return cls(information.given(relative, np.zeros(len(relative))), gains, friction, links, scale.get("doubt"))


def identify_further(
    source: RobotSource,
    logs: LogSources,
    earlier: Path,
    options: Options | None = None,
    *,
    validate: LogSources = (),
    mapping: MappingSource | None = None,
    job: Job | None = None,
) -> Identification:
    """Identify from logs and from what ``identify`` wrote to the folder ``earlier``, with the same friction.

    Bodies that were held at the description then are held now.
    """
    previous, job = Earlier.read(earlier), job or Job()
    options = resume_options(options or Options(), previous, loaded=job.load is not None)
    mapping = as_mapping(mapping)
    fit, held_out = ([log.with_gains(previous.gains) for log in as_logs(part, mapping)] for part in (logs, validate))
    result = identify(source, fit, options, validate=held_out, job=replace(job, earlier=previous.information))
    return result if previous.scale_std is None else _with_uncertain_scale(result, previous.scale_std)


def resume_options(options: Options, previous: Earlier, *, loaded: bool = False) -> Options:
    """The options with the friction and the free bodies of the earlier identification."""
    if options.links:
        what = "would hold the other bodies at the description, although the earlier estimate has information on them"
        fix = "Leave links out"
        raise UsageError(Finding("option-conflict", f"links={','.join(options.links)}", what, fix))
    links = (*previous.links, LOAD) if previous.links and loaded else previous.links
    return replace(options, friction=previous.friction, links=links)


def _with_uncertain_scale(result: Identification, scale_std: float) -> Identification:
    """The same with wider intervals: the common scale of the earlier gains came from the description alone."""
    estimate = result.estimate
    bodies, loads = (tuple(_wider(b, scale_std) for b in part) for part in (estimate.bodies, estimate.loads))
    scale = Scale(scale_std, float(estimate.loads[0].std[0]) if estimate.loads else None)
    ranges = estimate.ranges and estimate.ranges.without_scale()
    return replace(result, estimate=replace(estimate, bodies=bodies, loads=loads, scale=scale, ranges=ranges))


def _wider(body: BodyEstimate, scale_std: float) -> BodyEstimate:
    std = np.hypot(body.std, scale_std * body.parameters)
    source = replace(body.source, mass="prior", inertia="prior")
    exact = float(body.std[0]) if body.carrier else None
    return replace(body, std=std, std_data=(None,) * 10, source=source, interval=None, exact_std=exact)
