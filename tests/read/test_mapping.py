"""Foreign tables become logs through a mapping, and a bad mapping is refused once with every reason."""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.errors import LogError
from steelyard.log.draft import draft_mapping
from steelyard.log.mapping import ColumnMap, ColumnSource, read_mapping
from steelyard.log.table import read_log, write_log
from steelyard.log.units_table import ALIASES, UNITS, factor

LOG = "t,q1,i1\n0,1,5\n1,2,6\n2,4,7\n"
WHOLE = '[columns]\ntime = "t"\n"q.a" = "q1"\n'


def put(folder, name, text):
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def read(folder, mapping, text=LOG, name="log.csv"):
    return read_log(put(folder, name, text), put(folder, "map.toml", mapping))


def reasons(folder, mapping, text=LOG, name="log.csv"):
    """Reasons against a mapping or a log read with it, folder left off."""
    with pytest.raises(LogError) as error:
        read(folder, mapping, text, name)
    for finding in error.value.findings:
        assert finding.fix[0].isupper(), "a fix is an imperative"
        assert finding.what[-1] != "."
        assert finding.fix[-1] != "."
    return [tuple(part.replace(f"{folder}/", "") for part in finding) for finding in error.value.findings]


# What a mapping does


def test_columns_come_by_name_with_unit_scale_sign_and_offset(tmp_path):
    log = read(
        tmp_path,
        """
        [columns]
        time = { name = "t", unit = "ms" }
        "q.a" = { name = "q1", unit = "deg", scale = 2, sign = -1, offset = 0.5 }
        v.b = { name = "q1" }
        imu.acc.x = { name = "i1", unit = "g" }
        imu.acc.y = "i1"
        imu.acc.z = "i1"
        [metadata]
        imu_frame = "imu"
        recorded = 2024-05-01
        """,
    )
    np.testing.assert_allclose(log.time, [0, 1e-3, 2e-3], rtol=1e-15)
    np.testing.assert_allclose(log.columns["q.a"], -2 * np.deg2rad([1, 2, 4]) + 0.5, rtol=1e-15)
    np.testing.assert_array_equal(log.columns["v.b"], [1, 2, 4])
    np.testing.assert_allclose(log.columns["imu.acc.x"], 9.80665 * np.array([5, 6, 7]))
    assert log.metadata == {"imu_frame": "imu", "recorded": "2024-05-01"}
    assert log.ignored == ()
    assert list(log.files) == [str(tmp_path / "log.csv"), str(tmp_path / "map.toml")]


def test_what_is_not_named_is_not_read_but_listed(tmp_path):
    log = read(tmp_path, WHOLE, "t,q1,tau.a,note\n0,1,2,x\n1,1,2,y\n")
    assert list(log.columns) == ["q.a"]
    assert log.ignored == ("tau.a", "note")


def test_without_columns_the_tables_own_names_count(tmp_path):
    text = "time;q.a;current.a;x\n0,5;1,5;2;a\n1,5;2,5;3;b\n"
    log = read(tmp_path, '[table]\nseparator = ";"\ndecimal = ","\n[gains]\na = 14.87\n', text)
    np.testing.assert_array_equal(log.columns["q.a"], [1.5, 2.5])
    assert log.metadata == {"gains": {"a": 14.87}}
    assert log.ignored == ("x",)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("header = false\nnames = ['t', 'q1']", "0,1\n1,2\n"),
        ("header = false\nnames = ['t', 'q1']", "\n0,1\n\n1,2"),
        ("names = ['t', 'q1']", "a,a\n0,1\n1,2\n"),
        ("separator = '\\t'", "t\tq1\n0\t1\n1\t2\n"),
        ("separator = ' '", " t   q1\n0  1 \n 1\t2\n"),
        ("separator = ';'\ndecimal = ','", "t;q1\n0,0;1,0\n1,0;2,0\n"),
        ("separator = ';'\ndecimal = ','", 't;q1\n0,0;"1,0"\n1,0; 2\n'),
        ("separator = '|'", "t|q1\n0|1\n1|2\n"),
        ("skip_rows = 2", "Robot 7\nx,y,z\nt,q1\n0,1\n1,2\n"),
        ("comment = '%'\nheader = false\nnames = ['t', 'q1']", "% made by hand\n0,1\n % half time\n1,2\n"),
        ("skip_rows = 1\ncomment = '#'", "anything\n# else\nt,q1\n0,1\n1,2\n"),
    ],
)
def test_tables_of_many_makes_are_read_alike(tmp_path, table, text):
    mapping = f"[table]\n{table}\n".replace("'", '"') + WHOLE
    for name in ("log.csv", "log.txt.gz", "LOG.TSV", "log.dat"):
        log = read(tmp_path, mapping, text, name)
        np.testing.assert_array_equal(log.time, [0, 1])
        np.testing.assert_array_equal(log.columns["q.a"], [1, 2])


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_names_of_binary_tables_are_mapped_too(tmp_path, suffix):
    columns = {"stamp": np.arange(3) * 10, "deg": np.array([0.0, 90.0, 180.0]), "note": np.array(["x", "y", "z"])}
    if suffix == ".npz":
        np.savez(tmp_path / "log.npz", **columns)
    else:
        pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    mapping = '[columns]\ntime = {name = "stamp", unit = "ms"}\n"q.a" = {name = "deg", unit = "deg"}\n'
    log = read_log(tmp_path / f"log{suffix}", put(tmp_path, "map.toml", mapping))
    np.testing.assert_allclose(log.time, [0, 0.01, 0.02])
    np.testing.assert_allclose(log.columns["q.a"], [0, np.pi / 2, np.pi])
    assert log.ignored == ("note",)


