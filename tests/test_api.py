"""What ``import steelyard`` gives: logs and robots of many kinds in, a result out that explains and saves itself."""

import inspect
import json
import shutil
import subprocess
import sys
import typing
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.equations.equation_options import EquationOptions
from steelyard.equations.filters import Filter
from steelyard.identify import option_keywords
from steelyard.identify.option_keywords import EquationKeywords, OptionKeywords
from steelyard.log.log_source import as_log, as_logs

ROOT = Path(__file__).resolve().parents[1]
TYPED = ("arrays", "dataframe", "pinocchio_model")  # examples that a type checker understands


@pytest.fixture(scope="module")
def result(arm):
    return sy.identify("demo_arm", str(arm.train), friction="all", validate=arm.test)


def test_every_public_name_is_listed_documented_and_imported_when_it_is_used():
    code = "import steelyard, sys; print('numpy' in sys.modules, *dir(steelyard))"
    heavy, *names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
    assert heavy == "False"
    assert set(names) == set(sy.__all__) >= {"identify", "check", "compare", "weigh_load", "Log", "Result", "Points"}
    for name in set(names) - {"__version__"}:
        assert inspect.getdoc(getattr(sy, name)), name
    assert sy.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="weight_load"):
        sy.weight_load  # noqa: B018


@pytest.mark.parametrize("name", ["identify", "weigh_load", "check", "compare"])
def test_functions_explain_arguments_results_and_give_an_example(name):
    doc = inspect.getdoc(getattr(sy, name))
    for part in ("Args:", "Returns:", "Examples:"):
        assert part in doc
    for argument in inspect.signature(getattr(sy, name)).parameters:
        assert f"{argument}:" in doc


@pytest.mark.parametrize(("keywords", "options"), [(OptionKeywords, sy.Options), (EquationKeywords, EquationOptions)])
def test_keywords_are_the_fields_of_options_with_their_types(keywords, options):
    shown = typing.get_type_hints(keywords)
    wanted = typing.get_type_hints(options) | typing.get_type_hints(Filter)
    known = {f.name for f in (*fields(options), *fields(Filter))}
    assert set(shown) == known
    assert {name: shown[name] for name in known} == {name: wanted[name] for name in known}


def test_one_log_is_not_taken_for_many_letters(arm, result):
    assert [log.source for log in as_logs(str(arm.train))] == [str(arm.train)]
    many = sy.identify("demo_arm", [arm.train], sy.Options(friction="all"), validate=[arm.test])
    np.testing.assert_array_equal(many.theta, result.theta)


def test_keywords_replace_options_and_unknown_ones_are_refused_with_the_nearest(arm):
    given = option_keywords.options_from(sy.Options(friction="all"), {"delay": 0.01, "links": "forearm_link"})
    assert (given.friction, given.filter.delay, given.links) == ("all", 0.01, ("forearm_link",))
    with pytest.raises(sy.UsageError) as refused:
        sy.identify("demo_arm", arm.train, frictions="all", prior_weights=2.0)
    assert [f.code for f in refused.value.findings] == ["name-unknown"] * 2
    assert [f.where for f in refused.value.findings] == ["frictions='all'", "prior_weights=2.0"]


def test_a_body_is_found_by_any_of_its_links_and_a_wrong_name_lists_those_there_are(result):
    forearm = result.estimate["forearm_link"]
    assert forearm is result.estimate.body("forearm_link")
    assert forearm.mass == forearm.parameters[0]
    np.testing.assert_allclose(forearm.com * forearm.mass, forearm.parameters[1:4])
    assert np.linalg.eigvalsh(forearm.inertia)[0] > 0
    with pytest.raises(KeyError) as missing:
        result.estimate["forarm"]
    assert all(body.name in str(missing.value) for body in result.estimate.bodies)


def test_what_is_printed_says_what_it_is(arm, result):
    assert repr(result) == f"<Result: {result.sentence}>"
    assert repr(result.estimate).startswith("<Estimate of 'demo_arm' by lmi: 6 bodies, ")
    forearm = result.estimate["forearm_link"]
    assert repr(forearm).startswith(f"<forearm_link: {forearm.mass:.4g} kg ({forearm.source.mass}), com [")
    assert repr(sy.Log.read(arm.train)) == f"<Log '{arm.train}': 2400 samples, 11.99 s, q and tau of 6 joints>"


def test_a_result_saves_the_files_of_the_command_line_and_compares_with_them(result, tmp_path):
    files = result.save(tmp_path / "out", report=False)
    assert {"estimate.json", "robot.urdf", "robot.xml", "information.npz"} <= {f.name for f in files}
    saved = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert saved["verdict"]["trusted"] is result.verdict.trusted is True
    assert all(d.deviations == 0 for d in sy.compare(result, tmp_path / "out"))
    described = {d.body: d.mass for d in sy.compare(result, "demo_arm")}
    assert described["forearm_link"] == (result.estimate["forearm_link"].mass, pytest.approx(4.27))


