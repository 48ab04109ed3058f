"""Files appear whole and together, or not at all; what was there before stays."""

import os
import subprocess
import sys

import pytest

from steelyard import files
from steelyard.files import Staging, write_bytes, write_text


def tree(folder):
    return {str(p.relative_to(folder)): p.read_text() if p.is_file() else None for p in folder.rglob("*")}


def stage(folder, names, error=None):
    with Staging(folder) as out:
        for name in names:
            out.write_text(name, "new")
        if error is not None:
            raise error


def test_text_and_bytes_are_written_and_folders_created(tmp_path):
    write_text(tmp_path / "a/b/t.txt", "é")
    write_bytes(tmp_path / "a/b/b.bin", b"\xc3\xa9")
    assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/t.txt": "é", "a/b/b.bin": "é"}


def test_a_new_file_has_the_rights_any_file_gets(tmp_path):
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_staged_files_appear_only_at_the_end_and_together(tmp_path):
    with Staging(tmp_path / "out") as out:
        out.write_text("a.json", "1")
        out.path("b.npz").write_bytes(b"2")
        assert not (tmp_path / "out/a.json").exists()
    assert tree(tmp_path / "out") == {"a.json": "1", "b.npz": "2"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError(28, "No space left on device")])
def test_an_interruption_midway_leaves_nothing(tmp_path, error):
    with pytest.raises(error if isinstance(error, type) else OSError):
        stage(tmp_path / "x/out", ["a.json"], error)
    assert tree(tmp_path) == {}


def test_an_interruption_midway_leaves_existing_files(tmp_path):
    (tmp_path / "a.json").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        stage(tmp_path, ["a.json", "b.json"], KeyboardInterrupt)
    assert tree(tmp_path) == {"a.json": "old"}


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interruption_while_moving_puts_everything_back(tmp_path, monkeypatch, at):
    (tmp_path / "b").write_text("old")
    real, calls = os.replace, []

    def replace(source, target):
        calls.append(target)
        if len(calls) == at:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        stage(tmp_path, "abc")
    assert tree(tmp_path) == {"b": "old"}


def test_a_folder_in_the_way_is_an_error_and_changes_nothing(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("old")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        stage(tmp_path, "ab")
    assert tree(tmp_path) == {"a": "old", "b": None}


def test_files_are_kept_where_the_disk_has_no_hard_links(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(files.os, "link", link)
    (tmp_path / "a").write_text("old")
    write_text(tmp_path / "a", "new")
    assert tree(tmp_path) == {"a": "new"}


def test_a_folder_that_someone_else_uses_meanwhile_stays(tmp_path):
    staging = Staging(tmp_path / "out")
    staging.__enter__()
    (tmp_path / "out/theirs").write_text("x")
    staging.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert tree(tmp_path) == {"out": None, "out/theirs": "x"}


def test_a_folder_that_cannot_be_created_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="directory"), Staging(tmp_path / "file/out"):
        pass
    assert tree(tmp_path) == {"file": "x"}


def test_a_name_with_a_folder_in_it_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be a plain file name"), Staging(tmp_path) as out:
        out.write_text("../a", "x")
    assert tree(tmp_path) == {}


FULL = """
import resource, signal, sys
from steelyard.files import Staging
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with Staging(sys.argv[1]) as out:
    out.write_text("small.json", "{}")
    out.write_bytes("big.npz", b"x" * 100_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_no_half_written_file(tmp_path, exists):
    if exists:
        (tmp_path / "out").mkdir()
        (tmp_path / "out/big.npz").write_text("old")
    run = subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "out")], capture_output=True, text=True)
    assert run.returncode == 1
    assert "File too large" in run.stderr
    assert tree(tmp_path) == ({"out": None, "out/big.npz": "old"} if exists else {})