def test_a_line_that_was_cut_off_at_the_end_is_dropped_with_a_notice(tmp_path):
    for end in ("3,5\n", "3,5", "3", "3,8,1e-"):
        log = read(tmp_path, '[columns]\ntime = "t"\n"current.a" = "i1"\n', LOG + end)
        np.testing.assert_array_equal(log.columns["current.a"], [5, 6, 7])
        assert log.notices == (f"{tmp_path}/log.csv, line 5: cut off while it was written, dropped",)
    log = read(tmp_path, WHOLE, LOG + "3,5,7")
    assert len(log) == 4
    assert log.notices == ()


def test_a_line_cut_off_in_the_middle_is_refused(tmp_path):
    (found,) = reasons(tmp_path, WHOLE, "t,q1\n0,1\n1\n2,2\n3,3\n")
    assert found == ("log.csv, line 3", "has 1 cells, the header has 2", "Correct or drop the line")
    table = '[table]\nheader = false\nnames = ["t", "q1", "i1"]\n'
    found = reasons(tmp_path, table + WHOLE, "0,1\n1,1\n2,2\n")
    assert found[0][:2] == ("log.csv", "the mapping names 3 columns, and no line has as many; they have 2")
    found = reasons(tmp_path, table + WHOLE, "0,1,1\n1,1,x\n2,2\n3,3,3\n")
    assert found[0][:2] == ("log.csv, line 3", "has 2 cells, the mapping names 3")


def test_rows_are_kept_from_first_to_last_and_counted_from_one(tmp_path):
    log = read(tmp_path, "[table]\nrows = [2, 3]\n" + WHOLE)
    np.testing.assert_array_equal(log.time, [1, 2])
    by_file = '[table.rows]\n"log.csv" = [1, 2]\n'
    np.testing.assert_array_equal(read(tmp_path, by_file + WHOLE).time, [0, 1])
    other = read(tmp_path, by_file + WHOLE, name="other.csv")
    assert len(other) == 3
    assert other.notices == (f"{tmp_path}/other.csv: {tmp_path}/map.toml gives no rows for it, all are kept",)


def test_a_rate_is_a_clock_for_tables_without_time(tmp_path):
    mapping = '[table]\nrate = 50\nrows = [2, 3]\n[columns]\n"q.a" = "q1"\n'
    log = read(tmp_path, mapping)
    np.testing.assert_allclose(log.time, [0.02, 0.04])
    np.testing.assert_array_equal(log.columns["q.a"], [2, 4])


def test_a_log_may_come_in_several_tables(tmp_path):
    put(tmp_path, "currents.csv.gz", "J1,J2\n5,1\n6,2\n7,3\n")
    mapping = WHOLE + '"current.a" = { name = "J1", unit = "mA", file = "currents.csv.gz" }\n'
    log = read(tmp_path, mapping)
    np.testing.assert_allclose(log.columns["current.a"], [5e-3, 6e-3, 7e-3])
    assert log.ignored == ("i1", "currents.csv.gz: J2")
    assert [Path(file).name for file in log.files] == ["log.csv", "map.toml", "currents.csv.gz"]


def test_tables_may_differ_by_the_line_that_was_cut_off_and_by_no_other(tmp_path):
    mapping = WHOLE + '"current.a" = { name = "J1", file = "currents.csv" }\n'
    put(tmp_path, "currents.csv", "J1,J2\n5,1\n6,2\n7")
    log = read(tmp_path, mapping)
    np.testing.assert_array_equal(log.columns["current.a"], [5, 6])
    assert log.notices == (
        f"{tmp_path}/currents.csv, line 4: cut off while it was written, dropped",
        f"{tmp_path}/log.csv: its last row has no partner and was dropped",
    )
    put(tmp_path, "currents.csv", "J1,J2\n5,1\n6,2\n")
    (found,) = reasons(tmp_path, mapping)
    assert found == (
        "log.csv",
        "comes in columns of different length: currents.csv 2, log.csv 3 rows",
        "Give tables of equal length",
    )


def test_the_metadata_of_a_log_stay_and_the_mapping_has_the_last_word(tmp_path):
    text = '# steelyard {"gains": {"a": 1.0, "b": 2.0}, "note": "x"}\n' + LOG
    mapping = '[columns]\ntime = "t"\n"current.a" = "i1"\n[gains]\na = 3\n[metadata]\nnote = "y"\n'
    assert read(tmp_path, mapping, text).metadata == {"gains": {"a": 3.0, "b": 2.0}, "note": "y"}


def test_a_mapping_may_be_made_in_python(tmp_path):
    log = read_log(
        put(tmp_path, "log.csv", LOG), ColumnMap(columns={"time": ColumnSource("t"), "q.a": ColumnSource("q1", 2.0)})
    )
    np.testing.assert_array_equal(log.columns["q.a"], [2, 4, 8])


# Units


