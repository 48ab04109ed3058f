"""Each fault of a log is refused with where it is, what is wrong and a fix; all of them at once."""

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
PLACE = {"position": [0, 0, 0], "quaternion": [0, 0, 0, 1]}


def reasons(call, *args):
    with pytest.raises(LogError) as error:
        call(*args)
    assert error.value.exit_code == 3
    for finding in error.value.findings:
        assert finding.fix[0].isupper(), "a fix is an imperative"
        assert finding.what[-1] != "."
        assert finding.fix[-1] != "."
    return [tuple(finding) for finding in error.value.findings]


def table(metadata=None, **columns):
    """Reasons against a table, its source left off; ``__`` stands for a dot."""
    named = {name.replace("__", "."): values for name, values in columns.items()}
    return [(where.removeprefix("log, "), what, fix) for where, what, fix in reasons(Log.from_columns, named, metadata)]


def test_a_log_without_time_is_refused_and_shows_what_there_is():
    (found,) = table(q__a=T, tau__a=T)
    assert found == ("time", "is missing; the log has: q.a, tau.a", "Add a column 'time' in seconds")


@pytest.mark.parametrize("name", ["Time", "times", "t", "stamp", "# time"])
def test_a_time_by_another_name_is_asked_for(name):
    (found,) = table(**{name: T, "q__a": T})
    assert found[2] == f"Rename {name!r} to 'time', in seconds"


def test_only_some_of_many_columns_are_shown():
    (found,) = table(**{f"q__{k}": T for k in range(20)})
    assert found[1].endswith("q.10, q.11 and 8 more")
    assert table()[0][1] == "is missing; the log has: nothing"


@pytest.mark.parametrize(("rows", "what"), [(0, "has no rows"), (1, "has 1 row")])
def test_a_log_without_a_motion_is_refused(rows, what):
    assert table(time=np.zeros(rows)) == [("time", what, "Record a motion of several seconds")]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_by_column_and_row(value):
    (found,) = table(time=T, q__a=[0.0, 1.0, value, value])
    assert found == (
        "q.a, row 2",
        f"2 of 4 values are not finite (the first is {value})",
        "Drop those rows (a hole in time is handled), or the column",
    )
    (found,) = table(time=[0.0, value, 2.0, 3.0])
    assert found[0] == "time, row 1"


@pytest.mark.parametrize(
    ("time", "row", "values", "count"),
    [
        ([0, 1, 1, 2], 2, "1 then 1", "1 such row"),
        ([0, 2, 1, 0], 2, "2 then 1", "2 such rows"),
        ([1.7e9, 1.7e9, 1.7e9 + 1, 1.7e9 + 2], 1, "1.7e+09 then 1.7e+09", "1 such row"),
    ],
)
def test_time_that_does_not_increase_is_refused_with_its_row(time, row, values, count):
    (found,) = table(time=np.array(time, float))
    assert found == (
        f"time, row {row}",
        f"does not increase ({values}; {count} in all)",
        "Sort by time and drop repeated stamps",
    )


def test_columns_of_another_length_or_shape_are_refused():
    assert table(time=T, q__a=T[:3], q__b=np.zeros((4, 2)), q__c=np.float64(1)) == [
        ("q.a", "has 3 rows, time has 4", "Resample it to the rows of time"),
        ("q.b", "has shape (4, 2), not one value a row", "Give one column per component"),
        ("q.c", "has shape (), not one value a row", "Give one column per component"),
    ]
    assert table(time=np.float64(1))[-1][1] == "has shape (), not one value a row"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", "c", "d"], "text"),
        (["1", "2", "3", "4"], "text"),
        (np.array([None, 1, 2, 3]), "objects"),
        (T + 1j, "complex numbers"),
        (T.astype("datetime64[s]"), "dates"),
        (T.astype("timedelta64[s]"), "timedelta64[s]"),
    ],
)
def test_what_are_no_numbers_is_refused(values, kind):
    (found,) = table(time=T, q__a=values)
    assert found == ("q.a", f"holds {kind} where numbers are expected", "Give plain numbers in SI units")


