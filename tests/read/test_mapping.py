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
from steelyard.log.toml import shown
from steelyard.log.units_table import ALIASES, UNITS, factor
from tests.refusals import noted

LOG = "t,q1,i1\n0,1,5\n1,2,6\n2,4,7\n"
WHOLE = '[columns]\ntime = "t"\n"q.a" = "q1"\n'


def put(folder, name, text):
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def read(folder, mapping, text=LOG, name="log.csv"):
    return read_log(put(folder, name, text), put(folder, "map.toml", mapping))


def refusals(folder, mapping, text=LOG, name="log.csv"):
    """Findings about a mapping or a log read with it."""
    with pytest.raises(LogError) as error:
        read(folder, mapping, text, name)
    return error.value.findings


def places(folder, mapping, text=LOG, name="log.csv"):
    """Code and place of each finding, the place without its folder."""
    return [(f.code, f.where.removeprefix(f"{folder}/")) for f in refusals(folder, mapping, text, name)]


# Conversion


def test_columns_are_read_by_name_with_unit_scale_sign_and_offset(tmp_path):
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


def test_columns_without_a_mapping_are_listed_and_not_read(tmp_path):
    log = read(tmp_path, WHOLE, "t,q1,tau.a,note\n0,1,2,x\n1,1,2,y\n")
    assert list(log.columns) == ["q.a"]
    assert log.ignored == ("tau.a", "note")


def test_without_columns_the_names_of_the_table_are_used(tmp_path):
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
        ("comment = '%'\nheader = false\nnames = ['t', 'q1']", "% by hand\n0,1\n % half time\n1,2\n"),
        ("skip_rows = 1\ncomment = '#'", "anything\n# else\nt,q1\n0,1\n1,2\n"),
    ],
)
def test_tables_of_many_layouts_are_read_alike(tmp_path, table, text):
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


def test_an_incomplete_last_line_is_dropped_with_a_notice(tmp_path):
    for end in ("3,5\n", "3,5", "3", "3,8,1e-"):
        log = read(tmp_path, '[columns]\ntime = "t"\n"current.a" = "i1"\n', LOG + end)
        np.testing.assert_array_equal(log.columns["current.a"], [5, 6, 7])
        assert noted(log.notices) == [("line-incomplete", f"{tmp_path}/log.csv, line 5")]
    log = read(tmp_path, WHOLE, LOG + "3,5,7")
    assert len(log) == 4
    assert log.notices == ()


def test_an_incomplete_line_that_is_not_the_last_is_refused(tmp_path):
    assert places(tmp_path, WHOLE, "t,q1\n0,1\n1\n2,2\n3,3\n") == [("line-width", "log.csv, line 3")]
    table = '[table]\nheader = false\nnames = ["t", "q1", "i1"]\n'
    assert places(tmp_path, table + WHOLE, "0,1\n1,1\n2,2\n") == [("header-width", "log.csv")]
    text = "0,1,1\n1,1,x\n2,2\n3,3,3\n"
    assert places(tmp_path, table + WHOLE, text) == [("line-width", "log.csv, line 3")]


def test_rows_are_kept_from_first_to_last_and_counted_from_one(tmp_path):
    log = read(tmp_path, "[table]\nrows = [2, 3]\n" + WHOLE)
    np.testing.assert_array_equal(log.time, [1, 2])
    by_file = '[table.rows]\n"log.csv" = [1, 2]\n'
    np.testing.assert_array_equal(read(tmp_path, by_file + WHOLE).time, [0, 1])
    other = read(tmp_path, by_file + WHOLE, name="other.csv")
    assert len(other) == 3
    assert noted(other.notices) == [("rows-not-given", f"{tmp_path}/other.csv")]
    assert other.notices[0].remedy == {"mapping": f"{tmp_path}/map.toml"}


def test_a_table_without_time_has_that_of_its_rate(tmp_path):
    mapping = '[table]\nrate = 50\nrows = [2, 3]\n[columns]\n"q.a" = "q1"\n'
    log = read(tmp_path, mapping)
    np.testing.assert_allclose(log.time, [0.02, 0.04])
    np.testing.assert_array_equal(log.columns["q.a"], [2, 4])


