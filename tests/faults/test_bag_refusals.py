"""Every bag that cannot be read to its end is refused with a reason and a way out; nothing else ever comes out."""

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
from tests.bags import Said, imu, joints

zstandard = pytest.importorskip("zstandard")  # comes with mcap
bag_file = pytest.importorskip("steelyard.log.bag.file")
RecordBuilder = pytest.importorskip("mcap.data_stream").RecordBuilder
mcap = pytest.importorskip("mcap.records")


def said(count=60):
    return [joints(k / 100, ["a", "b"], q=[k, -k], tau=[1.0, 2.0]) for k in range(count)]


def reason(call, *arguments):
    """The one reason against a bag, its folder left off."""
    with pytest.raises(LogError) as error:
        call(*arguments)
    (finding,) = error.value.findings
    assert finding.what
    assert finding.fix
    assert not finding.what.endswith(".")
    assert not finding.fix.endswith(".")
    return Path(finding.where.partition(", ")[0]).name + finding.where.partition(", ")[2], finding.what, finding.fix


def metadata(folder, old, new):
    path = folder / "metadata.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize("name", ["run.mcap", "run.db3"])
@pytest.mark.parametrize("read", [read_bag, read_log, bag_topics])
def test_what_is_not_there_or_empty_or_something_else_is_refused(tmp_path, name, read):
    path = tmp_path / name
    assert reason(read, path)[1] == "does not exist"
    path.write_bytes(b"")
    assert reason(read, path)[1] == "is empty"
    path.write_bytes(b"time,q.a\n0,1\n" * 10)
    assert reason(read, path)[1] == f"is not an {'MCAP' if name.endswith('mcap') else 'SQLite'} file"


def test_folders_and_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "no suffix" in reason(read_log, tmp_path / "empty")[1]
    assert reason(read_bag, tmp_path / "empty")[1] == "has no metadata.yaml"
    assert reason(read_log, tmp_path / "old.bag")[1:] == (
        "is a bag of ROS 1", f"Convert it: rosbags-convert --src {tmp_path / 'old.bag'} --dst {tmp_path / 'old'}",
    )  # fmt: skip
    (tmp_path / "run.txt").write_text("x")
    assert reason(read_bag, tmp_path / "run.txt")[1] == "ends in '.txt'"


def test_a_mapping_is_for_tables(tmp_path):
    path = bags.rosbag(tmp_path / "run", said())
    assert reason(read_log, path, tmp_path / "map.toml")[1] == "is a bag; a mapping tells how to read tables"


def test_a_bag_without_messages_or_with_other_types_only_is_refused(tmp_path):
    path = bags.rosbag(tmp_path / "none", [])
    assert "has no sensor_msgs/JointState message to read; it has nothing" in reason(read_bag, path)[1]
    path = bags.plain_mcap(tmp_path / "none.mcap", [])
    assert "it has nothing" in reason(read_bag, path)[1]
    text = Said("/chatter", "std_msgs/msg/String", bags.START, {"data": "hello"})
    path = bags.plain_mcap(tmp_path / "other.mcap", [text])
    assert "it has /chatter (std_msgs/msg/String)" in reason(read_bag, path)[1]
    path = bags.rosbag(tmp_path / "imu", [imu(k / 100, (0, 0, 0), (0, 0, 9.81)) for k in range(20)])
    assert "it has /imu (sensor_msgs/msg/Imu)" in reason(read_bag, path)[1]
    path = bags.plain_mcap(tmp_path / "mine.mcap", [m._replace(type="mine/msg/JointState") for m in said()], "cdr")
    assert "it has /joint_states (mine/msg/JointState)" in reason(read_bag, path)[1]
    path = bags.rosbag(tmp_path / "nobody", [joints(k / 100, []) for k in range(20)])
    assert reason(read_bag, path)[1] == "names no joint"


