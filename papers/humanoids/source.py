"""Humanoids that play exciting motions in MuJoCo: exact logs, kept in a folder, measured as often as wanted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.humanoids.followed import follow
from steelyard.experiment.simulate.record import Recording
from steelyard.experiment.simulate.sensors import measure
from steelyard.experiment.simulate.truth import Specimen
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log
from steelyard.robot.model import Robot
from steelyard.spatial import Array

ROBOTS = ("talos", "g1", "hrp4", "jvrc1")
SHARED = Path(os.environ.get("STEELYARD_ROBOTS", Path(__file__).resolve().parents[3] / "shared" / "robots"))
FINGER = re.compile(r"HAND|_F\d\d|THUMB|INDEX|LITTLE")  # locked: they follow each other, and weigh little
NOISE = "humanoid"
DRAWN = 6  # candidates for each motion that is played
HELD = ("walk", "double")  # the last of these kinds is predicted, not learned from


def load(name: str) -> Robot | None:
    """A robot of the index, or of the folder beside the project; None where it is not there."""
    path = SHARED / f"{name}.urdf"
    if not path.is_file():
        return Robot.load(name, base="floating") if name in ("talos", "g1") else None
    joints = Robot.load(path, base="floating", repair=True).description.joints
    lock = {j: 0.0 for j, joint in joints.items() if FINGER.search(j) and joint.mimic is None and joint.kind != "fixed"}
    return Robot.load(path, base="floating", lock=lock, repair=True)


@dataclass(frozen=True)
class Library:
    """Motions of a robot, and logs of true robots that played them; made once, then read."""

    robot: Robot
    folder: Path
    followed: bool = False  # motions are followed to the letter, rather than played in MuJoCo

    def motions(self, count: int, more: int) -> list[Log]:
        """``count`` that are informative together, one of each kind of ``HELD`` last, and ``more`` at random."""
        paths = sorted(self.folder.glob("motion-*.parquet"))
        if len(paths) < count + more:
            self.folder.mkdir(parents=True, exist_ok=True)
            for k, motion in enumerate(exciting(self.robot, count, more)):
                write_log(self.folder / f"motion-{k:03d}.parquet", motion)
            paths = sorted(self.folder.glob("motion-*.parquet"))
        return [read_log(path) for path in paths[: count + more]]

    def played(self, motion: Log, truth: Mapping[str, Array], name: str) -> Log | None:
        """The exact log of a true robot, known by ``name``, that tracked a motion; None if it fell."""
        path = self.folder / (f"{name}-followed" if self.followed else name) / Path(motion.source).name
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_log(path, self._play(motion, truth))
        log = read_log(path)
        return log if log.metadata["simulation"]["fell"] is None else None

    def _play(self, motion: Log, truth: Mapping[str, Array]) -> Log:
        if self.followed:
            return follow(self.robot, motion, truth)
        from steelyard.experiment.simulate.simulate_humanoid import simulate_humanoid

        return simulate_humanoid(self.robot, motion, Specimen(truth), Recording(source=motion.source), may_fall=True)

    def logs(self, motions: Sequence[Log], truth: Mapping[str, Array], name: str, seed: int = 0) -> list[Log]:
        """Measured logs of all motions that did not end in a fall; each seed draws other noise."""
        exact = [self.played(motion, truth, name) for motion in motions]
        return [measure(log, NOISE, 1000 * seed + k) for k, log in enumerate(exact) if log is not None]


def exciting(robot: Robot, count: int, more: int) -> list[Log]:
    """The most informative set among ``DRAWN`` times as many balanced motions, then others, for validation."""
    from steelyard.experiment.excite.candidate_pool import CandidatePool, draw_kinds
    from steelyard.experiment.excite.excite_humanoid import as_log
    from steelyard.experiment.excite.informativeness import Informativeness, MotionInformation, select_d_optimal

    pool = CandidatePool.of(robot)
    informativeness, drawn = Informativeness(pool.stance), DRAWN * count
    built = [b for k, kind in enumerate(draw_kinds(drawn, 0)) if (b := pool.attempt(kind, k)[1]) is not None]
    informations = [MotionInformation.of(informativeness, informativeness.triangle(b.trajectory)) for b in built]
    chosen = select_d_optimal(informations, count - len(HELD))
    for wanted in HELD:
        chosen.append(next(k for k, b in enumerate(built) if b.candidate.kind == wanted and k not in chosen))
    chosen += [k for k in range(len(built)) if k not in chosen][:more]
    return [as_log(built[k], k) for k in chosen]


def kind(motion: Log) -> str:
    """double, left, right, step, walk or task."""
    return str(motion.metadata["motion"]["kind"])
