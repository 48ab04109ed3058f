"""What Python's ``identify`` returns: an identification that can be saved."""

from __future__ import annotations

from pathlib import Path

from steelyard.identify.identification import Identification
from steelyard.output.results import write_results


class Result(Identification):
    """The estimate, its verdict, and what it was made from."""

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

        Example:
            >>> result.save("out")  # doctest: +SKIP
        """
        return write_results(self, Path(folder), report=report)
