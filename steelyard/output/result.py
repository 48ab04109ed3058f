"""What Python's ``identify`` returns: an identification that can be saved."""

from __future__ import annotations

from pathlib import Path

from steelyard.identify.identification import Identification
from steelyard.output.results import write_results


class Result(Identification):
    """The estimate, its verdict, and what it was made from.

    Attributes:
        estimate: Parameters of every body, their uncertainty and sources.
        robot: The robot that was identified.
        columns: Names of the entries of ``theta``.
        theta: (n,) ten parameters a body in its frame, then joint terms, then sensor offsets; SI units.
        information: What the logs determine about ``theta``; ``Job(earlier=…)`` takes it.
        series: Measured and predicted forces of each log.
        posture: (J,) rad or m, of the first sample.
        verdict: Whether the estimate is to be trusted, and the reasons in one sentence.

    Examples:
        Names as in ``help(steelyard)``.

        >>> result.verdict.trusted, result.estimate.consistent
        (True, True)
        >>> result.columns.names[:4]
        ('shoulder_link.m', 'shoulder_link.hx', 'shoulder_link.hy', 'shoulder_link.hz')
    """

    @classmethod
    def of(cls, identification: Identification) -> Result:
        """The same with files."""
        return cls(**vars(identification))

    def save(self, folder: str | Path, *, report: bool = True) -> list[Path]:
        """Write the files of the command line, all or none: estimate, robot as URDF and MJCF, information, report.

        Args:
            folder: Made where it does not exist.
            report: Whether to write ``report.html``; it needs the extra ``report``.

        Returns:
            The files written.

        Raises:
            UsageError: If the folder cannot be one, or a file would replace an input.

        Examples:
            Names as in ``help(steelyard)``.

            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     files = result.save(f"{folder}/out", report=False)
            >>> sorted(file.name for file in files)
            ['estimate.json', 'information.npz', 'robot.urdf', 'robot.xml', 'scene.json', 'series.npz']
        """
        return write_results(self, Path(folder), report=report)
