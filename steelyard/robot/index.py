"""Short names of robots: embedded models, then ``example-robot-data``, then ``robot_descriptions``.

``example-robot-data`` on PyPI is data only, installed under ``cmeel.prefix/share`` of the environment. It is located
by path, so that listing the robots imports nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import DescriptionError, Finding

MODELS = Path(__file__).resolve().parent / "models"

# name, kind, base, moving joints (mimics included), file below example-robot-data/robots
_TABLE = """
a1              quadruped  floating  12  a1_description/urdf/a1.urdf
alex            humanoid   floating  19  alex_description/urdf/alex_nub_hands.urdf
alexander       humanoid   floating  13  alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf
allegro_left    other      fixed     16  allegro_hand_description/urdf/allegro_left_hand.urdf
allegro_right   other      fixed     16  allegro_hand_description/urdf/allegro_right_hand.urdf
anymal          quadruped  floating  12  anymal_b_simple_description/robots/anymal.urdf
anymal_c        quadruped  floating  12  anymal_c_simple_description/urdf/anymal.urdf
anymal_kinova   quadruped  floating  18  anymal_b_simple_description/robots/anymal-kinova.urdf
asr_twodof      arm        fixed      2  asr_twodof_description/urdf/TwoDofs.urdf
b1              quadruped  floating  12  b1_description/urdf/b1.urdf
b1_z1           quadruped  floating  19  b1_description/urdf/b1-z1.urdf
baxter          other      fixed     19  baxter_description/urdf/baxter.urdf
bolt            other      floating   6  bolt_description/robots/bolt.urdf
borinot         other      floating   2  borinot_description/urdf/borinot_flying_arm_2.urdf
centauro        quadruped  floating  39  centauro_description/urdf/centauro.urdf
double_pendulum arm        fixed      2  double_pendulum_description/urdf/double_pendulum.urdf
finger_edu      arm        fixed      3  finger_edu_description/robots/finger_edu.urdf
g1              humanoid   floating  29  g1_description/urdf/g1_29dof_rev_1_0.urdf
g1_hands        humanoid   floating  43  g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf
go1             quadruped  floating  12  go1_description/urdf/go1.urdf
go2             quadruped  floating  12  go2_description/urdf/go2.urdf
hector          other      floating   0  hector_description/robots/quadrotor_base.urdf
hextilt         other      floating   5  hextilt_description/urdf/hextilt_flying_arm_5.urdf
human           humanoid   floating  36  human_description/robots/human.urdf
hyq             quadruped  floating  12  hyq_description/robots/hyq_no_sensors.urdf
icub            humanoid   floating  32  icub_description/robots/icub.urdf
icub_reduced    humanoid   floating  29  icub_description/robots/icub_reduced.urdf
iris            other      floating   4  iris_description/robots/iris.urdf
kinova          arm        fixed      6  kinova_description/robots/kinova.urdf
laikago         quadruped  floating  12  laikago_description/urdf/laikago.urdf
panda           arm        fixed      9  panda_description/urdf/panda.urdf
panda_collision arm        fixed      9  panda_description/urdf/panda_collision.urdf
pr2             other      floating  30  pr2_description/urdf/pr2.urdf
quadruped       quadruped  floating   8  quadruped_description/urdf/quadruped.urdf
romeo           humanoid   floating  55  romeo_description/urdf/romeo.urdf
romeo_small     humanoid   floating  31  romeo_description/urdf/romeo_small.urdf
simple_humanoid humanoid   floating  29  simple_humanoid_description/urdf/simple_humanoid.urdf
so100           arm        fixed      6  so_arm_description/urdf/so100.urdf
so101           arm        fixed      6  so_arm_description/urdf/so101.urdf
solo            quadruped  floating   8  solo_description/robots/solo.urdf
solo12          quadruped  floating  12  solo_description/robots/solo12.urdf
talos           humanoid   floating  32  talos_data/robots/talos_reduced.urdf
talos_arm       arm        fixed      7  talos_data/robots/talos_left_arm.urdf
talos_full      humanoid   floating  44  talos_data/robots/talos_full_v2.urdf
tiago           other      floating  48  tiago_description/robots/tiago.urdf
tiago_dual      other      floating 101  tiago_description/robots/tiago_dual.urdf
tiago_no_hand   other      floating  12  tiago_description/robots/tiago_no_hand.urdf
tiago_pro       other      floating  33  tiago_pro_description/robots/tiago_pro.urdf
ur10            arm        fixed      6  ur_description/urdf/ur10_robot.urdf
ur3             arm        fixed      6  ur_description/urdf/ur3_robot.urdf
ur5             arm        fixed      6  ur_description/urdf/ur5_robot.urdf
ur5_gripper     arm        fixed      6  ur_description/urdf/ur5_gripper.urdf
xarm7           arm        fixed      7  xarm_description/urdf/xarm7.urdf
z1              arm        fixed      7  z1_description/urdf/z1.urdf
"""


# kind, base, joints of the models in ``models/``
_EMBEDDED: dict[str, tuple[str, str, int | None]] = {
    "demo_a1": ("quadruped", "floating", 12),
    "demo_arm": ("arm", "fixed", 6),
    "puma560": ("arm", "fixed", 6),
}


class IndexEntry(NamedTuple):
    """A robot that has a short name."""

    name: str
    path: Path | None  # None where its package is not installed
    kind: str  # "arm" | "quadruped" | "humanoid" | "other"
    base: str  # "fixed" | "floating"
    joints: int | None  # moving joints, mimics included; None: unknown without reading the file
    source: str  # "steelyard" | "example-robot-data"


def robots() -> list[IndexEntry]:
    """List every robot of the index by name; an embedded model replaces a packaged one of the same name."""
    data = _example_robot_data()
    entries: dict[str, IndexEntry] = {}
    for line in _TABLE.split("\n"):
        if line:
            name, kind, base, joints, file = line.split()
            path = data / file if data and (data / file).is_file() else None
            entries[name] = IndexEntry(name, path, kind, base, int(joints), "example-robot-data")
    for path in MODELS.glob("*.urdf"):
        kind, base, count = _EMBEDDED.get(path.stem, ("other", "fixed", None))
        known = entries.get(path.stem, IndexEntry(path.stem, path, kind, base, count, ""))
        entries[path.stem] = known._replace(path=path, source="steelyard")
    return sorted(entries.values())


def find_description(name: str) -> Path | None:
    """Return the description file of a short name, or None if no index has it.

    Raises:
        DescriptionError: The package that holds the robot is not installed, or cannot be downloaded.
    """
    entry = next((e for e in robots() if e.name == name), None)
    if entry is None:
        return _robot_descriptions(name)
    if entry.path is None:
        what, fix = f"is in {entry.source}, which is not installed", 'Run pip install "steelyard[robots]"'
        raise DescriptionError(Finding("package-missing", name, what, fix, {"install": "steelyard[robots]"}))
    return entry.path


def _example_robot_data() -> Path | None:
    for folder in _site_folders():
        for below in ("cmeel.prefix/share", "share"):
            if (robots := folder / below / "example-robot-data/robots").is_dir():
                return robots
    return None


def _site_folders() -> Iterator[Path]:
    yield from (Path(sysconfig.get_path(key)) for key in ("purelib", "platlib"))
    yield from map(Path, site.getsitepackages())
    yield from (Path(entry) for entry in sys.path if entry.endswith("-packages"))
    yield Path(sys.prefix)


def _robot_descriptions(name: str) -> Path | None:
    """Ask the optional package ``robot_descriptions``, which may download."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or importlib.util.find_spec("robot_descriptions") is None:
        return None
    module = f"robot_descriptions.{name.removesuffix('_description')}_description"
    try:
        if importlib.util.find_spec(module) is None:
            return None
        package = importlib.import_module(module)
        return Path(getattr(package, "URDF_PATH", None) or package.MJCF_PATH)
    except Exception as error:  # a download can fail in many ways; all mean the same to the user
        what = f"robot_descriptions could not provide it: {error}"
        raise DescriptionError(Finding("download-failed", name, what, "Check the network, or give a path")) from error
