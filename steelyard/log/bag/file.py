"""The bytes of a bag → raw messages: rosbag2 folders, SQLite (.db3) and MCAP files, without ROS.

Untrusted bytes. Nothing a file says about sizes is believed: what is compressed is expanded up to a bound and no
further. A bag is read to its end or refused: what it claims to hold is compared with what was found in it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import lz4.frame
import zstandard
from mcap.exceptions import McapError
from mcap.records import Channel, Chunk, McapRecord, Message, Schema, Statistics
from mcap.stream_reader import StreamReader, breakup_chunk
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from steelyard.errors import Finding, LogError
from steelyard.log.format import unreadable

MOST_RECORD = 2**30  # bytes of one MCAP record, and of one chunk or message when expanded
MOST_FILE = 2**33  # bytes of a compressed file of a rosbag2 folder when expanded
MOST_METADATA = 2**22  # bytes of metadata.yaml
WINDOW = 2**27  # bytes that zstd may look back

MAGIC, SQLITE_MAGIC = b"\x89MCAP0\r\n", b"SQLite format 3\0"
STORAGES = ("sqlite3", "mcap")
REINDEX = "Rebuild it: ros2 bag reindex"
AGAIN = "Record or copy it again; it is damaged"

ERRORS = (
    *(McapError, sqlite3.Error, zstandard.ZstdError, YAMLError, struct.error, ValueError, TypeError, KeyError),
    *(IndexError, AttributeError, EOFError, OSError, RuntimeError, MemoryError, OverflowError),
)  # what the libraries are known to raise on damaged files; RuntimeError is lz4's, and too deep a recursion


class RawMessage(NamedTuple):
    """One message as it lies in the bag."""

    topic: str
    type: str  # as the bag names it, e.g. sensor_msgs/msg/JointState
    encoding: str  # cdr, json …
    time: int  # ns since 1970, when it was received
    data: bytes | None  # None: no message, the bag only says that there is such a topic


def raw_messages(path: Path) -> Iterator[RawMessage]:
    """Every message of a bag in the order of the file; LogError where it cannot be read to its end."""
    with _refusing(path):
        yield from _folder(path) if path.is_dir() else _file(path)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What the libraries raise, said of a file."""
    try:
        yield
    except ERRORS as error:
        raise unreadable(path, error, AGAIN) from None


def refusal(path: str | Path, what: str, fix: str) -> LogError:
    """One reason against a bag."""
    return LogError(Finding("todo", str(path), what, fix))


def _folder(path: Path) -> Iterator[RawMessage]:
    """A rosbag2 folder: the files that metadata.yaml lists, in its order."""
    where = path / "metadata.yaml"
    if not where.is_file():
        raise refusal(path, "has no metadata.yaml", f"{REINDEX} {path}; or give the file inside it")
    info = _metadata(where)
    storage, files = info["storage_identifier"], info["relative_file_paths"]
    if storage not in STORAGES:
        raise refusal(where, f"names the storage {storage!r}", f"Convert the bag to {' or '.join(STORAGES)}")
    mode, kind = (str(info.get(key) or "").lower() for key in ("compression_mode", "compression_format"))
    if mode not in ("", "none") and (mode not in ("file", "message") or kind != "zstd"):
        raise refusal(where, f"names the compression {kind!r} (by {mode})", "Convert the bag without compression")
    names = [PurePosixPath(str(name)).name for name in files]  # never outside of the folder
    if missing := [path / name for name in names if not (path / name).is_file()]:
        raise LogError([Finding("todo", str(file), "is missing", f"Copy it there, or {REINDEX}") for file in missing])
    counts: Counter[str] = Counter()
    for name in names:
        for raw in _expanded(path / name) if mode == "file" else _file(path / name):
            counts[raw.topic] += raw.data is not None
            yield raw._replace(data=_expand(raw.data)) if mode == "message" and raw.data is not None else raw
    for entry in info["topics_with_message_count"]:
        topic, claimed = entry["topic_metadata"]["name"], entry["message_count"]
        if claimed != counts[topic]:
            what = f"says that {topic} has {claimed} messages, the files hold {counts[topic]}"
            raise refusal(where, what, f"{REINDEX} {path}; or copy the bag again")


def _metadata(path: Path) -> dict[str, Any]:
    """``rosbag2_bagfile_information`` of a metadata.yaml."""
    fix = f"{REINDEX} {path.parent}"
    if path.stat().st_size > MOST_METADATA:
        raise refusal(path, f"has more than {MOST_METADATA} bytes", fix)
    try:
        info = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))["rosbag2_bagfile_information"]
        needed = ("storage_identifier", "relative_file_paths", "topics_with_message_count")
        if missing := [key for key in needed if key not in info]:
            raise ValueError(f"{', '.join(missing)} missing")
    except (*ERRORS, AssertionError) as error:  # the last is ruamel's
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise refusal(path, f"is not the metadata of a bag ({said})", fix) from None
    return dict(info)