@pytest.mark.parametrize("vector", ["imu.acc", "imu.gyro", "base.position", "base.velocity", "base.quaternion"])
def test_a_part_of_a_vector_is_refused(vector):
    whole = [f"{vector}.{c}" for c in ("xyzw" if vector.endswith("quaternion") else "xyz")]
    (found,) = table(time=T, **{whole[1]: T})
    missing = ", ".join(c for c in whole if c != whole[1])
    assert found == (vector, f"lacks {missing}", "Give all components or none")


def test_a_part_of_a_vector_is_refused_where_it_is_asked_for_as_a_whole():
    log = Log.from_columns({"time": T, "wrench.foot.fz": T})
    (found,) = reasons(log.vector, "wrench.foot", ("fx", "fz"))
    assert found == ("log, wrench.foot", "lacks wrench.foot.fx", "Give all components or none")
    assert log.vector("wrench.hand", ("fx",)) is None


@pytest.mark.parametrize(
    ("metadata", "where", "what"),
    [
        ({"imu_frame": 3}, "imu_frame", "is 3, not a name"),
        ({"gains": [1.0]}, "gains", "is [1.0], not a table"),
        ({"plates": ["a"]}, "plates", "is ['a'], not a table"),
        ({"plates": {"a": [0, 0, 0]}}, "plates, a", "is [0, 0, 0], not a table"),
        ({"plates": {"a": {"position": [0, 0, 0]}}}, "plates, a, quaternion", "is missing"),
        ({"plates": {"a": {"quaternion": [0, 0, 0, 1]}}}, "plates, a, position", "is missing"),
        ({"plates": {"a": PLACE | {"position": [0, 0]}}}, "plates, a, position", "is [0, 0]"),
        ({"plates": {"a": PLACE | {"position": "origin"}}}, "plates, a, position", "is 'origin'"),
        ({"plates": {"a": PLACE | {"position": [0, 0, float("inf")]}}}, "plates, a, position", "is [0, 0, inf]"),
        ({"plates": {"a": PLACE | {"quaternion": [0, 0, 0, True]}}}, "plates, a, quaternion", "is [0, 0, 0, True]"),
        ({"plates": {"a": PLACE | {"quaternion": [0, 0, 0, 2]}}}, "plates, a, quaternion", "has length 2"),
        ({"gains": {"a": "14"}}, "gains, a", "is '14'"),
        ({"gains": {"a": 0}}, "gains, a", "is 0"),
        ({"gains": {"a": True}}, "gains, a", "is True"),
        ({"gains": {"a": float("nan")}}, "gains, a", "is nan"),
    ],
)
def test_metadata_of_the_wrong_kind_is_refused(metadata, where, what):
    (found,) = table(metadata, time=T)
    assert found[:2] == (f"metadata, {where}", what)


def test_a_bad_log_is_refused_once_with_every_reason():
    found = table(
        {"imu_frame": 3}, time=[0.0, 1.0, 1.0], q__a=[0.0, np.nan, 1.0], tau__a=[1.0], q__b=["x"] * 3, imu__acc__x=T[:3]
    )
    assert [where for where, _, _ in found] == [
        "time, row 2",
        "q.a, row 1",
        "tau.a",
        "q.b",
        "imu.acc",
        "metadata, imu_frame",
    ]
    with pytest.raises(LogError) as error:
        Log.from_columns({"q.a": T, "q.b": T * np.nan})
    assert str(error.value).splitlines() == [
        "log, time: is missing; the log has: q.a, q.b. Add a column 'time' in seconds.",
        "log, q.b, row 0: 4 of 4 values are not finite (the first is nan). "
        "Drop those rows (a hole in time is handled), or the column.",
    ]


def test_unknown_columns_are_listed_and_never_fatal():
    odd = {"note": ["x"], "q.": [1], "v": np.zeros((2, 2)), "imu.acc.w": [np.nan], "wrench.foot.fw": []}
    log = Log.from_columns({"time": T, "q.a": T, **odd})
    assert log.ignored == tuple(odd)
    assert list(log.columns) == ["q.a"]