@pytest.mark.slow
def test_metadata_that_lies_is_missing_or_is_broken_is_refused(tmp_path):
    good = bags.rosbag(tmp_path / "run", said())
    for k, (old, new, expected) in enumerate((
        ("rosbag2_bagfile_information", "something", "is not the metadata of a bag ('rosbag2_bagfile_information')"),
        ("relative_file_paths", "paths", "is not the metadata of a bag (relative_file_paths missing)"),
        ("rosbag2_bagfile_information:", "rosbag2_bagfile_information: [", "is not the metadata of a bag"),
        ("rosbag2_bagfile_information:", "[" * 100_000, "is not the metadata of a bag"),
        ("rosbag2_bagfile_information:", "!!python/object/apply:os.system [date]\n", "is not the metadata of a bag"),
        ("storage_identifier: sqlite3", "storage_identifier: tape", "names the storage 'tape'"),
        ("compression_mode: ''", "compression_mode: FILE", "names the compression '' (by file)"),
        ("compression_format: ''\n  compression_mode: ''", "compression_format: fake_comp\n  compression_mode: message",
         "names the compression 'fake_comp' (by message)"),
        ("message_count: 60", "message_count: 61", "says that /joint_states has 61 messages, the files hold 60"),
        ("run.db3", "run_1.db3", "is missing"),
        ("run.db3", "../run/metadata.yaml", "ends in '.yaml'"),
    )):  # fmt: skip
        folder = shutil.copytree(good, tmp_path / f"copy{k}")
        metadata(folder, old, new)
        assert reason(read_bag, folder)[1].startswith(expected), old
    (good / "metadata.yaml").unlink()
    where, what, fix = reason(read_log, good)
    assert (where, what) == ("run", "has no metadata.yaml")
    assert "ros2 bag reindex" in fix