def test_a_log_may_be_in_several_tables(tmp_path):
    put(tmp_path, "currents.csv.gz", "J1,J2\n5,1\n6,2\n7,3\n")
    mapping = WHOLE + '"current.a" = { name = "J1", unit = "mA", file = "currents.csv.gz" }\n'
    log = read(tmp_path, mapping)
    np.testing.assert_allclose(log.columns["current.a"], [5e-3, 6e-3, 7e-3])
    assert log.ignored == ("i1", "currents.csv.gz: J2")
    assert [Path(file).name for file in log.files] == ["log.csv", "map.toml", "currents.csv.gz"]


def test_tables_may_differ_by_an_incomplete_last_line_only(tmp_path):
    mapping = WHOLE + '"current.a" = { name = "J1", file = "currents.csv" }\n'
    put(tmp_path, "currents.csv", "J1,J2\n5,1\n6,2\n7")
    log = read(tmp_path, mapping)
    np.testing.assert_array_equal(log.columns["current.a"], [5, 6])
    assert noted(log.notices) == [
        ("line-incomplete", f"{tmp_path}/currents.csv, line 4"),
        ("row-without-counterpart", f"{tmp_path}/log.csv"),
    ]
    put(tmp_path, "currents.csv", "J1,J2\n5,1\n6,2\n")
    assert places(tmp_path, mapping) == [("column-length", "log.csv")]


def test_the_metadata_of_a_mapping_replace_those_of_the_log(tmp_path):
    text = '# steelyard {"gains": {"a": 1.0, "b": 2.0}, "note": "x"}\n' + LOG
    mapping = '[columns]\ntime = "t"\n"current.a" = "i1"\n[gains]\na = 3\n[metadata]\nnote = "y"\n'
    assert read(tmp_path, mapping, text).metadata == {"gains": {"a": 3.0, "b": 2.0}, "note": "y"}


def test_a_mapping_may_be_given_in_python(tmp_path):
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
    ("column", "unit", "code", "remedy"),
    [
        ("q.a", "ms", "unit-mismatch", {}),
        ("wrench.f.mx", "N", "unit-mismatch", {}),
        ("time", "Hz", "unit-unknown", {}),
        ("imu.gyro.x", "degs/s", "unit-unknown", {"name": "deg/s"}),
        ("wrench.f.fx", "kg", "unit-unknown", {"name": "kgf"}),
        ("q.a", "Ampere·A", "unit-unknown", {}),
    ],
)
def test_an_unknown_unit_and_a_unit_of_another_quantity_are_refused(tmp_path, column, unit, code, remedy):
    mapping = f'[columns]\n"{column}" = {{ name = "q1", unit = "{unit}" }}\n'
    (finding,) = refusals(tmp_path, mapping)
    assert (finding.code, finding.remedy) == (code, remedy)
    assert finding.where == f"{tmp_path}/map.toml, columns, {column}"


# Transmissions


def coupled(tmp_path, columns, more, rows=20):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=rows) for name in ("m1", "m2", "m3", "i1", "i2", "i3")}
    np.savez(tmp_path / "log.npz", t=np.arange(rows) * 0.01, **table)
    path = put(tmp_path, "map.toml", '[columns]\ntime = "t"\n' + columns + more)
    return table, path


PD = """
[columns]
time = "t"
"q.a" = { name = "q1", unit = "deg", sign = -1, offset = 0.5 }
"v.a" = { name = "v1", unit = "deg/s" }
"""
DRIVEN = "t,q1,v1,goal,speed,push\n0,1,2,3,5,7\n1,2,4,1,6,8\n2,4,1,2,7,9\n"


def driven(goal):
    return f'{PD}"tau.a" = {{ pd = {goal} }}\n'


