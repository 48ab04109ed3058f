"""Torque by the law of a drive, where a log has targets instead of torques.

τ = kp (q_target − q) + kd (v_target − v) + τ_feedforward is the torque that the drive was *commanded*. What the motor
delivers differs from it by the delay and the gain of the current control, and by saturation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.errors import Finding
from steelyard.log.column_source import ColumnSource
from steelyard.spatial import Array

KEYS = ("target", "kp", "kd", "target_velocity", "feedforward")
LIKE = {"target": "q", "target_velocity": "v", "feedforward": "tau"}  # column of a law → kind whose units it has


@dataclass(frozen=True)
class DriveLaw:
    """Proportional–derivative control of a joint."""

    kp: float  # N·m/rad or N/m
    kd: float  # N·m·s/rad or N·s/m
    columns: Mapping[str, ColumnSource]  # target; perhaps target_velocity, feedforward

    def needs(self, joint: str) -> tuple[str, ...]:
        """Columns of the log that the law compares with its targets."""
        return (f"q.{joint}", *([f"v.{joint}"] if self.kd else []))

    def torque(self, joint: str, columns: Mapping[str, Array], offsets: Mapping[str, float]) -> Array:
        """Commanded torque of a joint.

        Args:
            joint: Name of the joint.
            columns: Columns of the log, and those of the law under ``law_column``, in SI without offsets.
            offsets: Column → offset to be added.
        """

        def value(column: str) -> Array:
            return columns[column] + offsets.get(column, 0.0)

        tau = self.kp * (value(law_column(joint, "target")) - value(f"q.{joint}"))
        if self.kd:
            tau = tau - self.kd * value(f"v.{joint}")
        if "target_velocity" in self.columns:
            tau = tau + self.kd * value(law_column(joint, "target_velocity"))
        if "feedforward" in self.columns:
            tau = tau + value(law_column(joint, "feedforward"))
        return tau


def law_column(joint: str, role: str) -> str:
    """Key of a column of a law among those of the log; also its place in the mapping."""
    return f"tau.{joint}, pd, {role}"


def law_sources(laws: Mapping[str, DriveLaw]) -> dict[str, ColumnSource]:
    """Columns that the laws read."""
    return {law_column(j, role): source for j, law in laws.items() for role, source in law.columns.items()}


def law_findings(laws: Mapping[str, DriveLaw], columns: Mapping[str, ColumnSource], where: str) -> Iterator[Finding]:
    """Positions and velocities that a law needs, and the mapping lacks."""
    for joint, law in laws.items():
        if missing := [c for c in law.needs(joint) if c not in columns]:
            what, fix = f"compares its target with {' and '.join(missing)}, not mapped", "Map these columns too"
            yield Finding("drive-law-incomplete", f"{where}, tau.{joint}, pd", what, fix, {"columns": missing})
        if f"current.{joint}" in columns:
            what, fix = f"gives a second torque beside current.{joint}", "Keep the measured one: remove pd"
            yield Finding("torque-given-twice", f"{where}, tau.{joint}, pd", what, fix)
