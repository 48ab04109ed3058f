"""What ``import steelyard`` gives. Everything heavy is imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from steelyard.check.survey import Survey
    from steelyard.identify.job import Job
    from steelyard.identify.option_keywords import EquationKeywords, OptionKeywords
    from steelyard.identify.options import Options
    from steelyard.identify.unknown_load import UnknownLoad
    from steelyard.log.log_source import LogSource, LogSources, MappingSource
    from steelyard.output.comparison import ComparisonSource, Difference
    from steelyard.output.result import Result
    from steelyard.robot.description import RobotSource


def identify(
    robot: RobotSource,
    logs: LogSources,
    options: Options | None = None,
    *,
    validate: LogSources = (),
    mapping: MappingSource | None = None,
    job: Job | None = None,
    **keywords: Unpack[OptionKeywords],
) -> Result:
    """Identify the inertial parameters of a robot from logs of its motion.

    Args:
        robot: URDF or MJCF file, a short name of ``steelyard robots``, a ``Description`` or a ``pinocchio.Model``.
        logs: One log or several to learn from: files, ``Log`` objects, pandas or polars frames.
        options: How to identify; the defaults suit most logs.
        validate: One log or several that are held out of the fit and predicted.
        mapping: How foreign files are read, those to validate with included.
        job: What else one run is asked for: guaranteed ranges, a known truth, earlier information, progress.
        **keywords: Single options, such as ``friction="all"``, ``method=Points(per_edge=4)``, ``links=("forearm",)``,
            ``delay=0.01`` (s); they replace those of ``options``.

    Returns:
        The estimate with its verdict, and what it was made from; ``save`` writes the files of the command line.

    Raises:
        SteelyardError: With every reason why robot, logs or options cannot be used; ``findings`` holds them as data.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result = sy.identify("demo_arm", log)
        >>> result.estimate["forearm_link"].consistent
        True
    """
    from steelyard.identify.identification import identify as run
    from steelyard.identify.option_keywords import options_from
    from steelyard.output.result import Result

    return Result.of(run(robot, logs, options_from(options, keywords), validate=validate, mapping=mapping, job=job))


def weigh_load(
    robot: RobotSource,
    logs: LogSources,
    on: str | UnknownLoad,
    options: Options | None = None,
    *,
    empty: LogSources = (),
    earlier: str | Path | None = None,
    validate: LogSources = (),
    mapping: MappingSource | None = None,
    job: Job | None = None,
    **keywords: Unpack[OptionKeywords],
) -> Result:
    """Weigh an unknown load that a robot carries.

    Args:
        robot: As in ``identify``.
        logs: One log or several of the robot with the load.
        on: The link that carries it, or an ``UnknownLoad`` with the region where it may be.
        options: How to identify; the defaults suit most logs.
        empty: Logs without the load, fitted along: robot, friction and drive gains then come from the same sensors.
        earlier: Folder that ``identify`` wrote without the load, instead of ``empty``.
        validate: Held-out logs with the load.
        mapping: How foreign files are read.
        job: What else one run is asked for.
        **keywords: Single options, as in ``identify``.

    Returns:
        As of ``identify``; ``result.estimate.loads[0]`` is the load, in the axes of the link that carries it.

    Raises:
        SteelyardError: With every reason why robot, logs or options cannot be used.

    Examples:
        Names as in ``help(steelyard)``.

        >>> from steelyard import inertia
        >>> load = inertia.pack(2.0, [0.0, 0.0, 0.05], 0.003 * np.eye(3))  # kg, m, kg·m²
        >>> carried = truth | {"wrist_3_link": truth["wrist_3_link"] + load}
        >>> loaded = simulate_arm(robot, carried, seed=2, seconds=10.0)
        >>> held = sy.weigh_load("demo_arm", loaded, on="wrist_3_link", empty=log)
        >>> round(held.estimate.loads[0].mass, 1)  # kg
        2.0
    """
    from steelyard.identify.option_keywords import options_from
    from steelyard.identify.weighing import weigh_load as run
    from steelyard.output.result import Result

    folder = Path(earlier) if earlier is not None else None
    chosen = options_from(options, keywords)
    return Result.of(
        run(robot, logs, on, chosen, empty=empty, earlier=folder, validate=validate, mapping=mapping, job=job)
    )


def check(
    robot: RobotSource,
    log: LogSource | None = None,
    *,
    mapping: MappingSource | None = None,
    topics: Mapping[str, str] | None = None,
    **keywords: Unpack[EquationKeywords],
) -> Survey:
    """Check a description, and whether a log fits it and which parameters its motion excites; nothing is identified.

    Args:
        robot: As in ``identify``.
        log: A file, a ``Log`` or a frame; None to check the description alone.
        mapping: How a foreign file is read.
        topics: Topics of a bag, as in ``Log.read``.
        **keywords: Options that decide which equations the log gives: ``base``, ``equations``, ``feet``, ``lock``, …

    Returns:
        ``findings`` (each with code, severity and remedy), ``facts``, ``sentence``. A log that cannot be used raises
        nothing: the reasons are its findings.

    Examples:
        Names as in ``help(steelyard)``.

        >>> sy.check("demo_arm", log).findings
        ()
    """
    from steelyard.check.survey import survey
    from steelyard.identify.option_keywords import equations_from

    return survey(robot, log, mapping=mapping, topics=topics, options=equations_from(keywords))


def compare(a: ComparisonSource, b: ComparisonSource) -> list[Difference]:
    """Compare two results, or a result with a description, body by body.

    Args:
        a: A result, a folder that ``save`` wrote, or a robot description.
        b: The same.

    Returns:
        A ``Difference`` for every body that both have: masses in kg, distance of the centres of mass in m, and the
        largest difference in standard deviations.

    Raises:
        UsageError: Where the two have no body in common.

    Examples:
        Names as in ``help(steelyard)``.

        >>> sy.compare(result, "demo_arm")[0].body
        'shoulder_link'
    """
    from steelyard.output.comparison import compare as run

    return run(a, b)