def test_metadata_without_end_is_refused(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", said())
    monkeypatch.setattr(bag_file, "MOST_METADATA", 100)
    assert reason(read_bag, path)[1] == "has more than 100 bytes"


def test_every_missing_file_is_named(tmp_path):
    path = bags.rosbag(tmp_path / "run", said())
    metadata(path, "paths:\n  - run.db3", "paths:\n  - one.db3\n  - two.db3")
    with pytest.raises(LogError) as error:
        read_bag(path)
    assert [Path(f.where).name for f in error.value.findings] == ["one.db3", "two.db3"]


def test_an_mcap_that_was_cut_off_is_refused_with_the_way_to_recover_it(tmp_path):
    whole = bags.alone(tmp_path / "run", said(), "mcap").read_bytes()
    for size in {8, 9, 40, len(whole) // 2, len(whole) - 37, len(whole) - 8, len(whole) - 1}:
        path = tmp_path / "cut.mcap"
        path.write_bytes(whole[:size])
        for read in (read_bag, bag_topics):
            where, what, fix = reason(read, path)
            assert where == "cut.mcap"
            assert what.startswith("was cut off")
            assert fix == f"Recover what it has: mcap recover {path} -o recovered.mcap"
    path.write_bytes(whole[: len(whole) // 2] + whole[-8:])
    assert reason(read_bag, path)[1].startswith("cannot be read")


@pytest.mark.parametrize("plugin", ["sqlite3", "mcap"])
@pytest.mark.parametrize("mode", ["none", "file"])
def test_a_folder_says_which_of_its_files_is_cut_off(tmp_path, plugin, mode):
    folder = bags.rosbag(tmp_path / "run", said(400), plugin, mode)
    (file,) = (f for f in folder.iterdir() if f.name != "metadata.yaml")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    where, what, _ = reason(read_bag, folder)
    assert where == file.name
    assert what.startswith("was cut off")


def test_a_database_that_was_cut_off_or_is_damaged_is_refused(tmp_path):
    path = bags.alone(tmp_path / "run", said(400), "sqlite3")
    whole = path.read_bytes()
    for size in (20, 100, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:size])
        for read in (read_bag, bag_topics):
            assert reason(read, path)[1].startswith("was cut off" if size >= 100 else "cannot be read (")


def test_a_database_that_was_not_closed_is_refused(tmp_path):
    path = bags.alone(tmp_path / "run", said(), "sqlite3")
    path.with_name("run.db3-wal").write_bytes(b"")
    assert len(read_bag(path)) == 60
    path.with_name("run.db3-wal").write_bytes(b"x")
    _, what, fix = reason(read_bag, path)
    assert what == "was not closed: part of it still lies in run.db3-wal"
    assert "wal_checkpoint" in fix


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.db3"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        db.execute("CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 1 AS timestamp, 'x' AS data")
    db.close()
    assert reason(read_bag, path)[1] == "has no table messages"
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        db.execute("CREATE TABLE messages (id, topic_id, timestamp, data)")
        db.execute("INSERT INTO topics VALUES (1, '/a', 'sensor_msgs/msg/JointState', 'cdr')")
        db.execute("INSERT INTO messages VALUES (1, 1, 'now', 'text')")
    db.close()
    assert reason(read_bag, path)[1] == "cannot be read (a message is not a time with bytes)"


def test_paths_may_have_any_characters(tmp_path):
    path = bags.alone(tmp_path / "run", said(), "sqlite3")
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


def test_compression_is_undone_up_to_what_a_chunk_claims_and_no_further(tmp_path):
    raw = records()
    packed = zstandard.compress(raw)
    assert len(read_bag(mcap_file(tmp_path / "good.mcap", chunk(packed, "zstd", len(raw))))) == 5
    bomb = zstandard.compress(bytes(2**24))
    for name, made, expected in (
        ("bomb", chunk(bomb, "zstd", 100), "cannot be read (something compressed has more than 100 bytes)"),
        ("short", chunk(packed, "zstd", len(raw) + 1), f"cannot be read (a chunk of {len(raw) + 1} bytes has others)"),
        ("large", chunk(b"", "", 2**40), f"cannot be read (a chunk of {2**40} bytes)"),
        ("noise", chunk(b"noise", "zstd", 100), "cannot be read (zstd"),
        ("lz4", chunk(b"noise" * 9, "lz4", 100), "cannot be read (LZ4"),
        ("snappy", chunk(raw, "snappy"), "has chunks with the compression 'snappy'"),
        ("checksum", chunk(raw, crc=1), "cannot be read (crc validation failed"),
    ):
        assert reason(read_bag, mcap_file(tmp_path / f"{name}.mcap", made))[1].startswith(expected), name


def test_messages_of_a_channel_that_is_not_there_are_refused(tmp_path):
    builder = RecordBuilder()
    mcap.Message(channel_id=7, sequence=0, log_time=0, publish_time=0, data=b"{}").write(builder)
    assert reason(read_bag, mcap_file(tmp_path / "run.mcap", chunk(builder.end())))[1] == "cannot be read (7)"


def test_statistics_that_lie_are_refused(tmp_path):
    made = mcap.Statistics(0, 1, {1: 6}, 1, 6, bags.START, bags.START, 0, 1)
    path = mcap_file(tmp_path / "run.mcap", chunk(records()), made)
    assert reason(read_bag, path)[1] == "says that it has 6 messages and holds 5"


def test_a_compressed_file_is_expanded_up_to_a_bound(tmp_path, monkeypatch):
    path = bags.rosbag(tmp_path / "run", said(), mode="file")
    monkeypatch.setattr(bag_file, "MOST_FILE", 1000)
    where, what, fix = reason(read_bag, path)
    assert where == "run.db3.zstd"
    assert what == "has more than 1000 bytes when expanded"
    assert "zstd -d" in fix


def altered(tmp_path, k=30, **fields):
    """A JSON bag in which one message differs."""
    messages = said()
    changed = {key: value for key, value in (messages[k].fields | fields).items() if value is not ...}
    messages[k] = messages[k]._replace(fields=changed)
    return bags.plain_mcap(tmp_path / "run.mcap", messages)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ["a", "a"]}, "names a joint twice or not at all: a, a"),
        ({"name": ["a", ""]}, "names a joint twice or not at all: a, "),
        ({"name": ["a", 3]}, "has 3 for a joint's name"),
        ({"name": ...}, "lacks the field 'name'"),
        ({"name": 7}, "'int' object is not iterable"),
        ({"position": [1.0]}, "has 1 values of position for 2 joints"),
        ({"position": [1.0, "2"]}, "has '2' where a number is expected"),
        ({"position": [1.0, True]}, "has True where a number is expected"),
        ({"position": {"a": 1.0}}, "has namespace(a=1.0) where a list of numbers is expected"),
        ({"position": [1.0, 10**400]}, "int too large to convert to float"),
        ({"header": {"stamp": {"sec": 1.5, "nanosec": 0}}}, "has a stamp that is not whole seconds and nanoseconds"),
        ({"header": {"stamp": {"sec": 10**12, "nanosec": 0}}}, "has the stamp 1000000000000000000000 ns"),
        ({"header": {"stamp": {"sec": -5, "nanosec": 0}}}, "has the stamp -5000000000 ns"),
    ],
)
def test_a_message_that_is_no_joint_state_is_named_by_topic_and_number(tmp_path, fields, expected):
    where, what, fix = reason(read_bag, altered(tmp_path, **fields))
    assert (where, what) == ("run.mcap/joint_states, message 30", expected)
    assert 'topics={"joints": ""}' in fix


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"7", b"\xff\xfe", b'{"name": ["a"]', b"[" * 100_000])
def test_a_message_that_is_no_json_is_named(tmp_path, data):
    messages = said()
    messages[4] = messages[4]._replace(fields=data)
    where, what, _ = reason(read_bag, bags.plain_mcap(tmp_path / "run.mcap", messages))
    assert where == "run.mcap/joint_states, message 4"
    assert what


