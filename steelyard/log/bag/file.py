"""The bytes of a bag → raw messages: rosbag2 folders, SQLite (.db3) and MCAP files, without ROS.

Bags are untrusted. Sizes stated in a file are not trusted: compressed data is expanded up to a bound only. A bag is
read to its end or refused: the number of messages that it claims is compared with the number read.
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
WINDOW = 2**27  # bytes, largest window of zstd

MAGIC, SQLITE_MAGIC = b"\x89MCAP0\r\n", b"SQLite format 3\0"
STORAGES = ("sqlite3", "mcap")
REINDEX = "Rebuild it: ros2 bag reindex"
AGAIN = "Record or copy it again; it is damaged"

ERRORS = (
    *(McapError, sqlite3.Error, zstandard.ZstdError, YAMLError, struct.error, ValueError, TypeError, KeyError),
    *(IndexError, AttributeError, EOFError, OSError, RuntimeError, MemoryError, OverflowError),
)  # what the libraries are known to raise on damaged files; RuntimeError is lz4's, and too deep a recursion


class RawMessage(NamedTuple):
    """One undecoded message of a bag."""

    topic: str
    type: str  # as the bag names it, e.g. sensor_msgs/msg/JointState
    encoding: str  # cdr, json …
    time: int  # ns since 1970, when it was received
    data: bytes | None  # None: no message, only the declaration of a topic


def raw_messages(path: Path) -> Iterator[RawMessage]:
    """Yield every message of a bag in the order of the file; LogError if it cannot be read to its end."""
    with _refusing(path):
        yield from _folder(path) if path.is_dir() else _file(path)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Convert the libraries' exceptions into the refusal of a file."""
    try:
        yield
    except ERRORS as error:
        raise unreadable(path, error, AGAIN) from None


def refusal(code: str, path: str | Path, what: str, fix: str) -> LogError:
    """Return the refusal of a bag for one reason."""
    return LogError(Finding(code, str(path), what, fix))


def _folder(path: Path) -> Iterator[RawMessage]:
    """A rosbag2 folder: the files that metadata.yaml lists, in its order."""
    where = path / "metadata.yaml"
    if not where.is_file():
        fix = f"{REINDEX} {path}; or give the file inside it"
        raise refusal("bag-metadata-missing", path, "has no metadata.yaml", fix)
    info = _metadata(where)
    storage, files = info["storage_identifier"], info["relative_file_paths"]
    if storage not in STORAGES:
        fix = f"Convert the bag to {' or '.join(STORAGES)}"
        raise refusal("bag-storage-unsupported", where, f"names the storage {storage!r}", fix)
    mode, kind = (str(info.get(key) or "").lower() for key in ("compression_mode", "compression_format"))
    if mode not in ("", "none") and (mode not in ("file", "message") or kind != "zstd"):
        what = f"names the compression {kind!r} (by {mode})"
        raise refusal("bag-compression-unsupported", where, what, "Convert the bag without compression")
    names = [PurePosixPath(str(name)).name for name in files]  # never outside of the folder
    if missing := [path / name for name in names if not (path / name).is_file()]:
        fix = f"Copy it there, or {REINDEX}"
        raise LogError([Finding("file-missing", str(file), "is missing", fix) for file in missing])
    counts: Counter[str] = Counter()
    for name in names:
        for raw in _expanded(path / name) if mode == "file" else _file(path / name):
            counts[raw.topic] += raw.data is not None
            yield raw._replace(data=_expand(raw.data)) if mode == "message" and raw.data is not None else raw
    for entry in info["topics_with_message_count"]:
        topic, claimed = entry["topic_metadata"]["name"], entry["message_count"]
        if claimed != counts[topic]:
            what = f"claims {claimed} messages, the files have {counts[topic]}"
            raise refusal("bag-incomplete", f"{where}, {topic}", what, f"{REINDEX} {path}; or copy the bag again")


def _metadata(path: Path) -> dict[str, Any]:
    """``rosbag2_bagfile_information`` of a metadata.yaml."""
    fix = f"{REINDEX} {path.parent}"
    if path.stat().st_size > MOST_METADATA:
        raise refusal("file-too-large", path, f"has more than {MOST_METADATA} bytes", fix)
    try:
        info = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))["rosbag2_bagfile_information"]
        needed = ("storage_identifier", "relative_file_paths", "topics_with_message_count")
        if missing := [key for key in needed if key not in info]:
            raise ValueError(f"{', '.join(missing)} missing")
    except (*ERRORS, AssertionError) as error:  # the last is ruamel's
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise refusal("bag-metadata-invalid", path, f"is not the metadata of a bag ({reason})", fix) from None
    return dict(info)


