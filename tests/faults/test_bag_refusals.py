"""Every bag that cannot be read to its end is refused with a finding; no other exception is ever raised."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import LogError, SteelyardError
from steelyard.log.bag.reader import bag_topics, read_bag
from steelyard.log.table import read_log
from tests import bags
from tests.bags import Message, imu, joints

zstandard = pytest.importorskip("zstandard")  # comes with mcap
bag_file = pytest.importorskip("steelyard.log.bag.file")
RecordBuilder = pytest.importorskip("mcap.data_stream").RecordBuilder
mcap = pytest.importorskip("mcap.records")


def recording(count=60):
    return [joints(k / 100, ["a", "b"], q=[k, -k], tau=[1.0, 2.0]) for k in range(count)]


def refusal(call, *arguments):
    """The one finding about a bag."""
    with pytest.raises(LogError) as error:
        call(*arguments)
    (finding,) = error.value.findings
    return finding


def reason(call, *arguments):
    """Code and place of the one finding about a bag, the place without its folder."""
    finding = refusal(call, *arguments)
    path, comma, rest = finding.where.partition(", ")
    return finding.code, Path(path).name + comma + rest


def metadata(folder, old, new):
    path = folder / "metadata.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize("name", ["run.mcap", "run.db3"])
@pytest.mark.parametrize("read", [read_bag, read_log, bag_topics])
def test_a_file_that_is_missing_or_empty_or_of_another_kind_is_refused(tmp_path, name, read):
    path = tmp_path / name
    assert reason(read, path) == ("file-missing", name)
    path.write_bytes(b"")
    assert reason(read, path) == ("file-empty", name)
    path.write_bytes(b"time,q.a\n0,1\n" * 10)
    assert reason(read, path) == ("file-unreadable", name)


def test_folders_and_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert reason(read_log, tmp_path / "empty") == ("format-unknown", "empty")
    assert reason(read_bag, tmp_path / "empty") == ("bag-metadata-missing", "empty")
    assert reason(read_log, tmp_path / "old.bag") == ("bag-of-ros1", "old.bag")
    (tmp_path / "run.txt").write_text("x")
    assert reason(read_bag, tmp_path / "run.txt") == ("format-unknown", "run.txt")


def test_a_bag_with_a_mapping_is_refused(tmp_path):
    path = bags.rosbag(tmp_path / "run", recording())
    assert reason(read_log, path, tmp_path / "map.toml") == ("mapping-not-applicable", "run")


def test_a_bag_without_messages_or_with_other_types_only_is_refused(tmp_path):
    text = Message("/chatter", "std_msgs/msg/String", bags.START, {"data": "hello"})
    inertial = [imu(k / 100, (0, 0, 0), (0, 0, 9.81)) for k in range(20)]
    mine = [m._replace(type="mine/msg/JointState") for m in recording()]
    for path in (
        bags.rosbag(tmp_path / "none", []),
        bags.plain_mcap(tmp_path / "none.mcap", []),
        bags.plain_mcap(tmp_path / "other.mcap", [text]),
        bags.rosbag(tmp_path / "imu", inertial),
        bags.plain_mcap(tmp_path / "mine.mcap", mine, "cdr"),
    ):
        assert reason(read_bag, path) == ("joint-states-missing", path.name)
    path = bags.rosbag(tmp_path / "nobody", [joints(k / 100, []) for k in range(20)])
    assert reason(read_bag, path) == ("joints-unnamed", "nobody, /joint_states")


@pytest.mark.slow
def test_metadata_that_is_wrong_missing_or_broken_is_refused(tmp_path):
    good = bags.rosbag(tmp_path / "run", recording())
    information, file = "rosbag2_bagfile_information", "metadata.yaml"
    no_compression = "compression_format: ''\n  compression_mode: ''"
    fake_compression = "compression_format: fake_comp\n  compression_mode: message"
    for k, (old, new, code, where) in enumerate(
        (
            (information, "something", "bag-metadata-invalid", file),
            ("relative_file_paths", "paths", "bag-metadata-invalid", file),
            (f"{information}:", f"{information}: [", "bag-metadata-invalid", file),
            (f"{information}:", "[" * 100_000, "bag-metadata-invalid", file),
            (f"{information}:", "!!python/object/apply:os.system [date]\n", "bag-metadata-invalid", file),
            ("storage_identifier: sqlite3", "storage_identifier: tape", "bag-storage-unsupported", file),
            ("compression_mode: ''", "compression_mode: FILE", "bag-compression-unsupported", file),
            (no_compression, fake_compression, "bag-compression-unsupported", file),
            ("message_count: 60", "message_count: 61", "bag-incomplete", f"{file}, /joint_states"),
            ("run.db3", "run_1.db3", "file-missing", "run_1.db3"),
            ("run.db3", "../run/metadata.yaml", "format-unknown", file),
        )
    ):
        folder = shutil.copytree(good, tmp_path / f"copy{k}")
        metadata(folder, old, new)
        assert reason(read_bag, folder) == (code, where), old
    (good / "metadata.yaml").unlink()
    assert reason(read_log, good) == ("bag-metadata-missing", "run")


def test_metadata_that_is_too_large_is_refused(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", recording())
    monkeypatch.setattr(bag_file, "MOST_METADATA", 100)
    assert reason(read_bag, path) == ("file-too-large", "metadata.yaml")


def test_every_missing_file_is_named(tmp_path):
    path = bags.rosbag(tmp_path / "run", recording())
    metadata(path, "paths:\n  - run.db3", "paths:\n  - one.db3\n  - two.db3")
    with pytest.raises(LogError) as error:
        read_bag(path)
    missing = [(f.code, Path(f.where).name) for f in error.value.findings]
    assert missing == [("file-missing", "one.db3"), ("file-missing", "two.db3")]


def test_a_truncated_mcap_is_refused(tmp_path):
    whole = bags.single_file(tmp_path / "run", recording(), "mcap").read_bytes()
    for size in {8, 9, 40, len(whole) // 2, len(whole) - 37, len(whole) - 8, len(whole) - 1}:
        path = tmp_path / "cut.mcap"
        path.write_bytes(whole[:size])
        for read in (read_bag, bag_topics):
            assert reason(read, path) == ("file-truncated", "cut.mcap")
    path.write_bytes(whole[: len(whole) // 2] + whole[-8:])
    assert reason(read_bag, path) == ("file-unreadable", "cut.mcap")


@pytest.mark.parametrize("plugin", ["sqlite3", "mcap"])
@pytest.mark.parametrize("mode", ["none", "file"])
def test_the_truncated_file_of_a_folder_is_named(tmp_path, plugin, mode):
    folder = bags.rosbag(tmp_path / "run", recording(400), plugin, mode)
    (file,) = (f for f in folder.iterdir() if f.name != "metadata.yaml")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    assert reason(read_bag, folder) == ("file-truncated", file.name)


def test_a_truncated_database_is_refused(tmp_path):
    path = bags.single_file(tmp_path / "run", recording(400), "sqlite3")
    whole = path.read_bytes()
    for size in (20, 100, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:size])
        for read in (read_bag, bag_topics):
            assert reason(read, path) == ("file-truncated" if size >= 100 else "file-unreadable", path.name)


def test_a_database_that_was_not_closed_is_refused(tmp_path):
    path = bags.single_file(tmp_path / "run", recording(), "sqlite3")
    path.with_name("run.db3-wal").write_bytes(b"")
    assert len(read_bag(path)) == 60
    path.with_name("run.db3-wal").write_bytes(b"x")
    assert reason(read_bag, path) == ("bag-not-closed", "run.db3")


def test_a_database_of_other_data_is_refused(tmp_path):
    path = tmp_path / "other.db3"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        db.execute("CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 1 AS timestamp, 'x' AS data")
    db.close()
    assert reason(read_bag, path) == ("file-unreadable", "other.db3")
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        db.execute("CREATE TABLE messages (id, topic_id, timestamp, data)")
        db.execute("INSERT INTO topics VALUES (1, '/a', 'sensor_msgs/msg/JointState', 'cdr')")
        db.execute("INSERT INTO messages VALUES (1, 1, 'now', 'text')")
    db.close()
    assert reason(read_bag, path) == ("file-unreadable", "other.db3")


def test_paths_may_have_any_characters(tmp_path):
    path = bags.single_file(tmp_path / "run", recording(), "sqlite3")
    odd = path.rename(tmp_path / "50% of #1?mode=rw & ü.db3")
    assert len(read_bag(odd)) == 60


def mcap_file(path, *chunks):
    """An MCAP of hand-made chunks."""
    builder = RecordBuilder()
    builder.write(bag_file.MAGIC)
    for record in (mcap.Header("", ""), *chunks, mcap.DataEnd(0), mcap.Footer(0, 0, 0)):
        record.write(builder)
    builder.write(bag_file.MAGIC)
    path.write_bytes(builder.end())
    return path


def chunk(data, compression="", size=None, crc=0):
    return mcap.Chunk(compression, data, bags.START, 0, crc, len(data) if size is None else size)


def records():
    builder = RecordBuilder()
    mcap.Schema(id=1, name="JointState", encoding="jsonschema", data=b"{}").write(builder)
    mcap.Channel(id=1, topic="/j", message_encoding="json", metadata={}, schema_id=1).write(builder)
    for k in range(5):
        data = json.dumps({"name": ["a"], "position": [k]}).encode()
        mcap.Message(channel_id=1, sequence=k, log_time=bags.START + k * 10**7, publish_time=0, data=data).write(
            builder
        )
    return builder.end()


def test_a_chunk_is_expanded_up_to_the_size_it_claims(tmp_path):
    raw = records()
    packed = zstandard.compress(raw)
    assert len(read_bag(mcap_file(tmp_path / "good.mcap", chunk(packed, "zstd", len(raw))))) == 5
    bomb = zstandard.compress(bytes(2**24))
    for name, bad, code in (
        ("bomb", chunk(bomb, "zstd", 100), "file-unreadable"),
        ("short", chunk(packed, "zstd", len(raw) + 1), "file-unreadable"),
        ("large", chunk(b"", "", 2**40), "file-unreadable"),
        ("noise", chunk(b"noise", "zstd", 100), "file-unreadable"),
        ("lz4", chunk(b"noise" * 9, "lz4", 100), "file-unreadable"),
        ("snappy", chunk(raw, "snappy"), "bag-compression-unsupported"),
        ("checksum", chunk(raw, crc=1), "file-unreadable"),
    ):
        assert reason(read_bag, mcap_file(tmp_path / f"{name}.mcap", bad)) == (code, f"{name}.mcap")


def test_messages_of_an_undeclared_channel_are_refused(tmp_path):
    builder = RecordBuilder()
    mcap.Message(channel_id=7, sequence=0, log_time=0, publish_time=0, data=b"{}").write(builder)
    path = mcap_file(tmp_path / "run.mcap", chunk(builder.end()))
    assert reason(read_bag, path) == ("file-unreadable", "run.mcap")


def test_statistics_that_claim_more_messages_are_refused(tmp_path):
    statistics = mcap.Statistics(0, 1, {1: 6}, 1, 6, bags.START, bags.START, 0, 1)
    path = mcap_file(tmp_path / "run.mcap", chunk(records()), statistics)
    assert reason(read_bag, path) == ("bag-incomplete", "run.mcap")


def test_a_compressed_file_is_expanded_up_to_a_bound(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", recording(), mode="file")
    monkeypatch.setattr(bag_file, "MOST_FILE", 1000)
    assert reason(read_bag, path) == ("file-too-large", "run.db3.zstd")


def altered(tmp_path, k=30, **fields):
    """A JSON bag in which one message differs."""
    messages = recording()
    changed = {key: value for key, value in (messages[k].fields | fields).items() if value is not ...}
    messages[k] = messages[k]._replace(fields=changed)
    return bags.plain_mcap(tmp_path / "run.mcap", messages)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ["a", "a"]},
        {"name": ["a", ""]},
        {"name": ["a", 3]},
        {"name": ...},
        {"name": 7},
        {"position": [1.0]},
        {"position": [1.0, "2"]},
        {"position": [1.0, True]},
        {"position": {"a": 1.0}},
        {"position": [1.0, 10**400]},
        {"header": {"stamp": {"sec": 1.5, "nanosec": 0}}},
        {"header": {"stamp": {"sec": 10**12, "nanosec": 0}}},
        {"header": {"stamp": {"sec": -5, "nanosec": 0}}},
    ],
    ids=str,
)
def test_an_invalid_joint_state_is_named_by_topic_and_number(tmp_path, fields):
    path = altered(tmp_path, **fields)
    assert reason(read_bag, path) == ("message-invalid", "run.mcap, /joint_states, message 30")
    assert refusal(read_bag, path).remedy == {"topics": {"joints": ""}}


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"7", b"\xff\xfe", b'{"name": ["a"]', b"[" * 100_000])
def test_a_message_that_is_not_json_is_named(tmp_path, data):
    messages = recording()
    messages[4] = messages[4]._replace(fields=data)
    path = bags.plain_mcap(tmp_path / "run.mcap", messages)
    assert reason(read_bag, path) == ("message-invalid", "run.mcap, /joint_states, message 4")


def test_unsupported_encodings_are_refused(tmp_path):
    messages = [m._replace(fields=b"\x08\x01") for m in recording()]
    for encoding in ("protobuf", ""):
        path = bags.plain_mcap(tmp_path / "run.mcap", messages, encoding)
        assert reason(read_bag, path) == ("encoding-unsupported", "run.mcap, /joint_states")
        assert refusal(read_bag, path).remedy == {"topics": {"joints": ""}}


def test_all_unreadable_topics_are_named_at_once_and_their_remedies_work(tmp_path):
    good = [m._replace(topic="/good") for m in recording()]
    bad = [Message(f"/{kind}", f"x/{kind}", bags.START, b"{}") for kind in ("Imu", "Odometry", "WrenchStamped")]
    path = bags.plain_mcap(tmp_path / "run.mcap", [*good, *bad])
    with pytest.raises(LogError) as error:
        read_bag(path)
    assert [(f.code, f.where) for f in error.value.findings] == [
        ("message-invalid", f"{path}, {topic}, message 0") for topic in ("/Imu", "/Odometry", "/WrenchStamped")
    ]
    remedies = [f.remedy["topics"] for f in error.value.findings]
    assert remedies == [{"imu": ""}, {"odometry": ""}, {"wrench": ""}]
    assert len(read_bag(path, dict(pair for remedy in remedies for pair in remedy.items()))) == 60


def test_a_cdr_message_that_is_truncated_or_too_long_is_named(tmp_path):
    path = bags.single_file(tmp_path / "run", recording(), "sqlite3")
    with sqlite3.connect(path) as db:
        ((good,),) = db.execute("SELECT data FROM messages WHERE id = 8").fetchall()
        for data in (good[:40], good + bytes(8), b"", b"\0", bytes.fromhex("0001000001020304"), b"\7" + good[1:]):
            db.execute("UPDATE messages SET data = ? WHERE id = 8", (data,))
            db.commit()
            assert reason(read_bag, path) == ("message-invalid", "run.db3, /joint_states, message 7")
    db.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in bags.WRITERS if "version" not in k])
def test_a_bag_with_damaged_bytes_is_read_or_refused(tmp_path, kind):
    """Bytes changed or removed at random: a Log or one of our errors, never another exception."""
    bag = bags.WRITERS[kind](tmp_path, recording(30))
    files = sorted(bag.iterdir()) if bag.is_dir() else [bag]
    rng = np.random.default_rng(3)
    refused = 0
    for round in range(120):
        file = files[round % len(files)]
        whole = file.read_bytes()
        data = bytearray(whole)
        at = int(rng.integers(len(data)))
        if round % 3 == 0:
            data[at] = int(rng.integers(256))
        elif round % 3 == 1:
            del data[at : at + int(rng.integers(1, 200))]
        else:
            data[at : at + 8] = bytes(rng.integers(0, 256, 8, dtype=np.uint8))
        file.write_bytes(data)
        for read in (read_bag, bag_topics):
            try:
                read(bag)
            except SteelyardError:
                refused += 1
        file.write_bytes(whole)
    assert refused > 60
    assert len(read_bag(bag)) == 30
