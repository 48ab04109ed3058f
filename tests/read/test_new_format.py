"""A log format is one file: put beside the others it is read, through Python and through the command line."""

import hashlib
import json

import numpy as np
import pytest

from steelyard import Options, identify
from steelyard.errors import LogError
from steelyard.log import formats
from steelyard.log.format import all_formats, suffixes
from steelyard.log.pieces import read_pieces
from steelyard.log.table import read_log

FILE = '''
"""Doubles in the order of memory, below a line of names."""

from __future__ import annotations

import numpy as np

from steelyard.log.format import Table, TableFormat, unreadable


class Doubles(TableFormat):
    suffixes = (".doubles",)

    def table(self, data, path, wanted, layout):
        names, _, numbers = data.partition(b"\\n")
        names = names.decode().split(" ")
        try:
            rows = np.frombuffer(numbers).reshape(-1, len(names))
        except ValueError as error:
            raise unreadable(path, error) from None
        return Table(dict(zip(names, rows.T, strict=True)))
'''


@pytest.fixture
def doubles(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "doubles_for_a_test.py").write_text(FILE)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])


def write(path, log, names=None):
    columns = {"time": log.time, **log.columns}
    rows = np.column_stack(list(columns.values()))
    path.write_bytes(" ".join(names or columns).encode() + b"\n" + rows.tobytes())
    return path


@pytest.fixture
def train(doubles, tmp_path, arm):
    return write(tmp_path / "train.doubles", read_log(arm.train))


def test_a_format_in_one_file_is_identified_from(train, arm):
    options = Options(friction="all")
    own, usual = (identify("demo_arm", [path], options).estimate for path in (train, arm.train))
    assert own.objective == usual.objective
    assert own.provenance["inputs"][str(train)] == hashlib.sha256(train.read_bytes()).hexdigest()


def test_the_command_line_reads_it_too(train, arm, steelyard, tmp_path):
    for path, name in ((train, "own"), (arm.train, "usual")):
        run = steelyard("identify", "demo_arm", path, "--friction", "all", "-o", tmp_path / name)
        assert run.code in (0, 4)
    own, usual = (json.loads((tmp_path / name / "estimate.json").read_text()) for name in ("own", "usual"))
    assert own["links"] == usual["links"]
    assert steelyard("check", "demo_arm", train).code == 0


def test_it_is_streamed_and_mapped_as_other_tables_are(train, arm, tmp_path, steelyard):
    log = read_log(arm.train)
    (piece,) = read_pieces(train)
    np.testing.assert_array_equal(piece.log.time, log.time)
    foreign = write(tmp_path / "foreign.doubles", log, [f"c{k}" for k in range(len(log.columns) + 1)])
    mapping = tmp_path / "map.toml"
    assert steelyard("check", "demo_arm", foreign, "--write-mapping", mapping).code == 0
    assert "time in s at" in mapping.read_text()
    mapping.write_text('[columns]\n"time" = "c0"\n"q.elbow_joint" = {name = "c1", unit = "deg"}\n')
    mapped = read_log(foreign, mapping)
    np.testing.assert_allclose(mapped.columns["q.elbow_joint"], np.radians(next(iter(log.columns.values()))))
    assert set(mapped.files) == {str(foreign), str(mapping)}


def refusal(path):
    with pytest.raises(LogError) as error:
        read_log(path)
    (finding,) = error.value.findings
    assert finding.where == str(path)
    return finding.code


def test_it_is_among_the_known_formats_and_its_damaged_files_are_refused(doubles, tmp_path):
    assert suffixes(all_formats())[-3:] == [".npz", ".parquet", ".doubles"]
    (tmp_path / "log.mat").touch()
    assert refusal(tmp_path / "log.mat") == "format-unknown"
    (tmp_path / "cut.doubles").write_bytes(b"time q.a\nabc")
    assert refusal(tmp_path / "cut.doubles") == "file-unreadable"


def test_without_it_its_files_have_no_format(tmp_path):
    (tmp_path / "log.doubles").touch()
    assert refusal(tmp_path / "log.doubles") == "format-unknown"