def test_the_law_of_a_drive_gives_the_commanded_torque(tmp_path):
    """A target that is a name alone has the unit, sign and offset of what it is compared with."""
    log = read(tmp_path, driven('{ target = "goal", kp = 20, kd = 1.5 }'), DRIVEN)
    error = -np.deg2rad(np.array([3, 1, 2]) - np.array([1, 2, 4]))
    damped = 20 * error - 1.5 * np.deg2rad([2, 4, 1])
    np.testing.assert_allclose(log.columns["tau.a"], damped, rtol=1e-13)
    assert set(log.columns) == {"q.a", "v.a", "tau.a"}
    assert log.metadata["commanded"] == ["a"]
    assert log.ignored == ("speed", "push")
    more = ', target_velocity = "speed", feedforward = { name = "push", unit = "mN·m" } }'
    full = read(tmp_path, driven('{ target = "goal", kp = 20, kd = 1.5' + more), DRIVEN)
    expected = damped + 1.5 * np.deg2rad([5, 6, 7]) + 1e-3 * np.array([7, 8, 9])
    np.testing.assert_allclose(full.columns["tau.a"], expected, rtol=1e-13)
    assert full.ignored == ()
    own = read(tmp_path, driven('{ target = { name = "goal", offset = 0.1 }, kp = 1, kd = 0 }'), DRIVEN)
    np.testing.assert_allclose(own.columns["tau.a"], np.array([3, 1, 2]) + 0.1 - own.columns["q.a"], rtol=1e-13)
    write_log(tmp_path / "out.csv", log)
    assert read_log(tmp_path / "out.csv").metadata == log.metadata


def test_behind_a_transmission_the_law_is_that_of_the_motor(tmp_path):
    gear = '[transmission]\njoints = ["a"]\nmatrix = [[100]]\n'
    log = read(tmp_path, driven('{ target = "goal", kp = 20, kd = 0 }') + gear, DRIVEN)
    motor = -20 * np.deg2rad(np.array([3, 1, 2]) - np.array([1, 2, 4]))
    np.testing.assert_allclose(log.columns["tau.a"], 100 * motor, rtol=1e-13)
    np.testing.assert_allclose(log.columns["q.a"], -np.deg2rad([1, 2, 4]) / 100 + 0.5, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "code", "where", "remedy"),
    [
        (driven("3"), "value-invalid", "tau.a, pd", {}),
        (driven('{ target = "goal" }'), "drive-law-incomplete", "tau.a, pd", {"columns": ["kp", "kd"]}),
        (driven("{ kp = 1, kd = 1 }"), "drive-law-incomplete", "tau.a, pd", {"columns": ["target"]}),
        (driven('{ target = "goal", kp = -1, kd = 1 }'), "value-invalid", "tau.a, pd, kp", {}),
        (driven('{ target = "goal", kp = 1, kd = "x" }'), "value-invalid", "tau.a, pd, kd", {}),
        (driven('{ target = "goal", kp = 1, kd = nan }'), "value-invalid", "tau.a, pd, kd", {}),
        (driven("{ target = 3, kp = 1, kd = 1 }"), "value-invalid", "tau.a, pd, target", {}),
        (driven('{ target = "goal", kp = 1, kd = 1, ki = 2 }'), "key-unknown", "tau.a, pd, ki", None),
        (
            driven('{ target = { name = "goal", unit = "kg" }, kp = 1, kd = 1 }'),
            "unit-unknown",
            "tau.a, pd, target",
            None,
        ),
        (
            f'{PD}"tau.a" = {{ name = "q1", pd = {{ target = "goal", kp = 1, kd = 1 }} }}\n',
            "option-conflict",
            "tau.a, name",
            {},
        ),
        (f'{PD}"current.b" = {{ pd = {{ target = "goal", kp = 1, kd = 1 }} }}\n', "key-misplaced", "current.b", {}),
        (
            f'{PD}"tau.b" = {{ pd = {{ target = "goal", kp = 1, kd = 1 }} }}\n',
            "drive-law-incomplete",
            "tau.b, pd",
            {"columns": ["q.b", "v.b"]},
        ),
        (
            driven('{ target = "goal", kp = 1, kd = 1 }') + '"current.a" = "push"\n',
            "torque-given-twice",
            "tau.a, pd",
            {},
        ),
        (
            '[table]\nnames = ["t", "q1", "v1", "goal"]' + driven('{ target = "goals", kp = 1, kd = 1 }'),
            "name-unknown",
            "tau.a, pd, target",
            {"name": "goal"},
        ),
    ],
)
def test_a_bad_law_of_a_drive_is_refused(tmp_path, text, code, where, remedy):
    (finding,) = of_mapping(put(tmp_path, "map.toml", text))
    assert (finding.code, finding.where) == (code, f"{tmp_path}/map.toml, columns, {where}")
    assert remedy is None or finding.remedy == remedy