def _file(path: Path) -> Iterator[RawMessage]:
    if path.suffix.lower() not in (".db3", ".mcap"):
        raise refusal(path, f"ends in {path.suffix!r}", "Give a .db3 or .mcap file, or the folder of a rosbag2")
    if not path.stat().st_size:
        raise refusal(path, "is empty", "Record it again")
    with _refusing(path):
        yield from (_mcap if path.suffix.lower() == ".mcap" else _sqlite)(path)


def _sqlite(path: Path) -> Iterator[RawMessage]:
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(SQLITE_MAGIC):
        raise refusal(path, "is not an SQLite file", AGAIN)
    page, changes, pages, valid = struct.unpack_from(">16xH6xII60xI", head)
    if changes == valid and path.stat().st_size < pages * (65536 if page == 1 else page):
        fix = f"Recover what it has: sqlite3 {path} .recover | sqlite3 recovered.db3"
        raise refusal(path, f"was cut off: it has {path.stat().st_size} bytes of {pages} pages", fix)
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.exists() and beside.stat().st_size:
            fix = f"Finish it: sqlite3 {path} 'PRAGMA wal_checkpoint(TRUNCATE)'"
            raise refusal(path, f"was not closed: part of it still lies in {beside.name}", fix)
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if missing := {"topics", "messages"} - tables:
            what = f"has no table {' and no table '.join(sorted(missing))}"
            raise refusal(path, what, "Give a bag that rosbag2 recorded")
        rows = db.execute("SELECT id, name, type, serialization_format FROM topics").fetchall()
        topics = {key: (str(name), str(kind), str(encoding)) for key, name, kind, encoding in rows}
        yield from (RawMessage(*topic, 0, None) for topic in topics.values())
        for key, time, data in db.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id"):
            if not isinstance(time, int) or not isinstance(data, bytes):
                raise ValueError("a message is not a time with bytes")
            yield RawMessage(*topics[key], time, data)


def _mcap(path: Path) -> Iterator[RawMessage]:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise refusal(path, "is not an MCAP file", AGAIN)
        file.seek(-min(len(MAGIC), path.stat().st_size), os.SEEK_END)
        if file.read() != MAGIC or path.stat().st_size < 2 * len(MAGIC):
            fix = f"Recover what it has: mcap recover {path} -o recovered.mcap"
            raise refusal(path, "was cut off: it has no end, as if the recording was killed", fix)
        file.seek(0)
        yield from _channels(path, _records(path, file))


def _channels(path: Path, records: Iterator[McapRecord]) -> Iterator[RawMessage]:
    schemas: dict[int, Schema] = {}
    topics: dict[int, RawMessage] = {}
    count = 0
    for record in records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel) and record.id not in topics:
            name = schemas[record.schema_id].name if record.schema_id else ""
            topics[record.id] = RawMessage(record.topic, name, record.message_encoding, 0, None)
            yield topics[record.id]
        elif isinstance(record, Message):
            count += 1
            yield topics[record.channel_id]._replace(time=record.log_time, data=record.data)
        elif isinstance(record, Statistics) and record.message_count != count:
            what = f"says that it has {record.message_count} messages and holds {count}"
            raise refusal(path, what, f"Recover what it has: mcap recover {path} -o recovered.mcap")


def _records(path: Path, file: Any) -> Iterator[McapRecord]:
    """All records up to the footer, those in chunks too; the library would expand chunks without a bound."""
    for record in StreamReader(file, emit_chunks=True, validate_crcs=True, record_size_limit=MOST_RECORD).records:
        if not isinstance(record, Chunk):
            yield record
            continue
        if record.compression not in ("", "lz4", "zstd"):
            what = f"has chunks with the compression {record.compression!r}"
            raise refusal(path, what, f"Convert it: mcap compress {path} -o zstd.mcap")
        size = record.uncompressed_size
        if size > MOST_RECORD:
            raise ValueError(f"a chunk of {size} bytes")
        data = record.data
        if record.compression == "zstd":
            data = _expand(data, size)
        elif record.compression == "lz4":
            data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        if len(data) != size:
            raise ValueError(f"a chunk of {size} bytes has others")
        yield from breakup_chunk(replace(record, compression="", data=data), validate_crc=True)


def _expand(data: bytes, most: int = MOST_RECORD) -> bytes:
    """Undo zstd, up to a bound."""
    reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(data)
    expanded = reader.read(most + 1)
    if len(expanded) > most:
        raise ValueError(f"something compressed has more than {most} bytes")
    return expanded


def _expanded(path: Path) -> Iterator[RawMessage]:
    """The messages of a compressed file, expanded into a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path.stem)
        size = 0
        with path.open("rb") as packed, target.open("wb") as file:
            reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(packed)
            while part := reader.read(2**20):
                size += file.write(part)
                if size > MOST_FILE:
                    what = f"has more than {MOST_FILE} bytes when expanded"
                    raise refusal(path, what, f"Expand it yourself, if you trust it: zstd -d {path}")
        if not size:
            raise refusal(path, "was cut off, or was empty", AGAIN)
        try:
            yield from _file(target)
        except LogError as error:  # say it of the user's file
            raise LogError([f.at(f.where.replace(str(target), str(path))) for f in error.findings]) from None