@pytest.mark.parametrize(
    ("column", "unit", "value"),
    [
        ("q.a", "deg", np.pi / 180), ("q.a", "°", np.pi / 180), ("q.a", "turns", 2 * np.pi), ("q.a", "mm", 1e-3),
        ("q.a", "mrad", 1e-3), ("v.a", "rpm", np.pi / 30), ("v.a", "deg/s", np.pi / 180), ("v.a", "mm/s", 1e-3),
        ("a.a", "deg/s²", np.pi / 180), ("a.a", "m/s^2", 1.0), ("time", "µs", 1e-6), ("time", "ns", 1e-9),
        ("tau.a", "Nm", 1.0), ("tau.a", "N·m", 1.0), ("tau.a", "N*m", 1.0), ("tau.a", "mNm", 1e-3),
        ("tau.a", "N·mm", 1e-3), ("tau.a", "kgf·cm", 0.0980665), ("tau.a", "kN", 1e3), ("current.a", "mA", 1e-3),
        ("imu.acc.x", "mg", 9.80665e-3), ("imu.gyro.z", "dps", np.pi / 180), ("base.position.x", "cm", 1e-2),
        ("base.quaternion.w", "1", 1.0), ("wrench.foot.fz", "kgf", 9.80665), ("sensor.s.mx", "lbf·in", 0.112984829),
        ("base.velocity.x", "m/s", 1.0), ("contact.f", "1", 1.0), ("base.angular_velocity.x", "rad/s", 1.0),
    ],
)  # fmt: skip
def test_units_are_factors_to_si(column, unit, value):
    assert factor(column, unit) == pytest.approx(value, rel=1e-9)


def test_every_unit_has_one_meaning_and_is_in_the_guide():
    names = [name for units in UNITS.values() for name in units]
    assert len(set(names)) == len(names)
    guide = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
    for name in [*names, *ALIASES]:
        assert f"`{name}`" in guide


@pytest.mark.parametrize(
    ("column", "unit", "what", "fix"),
    [
        ("q.a", "ms", "has 'ms', a unit of time, and measures angle or length", "Give one of rad, mrad, deg, rev, m, "),
        ("wrench.f.mx", "N", "has 'N', a unit of force, and measures torque", "Give one of N·m, "),
        ("time", "Hz", "has a unit 'Hz' that is not known", "Give one of s, ms, us, ns, min"),
        ("imu.gyro.x", "degs/s", "has a unit 'degs/s' that is not known", "Did you mean 'deg/s'"),
        ("wrench.f.fx", "kg", "has a unit 'kg' that is not known", "Did you mean 'kgf'"),
    ],
)
def test_a_unit_of_another_quantity_is_refused(tmp_path, column, unit, what, fix):
    mapping = f'[columns]\n"{column}" = {{ name = "q1", unit = "{unit}" }}\n'
    (found,) = reasons(tmp_path, mapping)
    assert found[:2] == (f"map.toml, columns, {column}", what)
    assert found[2].startswith(fix)


# Transmissions


def coupled(tmp_path, columns, more, rows=20):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=rows) for name in ("m1", "m2", "m3", "i1", "i2", "i3")}
    np.savez(tmp_path / "log.npz", t=np.arange(rows) * 0.01, **table)
    path = put(tmp_path, "map.toml", '[columns]\ntime = "t"\n' + columns + more)
    return table, path


MATRIX = np.array([[45.0, 0.0], [32.0, 32.0]])
WRIST = '[transmission]\njoints = ["b", "c"]\nmatrix = [[45, 0], [32, 32]]\n'