def test_a_law_whose_target_is_not_in_the_table_is_refused(tmp_path):
    (finding,) = refusals(tmp_path, driven('{ target = "goals", kp = 1, kd = 1 }'), DRIVEN)
    assert (finding.code, finding.remedy) == ("name-unknown", {"name": "goal"})
    assert finding.where == f"{tmp_path}/map.toml, columns, tau.a, pd, target"


def test_joints_that_are_commanded_are_named_in_a_list(tmp_path):
    (finding,) = refusals(tmp_path, f'{WHOLE}[metadata]\ncommanded = "a"\n')
    assert finding.code == "metadata-invalid"


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
    np.testing.assert_allclose(work, np.sum(motors * torques, axis=0), rtol=1e-12), "power is the same on both sides"


def test_currents_of_coupled_motors_become_torques_of_joints(tmp_path):
    columns = '"current.a" = "i1"\n"current.b" = {name = "i2", offset = 0.5}\n"tau.c" = "i3"\n"q.a" = "m1"\n'
    table, path = coupled(tmp_path, columns, "[gains]\na = 2\nb = 3\n" + WRIST)
    log = read_log(tmp_path / "log.npz", path)
    torques = np.array([3 * (table["i2"] + 0.5), table["i3"]])
    np.testing.assert_allclose([log.columns["tau.b"], log.columns["tau.c"]], MATRIX.T @ torques, rtol=1e-14)
    assert "current.b" not in log.columns
    assert log.metadata["gains"] == {"a": 2.0}, "of joints whose current is not converted"
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
    ("columns", "code", "where", "remedy"),
    [
        ('"q.b" = "m2"\n"v.c" = "m3"\n"v.b" = "m2"\n', "transmission-incomplete", "", {"columns": ["q.c"]}),
        ('"q.b" = "m2"\n"q.c" = "m3"\n"tau.b" = "m2"\n', "transmission-incomplete", "", {"columns": ["tau.c"]}),
        ('"current.b" = "i2"\n"tau.c" = "i3"\n', "gains-missing", "", {"gains": {"b": None}}),
        ('"q.b" = "m2"\n"q.cc" = "m3"\n', "name-unknown", ", joints", {"name": "cc"}),
        ('"q.joint_b" = "m2"\n"q.c" = "m3"\n', "name-unknown", ", joints", {}),
    ],
)
def test_a_transmission_that_lacks_columns_is_refused(tmp_path, columns, code, where, remedy):
    _, path = coupled(tmp_path, columns, WRIST)
    with pytest.raises(LogError) as error:
        read_log(tmp_path / "log.npz", path)
    findings = [(f.code, f.where, f.remedy) for f in error.value.findings]
    assert (code, f"{path}, transmission{where}", remedy) in findings


