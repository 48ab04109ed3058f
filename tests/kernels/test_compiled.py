"""What is compiled once serves every process, until any kernel changes."""

import os
import subprocess
import sys

import pytest

CODE = """
import sys, numpy as np
from steelyard.kernels import compiled
if len(sys.argv) > 1:
    compiled.STAMP = sys.argv[1]
from steelyard.kernels.kinematics import _sincos
_sincos(np.ones(16), np.ones(32))
print(sum(_sincos.stats.cache_hits.values()), sum(_sincos.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_machine_code_is_loaded_again_unless_some_file_of_the_kernels_has_changed(tmp_path):
    def run(*stamp):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", CODE, *stamp]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["0", "1"]
    assert run() == ["1", "0"]
    assert run("another file is newer") == ["0", "1"]


def test_importing_steelyard_and_the_layout_of_trees_loads_no_numba():
    code = "import sys, steelyard, steelyard.equations.rows, steelyard.kernels.tree; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