def test_coupled_motors_become_joints(tmp_path):
    columns = "".join(f'"{kind}.{j}" = "m{k}"\n' for kind in "va" for k, j in ((1, "a"), (2, "b"), (3, "c")))
    columns += '"q.a" = "m1"\n"q.b" = {name = "m2", unit = "deg", offset = 0.25}\n"q.c" = {name = "m3", unit = "deg"}\n'
    columns += "".join(f'"tau.{j}" = "i{k}"\n' for k, j in ((1, "a"), (2, "b"), (3, "c")))
    table, path = coupled(tmp_path, columns, WRIST)
    log = read_log(tmp_path / "log.npz", path)
    motors, torques = np.array([table["m2"], table["m3"]]), np.array([table["i2"], table["i3"]])
    q = np.linalg.solve(MATRIX, np.deg2rad(motors))
    np.testing.assert_allclose(log.columns["q.b"], q[0] + 0.25, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(log.columns["q.c"], q[1], rtol=1e-13, atol=1e-16)
    for kind in "va":
        np.testing.assert_allclose(
            [log.columns[f"{kind}.b"], log.columns[f"{kind}.c"]], np.linalg.solve(MATRIX, motors)
        )
    np.testing.assert_allclose([log.columns["tau.b"], log.columns["tau.c"]], MATRIX.T @ torques, rtol=1e-14)
    for name, raw in (("q.a", "m1"), ("v.a", "m1"), ("tau.a", "i1")):
        np.testing.assert_array_equal(log.columns[name], table[raw])
    assert log.metadata["transmission"] == {"joints": ["b", "c"], "matrix": MATRIX.tolist()}
    work = sum(log.columns[f"tau.{j}"] * log.columns[f"v.{j}"] for j in "bc")
    np.testing.assert_allclose(work, np.sum(motors * torques, axis=0), rtol=1e-12), "power is the same on either side"


def test_currents_of_coupled_motors_become_torques_of_joints(tmp_path):
    columns = '"current.a" = "i1"\n"current.b" = {name = "i2", offset = 0.5}\n"tau.c" = "i3"\n"q.a" = "m1"\n'
    table, path = coupled(tmp_path, columns, "[gains]\na = 2\nb = 3\n" + WRIST)
    log = read_log(tmp_path / "log.npz", path)
    torques = np.array([3 * (table["i2"] + 0.5), table["i3"]])
    np.testing.assert_allclose([log.columns["tau.b"], log.columns["tau.c"]], MATRIX.T @ torques, rtol=1e-14)
    assert "current.b" not in log.columns
    assert log.metadata["gains"] == {"a": 2.0}, "of joints whose current is still there"
    assert log.metadata["transmission"]["gains"] == {"b": 3.0}
    write_log(tmp_path / "out.csv", log)
    assert read_log(tmp_path / "out.csv").metadata == log.metadata


def test_an_uncoupled_motor_keeps_its_current_where_the_gain_is_unknown(tmp_path):
    columns = '"q.a" = "m1"\n"current.a" = "i1"\n"q.b" = "m2"\n"current.b" = "i2"\n'
    more = '[gains]\nb = 3\n[transmission]\njoints = ["a", "b"]\nmatrix = [[100, 0], [0, -50]]\n'
    table, path = coupled(tmp_path, columns, more)
    log = read_log(tmp_path / "log.npz", path)
    np.testing.assert_allclose(log.columns["q.a"], table["m1"] / 100)
    np.testing.assert_array_equal(log.columns["current.a"], table["i1"])
    np.testing.assert_allclose(log.columns["tau.b"], -150 * table["i2"])


@pytest.mark.parametrize(
    ("columns", "gains", "found"),
    [
        ('"q.b" = "m2"\n"v.c" = "m3"\n"v.b" = "m2"\n', "", ("", "couples b, c, and q.c is missing")),
        ('"q.b" = "m2"\n"q.c" = "m3"\n"tau.b" = "m2"\n', "", ("", "couples b, c, and tau.c is missing")),
        ('"current.b" = "i2"\n"tau.c" = "i3"\n', "", ("", "b lack a gain, and share their torque with b, c")),
        ('"q.b" = "m2"\n"q.cc" = "m3"\n', "", (", joints", "'c' has no column")),
        ('"q.joint_b" = "m2"\n"q.c" = "m3"\n', "", (", joints", "'b' has no column")),
    ],
)
def test_a_transmission_that_lacks_columns_is_refused(tmp_path, columns, gains, found):
    _, path = coupled(tmp_path, columns, gains + WRIST)
    with pytest.raises(LogError) as error:
        read_log(tmp_path / "log.npz", path)
    where, what = found
    assert (f"{path}, transmission{where}", what) in [f[:2] for f in error.value.findings]


# Refusals


@pytest.mark.parametrize(
    ("text", "where", "what", "fix"),
    [
        ("[colums]\n", "colums", "is a section that is not known", "Did you mean 'columns'"),
        ("[zzz]\n", "zzz", "is a section that is not known",
         "There are: table, columns, gains, transmission, metadata"),
        ("table = 3\n", "table", "is 3, not a section", "Write [table] once, and its keys below"),
        ("[[transmission]]\n", "transmission", "is [{}], not a section",
         "Write [transmission] once, and its keys below"),
        ("[table]\nheaders = true\n", "table, headers", "is a key that is not known", "Did you mean 'header'"),
        ("[table]\nheader = 1\n", "table, header", "is 1, not true or false", "Say if there is a header"),
        ("[table]\nheader = false\n", "table, names", "is missing, and header is false",
         "Name all columns of the table in order"),
        ("[table]\nnames = 'a'\n", "table, names", "is 'a'", 'Give a list of names: ["t", "q1", …]'),
        ("[table]\nnames = ['a', ' ']\n", "table, names", "is ['a', ' ']", 'Give a list of names: ["t", "q1", …]'),
        ("[table]\nseparator = ',,'\n", "table, separator", "is ',,', not a separator",
         "Use ',' ';' '\\t' '|' ' '"),
        ("[table]\ndecimal = ';'\n", "table, decimal", "is ';', not '.' or ','", "Use '.' or ','"),
        ("[table]\ndecimal = ','\n", "table, decimal", "is ',', as is the separator", 'Set separator, such as ";"'),
        ("[table]\nskip_rows = -1\n", "table, skip_rows", "is -1, not a count", "Say how many lines to skip"),
        ("[table]\nskip_rows = true\n", "table, skip_rows", "is true, not a count", "Say how many lines to skip"),
        ("[table]\ncomment = ''\n", "table, comment", "is '', not a text", 'Say how remarks begin, such as "#"'),
        ("[table]\nrate = 0\n", "table, rate", "is 0, not a positive number", "Give samples a second"),
        ("[table]\nrate = nan\n", "table, rate", "is nan, not a positive number", "Give samples a second"),
        ("[table]\nrows = [0, 5]\n", "table, rows", "is [0, 5]", "Give [first, last], counted from 1, both kept"),
        ("[table]\nrows = [5, 2]\n", "table, rows", "is [5, 2]", "Give [first, last], counted from 1, both kept"),
        ("[table]\nrows = 5\n", "table, rows", "is 5", "Give [first, last], counted from 1, both kept"),
        ("[table.rows]\n'x.csv' = [1]\n", "table, rows, x.csv", "is [1]",
         "Give [first, last], counted from 1, both kept"),
        ("[columns]\ntiem = 't'\n", "columns, tiem", "is no column of a log", "Did you mean 'time'"),
        ("[columns]\n'imu.acc.w' = 't'\n", "columns, imu.acc.w", "is no column of a log", "Did you mean 'imu.acc.z'"),
        ("[columns]\njoint = {name = 't'}\n", "columns, joint", "is no column of a log",
         "Use time, q.JOINT, v.JOINT, tau.JOINT, current.JOINT, …"),
        ("[columns]\ntime = 3\n", "columns, time", "is 3", "Give a name, or { name, unit, scale, offset, sign, file }"),
        ("[columns]\ntime = {unit = 's'}\n", "columns, time, name", "is missing",
         "Give the name of a column in the table"),
        ("[columns]\ntime = {name = 't', units = 's'}\n", "columns, time, units", "is a key that is not known",
         "Did you mean 'unit'"),
        ("[columns]\ntime = {name = 't', unit = 3}\n", "columns, time, unit", "is 3",
         'Give a unit in quotes, such as "deg"'),
        ("[columns]\ntime = {name = 't', scale = 0}\n", "columns, time, scale", "is 0", "Give a number other than 0"),
        ("[columns]\ntime = {name = 't', scale = inf}\n", "columns, time, scale", "is inf",
         "Give a number other than 0"),
        ("[columns]\ntime = {name = 't', offset = '3'}\n", "columns, time, offset", "is '3'", "Give a number"),
        ("[columns]\ntime = {name = 't', sign = 2}\n", "columns, time, sign", "is 2", "Give 1 or -1"),
        ("[columns]\ntime = {name = 't', file = '../x.csv'}\n", "columns, time, file", "is '../x.csv'",
         "Name a file in the folder of the log, without a path"),
        ("[columns]\ntime = {name = 't', file = '..'}\n", "columns, time, file", "is '..'",
         "Name a file in the folder of the log, without a path"),
        ("[table]\nnames = ['t', 'q1', 'i1']\n[columns]\ntime = 't1'\n", "columns, time",
         "'t1' is not among the names of the table", "Did you mean 't'"),
        ("[table]\nnames = ['t', 'q1', 'i1']\n[columns]\ntime = 'clock'\n", "columns, time",
         "'clock' is not among the names of the table", "Name it as [table] names does"),
        ("[gains]\na = 0\n", "gains, a", "is 0", "Give a number other than 0"),
        ("[gains]\na = 'x'\n", "gains, a", "is 'x'", "Give a number other than 0"),
        ("[transmission]\nmatrix = [[1]]\n", "transmission, joints", "is missing", "Give a list of joints, each once"),
        ("[transmission]\njoints = ['a', 'a']\nmatrix = [[1]]\n", "transmission, joints", "is ['a', 'a']",
         "Give a list of joints, each once"),
        ("[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2]]\n", "transmission, matrix",
         "is [[1, 2]], not 2 rows of 2 numbers", "Give one row a motor and one column a joint"),
        ("[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2], [3]]\n", "transmission, matrix",
         "is [[1, 2], [3]], not 2 rows of 2 numbers", "Give one row a motor and one column a joint"),
        ("[transmission]\njoints = ['a']\nmatrix = [[true]]\n", "transmission, matrix",
         "is [[True]], not 1 rows of 1 numbers", "Give one row a motor and one column a joint"),
        ("[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2], [2, 4]]\n", "transmission, matrix",
         "is singular: the motors do not tell where the joints are", "Give q_motor = matrix · q_joint"),
        ("[metadata]\ngains = {}\n", "metadata, gains", "has a section of its own", "Move it to [gains]"),
        ("[metadata]\nx = nan\n", "metadata", "holds nan or inf", "Give finite numbers"),
    ],
)  # fmt: skip
def test_a_bad_mapping_is_refused(tmp_path, text, where, what, fix):
    with pytest.raises(LogError) as error:
        read_mapping(put(tmp_path, "map.toml", text))
    assert tuple(error.value.findings[0]) == (f"{tmp_path}/map.toml, {where}", what, fix)
    assert len(error.value.findings) == 1


def test_all_that_is_wrong_with_a_mapping_is_told_at_once(tmp_path):
    text = '[table]\nrate = -1\n[columns]\nq.a = {name = "x", unit = "s", scale = 0}\nz = "y"\n[gains]\na = true\n'
    found = reasons(tmp_path, text + '[transmission]\njoints = ["a"]\nmatrix = [[0]]\n')
    assert [where.removeprefix("map.toml, ") for where, _, _ in found] == [
        "columns, q.a", "columns, q.a, scale", "columns, z", "table, rate", "gains, a", "transmission, matrix",
    ]  # fmt: skip


def test_long_values_are_not_shown_whole(tmp_path):
    with pytest.raises(LogError) as error:
        read_mapping(put(tmp_path, "map.toml", f"[table]\nrows = '{'x' * 500}'\n"))
    assert error.value.findings[0].what == "is '" + "x" * 59 + "…"


def test_a_mapping_that_cannot_be_read_is_refused(tmp_path):
    def why(path):
        with pytest.raises(LogError) as error:
            read_mapping(path)
        return error.value.findings[0]

    assert why(put(tmp_path, "map.toml", "[columns]\nq.a = \n"))[1].startswith("is not TOML (Invalid value")
    assert why(put(tmp_path, "map.toml", "a = " + "9" * 5000))[1].startswith("is not TOML (")
    assert why(put(tmp_path, "map.toml", "a = " + "[" * 100_000))[1].startswith("is not TOML (")
    assert why(put(tmp_path, "map.toml", b"\xff"))[1:] == ("is not UTF-8 text", "Save it as UTF-8")
    assert why(tmp_path / "mapp.toml")[1:] == ("does not exist", "Did you mean map.toml")
    assert why(tmp_path / "no" / "x.toml")[2] == "Draft one: steelyard check ROBOT LOG --write-mapping"
    assert why(tmp_path)[1] == "is a folder"


@pytest.mark.parametrize(
    ("mapping", "where", "what", "fix"),
    [
        ('[columns]\ntime = "T"\n"q.a" = "q1"', "map.toml, columns, time", "log.csv has no column 'T'",
         "The table has: t, q1, i1"),
        ('[columns]\ntime = "t"\n"q.a" = "q11"', "map.toml, columns, q.a", "log.csv has no column 'q11'",
         "Did you mean 'q1'"),
        ('[columns]\n"q.a" = "q1"', "map.toml, columns, time", "is missing, and so is a rate",
         "Map it in [columns], or give a rate in [table]"),
        (f"[table]\nrate = 5\n{WHOLE}", "map.toml, table, rate", "is given, and log.csv has a column time",
         "Remove the rate"),
        ("[columns]\n", "map.toml, columns", "are none; log.csv has: t, q1, i1", "Say which columns are which"),
        (f"[table]\nrows = [1, 9]\n{WHOLE}", "map.toml, table, rows", "end at 9, log.csv has 3",
         "Give rows that the table has"),
        (WHOLE + '"current.arm" = "i1"\n[gains]\nram = 3', "map.toml, gains, ram", "has no column of current",
         "Did you mean 'arm'"),
        (WHOLE + "[gains]\na = 3", "map.toml, gains, a", "has no column of current",
         "Map its current, or remove the gain"),
        (WHOLE + '"tau.a" = {name = "x", file = "log2.csv"}', "log2.csv", "does not exist", "Did you mean log.csv"),
        ('[table]\nseparator = ";"\n' + WHOLE, "log.csv", "", ""),
    ],
)  # fmt: skip
def test_a_mapping_that_does_not_fit_the_log_is_refused(tmp_path, mapping, where, what, fix):
    (found, *more) = reasons(tmp_path, mapping)
    if what:
        assert found == (where, what, fix)
        assert not more
    else:
        assert found[1] == "log.csv has no column 't'"


def test_a_table_that_looks_otherwise_than_the_mapping_says_is_refused(tmp_path):
    fix = "Say in [table] of the mapping what the file looks like: header, names, separator, decimal"
    assert reasons(tmp_path, WHOLE, "t;q1\n0;1\n") == [
        ("log.csv, line 1", "is separated by semicolons, not by commas", fix)
    ]
    assert reasons(tmp_path, '[table]\nseparator = ";"\n' + WHOLE, "t|q1\n0|1\n")[0][1].endswith("not by semicolons")
    assert reasons(tmp_path, WHOLE, "0,1\n1,2\n") == [
        ("log.csv, line 1", "is numbers: the table has no header for its 2 columns", fix)
    ]
    (found,) = reasons(tmp_path, WHOLE, "t,q1,q1\n0,1,2\n1,1,2\n")
    assert found[:2] == ("log.csv, line 1", "repeats q1")
    (found,) = reasons(tmp_path, WHOLE, "x" * 200_000)
    assert found[2] == fix
    assert reasons(tmp_path, WHOLE, "t,q1")[0][1] == "has no rows"
    (found,) = reasons(tmp_path, WHOLE, "t,q1\n0,a\n1,1\n")
    assert found[:2] == ("log.csv, line 2, q1", "'a' is not a number")
    (found,) = reasons(tmp_path, '[table]\nseparator=";"\ndecimal=","\n' + WHOLE, "t;q1\n0;1.5\n1;1\n")
    assert found[:2] == ("log.csv, line 2, q1", "'1.5' is not a number")
    assert reasons(tmp_path, WHOLE, "x", "log.xls")[0][1] == "ends in '.xls'"


def test_arrays_and_texts_are_no_columns(tmp_path):
    np.savez(tmp_path / "log.npz", t=np.arange(3.0), q1=np.zeros((3, 2)), i1=np.array(["a", "b", "c"]))
    path = put(tmp_path, "map.toml", WHOLE + '"current.a" = "i1"\n')
    with pytest.raises(LogError) as error:
        read_log(tmp_path / "log.npz", path)
    assert [(f.what, f.fix) for f in error.value.findings] == [
        ("is no column of numbers: shape (3, 2), float64", "Give one number a row"),
        ("is no column of numbers: shape (3,), <U1", "Give one number a row"),
    ]


# Drafts


def drafted(folder, text, joints=(), name="log.csv"):
    """A draft, which reads as it stands; and what it would say with every proposal in force."""
    path = put(folder, name, text)
    draft = draft_mapping(path, joints)
    read_mapping(put(folder, "draft.toml", draft))
    body = draft.partition("[columns]")[2].partition("# [gains]")[0]
    lines = [line.removeprefix("# ") for line in body.splitlines() if line.startswith(('# "', "# time ="))]
    return draft, tomllib.loads("\n".join(lines))


def motion(rows=300, joints=2, seed=0):
    t = 7.5 + np.arange(rows) * 0.01
    rng = np.random.default_rng(seed)
    w, p = rng.uniform(1, 3, joints), rng.uniform(0, 6, joints)
    q, v = np.sin(np.outer(t, w) + p), w * np.cos(np.outer(t, w) + p)
    return np.column_stack([t, q, v, rng.normal(size=(rows, joints))])


def test_a_table_without_header_is_drafted_by_groups_of_as_many_columns_as_joints(tmp_path):
    text = "\n".join(",".join(f"{x:.6f}" for x in row) for row in motion()) + "\n7."
    draft, told = drafted(tmp_path, text, ("hip", "knee"))
    assert told == {
        "time": {"name": "c1"},
        "q.hip": "c2", "q.knee": "c3", "v.hip": "c4", "v.knee": "c5", "KIND.hip": "c6", "KIND.knee": "c7",
    }  # fmt: skip
    table = tomllib.loads(draft)["table"]
    assert table == {"header": False, "names": [f"c{k}" for k in range(1, 8)]}
    assert tomllib.loads(draft)["columns"] == {}, "nothing is in force"
    assert "looks like time in s at 100 Hz" in draft
    assert "The last line is cut off" in draft
    assert "300 rows, 7 columns" in draft


@pytest.mark.parametrize(
    ("header", "joints", "told"),
    [
        ("position_shoulder_pan,velocity_shoulder_pan", ["shoulder_pan_joint"],
         {"q.shoulder_pan_joint": "position_shoulder_pan", "v.shoulder_pan_joint": "velocity_shoulder_pan"}),
        ("joint1_pos,joint2_pos", ["joint_1", "joint_2"], {"q.joint_1": "joint1_pos", "q.joint_2": "joint2_pos"}),
        ("actual_q_1,actual_q_0,target_q_0,target_q_1", ["hip", "knee"],
         {"q.hip": "actual_q_0", "q.knee": "actual_q_1"}),
        ("Joint_1,Joint_2", ["joint_1", "joint_2"], {"KIND.joint_1": "Joint_1", "KIND.joint_2": "Joint_2"}),
        ("motorCurrent1,motorCurrent2", ["a", "b"], {"current.a": "motorCurrent1", "current.b": "motorCurrent2"}),
        ("hip_torque,other", [], {"tau.JOINT": "hip_torque"}),
        ("q1,q2,q3", ["a", "b"], {}),
        ("x,y,z", ["a", "b"], {}),
    ],
)  # fmt: skip
def test_columns_are_proposed_by_their_names(tmp_path, header, joints, told):
    rows = [[0.1 * (-1) ** k] * (header.count(",") + 1) for k in range(5)]
    text = header + "\n" + "\n".join(",".join(map(str, row)) for row in rows)
    assert drafted(tmp_path, text, joints)[1] == told


def test_a_column_that_has_its_name_already_is_mapped(tmp_path):
    draft, _ = drafted(tmp_path, "time,q.a,q.b,note\n0,1,1,x\n1,2,1,\n2,1,1,y\n", ("a",))
    assert tomllib.loads(draft)["columns"] == {"time": "time", "q.a": "q.a"}
    assert "# time looks like ms at 1000 Hz" in draft
    assert '#   "note"  no numbers' in draft
    assert '#   "q.b"  always 1' in draft
    assert "What else there is" in draft


@pytest.mark.parametrize(
    ("step", "unit"), [(0.004, None), (4, "ms"), (4e3, "us"), (4e6, "ns")],
)  # fmt: skip
def test_the_unit_of_time_is_proposed(tmp_path, step, unit):
    draft, told = drafted(tmp_path, "stamp,x\n" + "".join(f"{17 + k * step},{k % 2}\n" for k in range(9)))
    assert told["time"] == {"name": "stamp"} | ({"unit": unit} if unit else {})
    assert "at 250 Hz" in draft


def test_what_rises_in_leaps_or_holds_texts_is_not_taken_for_a_clock_or_a_rate(tmp_path):
    rows = [f"{2.0**k},x,{k % 3},{k % 2}" for k in range(30)]
    draft = draft_mapping(put(tmp_path, "log.csv", "u,v,w,x\n" + "\n".join(rows)), ("one", "two"))
    assert "time =" not in draft
    assert draft.count("say what KIND is") == 2
    assert '# "KIND.two" = "v"  # no numbers' in draft


def test_degrees_are_proposed_for_positions_beyond_two_turns(tmp_path):
    _, told = drafted(tmp_path, "a_pos,a_vel\n0,90\n90,90\n-90,90\n", ("a",))
    assert told == {"q.a": {"name": "a_pos", "unit": "deg"}, "v.a": "a_vel"}


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("t;x\n0,5;1,5\n1,5;1,5\n", {"header": True, "separator": ";", "decimal": ","}),
        ("t\tx\n0.5\t1\n1.5\t2\n", {"header": True, "separator": "\t"}),
        ("0.5 1 2\n1.5  2 3\n", {"header": False, "separator": " ", "names": ["c1", "c2", "c3"]}),
        ("# t, x\n0.5,1\n1.5,2\n", {"header": False, "comment": "#", "names": ["t", "x"]}),
        ("% 3 May\n0.5,1\n1.5,2\n", {"header": False, "comment": "%", "names": ["c1", "c2"]}),
        ("Robot 7\nt,x\n0.5,1\n1.5,2\n", {"header": True, "skip_rows": 1}),
        ('# steelyard {"a": 1}\nt,x\n0.5,1\n1.5,2\n', {"header": True}),
    ],
)
def test_the_look_of_a_table_is_drafted_and_reads_back(tmp_path, text, table):
    draft, _ = drafted(tmp_path, text)
    assert tomllib.loads(draft)["table"] == table
    first, second = (table.get("names") or ["t", "x"])[:2]
    mapping = draft.replace("[columns]\n", f'[columns]\ntime = "{first}"\n"q.a" = "{second}"\n')
    log = read(tmp_path, mapping, text)
    np.testing.assert_array_equal(log.time, [0.5, 1.5])