def file(tmp_path, name, data):
    """Reasons against a file, its folder left off."""
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return [(where.removeprefix(f"{tmp_path}/"), what, fix) for where, what, fix in reasons(read_log, tmp_path / name)]


def test_a_file_that_is_not_there_is_refused_with_those_that_are_near(tmp_path):
    (tmp_path / "walk_01.csv").touch()
    assert reasons(read_log, tmp_path / "walk_1.csv") == [
        (f"{tmp_path}/walk_1.csv", "does not exist", "Did you mean walk_01.csv")
    ]
    fix = "Give the path of a log: .db3, .mcap, .csv, .csv.gz, .npz, .parquet"
    assert reasons(read_log, tmp_path / "no" / "x.npz") == [(f"{tmp_path}/no/x.npz", "does not exist", fix)]
    (tmp_path / "d.csv").mkdir()
    assert reasons(read_log, tmp_path / "d.csv")[0][1] == "is a folder"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("log.xlsx", "ends in '.xlsx'"),
        ("log.csv.zip", "ends in '.zip'"),
        ("log", "has no suffix that names its format"),
    ],
)
def test_an_unknown_format_is_refused_with_those_that_are_known(tmp_path, name, what):
    fix = "Convert it to one of .db3, .mcap, .csv, .csv.gz, .npz, .parquet"
    assert file(tmp_path, name, "x") == [(name, what, fix)]
    log, fix = Log.from_columns({"time": T}), "Convert it to one of .csv, .csv.gz, .npz, .parquet"
    assert reasons(write_log, tmp_path / "new.mat", log) == [(f"{tmp_path}/new.mat", "ends in '.mat'", fix)]


@pytest.mark.parametrize("text", ["", "\n\n", "# steelyard {}\n", " \n", ",,\n1,2,3\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    assert file(tmp_path, "log.csv", text) == [("log.csv", "is empty", "Give a table with a header line and samples")]
    (found,) = file(tmp_path, "log.csv.gz", gzip.compress(text.encode()))
    assert found[1] == "is empty"


def test_a_header_without_samples_is_refused(tmp_path):
    assert file(tmp_path, "log.csv", "time,q.a\n") == [
        ("log.csv, time", "has no rows", "Record a motion of several seconds")
    ]


def test_a_table_without_header_is_refused(tmp_path):
    assert file(tmp_path, "log.csv", "0.0,1.0,-2e3\n0.1,1.0,3\n") == [
        (
            "log.csv, line 1",
            "is numbers: the table has no header for its 3 columns",
            "Add a header line with Steelyard's column names (time, q.JOINT, tau.JOINT, …), "
            "or draft a mapping: steelyard check ROBOT LOG --write-mapping FILE",
        )
    ]


def test_a_repeated_column_is_refused(tmp_path):
    fix = "Keep one column of each name"
    text = "time,q.a, q.a,x,x\n0,1,2,3,4\n1,1,2,3,4\n"
    assert file(tmp_path, "log.csv", text) == [("log.csv, line 1", "repeats q.a", fix)]
    assert file(tmp_path, "log.csv", "# steelyard {}\n\n" + text)[0][0] == "log.csv, line 3"
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(T)] * 3, ["time", "q.a", "q.a"]), buffer)
    assert file(tmp_path, "log.parquet", buffer.getvalue()) == [("log.parquet", "repeats q.a", fix)]


def test_a_log_that_was_cut_off_is_refused_with_its_last_line(tmp_path):
    assert file(tmp_path, "log.csv", "time,q.a,tau.a\n0,1,2\n1,1,2\n2,1") == [
        (
            "log.csv, line 4",
            "has 2 cells, the header has 3: the log was cut off while it was written",
            "Drop this last line",
        )
    ]
    (found,) = file(tmp_path, "log.csv", "time,q.a\n0,1\n1,2e-")
    assert found == ("log.csv, line 3, q.a", "'2e-' is not a number", "Correct the cell, or drop its row")