def test_check_gives_findings_as_data_and_raises_nothing(arm):
    log = sy.Log.read(arm.train)
    assert sy.check("demo_arm", log).findings == ()
    degrees = dict(log.columns) | {"q.elbow_joint": np.degrees(log.columns["q.elbow_joint"])}
    found = sy.check("demo_arm", sy.Log.from_columns({"time": log.time, **degrees}))
    assert found.findings
    assert {f.severity for f in found.findings} == {"error"}
    assert all(f.code and json.dumps(f.as_json()) for f in found.findings)
    assert sy.check("demo_arm", "nowhere.parquet").findings


def test_arrays_make_the_log_that_their_columns_make():
    rng = np.random.default_rng(0)
    time, gyro, force = np.arange(5) / 100, rng.normal(size=(5, 3)), rng.normal(size=(5, 6))
    turned = np.tile([0.0, 0.0, 0.0, 1.0], (5, 1))
    log = sy.Log.from_arrays(
        time,
        q={"knee": time},
        tau={"knee": time**2},
        contact={"foot": [0, 1, 1, 0, 1]},
        wrench={"foot": force},
        imu={"gyro": gyro, "acc": gyro},
        base={"quaternion": turned},
        metadata={"imu_frame": "imu_link"},
    )
    columns = {"q.knee": time, "tau.knee": time**2, "contact.foot": [0, 1, 1, 0, 1]}
    columns |= {f"wrench.foot.{c}": force[:, k] for k, c in enumerate(("fx", "fy", "fz", "mx", "my", "mz"))}
    columns |= {f"imu.{name}.{c}": gyro[:, k] for name in ("gyro", "acc") for k, c in enumerate("xyz")}
    columns |= {f"base.quaternion.{c}": turned[:, k] for k, c in enumerate("xyzw")}
    same = sy.Log.from_columns({"time": time, **columns}, {"imu_frame": "imu_link"})
    assert log.columns.keys() == same.columns.keys()
    for name, values in same.columns.items():
        np.testing.assert_array_equal(log.columns[name], values)
    assert log.metadata == same.metadata
    assert repr(log) == "<Log 'log': 5 samples, 0.04 s, q and tau of 1 joint, base, imu, wrench, contact>"


def test_arrays_of_a_wrong_shape_are_all_named():
    time = np.arange(5) / 100
    with pytest.raises(sy.LogError) as refused:
        sy.Log.from_arrays(time, imu={"gyro": np.zeros((5, 4)), "acc": np.zeros(5)}, wrench={"foot": np.zeros((6, 5))})
    assert [(f.code, f.where) for f in refused.value.findings] == [
        ("array-shape", "log, imu of 'gyro'"),
        ("array-shape", "log, imu of 'acc'"),
        ("array-shape", "log, wrench of 'foot'"),
    ]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_is_a_log(arm, library):
    tables = pytest.importorskip(library)
    log = sy.Log.read(arm.train)
    columns = {"time": log.time, **log.columns, "comment": log.time}
    frame = tables.table(columns) if library == "pyarrow" else tables.DataFrame(columns)
    frames = [frame, frame.set_index("time")] if library == "pandas" else [frame]
    for one in frames:
        taken = as_log(one)
        assert taken.ignored == ("comment",)
        np.testing.assert_array_equal(taken.time, log.time)
        for name, values in log.columns.items():
            np.testing.assert_array_equal(taken.columns[name], values)


def test_neither_a_robot_nor_a_log_may_be_just_anything(arm):
    with pytest.raises(sy.SteelyardError) as refused:
        sy.identify(3.0, arm.train)
    assert refused.value.findings[0].code == "robot-kind-unknown"
    with pytest.raises(sy.LogError) as refused:
        sy.identify("demo_arm", 3.0)
    assert refused.value.findings[0].code == "log-kind-unknown"


@pytest.mark.slow
def test_a_type_checker_knows_every_type_of_the_examples(tmp_path):
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None or shutil.which("node") is None:
        pytest.skip("pyright needs node, which is not here")
    for name in TYPED:
        shutil.copy(ROOT / "examples" / f"{name}.py", tmp_path)
    unknown = ("Argument", "Lambda", "Member", "Parameter", "Variable")
    rules = {"typeCheckingMode": "strict"} | {f"reportUnknown{kind}Type": True for kind in unknown}
    rules |= {
        "reportMissingTypeStubs": False,
        "reportIncompleteStub": False,
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.11",
    }
    stubs = tmp_path / "typings" / "pinocchio"  # Pinocchio has no types: what comes from it is anything, not unknown
    stubs.mkdir(parents=True)
    (stubs / "__init__.pyi").write_text("from typing import Any\ndef __getattr__(name: str) -> Any: ...\n")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(rules))
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright could not start: {done.stderr[-200:]}")
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(TYPED)
    shown = [
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1, d["message"]) for d in report["generalDiagnostics"]
    ]
    assert shown == []