def test_strange_names_make_valid_drafts(tmp_path):
    text = '"a""b","c\td",ü 🤖,x\\y,\x7f\n1,2,3,4,5\n1,2,,4,\n'
    draft, told = drafted(tmp_path, text, ["hip", "knee", "foot", "toe", 'jo"int'], name="my\x07log.csv")
    assert list(told.values()) == ['a"b', "c\td", "ü 🤖", "x\\y", "\x7f"]
    assert list(told)[-1] == 'KIND.jo"int'
    assert "# always 3, 1 empty\n" in draft
    assert "my?log.csv" in draft
    assert '# "q.a" = "a_pos"  # empty' in drafted(tmp_path, "a_pos,x,y\n,1,2\n,2,1\n", ("a",))[0]


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_binary_tables_are_drafted(tmp_path, suffix):
    columns = {"stamp": np.arange(3) * 10, "hip_pos": np.array([0.0, np.nan, 1.0]), "note": np.array(["x", "y", "z"])}
    if suffix == ".npz":
        np.savez(tmp_path / "log.npz", many=np.zeros((3, 2)), **columns)
    else:
        pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    draft = draft_mapping(tmp_path / f"log{suffix}", ("hip",))
    read_mapping(put(tmp_path, "draft.toml", draft))
    assert '# "q.hip" = "hip_pos"  # 0 to 1, steps up to 1, 1 empty' in draft
    assert '# time = { name = "stamp", unit = "ms" }' in draft
    assert '#   "note"  no numbers' in draft
    assert ("array of shape (3, 2)" in draft) == (suffix == ".npz")