# Refusals


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("table = 3\n", "table"),
        ("[[transmission]]\n", "transmission"),
        ("[table]\nheader = 1\n", "table, header"),
        ("[table]\nnames = 'a'\n", "table, names"),
        ("[table]\nnames = ['a', ' ']\n", "table, names"),
        ("[table]\nseparator = ',,'\n", "table, separator"),
        ("[table]\ndecimal = ';'\n", "table, decimal"),
        ("[table]\nskip_rows = -1\n", "table, skip_rows"),
        ("[table]\nskip_rows = true\n", "table, skip_rows"),
        ("[table]\ncomment = ''\n", "table, comment"),
        ("[table]\nrate = 0\n", "table, rate"),
        ("[table]\nrate = nan\n", "table, rate"),
        ("[table]\nrows = [0, 5]\n", "table, rows"),
        ("[table]\nrows = [5, 2]\n", "table, rows"),
        ("[table]\nrows = 5\n", "table, rows"),
        ("[table.rows]\n'x.csv' = [1]\n", "table, rows, x.csv"),
        ("[columns]\ntime = 3\n", "columns, time"),
        ("[columns]\ntime = {unit = 's'}\n", "columns, time, name"),
        ("[columns]\ntime = {name = 't', unit = 3}\n", "columns, time, unit"),
        ("[columns]\ntime = {name = 't', scale = 0}\n", "columns, time, scale"),
        ("[columns]\ntime = {name = 't', scale = inf}\n", "columns, time, scale"),
        ("[columns]\ntime = {name = 't', offset = '3'}\n", "columns, time, offset"),
        ("[columns]\ntime = {name = 't', sign = 2}\n", "columns, time, sign"),
        ("[columns]\ntime = {name = 't', file = '../x.csv'}\n", "columns, time, file"),
        ("[columns]\ntime = {name = 't', file = '..'}\n", "columns, time, file"),
        ("[gains]\na = 0\n", "gains, a"),
        ("[gains]\na = 'x'\n", "gains, a"),
        ("[transmission]\nmatrix = [[1]]\n", "transmission, joints"),
        ("[transmission]\njoints = ['a', 'a']\nmatrix = [[1]]\n", "transmission, joints"),
        ("[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2]]\n", "transmission, matrix"),
        ("[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2], [3]]\n", "transmission, matrix"),
        ("[transmission]\njoints = ['a']\nmatrix = [[true]]\n", "transmission, matrix"),
    ],
)
def test_an_invalid_value_of_a_mapping_is_refused(tmp_path, text, where):
    (finding,) = of_mapping(put(tmp_path, "map.toml", text))
    assert (finding.code, finding.where) == ("value-invalid", f"{tmp_path}/map.toml, {where}")


@pytest.mark.parametrize(
    ("text", "code", "where", "remedy"),
    [
        ("[colums]\n", "key-unknown", "colums", {"name": "columns"}),
        ("[zzz]\n", "key-unknown", "zzz", {}),
        ("[table]\nheaders = true\n", "key-unknown", "table, headers", {"name": "header"}),
        ("[columns]\ntime = {name = 't', units = 's'}\n", "key-unknown", "columns, time, units", {"name": "unit"}),
        ("[columns]\ntiem = 't'\n", "name-unknown", "columns, tiem", {"name": "time"}),
        ("[columns]\n'imu.acc.w' = 't'\n", "name-unknown", "columns, imu.acc.w", {"name": "imu.acc.z"}),
        ("[columns]\njoint = {name = 't'}\n", "name-unknown", "columns, joint", {}),
        ("[table]\nnames = ['t', 'q1']\n[columns]\ntime = 't1'\n", "name-unknown", "columns, time", {"name": "t"}),
        ("[table]\nnames = ['t', 'q1']\n[columns]\ntime = 'clock'\n", "name-unknown", "columns, time", {}),
        ("[table]\nheader = false\n", "header-missing", "table, names", {}),
        ("[table]\ndecimal = ','\n", "separator-is-decimal", "table, decimal", {}),
        (
            "[transmission]\njoints = ['a', 'b']\nmatrix = [[1, 2], [2, 4]]\n",
            "transmission-singular",
            "transmission, matrix",
            {},
        ),
        ("[metadata]\ngains = {}\n", "key-misplaced", "metadata, gains", {}),
        ("[metadata]\nx = nan\n", "metadata-invalid", "metadata", {}),
    ],
)
def test_a_bad_mapping_is_refused(tmp_path, text, code, where, remedy):
    (finding,) = of_mapping(put(tmp_path, "map.toml", text))
    assert (finding.code, finding.where) == (code, f"{tmp_path}/map.toml, {where}")
    assert finding.remedy == remedy