def test_encodings_that_are_not_read_are_named(tmp_path):
    messages = [m._replace(fields=b"\x08\x01") for m in said()]
    for encoding, expected in (("protobuf", "is encoded as protobuf"), ("", "is encoded as nothing that is named")):
        where, what, fix = reason(read_bag, bags.plain_mcap(tmp_path / "run.mcap", messages, encoding))
        assert (where, what) == ("run.mcap/joint_states", expected)
        assert fix.startswith("Write it as cdr or ros1 or json")


def test_all_topics_that_cannot_be_read_are_named_at_once_and_one_left_out_does_not_matter(tmp_path):
    good = [m._replace(topic="/good") for m in said()]
    bad = [Said(f"/{kind}", f"x/{kind}", bags.START, b"{}") for kind in ("Imu", "Odometry", "WrenchStamped")]
    path = bags.plain_mcap(tmp_path / "run.mcap", [*good, *bad])
    with pytest.raises(LogError) as error:
        read_bag(path)
    assert [(f.where, f.what) for f in error.value.findings] == [
        (f"{path}, /Imu, message 0", "lacks the field 'angular_velocity'"),
        (f"{path}, /Odometry, message 0", "lacks the field 'pose'"),
        (f"{path}, /WrenchStamped, message 0",
         'has no header.frame_id; name the frame, topics={"wrench.FRAME": "TOPIC"}'),
    ]  # fmt: skip
    assert len(read_bag(path, {"imu": "", "odometry": "", "wrench": ""})) == 60


def test_a_cdr_message_that_is_cut_off_or_too_long_is_named(tmp_path):
    path = bags.alone(tmp_path / "run", said(), "sqlite3")
    with sqlite3.connect(path) as db:
        ((good,),) = db.execute("SELECT data FROM messages WHERE id = 8").fetchall()
        for data in (good[:40], good + bytes(8), b"", b"\0", bytes.fromhex("0001000001020304"), b"\7" + good[1:]):
            db.execute("UPDATE messages SET data = ? WHERE id = 8", (data,))
            db.commit()
            assert reason(read_bag, path)[0] == "run.db3/joint_states, message 7"
    db.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in bags.WRITERS if "version" not in k])
def test_whatever_bytes_are_hit_a_bag_is_read_or_refused(tmp_path, kind):
    """Bytes changed, cut out and cut off at random: a Log or one of our errors, never anything else."""
    made = bags.WRITERS[kind](tmp_path, said(30))
    files = sorted(made.iterdir()) if made.is_dir() else [made]
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
                read(made)
            except SteelyardError:
                refused += 1
        file.write_bytes(whole)
    assert refused > 60
    assert len(read_bag(made)) == 30
