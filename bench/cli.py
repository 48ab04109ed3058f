"""A whole ``steelyard identify``, from the shell to the files, beside the start of the libraries that it needs.

``imports`` is ``python -c "import numpy, scipy.linalg, pinocchio, pyarrow"``: no program that uses them is quicker. The
log is 30 s of a real UR10e where the measured data are, else 30 s of the demonstration arm. Kernels and byte code are
compiled in a first run that does not count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.same import DATA

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = "import numpy, scipy.linalg, pinocchio, pyarrow"
PROMISED = {"ours": 4.0, "without report": 3.0}  # times the imports


def cli(repeats: int = 7, data: Path | None = None) -> dict[str, Any]:
    """Microseconds of each, interleaved; the ratio is that of the imports to ours, so its inverse is promised."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        case, arguments = _case(data or DATA, folder)
        ours = [
            sys.executable,
            "-m",
            "steelyard",
            "identify",
            *arguments,
            "--friction",
            "all",
            "-o",
            str(folder / "out"),
        ]
        commands = {
            "ours": ours,
            "without report": [*ours, "--no-report"],
            "imports": [sys.executable, "-c", IMPORTS],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        # Installed packages come with byte code; a checkout writes its own, unless the environment forbids it.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        for _ in range(repeats + 1):
            for name, command in commands.items():
                start = time.perf_counter()
                code = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment).returncode
                assert code in (0, 4), f"{name} ended with {code}"  # 4: answered, and not trusted
                times[name].append(1e6 * (time.perf_counter() - start))
    entry: dict[str, Any] = {
        name: {"min": float(np.min(t[1:])), "median": float(np.median(t[1:]))} for name, t in times.items()
    }
    least = entry["imports"]["min"]
    entry["ratio"] = {"imports": least / entry["ours"]["min"]}
    entry["times the imports"] = {name: entry[name]["min"] / least for name in PROMISED}
    return {case: entry}


def kept(result: dict[str, Any]) -> bool:
    """Whether a run takes no more than promised, as times the imports."""
    return all(case["times the imports"][name] <= most for case in result.values() for name, most in PROMISED.items())


def _case(data: Path, folder: Path) -> tuple[str, list[str]]:
    """Name, and robot, log and mapping of a run."""
    arm = data / "ur10e"
    if not arm.is_dir():
        from steelyard.experiment.simulate.simulate_arm import simulate_arm
        from steelyard.log.table import write_log
        from steelyard.robot.model import Robot

        robot = Robot.load("demo_arm")
        truth = {b.name: b.parameters for b in robot.bodies}
        write_log(folder / "arm.parquet", simulate_arm(robot, truth, seed=1, seconds=30.0))
        return "demo_arm", ["demo_arm", str(folder / "arm.parquet")]
    guide = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")
    mapping = folder / "ur10e.toml"
    mapping.write_text(re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0], encoding="utf-8")
    log = arm / "ur-20_02_10-30sec_12harm.csv.gz"
    return "ur10e", [str(arm / "ur10e.urdf"), str(log), "--mapping", str(mapping)]