def of_mapping(path):
    """Findings about a mapping alone."""
    with pytest.raises(LogError) as error:
        read_mapping(path)
    return error.value.findings


def test_all_faults_of_a_mapping_are_reported_at_once(tmp_path):
    text = '[table]\nrate = -1\n[columns]\nq.a = {name = "x", unit = "s", scale = 0}\nz = "y"\n[gains]\na = true\n'
    assert places(tmp_path, text + '[transmission]\njoints = ["a"]\nmatrix = [[0]]\n') == [
        ("unit-mismatch", "map.toml, columns, q.a"),
        ("value-invalid", "map.toml, columns, q.a, scale"),
        ("name-unknown", "map.toml, columns, z"),
        ("value-invalid", "map.toml, table, rate"),
        ("value-invalid", "map.toml, gains, a"),
        ("transmission-singular", "map.toml, transmission, matrix"),
    ]


def test_long_values_are_shortened_in_messages():
    assert shown("x" * 500) == "'" + "x" * 59 + "…"


def test_a_mapping_that_cannot_be_read_is_refused(tmp_path):
    for text, code in (
        ("[columns]\nq.a = \n", "toml-malformed"),
        ("a = " + "9" * 5000, "toml-malformed"),
        ("a = " + "[" * 100_000, "toml-malformed"),
        (b"\xff", "file-not-utf8"),
    ):
        (finding,) = of_mapping(put(tmp_path, "map.toml", text))
        assert (finding.code, finding.where) == (code, f"{tmp_path}/map.toml")
    for path, code, remedy in (
        (tmp_path / "mapp.toml", "file-missing", {"name": "map.toml"}),
        (tmp_path / "no" / "x.toml", "file-missing", {}),
        (tmp_path, "file-is-folder", {}),
    ):
        (finding,) = of_mapping(path)
        assert (finding.code, finding.where, finding.remedy) == (code, str(path), remedy)


@pytest.mark.parametrize(
    ("mapping", "code", "where", "remedy"),
    [
        ('[columns]\ntime = "T"\n"q.a" = "q1"', "name-unknown", "map.toml, columns, time", {}),
        ('[columns]\ntime = "t"\n"q.a" = "q11"', "name-unknown", "map.toml, columns, q.a", {"name": "q1"}),
        ('[columns]\n"q.a" = "q1"', "time-missing", "map.toml, columns, time", {}),
        (f"[table]\nrate = 5\n{WHOLE}", "time-given-twice", "map.toml, table, rate", {}),
        ("[columns]\n", "columns-missing", "map.toml, columns", {}),
        (f"[table]\nrows = [1, 9]\n{WHOLE}", "rows-out-of-range", "map.toml, table, rows", {}),
        (WHOLE + '"current.arm" = "i1"\n[gains]\nram = 3', "name-unknown", "map.toml, gains, ram", {"name": "arm"}),
        (WHOLE + "[gains]\na = 3", "name-unknown", "map.toml, gains, a", {}),
        (WHOLE + '"tau.a" = {name = "x", file = "log2.csv"}', "file-missing", "log2.csv", {"name": "log.csv"}),
    ],
)
def test_a_mapping_that_does_not_fit_the_log_is_refused(tmp_path, mapping, code, where, remedy):
    (finding,) = refusals(tmp_path, mapping)
    assert (finding.code, finding.where) == (code, f"{tmp_path}/{where}")
    assert finding.remedy == remedy


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        ("", "t;q1\n0;1\n", [("separator-wrong", "log.csv, line 1")]),
        ('separator = ";"', "t|q1\n0|1\n", [("separator-wrong", "log.csv, line 1")]),
        ('separator = ";"', LOG, [("name-unknown", f"map.toml, columns, {c}") for c in ("time", "q.a")]),
        ("", "0,1\n1,2\n", [("header-missing", "log.csv, line 1")]),
        ("", "t,q1,q1\n0,1,2\n1,1,2\n", [("column-repeated", "log.csv, line 1, q1")]),
        ("", "x" * 200_000, [("table-malformed", "log.csv")]),
        ("", "t,q1", [("rows-too-few", "log.csv, time")]),
        ("", "t,q1\n0,a\n1,1\n", [("cell-not-number", "log.csv, line 2, q1")]),
        ('separator=";"\ndecimal=","', "t;q1\n0;1.5\n1;1\n", [("cell-not-number", "log.csv, line 2, q1")]),
    ],
    ids=[
        "semicolons",
        "bars",
        "commas",
        "no header",
        "repeated",
        "long cell",
        "no rows",
        "no number",
        "decimal point",
    ],
)
def test_a_table_of_another_layout_than_the_mapping_gives_is_refused(tmp_path, table, text, expected):
    assert places(tmp_path, f"[table]\n{table}\n{WHOLE}", text) == expected


