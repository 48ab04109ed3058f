"""Logs of the legs of two real quadrupeds: what maps their columns, and a description without its meshes."""

from __future__ import annotations

import re

import pytest

PARTS = ("hip", "thigh", "calf")
JOINTS = [f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in PARTS]
GAINS = {"go2": ((20, 20, 40), (1, 1, 2)), "aliengo": ((25, 25, 25), (0.5, 0.5, 0.5))}  # kp, kd of hip, thigh, calf


@pytest.fixture
def legs_mapping(tmp_path):
    def write(robot):
        lines = ["[columns]", 'time = "t"']
        for joint in JOINTS:
            kp, kd = (gains[PARTS.index(joint.split("_")[1])] for gains in GAINS[robot])
            law = f'{{ target = "target_{joint}", kp = {kp}, kd = {kd} }}'
            lines += [
                f'"q.{joint}" = "pos_{joint}"',
                f'"v.{joint}" = "vel_{joint}"',
                f'"tau.{joint}" = {{ pd = {law} }}',
            ]
        path = tmp_path / f"{robot}.toml"
        path.write_text("\n".join(lines))
        return path

    return write


@pytest.fixture
def aliengo(measured, tmp_path):
    """The laboratory's description without the meshes, which are not with it; inertias are explicit."""
    text = (measured("legs") / "aliengo.xml").read_text()
    path = tmp_path / "aliengo.xml"
    path.write_text(re.sub(r'<mesh [^>]*/>|<geom [^>]*mesh="[^>]*/>', "", text))
    return path