def test_only_the_first_rows_of_a_long_table_are_looked_at(tmp_path):
    draft, _ = drafted(tmp_path, "x\n" + "1\n" * 50_001)
    assert "50000 at least rows, 1 columns" in draft
    assert "no column looks like time" in draft


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("log.csv", "", "has no lines that look like a table"),
        ("log.csv", "hello\nworld\n", "has no lines that look like a table"),
        ("log.csv", "x" * 200_000, "has no lines that look like a table"),
        ("log.csv", b"\xff\xfe", "is not UTF-8 text"),
        ("log.xls", "x", "ends in '.xls'"),
    ],
)
def test_what_is_no_table_is_not_drafted(tmp_path, name, text, what):
    with pytest.raises(LogError) as error:
        draft_mapping(put(tmp_path, name, text))
    assert error.value.findings[0].what == what


# The command line


@pytest.fixture
def foreign(arm, tmp_path):
    """The arm's log as another program would write it: degrees, milliseconds, names of its own."""
    log = read_log(arm.train)
    joints = arm.robot.joints
    columns = [1e3 * log.time, *(np.rad2deg(log.columns[f"q.{j}"]) for j in joints)]
    columns += [log.columns[f"tau.{j}"] / 10 for j in joints]
    np.savetxt(tmp_path / "run.csv", np.column_stack(columns), delimiter=",", fmt="%.17g")
    names = ["t", *(f"p{k}" for k in range(len(joints))), *(f"i{k}" for k in range(len(joints)))]
    lines = ["[table]", "header = false", f"names = {json.dumps(names)}", "[columns]"]
    lines.append('time = { name = "t", unit = "ms" }')
    for k, joint in enumerate(joints):
        lines += [f'"q.{joint}" = {{ name = "p{k}", unit = "deg" }}', f'"current.{joint}" = "i{k}"']
    lines += ["[gains]", *(f"{j} = 10" for j in joints)]
    return tmp_path / "run.csv", put(tmp_path, "map.toml", "\n".join(lines))


