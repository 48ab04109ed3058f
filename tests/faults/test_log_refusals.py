"""Each fault of a log is refused with its code and place; all faults at once."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.errors import LogError
from steelyard.log.log import Log
from steelyard.log.table import read_log, write_log

T = np.arange(4.0)
POSE = {"position": [0, 0, 0], "quaternion": [0, 0, 0, 1]}


def refusals(call, *args):
    with pytest.raises(LogError) as error:
        call(*args)
    assert error.value.exit_code == 3
    return error.value.findings


def places(findings, source="log, "):
    """Code and place of each finding, the place without its source."""
    return [(f.code, f.where.removeprefix(source)) for f in findings]


def table(metadata=None, **columns):
    """Findings about a table; ``__`` stands for a dot."""
    named = {name.replace("__", "."): values for name, values in columns.items()}
    return refusals(Log.from_columns, named, metadata)


def test_a_log_without_time_is_refused():
    (finding,) = table(q__a=T, tau__a=T)
    assert (finding.code, finding.where, finding.remedy) == ("time-missing", "log, time", {})
    assert places(table()) == [("time-missing", "time")]


@pytest.mark.parametrize("name", ["Time", "times", "t", "stamp", "# time"])
def test_the_remedy_for_a_time_of_another_name_is_to_rename_it(name):
    (finding,) = table(**{name: T, "q__a": T})
    assert (finding.code, finding.remedy) == ("time-missing", {"column": name, "rename": "time"})


@pytest.mark.parametrize("rows", [0, 1])
def test_a_log_of_fewer_than_two_rows_is_refused(rows):
    assert places(table(time=np.zeros(rows))) == [("rows-too-few", "time")]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_by_column_and_row(value):
    assert places(table(time=T, q__a=[0.0, 1.0, value, value])) == [("column-not-finite", "q.a, row 2")]
    assert places(table(time=[0.0, value, 2.0, 3.0])) == [("column-not-finite", "time, row 1")]


@pytest.mark.parametrize(
    ("time", "row"),
    [
        ([0, 1, 1, 2], 2),
        ([0, 2, 1, 0], 2),
        ([1.7e9, 1.7e9, 1.7e9 + 1, 1.7e9 + 2], 1),
    ],
)
def test_time_that_does_not_increase_is_refused_with_its_row(time, row):
    assert places(table(time=np.array(time, float))) == [("time-not-increasing", f"time, row {row}")]


def test_columns_of_another_length_or_shape_are_refused():
    assert places(table(time=T, q__a=T[:3], q__b=np.zeros((4, 2)), q__c=np.float64(1))) == [
        ("column-length", "q.a"),
        ("column-shape", "q.b"),
        ("column-shape", "q.c"),
    ]
    assert places(table(time=np.float64(1)))[-1] == ("column-shape", "time")


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "c", "d"],
        ["1", "2", "3", "4"],
        np.array([None, 1, 2, 3]),
        T + 1j,
        T.astype("datetime64[s]"),
        T.astype("timedelta64[s]"),
    ],
    ids=["text", "numbers as text", "objects", "complex numbers", "dates", "durations"],
)
def test_a_column_without_numbers_is_refused(values):
    assert places(table(time=T, q__a=values)) == [("column-not-numeric", "q.a")]


@pytest.mark.parametrize("vector", ["imu.acc", "imu.gyro", "base.position", "base.velocity", "base.quaternion"])
def test_a_part_of_a_vector_is_refused(vector):
    whole = [f"{vector}.{c}" for c in ("xyzw" if vector.endswith("quaternion") else "xyz")]
    (finding,) = table(time=T, **{whole[1]: T})
    assert (finding.code, finding.where) == ("components-missing", f"log, {vector}")
    assert finding.remedy == {"columns": [c for c in whole if c != whole[1]]}


def test_a_vector_is_refused_where_some_of_its_components_are_missing():
    log = Log.from_columns({"time": T, "wrench.foot.fz": T})
    (finding,) = refusals(log.vector, "wrench.foot", ("fx", "fz"))
    assert (finding.code, finding.where) == ("components-missing", "log, wrench.foot")
    assert finding.remedy == {"columns": ["wrench.foot.fx"]}
    assert log.vector("wrench.hand", ("fx",)) is None


@pytest.mark.parametrize(
    ("metadata", "where"),
    [
        ({"imu_frame": 3}, "imu_frame"),
        ({"gains": [1.0]}, "gains"),
        ({"plates": ["a"]}, "plates"),
        ({"plates": {"a": [0, 0, 0]}}, "plates, a"),
        ({"plates": {"a": {"position": [0, 0, 0]}}}, "plates, a, quaternion"),
        ({"plates": {"a": {"quaternion": [0, 0, 0, 1]}}}, "plates, a, position"),
        ({"plates": {"a": POSE | {"position": [0, 0]}}}, "plates, a, position"),
        ({"plates": {"a": POSE | {"position": "origin"}}}, "plates, a, position"),
        ({"plates": {"a": POSE | {"position": [0, 0, float("inf")]}}}, "plates, a, position"),
        ({"plates": {"a": POSE | {"quaternion": [0, 0, 0, True]}}}, "plates, a, quaternion"),
        ({"gains": {"a": "14"}}, "gains, a"),
        ({"gains": {"a": 0}}, "gains, a"),
        ({"gains": {"a": True}}, "gains, a"),
        ({"gains": {"a": float("nan")}}, "gains, a"),
    ],
)
def test_metadata_of_the_wrong_kind_is_refused(metadata, where):
    assert places(table(metadata, time=T)) == [("metadata-invalid", f"metadata, {where}")]


def test_the_quaternion_of_a_plate_has_unit_norm():
    double = {"plates": {"a": POSE | {"quaternion": [0, 0, 0, 2]}}}
    assert places(table(double, time=T)) == [("quaternion-not-unit", "metadata, plates, a, quaternion")]


def test_a_bad_log_is_refused_once_with_every_reason():
    findings = table(
        {"imu_frame": 3}, time=[0.0, 1.0, 1.0], q__a=[0.0, np.nan, 1.0], tau__a=[1.0], q__b=["x"] * 3, imu__acc__x=T[:3]
    )
    assert places(findings) == [
        ("time-not-increasing", "time, row 2"),
        ("column-not-finite", "q.a, row 1"),
        ("column-length", "tau.a"),
        ("column-not-numeric", "q.b"),
        ("components-missing", "imu.acc"),
        ("metadata-invalid", "metadata, imu_frame"),
    ]
    with pytest.raises(LogError) as error:
        Log.from_columns({"q.a": T, "q.b": T * np.nan})
    assert len(str(error.value).splitlines()) == len(error.value.findings) == 2, "a line each"


def test_unknown_columns_are_listed_and_never_fatal():
    odd = {"note": ["x"], "q.": [1], "v": np.zeros((2, 2)), "imu.acc.w": [np.nan], "wrench.foot.fw": []}
    log = Log.from_columns({"time": T, "q.a": T, **odd})
    assert log.ignored == tuple(odd)
    assert list(log.columns) == ["q.a"]


def file(tmp_path, name, data):
    """Code and place of each finding about a file, the place without its folder."""
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return places(refusals(read_log, tmp_path / name), f"{tmp_path}/")


def test_a_missing_file_is_refused_with_the_nearest(tmp_path):
    (tmp_path / "walk_01.csv").touch()
    (finding,) = refusals(read_log, tmp_path / "walk_1.csv")
    assert (finding.code, finding.where) == ("file-missing", f"{tmp_path}/walk_1.csv")
    assert finding.remedy == {"name": "walk_01.csv"}
    (finding,) = refusals(read_log, tmp_path / "no" / "x.npz")
    assert (finding.code, finding.remedy) == ("file-missing", {})
    (tmp_path / "d.csv").mkdir()
    assert places(refusals(read_log, tmp_path / "d.csv"), f"{tmp_path}/") == [("file-is-folder", "d.csv")]


@pytest.mark.parametrize("name", ["log.xlsx", "log.csv.zip", "log"])
def test_an_unknown_format_is_refused(tmp_path, name):
    assert file(tmp_path, name, "x") == [("format-unknown", name)]
    log = Log.from_columns({"time": T})
    assert places(refusals(write_log, tmp_path / "new.mat", log), f"{tmp_path}/") == [("format-unknown", "new.mat")]


@pytest.mark.parametrize("text", ["", "\n\n", "# steelyard {}\n", " \n", ",,\n1,2,3\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    assert file(tmp_path, "log.csv", text) == [("file-empty", "log.csv")]
    assert file(tmp_path, "log.csv.gz", gzip.compress(text.encode())) == [("file-empty", "log.csv.gz")]


def test_a_header_without_samples_is_refused(tmp_path):
    assert file(tmp_path, "log.csv", "time,q.a\n") == [("rows-too-few", "log.csv, time")]


def test_a_table_without_header_is_refused(tmp_path):
    assert file(tmp_path, "log.csv", "0.0,1.0,-2e3\n0.1,1.0,3\n") == [("header-missing", "log.csv, line 1")]


def test_a_repeated_column_is_refused(tmp_path):
    text = "time,q.a, q.a,x,x\n0,1,2,3,4\n1,1,2,3,4\n"
    assert file(tmp_path, "log.csv", text) == [("column-repeated", "log.csv, line 1, q.a")]
    below = "# steelyard {}\n\n" + text
    assert file(tmp_path, "log.csv", below) == [("column-repeated", "log.csv, line 3, q.a")]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(T)] * 3, ["time", "q.a", "q.a"]), buffer)
    assert file(tmp_path, "log.parquet", buffer.getvalue()) == [("column-repeated", "log.parquet, q.a")]


def test_a_log_with_an_incomplete_last_line_is_refused(tmp_path):
    text = "time,q.a,tau.a\n0,1,2\n1,1,2\n2,1"
    assert file(tmp_path, "log.csv", text) == [("line-incomplete", "log.csv, line 4")]
    assert file(tmp_path, "log.csv", "time,q.a\n0,1\n1,2e-") == [("cell-not-number", "log.csv, line 3, q.a")]


def test_lines_of_another_length_are_refused_with_their_numbers(tmp_path):
    text = "# steelyard {}\ntime,q.a\n0,1\n1,2,3\n2,3\n"
    assert file(tmp_path, "log.csv", text) == [("line-width", "log.csv, line 4")]
    lines = [("line-width", f"log.csv, line {k}") for k in (3, 5, 7, 9, 11)]
    some = file(tmp_path, "log.csv", "time,q.a\n" + "0,1\n1\n" * 9 + "5,5\n")
    assert some == [*lines, ("line-width", "log.csv")], "five lines, and one finding for the rest"


def test_cells_without_a_number_are_refused_by_line_and_column_all_at_once(tmp_path):
    text = "time,q.a,q.b,note\n0,1,x,hi\n1,ERROR,y,hi\n2,1_000,3,hi\n3,1\n"
    assert file(tmp_path, "log.csv", text) == [
        ("line-incomplete", "log.csv, line 5"),
        ("cell-not-number", "log.csv, line 2, q.b"),
        ("cell-not-number", "log.csv, line 3, q.a"),
    ]


def test_empty_cells_are_missing_values(tmp_path):
    text = "time,q.a\n0,1\n1,\n2,NaN\n3,n/a\n"
    assert file(tmp_path, "log.csv", text) == [("column-not-finite", "log.csv, q.a, row 1")]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("time;q.a\n0,5;1,5\n1,5;2,5\n", "separator-wrong", "log.csv, line 1"),
        ("time\tq.a\n0.5\t1\n", "separator-wrong", "log.csv, line 1"),
        ('time,q.a\n0,"1,5"\n1,2\n', "cell-not-number", "log.csv, line 2, q.a"),
        ("time,q.a\n0,5,1,5\n1,5,2,5\n", "header-width", "log.csv"),
    ],
)
def test_decimal_commas_and_other_separators_are_refused(tmp_path, text, code, where):
    assert file(tmp_path, "log.csv", text) == [(code, where)]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_text_in_another_encoding_is_refused(tmp_path, encoding):
    assert file(tmp_path, "log.csv", "time,q.ä\n0,1\n".encode(encoding)) == [("file-not-utf8", "log.csv")]


@pytest.mark.parametrize("text", ['time,q.a\n0,x\n1,"' + "1" * 200_000, "x" * 200_000], ids=["cell", "header"])
def test_a_cell_too_large_for_a_table_is_refused(tmp_path, text):
    assert file(tmp_path, "log.csv", text) == [("table-malformed", "log.csv")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "{oops"),
        ("log.csv", "[1]"),
        ("log.csv", "[" * 100_000),
        ("log.npz", "{oops"),
        ("log.parquet", "7"),
    ],
    ids=["csv, no JSON", "csv, no object", "csv, too deep", "npz, no JSON", "parquet, no object"],
)
def test_bad_metadata_is_refused(tmp_path, name, text):
    buffer = io.BytesIO()
    if name.endswith("csv"):
        buffer.write(f"# steelyard {text}\ntime,q.a\n0,1\n1,2\n".encode())
    elif name.endswith("npz"):
        np.savez(buffer, time=T, steelyard=np.array(text))
    else:
        pq.write_table(pa.table({"time": T}).replace_schema_metadata({"steelyard": text}), buffer)
    assert file(tmp_path, name, buffer.getvalue()) == [("metadata-invalid", f"{name}, metadata")]


def test_metadata_that_is_not_json_is_not_written(tmp_path):
    log = Log.from_columns({"time": T}, {"robot": object()})
    assert places(refusals(write_log, tmp_path / "log.csv", log)) == [("metadata-invalid", "metadata")]
    assert not list(tmp_path.iterdir())


def whole(name):
    columns = {"time": np.linspace(0, 1, 2000), "q.a": np.random.default_rng(0).normal(size=2000)}
    buffer = io.BytesIO()
    if name.endswith("parquet"):
        pq.write_table(pa.table(columns), buffer)
    elif name.endswith("npz"):
        np.savez_compressed(buffer, **columns)
    else:
        rows = "".join(f"{t!r},{q!r}\n" for t, q in zip(*(c.tolist() for c in columns.values()), strict=True))
        buffer.write(gzip.compress(f"time,q.a\n{rows}".encode()))
    return buffer.getvalue()


BINARY = pytest.mark.parametrize("name", ["log.parquet", "log.npz", "log.csv.gz"])


@BINARY
@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused(tmp_path, name, part):
    data = whole(name)
    empty = part == 0 and name == "log.csv.gz"
    expected = [("file-empty" if empty else "file-unreadable", name)]
    assert file(tmp_path, name, data[: int(part * len(data))]) == expected


@BINARY
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    assert file(tmp_path, name, "time,q.a\n0,1\n1,2\n") == [("file-unreadable", name)]


@BINARY
def test_damage_is_refused_or_harmless_but_never_a_crash(tmp_path, name):
    data, rng = whole(name), np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        bad = bytearray(data)
        for at in rng.integers(len(data), size=3):
            bad[at] = rng.integers(256)
        (tmp_path / name).write_bytes(bytes(bad))
        try:
            read_log(tmp_path / name)
        except LogError:
            refused += 1
    assert refused > 0


def npz(tmp_path, **arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return file(tmp_path, "log.npz", buffer.getvalue())


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(tmp_path):
    objects = np.array([_Bomb(), None], dtype=object)
    findings = npz(tmp_path, time=T, **{"q.a": objects, "note": objects})
    assert findings == [("column-pickled", "log.npz, q.a"), ("column-pickled", "log.npz, note")]
    assert file(tmp_path, "log.npz", pickle.dumps(_Bomb())) == [("file-unreadable", "log.npz")]


def test_npz_arrays_that_are_not_columns_are_refused(tmp_path):
    assert npz(tmp_path, time=T, **{"q.a": T[:2], "q.b": np.array(["1"] * 4), "q.c": np.zeros((4, 2))}) == [
        ("column-length", "log.npz, q.a"),
        ("column-not-numeric", "log.npz, q.b"),
        ("column-shape", "log.npz, q.c"),
    ]


def test_a_zip_of_other_things_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("time", "0 1 2")
    assert ("column-not-numeric", "log.npz, time") in file(tmp_path, "log.npz", buffer.getvalue())


def test_an_array_larger_than_the_file_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("time.npy", header.getvalue())
    assert file(tmp_path, "log.npz", buffer.getvalue()) == [("file-unreadable", "log.npz")]


def parquet(tmp_path, **columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"time": T, **columns}), buffer)
    return file(tmp_path, "log.parquet", buffer.getvalue())


def test_parquet_columns_without_numbers_are_refused_together(tmp_path):
    findings = parquet(
        tmp_path,
        **{
            "q.a": ["1", "x", "y", "2"],
            "q.b": ["1", "2", "3", "4"],
            "q.c": [[1.0]] * 4,
            "q.d": T.astype("datetime64[ms]"),
            "q.e": ["1,5", None, "2", "3"],
        },
    )
    assert findings == [
        ("cell-not-number", "log.parquet, q.a, row 1"),
        ("column-not-numeric", "log.parquet, q.b"),
        ("column-not-numeric", "log.parquet, q.c"),
        ("column-not-numeric", "log.parquet, q.d"),
        ("cell-not-number", "log.parquet, q.e, row 0"),
    ]


def test_a_parquet_column_of_nulls_is_not_finite(tmp_path):
    assert parquet(tmp_path, **{"q.a": [None] * 4}) == [("column-not-finite", "log.parquet, q.a, row 0")]
