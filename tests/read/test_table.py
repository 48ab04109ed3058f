"""A log is the same log in every format, bit for bit, with its metadata."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.log.format import WritableFormat, all_formats
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log

FORMATS = pytest.mark.parametrize(
    "suffix", [s for f in all_formats() if isinstance(f, WritableFormat) for s in f.suffixes]
)
METADATA = {"imu_frame": "imu_link", "gains": {"hip": 14.87}, "truth": {"trunk": [1.5, 0.1]}, "note": 'a "b", c\n— ü'}


def example(rows=50, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"time": np.cumsum(rng.uniform(0.001, 0.003, rows)) + 1.7e9}
    columns |= {f"{kind}.{joint}": rng.normal(size=rows) for joint in ("hip", "knee") for kind in ("q", "tau")}
    columns |= {f"imu.acc.{c}": rng.normal(size=rows) * 1e-200 for c in "xyz"}
    columns["contact.foot"] = (rng.random(rows) > 0.5).astype(float)
    return columns


def same(one, two):
    np.testing.assert_array_equal(one.time, two.time)
    assert list(one.columns) == list(two.columns)
    for name, values in one.columns.items():
        assert values.dtype == two.columns[name].dtype == float
        np.testing.assert_array_equal(values, two.columns[name])
    assert one.metadata == two.metadata


@FORMATS
def test_what_is_written_reads_back_exactly_with_its_metadata(tmp_path, suffix):
    log = Log.from_columns(example(), METADATA)
    write_log(tmp_path / f"log{suffix}", log)
    back = read_log(tmp_path / f"log{suffix}")
    same(back, log)
    assert back.source == str(tmp_path / f"log{suffix}")
    assert back.ignored == ()


@FORMATS
def test_a_log_without_metadata_reads_back_without(tmp_path, suffix):
    write_log(tmp_path / f"LOG{suffix.upper()}", Log.from_columns(example()))
    assert read_log(tmp_path / f"LOG{suffix.upper()}").metadata == {}


@FORMATS
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=arrays(float, 4, elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_every_double_survives(tmp_path, suffix, values):
    log = Log.from_columns({"time": np.arange(4.0), "q.a": values})
    write_log(tmp_path / f"log{suffix}", log)
    back = read_log(tmp_path / f"log{suffix}").columns["q.a"]
    assert back.tobytes() == values.tobytes(), "the sign of zero included"


@FORMATS
@pytest.mark.parametrize("joint", ["a,b", 'a "x"', "arm/1", "läufer", "a b", "fx", "a.fx", "#1", "x;y", "'q'"])
def test_joints_may_be_called_anything(tmp_path, suffix, joint):
    log = Log.from_columns({"time": np.arange(3.0), f"q.{joint}": np.arange(3.0), f"wrench.{joint}.fx": np.ones(3)})
    write_log(tmp_path / f"log{suffix}", log)
    back = read_log(tmp_path / f"log{suffix}")
    same(back, log)
    assert back.names("q") == back.names("wrench") == [joint]


def test_metadata_may_hold_arrays_and_numpy_numbers(tmp_path):
    log = Log.from_columns(example(), {"truth": np.arange(2.0), "seed": np.int64(3)})
    write_log(tmp_path / "log.csv", log)
    assert read_log(tmp_path / "log.csv").metadata == {"truth": [0.0, 1.0], "seed": 3}


@FORMATS
def test_other_columns_are_listed_and_ignored_whatever_they_hold(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    columns = {"time": [0.0, 1.0], "note": ["a", "b"], "q.a": [1.0, 2.0], "empty": [np.nan, np.nan]}
    if suffix == ".parquet":
        columns["many"] = [[1.0], [2.0, 3.0]]
        pq.write_table(pa.table(columns), path)
    elif suffix == ".npz":
        np.savez(path, many=np.zeros((5, 5)), **columns)
    else:
        text = b"time,note,q.a,empty,empty,\n0,a,1,,,\n1,'b,2,,x,\n"
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    log = read_log(path)
    assert {"note", "empty"} < set(log.ignored)
    assert list(log.columns) == ["q.a"]
    np.testing.assert_array_equal(log.columns["q.a"], [1, 2])


def csv(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_log(path)


@pytest.mark.parametrize(
    "text",
    [
        "time,q.a\n0,1\n1,2\n",
        "time,q.a\r\n0,1\r\n1,2\r\n",
        "time,q.a\n0,1\n1,2",
        "\n\ntime,q.a\n\n0,1\n1,2\n\n",
        '"time", "q.a"\n0,1\n1,2\n'.replace(", ", ","),
        " time , q.a \n 0 , 1 \n+1.0,2e0\n",
        b"\xef\xbb\xbftime,q.a\n0,1\n1,2\n",
        "# steelyard {}\ntime,q.a\n0,1\n1,2\n",
        '"time","q.a"\n"0","1"\n"1","2"\n',
        'time,q.a,"a note\nof two lines"\n0,1,x\n1,2,"y\nz"\n',
    ],
)
def test_csv_of_many_programs_is_read_alike(tmp_path, text):
    log = csv(tmp_path, text)
    np.testing.assert_array_equal(log.time, [0, 1])
    np.testing.assert_array_equal(log.columns["q.a"], [1, 2])


def test_a_contact_may_be_true_or_false(tmp_path):
    np.testing.assert_array_equal(csv(tmp_path, "time,contact.f\n0,true\n1,False\n").columns["contact.f"], [1, 0])


def test_a_column_that_starts_with_whole_numbers_may_continue_with_fractions(tmp_path):
    """PyArrow guesses types from the first megabyte."""
    rows = 200_000
    text = "time,q.a\n" + "".join(f"{k},0\n" for k in range(rows)) + f"{rows},0.5\n"
    assert csv(tmp_path, text).columns["q.a"][-1] == 0.5


def test_parquet_columns_of_any_number_type_are_read(tmp_path):
    path = tmp_path / "log.parquet"
    columns = {
        "time": pa.array([0, 1], pa.int64()),
        "q.a": pa.array([0.5, 1.5], pa.float32()),
        "q.b": pa.array(["0.5", "1.5"]).cast(pa.decimal128(5, 2)),
        "q.c": pa.array([0.5, 1.5]).dictionary_encode(),
        "contact.f": pa.array([True, False]),
    }
    pq.write_table(pa.table(columns), path)
    log = read_log(path)
    for name in ("q.a", "q.b", "q.c"):
        np.testing.assert_array_equal(log.columns[name], [0.5, 1.5])
    np.testing.assert_array_equal(log.columns["contact.f"], [1, 0])


def test_nanoseconds_since_1970_are_read_for_the_check_of_their_unit(tmp_path):
    path = tmp_path / "log.parquet"
    start = 1_700_000_000_000_000_001
    pq.write_table(pa.table({"time": pa.array([start, start + 1_000_000]), "q.a": [0.0, 1.0]}), path)
    assert np.diff(read_log(path).time) == pytest.approx(1e6, abs=512)


def test_folders_called_like_assignments_add_no_columns(tmp_path):
    folder = tmp_path / "q.b=3"
    folder.mkdir()
    pq.write_table(pa.table({"time": [0.0, 1.0], "q.a": [0.0, 1.0]}), folder / "log.parquet")
    assert list(read_log(folder / "log.parquet").columns) == ["q.a"]