def _file(path: Path) -> Iterator[RawMessage]:
    if path.suffix.lower() not in (".db3", ".mcap"):
        fix = "Give a .db3 or .mcap file, or the folder of a rosbag2"
        raise refusal("format-unknown", path, f"has the suffix {path.suffix!r}", fix)
    if not path.stat().st_size:
        raise refusal("file-empty", path, "is empty", "Record it again")
    with _refusing(path):
        yield from (_mcap if path.suffix.lower() == ".mcap" else _sqlite)(path)


def _sqlite(path: Path) -> Iterator[RawMessage]:
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(SQLITE_MAGIC):
        raise refusal("file-unreadable", path, "is not an SQLite file", AGAIN)
    page, changes, pages, valid = struct.unpack_from(">16xH6xII60xI", head)
    if changes == valid and path.stat().st_size < pages * (65536 if page == 1 else page):
        fix = f"Recover what it has: sqlite3 {path} .recover | sqlite3 recovered.db3"
        what = f"is truncated: it has {path.stat().st_size} bytes of {pages} pages"
        raise refusal("file-truncated", path, what, fix)
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.exists() and beside.stat().st_size:
            fix = f"Finish it: sqlite3 {path} 'PRAGMA wal_checkpoint(TRUNCATE)'"
            raise refusal("bag-not-closed", path, f"was not closed: part of it is still in {beside.name}", fix)
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if missing := {"topics", "messages"} - tables:
            what = f"has no table {' and no table '.join(sorted(missing))}"
            raise refusal("file-unreadable", path, what, "Give a bag that rosbag2 recorded")
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
            raise refusal("file-unreadable", path, "is not an MCAP file", AGAIN)
        file.seek(-min(len(MAGIC), path.stat().st_size), os.SEEK_END)
        if file.read() != MAGIC or path.stat().st_size < 2 * len(MAGIC):
            fix = f"Recover what it has: mcap recover {path} -o recovered.mcap"
            raise refusal("file-truncated", path, "is truncated: recording was interrupted", fix)
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
            what = f"claims {record.message_count} messages and has {count}"
            fix = f"Recover what it has: mcap recover {path} -o recovered.mcap"
            raise refusal("bag-incomplete", path, what, fix)


def _records(path: Path, file: Any) -> Iterator[McapRecord]:
    """All records up to the footer, including those in chunks; the library would expand chunks without a bound."""
    for record in StreamReader(file, emit_chunks=True, validate_crcs=True, record_size_limit=MOST_RECORD).records:
        if not isinstance(record, Chunk):
            yield record
            continue
        if record.compression not in ("", "lz4", "zstd"):
            what = f"has chunks with the compression {record.compression!r}"
            fix = f"Convert it: mcap compress {path} -o zstd.mcap"
            raise refusal("bag-compression-unsupported", path, what, fix)
        size = record.uncompressed_size
        if size > MOST_RECORD:
            raise ValueError(f"a chunk of {size} bytes")
        data = record.data
        if record.compression == "zstd":
            data = _expand(data, size)
        elif record.compression == "lz4":
            data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        if len(data) != size:
            raise ValueError(f"a chunk has not the {size} bytes that it claims")
        yield from breakup_chunk(replace(record, compression="", data=data), validate_crc=True)


def _expand(data: bytes, most: int = MOST_RECORD) -> bytes:
    """Decompress zstd, up to a bound."""
    reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(data)
    expanded = reader.read(most + 1)
    if len(expanded) > most:
        raise ValueError(f"compressed data expands to more than {most} bytes")
    return expanded


def _expanded(path: Path) -> Iterator[RawMessage]:
    """The messages of a compressed file, expanded into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, path.stem)
        size = 0
        with path.open("rb") as packed, target.open("wb") as file:
            reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(packed)
            while part := reader.read(2**20):
                size += file.write(part)
                if size > MOST_FILE:
                    what = f"has more than {MOST_FILE} bytes when expanded"
                    fix = f"Expand it yourself, if you trust it: zstd -d {path}"
                    raise refusal("file-too-large", path, what, fix)
        if not size:
            raise refusal("file-truncated", path, "is truncated or empty", AGAIN)
        try:
            yield from _file(target)
        except LogError as error:  # name the user's file, not the temporary one
            raise LogError([f.at(f.where.replace(str(target), str(path))) for f in error.findings]) from None