def test_lines_of_another_length_are_refused_with_their_numbers(tmp_path):
    assert file(tmp_path, "log.csv", "# steelyard {}\ntime,q.a\n0,1\n1,2,3\n2,3\n") == [
        ("log.csv, line 4", "has 3 cells, the header has 2", "Correct or drop the line")
    ]
    found = file(tmp_path, "log.csv", "time,q.a\n" + "0,1\n1\n" * 9 + "5,5\n")
    assert len(found) == 6
    assert found[-1][1] == "4 more lines have the wrong number of cells"


def test_cells_that_are_no_numbers_are_refused_by_line_and_column_all_at_once(tmp_path):
    text = "time,q.a,q.b,note\n0,1,x,hi\n1,ERROR,y,hi\n2,1_000,3,hi\n3,1\n"
    assert file(tmp_path, "log.csv", text) == [
        ("log.csv, line 5", "has 2 cells, the header has 4: the log was cut off while it was written",
         "Drop this last line"),
        ("log.csv, line 2, q.b", "'x' is not a number (2 such cells in the column)",
         "Correct the cell, or drop its row"),
        ("log.csv, line 3, q.a", "'ERROR' is not a number (2 such cells in the column)",
         "Correct the cell, or drop its row"),
    ]  # fmt: skip
    (found,) = file(tmp_path, "log.csv", f"time,q.a\n0,1\n1,{'z' * 100}\n")
    assert found[1] == f"'{'z' * 40}…' is not a number"


def test_empty_cells_are_values_that_are_missing(tmp_path):
    (found,) = file(tmp_path, "log.csv", "time,q.a\n0,1\n1,\n2,NaN\n3,n/a\n")
    assert found[:2] == ("log.csv, q.a, row 1", "3 of 4 values are not finite (the first is nan)")


POINT = "Write decimals with a point (0.5) and separate columns by commas"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("time;q.a\n0,5;1,5\n1,5;2,5\n", ", line 1", "is separated by semicolons, not by commas"),
        ("time\tq.a\n0.5\t1\n", ", line 1", "is separated by tabs, not by commas"),
        ('time,q.a\n0,"1,5"\n1,2\n', ", line 2, q.a", "'1,5' is not a number"),
        ("time,q.a\n0,5,1,5\n1,5,2,5\n", "", "no line has the header's 2 cells; they have 4"),
    ],
)
def test_decimal_commas_and_other_separators_are_refused(tmp_path, text, where, what):
    (found,) = file(tmp_path, "log.csv", text)
    assert found[:2] == (f"log.csv{where}", what)
    assert found[2].startswith(POINT)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_text_in_another_encoding_is_refused(tmp_path, encoding):
    assert file(tmp_path, "log.csv", "time,q.ä\n0,1\n".encode(encoding)) == [
        ("log.csv", "is not UTF-8 text", "Save it as UTF-8")
    ]


def test_a_cell_too_large_for_a_table_is_refused(tmp_path):
    (found,) = file(tmp_path, "log.csv", 'time,q.a\n0,x\n1,"' + "1" * 200_000)
    assert found[1].startswith("cannot be read (field larger than field limit")
    (found,) = file(tmp_path, "log.csv", "x" * 200_000)
    assert found[1].startswith("is not a table (field larger than field limit")


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("log.csv", "{oops", "is not JSON (Expecting property name enclosed in double quotes"),
        ("log.csv", "[1]", "is [1], not a JSON object"),
        ("log.csv", "[" * 100_000, "is not JSON ("),
        ("log.npz", "{oops", "is not JSON ("),
        ("log.parquet", "7", "is 7, not a JSON object"),
    ],
)
def test_bad_metadata_is_refused(tmp_path, name, text, what):
    buffer = io.BytesIO()
    if name.endswith("csv"):
        buffer.write(f"# steelyard {text}\ntime,q.a\n0,1\n1,2\n".encode())
    elif name.endswith("npz"):
        np.savez(buffer, time=T, steelyard=np.array(text))
    else:
        pq.write_table(pa.table({"time": T}).replace_schema_metadata({"steelyard": text}), buffer)
    (found,) = file(tmp_path, name, buffer.getvalue())
    assert found[0] == f"{name}, metadata"
    assert found[1].startswith(what)
    assert found[2] == "Correct or remove the entry 'steelyard'"


