"""Every file that an identification uses is opened once, and the digest in its provenance is of the bytes it read."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from steelyard.log.table import read_log, write_log
from steelyard.robot.index import MODELS

SCRIPT = """
import collections, json, sys

opened = collections.Counter()
sys.addaudithook(lambda event, args: event == "open" and opened.update([str(args[0])]))
import pyarrow.parquet

files = sys.argv[1:]
whole = pyarrow.parquet.ParquetFile.__init__
def counted(self, source, *more, **named):
    opened.update([str(source)])
    whole(self, source, *more, **named)
pyarrow.parquet.ParquetFile.__init__ = counted  # Arrow opens paths without Python

from steelyard import Options, identify

robot, mapping, *logs = files
result = identify(robot, logs[:-1], Options(friction="all"), validate=logs[-1:], mapping=mapping)
print(json.dumps({"opened": {f: opened[f] for f in files}, "inputs": result.estimate.provenance["inputs"]}))
"""


def test_robot_mapping_and_logs_are_opened_once(tmp_path, arm):
    robot = shutil.copy(MODELS / "demo_arm.urdf", tmp_path / "robot.urdf")
    mapping = tmp_path / "map.toml"
    mapping.write_text("[table]\n[columns]\n")
    logs = [tmp_path / f"log{suffix}" for suffix in (".parquet", ".csv.gz", ".npz")]
    for k, path in enumerate(logs):
        write_log(path, read_log(arm.train).cut(300 * k, 300 * (k + 1)))
    files = [str(x) for x in (robot, mapping, *logs)]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *files], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert report["opened"] == dict.fromkeys(files, 1)
    assert report["inputs"] == {f: hashlib.sha256(Path(f).read_bytes()).hexdigest() for f in files}