def test_identify_reads_foreign_logs_through_a_mapping(steelyard, arm, foreign, tmp_path):
    path, mapping = foreign
    with path.open("a") as file:
        file.write("12.3,4")
    arguments = ["--friction", "all", "--mapping", mapping]
    done = steelyard("identify", "demo_arm", path, "-o", tmp_path / "out", *arguments)
    assert done.code == 0, done.err
    plain = steelyard("identify", "demo_arm", arm.train, "-o", tmp_path / "plain", "--friction", "all")
    assert plain.code == 0
    ours, same = (json.loads((tmp_path / d / "estimate.json").read_text()) for d in ("out", "plain"))
    for name, link in ours["links"].items():
        assert link["parameters"] == pytest.approx(same["links"][name]["parameters"], rel=1e-3, abs=1e-4)
    assert ours["provenance"]["inputs"][str(mapping)] == hashlib.sha256(mapping.read_bytes()).hexdigest()
    assert any("cut off while it was written" in notice for notice in ours["notices"])


def test_check_takes_a_mapping_and_drafts_one(steelyard, foreign, tmp_path):
    path, mapping = foreign
    assert steelyard("check", "demo_arm", path).code == 3
    done = steelyard("check", "demo_arm", path, "--mapping", mapping)
    assert done.code == 0, done.out
    assert "Usable" in done.out
    draft = tmp_path / "new.toml"
    done = steelyard("check", "demo_arm", path, "--write-mapping", draft)
    assert done.code == 0
    assert f"--mapping {draft}" in done.out
    assert "looks like time in ms" in draft.read_text()
    read_mapping(draft)
    done = steelyard("check", "demo_arm", path, "--mapping", draft)
    assert done.code == 3
    assert "Say which columns are which" in done.out


def test_a_draft_overwrites_nothing(steelyard, foreign, tmp_path):
    path, mapping = foreign
    before = mapping.read_bytes()
    done = steelyard("check", "demo_arm", path, "--write-mapping", mapping)
    assert done.code == 2
    assert "exists" in done.err
    assert mapping.read_bytes() == before
    done = steelyard("check", "demo_arm", path, "--write-mapping", tmp_path / "n.toml", "--mapping", mapping)
    assert done.code == 2
    assert "does not go with --mapping" in done.err
    done = steelyard("check", "demo_arm", path, "--write-mapping", tmp_path / "n.toml", "--json")
    assert json.loads(done.out) == {"schema": 1, "mapping": str(tmp_path / "n.toml")}