def test_metadata_that_json_does_not_have_is_not_written(tmp_path):
    log = Log.from_columns({"time": T}, {"robot": object()})
    (found,) = reasons(write_log, tmp_path / "log.csv", log)
    assert found == ("log, metadata", "object cannot be written as JSON", "Keep plain values in it")
    assert not list(tmp_path.iterdir())


AGAIN = "Write the file again; it is damaged or of another kind"


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
def test_a_file_that_ends_too_early_is_refused(tmp_path, name, part):
    data = whole(name)
    (found,) = file(tmp_path, name, data[: int(part * len(data))])
    assert found[0] == name
    assert found[1].startswith("cannot be read (") or found[1] == "is empty"


@BINARY
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    (found,) = file(tmp_path, name, "time,q.a\n0,1\n1,2\n")
    assert found[0] == name
    assert found[1].startswith("cannot be read (")


@BINARY
def test_damage_anywhere_is_refused_or_harmless_but_never_a_crash(tmp_path, name):
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
    what, fix = "holds Python objects (pickle), which are never loaded", "Save arrays of plain numbers"
    found = npz(tmp_path, time=T, **{"q.a": objects, "note": objects})
    assert found == [("log.npz, q.a", what, fix), ("log.npz, note", what, fix)]
    (found,) = file(tmp_path, "log.npz", pickle.dumps(_Bomb()))
    assert found == ("log.npz", "cannot be read (is not a zip archive)", "Write it again with numpy.savez")


def test_npz_arrays_that_are_no_columns_are_refused(tmp_path):
    found = npz(tmp_path, time=T, **{"q.a": T[:2], "q.b": np.array(["1"] * 4), "q.c": np.zeros((4, 2))})
    assert [where for where, _, _ in found] == ["log.npz, q.a", "log.npz, q.b", "log.npz, q.c"]


def test_a_zip_of_other_things_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("time", "0 1 2")
    found = file(tmp_path, "log.npz", buffer.getvalue())
    assert ("log.npz, time", "holds text where numbers are expected", "Give plain numbers in SI units") in found


def test_an_array_larger_than_the_file_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("time.npy", header.getvalue())
    (found,) = file(tmp_path, "log.npz", buffer.getvalue())
    assert found[1].startswith("cannot be read (")
    assert found[2] == AGAIN


def parquet(tmp_path, **columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"time": T, **columns}), buffer)
    return file(tmp_path, "log.parquet", buffer.getvalue())


def test_parquet_columns_that_are_no_numbers_are_refused_together(tmp_path):
    found = parquet(
        tmp_path,
        **{
            "q.a": ["1", "x", "y", "2"],
            "q.b": ["1", "2", "3", "4"],
            "q.c": [[1.0]] * 4,
            "q.d": T.astype("datetime64[ms]"),
            "q.e": ["1,5", None, "2", "3"],
        },
    )
    assert found == [
        ("log.parquet, q.a, row 1", "'x' is not a number", "Correct the cell, or drop its row"),
        ("log.parquet, q.b", "is stored as text", "Store it as numbers"),
        ("log.parquet, q.c", "holds list<element: double>, not numbers", "Give one number a row, in SI units"),
        ("log.parquet, q.d", "holds timestamp[ms], not numbers", "Give one number a row, in SI units"),
        ("log.parquet, q.e, row 0", "'1,5' is not a number", POINT),
    ]


def test_a_parquet_column_of_nulls_is_not_finite(tmp_path):
    (found,) = parquet(tmp_path, **{"q.a": [None] * 4})
    assert found[:2] == ("log.parquet, q.a, row 0", "4 of 4 values are not finite (the first is nan)")