def test_a_mapping_does_not_change_the_format(tmp_path):
    assert places(tmp_path, WHOLE, "x", "log.xls") == [("format-unknown", "log.xls")]


def test_arrays_and_texts_are_not_columns(tmp_path):
    np.savez(tmp_path / "log.npz", t=np.arange(3.0), q1=np.zeros((3, 2)), i1=np.array(["a", "b", "c"]))
    path = put(tmp_path, "map.toml", WHOLE + '"current.a" = "i1"\n')
    with pytest.raises(LogError) as error:
        read_log(tmp_path / "log.npz", path)
    assert [(f.code, f.where) for f in error.value.findings] == [
        ("column-not-numeric", f"{tmp_path}/log.npz, q1"),
        ("column-not-numeric", f"{tmp_path}/log.npz, i1"),
    ]


# Drafts


def drafted(folder, text, joints=(), name="log.csv"):
    """A draft, which is a valid mapping; and its proposals as if they were not comments."""
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
    draft, proposed = drafted(tmp_path, text, ("hip", "knee"))
    assert proposed == {
        "time": {"name": "c1"},
        "q.hip": "c2", "q.knee": "c3", "v.hip": "c4", "v.knee": "c5", "KIND.hip": "c6", "KIND.knee": "c7",
    }  # fmt: skip
    table = tomllib.loads(draft)["table"]
    assert table == {"header": False, "names": [f"c{k}" for k in range(1, 8)]}
    assert tomllib.loads(draft)["columns"] == {}, "proposals are comments"
    assert "time in s at 100 Hz" in draft
    assert "The last line is incomplete" in draft
    assert "300 rows, 7 columns" in draft


