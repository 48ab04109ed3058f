"""Bags of every kind, written with the public libraries from messages given as plain dictionaries."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

_EXTRA = "bags need the extra: pip install 'steelyard[bags]'"
mcap_writer = pytest.importorskip("mcap.writer", reason=_EXTRA)
interfaces = pytest.importorskip("rosbags.interfaces", reason=_EXTRA)
rosbag2 = pytest.importorskip("rosbags.rosbag2", reason=_EXTRA)
typesys = pytest.importorskip("rosbags.typesys", reason=_EXTRA)

START = 1_700_000_000_123_456_789  # ns since 1970, of the first stamp
LATE = 3_000_000  # ns from the stamp to the time of receipt

JOINTS, IMU = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu"
WRENCH, ODOMETRY = "geometry_msgs/msg/WrenchStamped", "nav_msgs/msg/Odometry"

STORE, STORE1 = (typesys.get_typestore(typesys.Stores[name]) for name in ("ROS2_HUMBLE", "ROS1_NOETIC"))


class Message(NamedTuple):
    """One message and when it was received."""

    topic: str
    type: str
    time: int  # ns since 1970
    fields: dict[str, Any]


def ns(seconds: float) -> int:
    return START + round(seconds * 1e9)


def header(t: float | None, frame: str = "") -> dict[str, Any]:
    stamp = 0 if t is None else ns(t)
    return {"stamp": {"sec": stamp // 10**9, "nanosec": stamp % 10**9}, "frame_id": frame}


def joints(t, names, q=(), v=(), tau=(), topic="/joint_states", received=None) -> Message:
    fields = {"name": list(names), "position": list(q), "velocity": list(v), "effort": list(tau)}
    return Message(topic, JOINTS, ns(t if received is None else received) + LATE, {"header": header(t), **fields})


def xyz(values, names="xyz"):
    return dict(zip(names, map(float, values), strict=True))


def imu(t, gyro, acc, quaternion=(0, 0, 0, 0), frame="imu_link", topic="/imu", absent=()) -> Message:
    fields = {"header": header(t, frame), "orientation": xyz(quaternion, "xyzw")}
    fields |= {"angular_velocity": xyz(gyro), "linear_acceleration": xyz(acc)}
    for name in ("orientation", "angular_velocity", "linear_acceleration"):
        fields[f"{name}_covariance"] = [-1.0 if name in absent else 0.1, *[0.0] * 8]
    return Message(topic, IMU, ns(t) + LATE, fields)


def wrench(t, values, frame, topic="/force") -> Message:
    fields = {"header": header(t, frame), "wrench": {"force": xyz(values[:3]), "torque": xyz(values[3:])}}
    return Message(topic, WRENCH, ns(t) + LATE, fields)


def odometry(t, position, quaternion, velocity=(0, 0, 0), angular=(0, 0, 0), topic="/odom", child="base") -> Message:
    pose = {"position": xyz(position), "orientation": xyz(quaternion, "xyzw")}
    twist = {"linear": xyz(velocity), "angular": xyz(angular)}
    fields = {"header": header(t, "odom"), "child_frame_id": child}
    fields |= {"pose": {"pose": pose, "covariance": [0.0] * 36}, "twist": {"twist": twist, "covariance": [0.0] * 36}}
    return Message(topic, ODOMETRY, ns(t) + LATE, fields)


def build(store, type, fields):
    """The message object of a type from plain fields."""
    values = {}
    for name, (node, detail) in store.fielddefs[type][1]:
        value = fields.get(name, 0)
        if node == interfaces.Nodetype.NAME:
            value = build(store, detail, value)
        elif node in (interfaces.Nodetype.ARRAY, interfaces.Nodetype.SEQUENCE) and name != "name":
            value = np.array(value, float)
        values[name] = value
    return store.types[type](**values)


def rosbag(folder: Path, messages: Iterable[Message], plugin="sqlite3", mode="none", version=9) -> Path:
    """A rosbag2 folder."""
    writer = rosbag2.Writer(folder, version=version, storage_plugin=rosbag2.StoragePlugin[plugin.upper()])
    writer.set_compression(rosbag2.CompressionMode[mode.upper()], rosbag2.CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic, type, time, fields in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type, typestore=STORE)
            data = STORE.serialize_cdr(build(STORE, type, fields), type)
            writer.write(connections[topic], time, data)
    return folder


def single_file(folder: Path, messages: Iterable[Message], plugin: str, mode="none") -> Path:
    """The one file of a rosbag2 folder, moved out of it."""
    suffix = {"sqlite3": ".db3", "mcap": ".mcap"}[plugin]
    file = next(rosbag(folder, messages, plugin, mode).glob(f"*{suffix}"))
    moved = Path(shutil.move(file, folder.with_suffix(suffix)))
    shutil.rmtree(folder)
    return moved


def plain_mcap(
    file: Path, messages: Iterable[Message], encoding="json", compression="ZSTD", named=lambda t: t, **options
):
    """An MCAP file without ROS 2: JSON by default."""
    with file.open("wb") as stream:
        writer = mcap_writer.Writer(stream, compression=mcap_writer.CompressionType[compression], **options)
        writer.start(profile="", library="tests")
        channels = {}
        for topic, type, time, fields in messages:
            if topic not in channels:
                schema = writer.register_schema(named(type), "jsonschema" if encoding == "json" else encoding, b"{}")
                channels[topic] = writer.register_channel(topic, encoding, schema)
            writer.add_message(channels[topic], time, data=encode(encoding, type, fields), publish_time=time)
        writer.finish()
    return file


def encode(encoding, type, fields) -> bytes:
    if encoding == "ros1":
        return bytes(STORE1.serialize_ros1(build(STORE1, type, fields), type))
    return fields if isinstance(fields, bytes) else json.dumps(fields).encode()


WRITERS = {
    "rosbag2 of SQLite": lambda path, messages: rosbag(path / "run", messages),
    "rosbag2 of SQLite, version 8": lambda path, messages: rosbag(path / "run", messages, version=8),
    "rosbag2 of MCAP": lambda path, messages: rosbag(path / "run", messages, "mcap"),
    "rosbag2, chunks compressed": lambda path, messages: rosbag(path / "run", messages, "mcap", "storage"),
    "rosbag2, messages compressed": lambda path, messages: rosbag(path / "run", messages, mode="message"),
    "rosbag2, file compressed": lambda path, messages: rosbag(path / "run", messages, mode="file"),
    "rosbag2 of MCAP, file compressed": lambda path, messages: rosbag(path / "run", messages, "mcap", "file"),
    "one db3": lambda path, messages: single_file(path / "run", messages, "sqlite3"),
    "one mcap": lambda path, messages: single_file(path / "run", messages, "mcap"),
    "MCAP with JSON": lambda path, messages: plain_mcap(path / "run.mcap", messages),
    "MCAP with JSON, lz4": lambda path, messages: plain_mcap(path / "run.mcap", messages, compression="LZ4"),
    "MCAP with JSON, neither chunks nor summary": lambda path, messages: plain_mcap(
        path / "run.mcap", messages, use_chunking=False, use_statistics=False, use_summary_offsets=False
    ),
    "MCAP with JSON, other names of types": lambda path, messages: plain_mcap(
        path / "run.mcap", messages, named=lambda type: "mine." + type.rsplit("/", 1)[-1]
    ),
    "MCAP of ROS 1": lambda path, messages: plain_mcap(
        path / "run.mcap", messages, "ros1", named=lambda type: type.replace("/msg/", "/")
    ),
}