@pytest.mark.parametrize(
    ("header", "joints", "proposed"),
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
def test_columns_are_proposed_by_their_names(tmp_path, header, joints, proposed):
    rows = [[0.1 * (-1) ** k] * (header.count(",") + 1) for k in range(5)]
    text = header + "\n" + "\n".join(",".join(map(str, row)) for row in rows)
    assert drafted(tmp_path, text, joints)[1] == proposed


def test_a_column_that_has_the_name_of_a_log_column_is_mapped(tmp_path):
    draft, _ = drafted(tmp_path, "time,q.a,q.b,note\n0,1,1,x\n1,2,1,\n2,1,1,y\n", ("a",))
    assert tomllib.loads(draft)["columns"] == {"time": "time", "q.a": "q.a"}
    assert "in ms at 1000 Hz" in draft
    assert '#   "note"  no numbers' in draft
    assert '#   "q.b"  always 1' in draft
    assert "# Other columns:" in draft


@pytest.mark.parametrize(
    ("step", "unit"), [(0.004, None), (4, "ms"), (4e3, "us"), (4e6, "ns")],
)  # fmt: skip
def test_the_unit_of_time_is_proposed(tmp_path, step, unit):
    draft, proposed = drafted(tmp_path, "stamp,x\n" + "".join(f"{17 + k * step},{k % 2}\n" for k in range(9)))
    assert proposed["time"] == {"name": "stamp"} | ({"unit": unit} if unit else {})
    assert "at 250 Hz" in draft


def test_a_column_with_uneven_steps_or_texts_is_not_proposed_as_time_or_rate(tmp_path):
    rows = [f"{2.0**k},x,{k % 3},{k % 2}" for k in range(30)]
    draft = draft_mapping(put(tmp_path, "log.csv", "u,v,w,x\n" + "\n".join(rows)), ("one", "two"))
    assert "time =" not in draft
    assert draft.count("fill in KIND") == 2
    assert '# "KIND.two" = "v"  # no numbers' in draft


def test_degrees_are_proposed_for_positions_beyond_two_turns(tmp_path):
    _, proposed = drafted(tmp_path, "a_pos,a_vel\n0,90\n90,90\n-90,90\n", ("a",))
    assert proposed == {"q.a": {"name": "a_pos", "unit": "deg"}, "v.a": "a_vel"}


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
def test_the_layout_of_a_table_is_drafted_and_reads_back(tmp_path, text, table):
    draft, _ = drafted(tmp_path, text)
    assert tomllib.loads(draft)["table"] == table
    first, second = (table.get("names") or ["t", "x"])[:2]
    mapping = draft.replace("[columns]\n", f'[columns]\ntime = "{first}"\n"q.a" = "{second}"\n')
    log = read(tmp_path, mapping, text)
    np.testing.assert_array_equal(log.time, [0.5, 1.5])


def test_strange_names_make_valid_drafts(tmp_path):
    text = '"a""b","c\td",ü 🤖,x\\y,\x7f\n1,2,3,4,5\n1,2,,4,\n'
    draft, proposed = drafted(tmp_path, text, ["hip", "knee", "foot", "toe", 'jo"int'], name="my\x07log.csv")
    assert list(proposed.values()) == ['a"b', "c\td", "ü 🤖", "x\\y", "\x7f"]
    assert list(proposed)[-1] == 'KIND.jo"int'
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


def test_only_the_first_rows_of_a_long_table_are_parsed_for_a_draft(tmp_path):
    draft, _ = drafted(tmp_path, "x\n" + "1\n" * 50_001)
    assert "50000 at least rows, 1 columns" in draft
    assert "# rate = " in draft


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("log.csv", "", "table-malformed"),
        ("log.csv", "hello\nworld\n", "table-malformed"),
        ("log.csv", "x" * 200_000, "table-malformed"),
        ("log.csv", b"\xff\xfe", "file-not-utf8"),
        ("log.xls", "x", "format-unknown"),
    ],
    ids=["empty", "words", "long line", "bytes", "format"],
)
def test_a_file_that_is_not_a_table_is_not_drafted(tmp_path, name, text, code):
    with pytest.raises(LogError) as error:
        draft_mapping(put(tmp_path, name, text))
    (finding,) = error.value.findings
    assert (finding.code, finding.where) == (code, f"{tmp_path}/{name}")


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
    (notice,) = read_log(path, mapping).notices
    assert notice.code == "line-incomplete"
    assert str(notice) in ours["notices"]


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
    assert "time in ms" in draft.read_text()
    read_mapping(draft)
    done = steelyard("check", "demo_arm", path, "--mapping", draft)
    assert done.code == 3
    assert "[columns-missing]" in done.out


def test_a_draft_overwrites_nothing(steelyard, foreign, tmp_path):
    path, mapping = foreign
    before = mapping.read_bytes()
    done = steelyard("check", "demo_arm", path, "--write-mapping", mapping)
    assert done.code == 2
    assert str(mapping) in done.err
    assert mapping.read_bytes() == before
    done = steelyard("check", "demo_arm", path, "--write-mapping", tmp_path / "n.toml", "--mapping", mapping)
    assert done.code == 2
    assert "--write-mapping" in done.err
    assert "[option-conflict]" in done.err
    done = steelyard("check", "demo_arm", path, "--write-mapping", tmp_path / "n.toml", "--json")
    assert json.loads(done.out) == {"schema": 1, "mapping": str(tmp_path / "n.toml")}
