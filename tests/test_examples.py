"""Every example fits on a page, needs nothing but the installed package, and prints the results that it promises."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.log.table import read_log

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


DEPENDENCIES = {"steelyard", "numpy", "scipy", "pinocchio", "h5py", "pandas"}  # h5py: of one measured data set


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Run a script as after ``pip install steelyard``: of this repository only the package can be imported."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("elsewhere")
    (site / "steelyard").symlink_to(ROOT / "steelyard", target_is_directory=True)

    def output(script: object, *arguments: object) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, *map(str, (script, *arguments))]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return output


@pytest.fixture
def run(start):
    """What an example prints."""
    return lambda name, *arguments: start(ROOT / "examples" / f"{name}.py", *arguments)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_at_most_40_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_imports_nothing_but_the_package_and_its_dependencies(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= DEPENDENCIES | sys.stdlib_module_names


def test_every_example_is_run():
    tested = re.findall(r'run\("(\w+)"', Path(__file__).read_text(encoding="utf-8"))
    assert {path.stem for path in EXAMPLES} == set(tested)


@pytest.mark.slow
def test_arrays_in_memory_are_a_log(run):
    printed = run("arrays").splitlines()
    assert printed[0] == "<Log 'memory': 4000 samples, 20 s, q and tau of 6 joints>"
    assert printed[1].startswith("True ")
    assert re.fullmatch(r"forearm_link: [\d.]+ kg \(\w+\), centre \[.*\] mm", printed[2])


@pytest.mark.slow
def test_a_frame_is_checked_identified_and_compared(run):
    printed = run("dataframe")
    assert "'estimate.json', 'robot.urdf'" in printed
    assert len(re.findall(r"^\w+_link: [\d.]+ kg, described [\d.]+ kg$", printed, re.MULTILINE)) == 6


@pytest.mark.slow
def test_a_pinocchio_model_gets_its_identified_inertias(run):
    printed = run("pinocchio_model")
    changed = re.findall(r"^\w+_body: ([\d.]+) -> ([\d.]+) kg$", printed, re.MULTILINE)
    assert len(changed) == 6
    assert all(float(after) > 0 for _, after in changed)


@pytest.mark.study
def test_an_arm_is_identified_and_no_single_mass_is(run):
    printed = run("identify_arm")
    masses = re.findall(r"^\w+_link +([\d.]+) +([\d.]+) +([\d.]+)   (\w+)$", printed, re.MULTILINE)
    assert len(masses) == 6
    assert {source for *_, source in masses} <= {"narrowed", "prior"}
    surest = re.findall(r"^ *([\d.]+) ± ([\d.]+), true ([\d.]+):", printed, re.MULTILINE)
    assert len(surest) == 3
    for value, _, true in surest:
        assert float(value) == pytest.approx(float(true), rel=0.02)
    assert re.search(r"^Trusted: .* \d+ of 34 base parameters of the bodies .* 24 of the joints", printed, re.MULTILINE)


@pytest.mark.study
def test_only_the_physical_method_gives_physical_bodies_and_it_predicts_as_well(run):
    rows = re.findall(r"^(\S+) +(\d) of 6 +([\d.]+) % +([\d.]+) %$", run("compare_methods"), re.MULTILINE)
    assert [row[0] for row in rows] == ["lmi", "least-squares"]
    (_, ours, held_out, distance), (_, theirs, baseline, baseline_distance) = rows
    assert int(ours) == 6
    assert int(theirs) < 6
    assert float(held_out) <= 1.02 * float(baseline)
    assert float(distance) < float(baseline_distance)


@pytest.mark.study
def test_information_of_parts_adds_up_to_that_of_the_whole(run):
    (difference,) = re.findall(r"two answers: (\S+) \(SI\)", run("information_adds_up"))
    assert float(difference) < 1e-9


@pytest.mark.study
def test_a_tool_is_identified_by_the_sensor_in_the_wrist(run):
    printed = run("wrist_sensor")
    (mass,) = re.findall(r"^mass +([\d.]+) ± [\d.]+ kg, true 1.8 \(data\)$", printed, re.MULTILINE)
    assert float(mass) == pytest.approx(1.8, abs=0.005)  # kg, the tool of the example
    (offsets,) = re.findall(r"^offset +\[(.*?)\]", printed, re.MULTILINE)
    # N and N·m, as the example sets them
    assert [float(x) for x in offsets.split()] == pytest.approx([4, -3, 6, 0.2, -0.1, 0.3], abs=0.02)
    assert "10 of 10 base parameters of the bodies" in printed


@pytest.mark.study
def test_inertias_come_back_from_every_conversion(run):
    printed = run("inertia_conversions")
    (error,) = re.findall(r"^largest round-trip error: (\S+)$", printed, re.MULTILINE)
    assert float(error) < 1e-15
    assert "random coordinates give a physical body: True" in printed
    assert "moments 0.01, 0.01, 0.03 are physical: False" in printed


@pytest.mark.study
def test_the_snippets_of_the_python_page_run_top_to_bottom(start, tmp_path):
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    script = tmp_path / "snippets.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)), encoding="utf-8")
    printed = start(script)
    assert "Trusted: " in printed
    assert "does not increase" in printed


@pytest.mark.study
def test_the_files_of_a_real_arm_become_logs_that_are_identified(run, measured, tmp_path, steelyard):
    folder = measured("ur10e")
    printed = run("ur10e", folder, tmp_path)
    # the rows of the two files that the example cuts out
    assert [line.split(": ")[1] for line in printed.splitlines()] == ["2876 samples, 30.6 s", "3961 samples, 42.2 s"]
    robot, train, test = folder / "ur10e.urdf", tmp_path / "train.parquet", tmp_path / "test.parquet"
    looked = steelyard("check", robot, train)
    assert looked.code == 0
    assert "Usable: " in looked.out
    done = steelyard("identify", robot, train, "--friction", "all", "--validate", test, "-o", tmp_path / "out")
    assert done.code == 0
    (error,) = re.findall(r"^held out .*: relative error ([\d.]+) %", done.out, re.MULTILINE)
    assert float(error) <= 4.8  # 4.76 % (docs/how-to-ur10e.md), rounded up


@pytest.mark.study
def test_published_base_parameters_stand_beside_ours(run, measured, tmp_path, steelyard):
    """Steps of the guide to an arm with a coupled wrist, its mapping included."""
    folder = measured("tx40")
    guide = (ROOT / "docs" / "how-to-tx40.md").read_text(encoding="utf-8")
    (tmp_path / "tx40.toml").write_text(re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)[0], encoding="utf-8")
    robot, log = folder / "tx40_mdh_modified.urdf", folder / "pos_read_data.csv.gz"
    filters = ("--kinematics-cutoff", 100, "--cutoff", 20)
    named = ("--mapping", tmp_path / "tx40.toml", "--friction", "all", *filters, "-o", tmp_path / "whole")
    assert steelyard("identify", robot, log, *named).code == 3
    done = steelyard("identify", robot, log, *named, "--repair-prior")
    assert done.code == 4  # seven seconds determine no parameter of the bodies to a tenth
    lines = run("tx40_published", folder, tmp_path / "whole").splitlines()
    assert lines[-1] == "23 of 23 agree within 3 σ or 5 %"
    assert "\n".join(lines) in guide


@pytest.mark.study
def test_the_files_of_a_real_humanoid_become_logs(run, measured, tmp_path):
    pytest.importorskip("h5py")
    printed = run("icub", measured("icub"), tmp_path)
    # the rows of the two files
    assert [line.split(": ")[1] for line in printed.splitlines()] == ["1188 samples, 12.0 s", "2004 samples, 20.1 s"]
    walking, sinusoid = (read_log(tmp_path / f"{name}.parquet") for name in ("walking", "com-sinusoid"))
    assert walking.names("wrench") == sinusoid.names("wrench") == ["l_sole", "r_sole"]
    assert len(walking.names("q")) == 26


@pytest.mark.study
def test_a_quadruped_notices_what_is_put_on_its_back_and_weighs_it(run):
    printed = run("online")
    late, mass = re.search(r"rows are ([\d.]+) ms late", printed), re.search(r"base ([\d.]+) ± ([\d.]+) kg", printed)
    assert float(late[1]) < 10
    assert float(mass[1]) == pytest.approx(6.001, abs=2 * float(mass[2]))  # the described base; twice its interval
    assert 3.0 < float(re.search(r"noticed at ([\d.]+) s", printed)[1]) < 3.1  # s; added at 3 s, windows of 20 ms
    load = re.search(r"it weighs ([\d.]+) kg, lies at \[ *(-?\d+) +(-?\d+) +(-?\d+)\] mm \(data\)", printed)
    assert float(load[1]) == pytest.approx(1.0, abs=0.03)  # kg, the example's cube
    assert [int(load[k]) for k in (2, 3, 4)] == pytest.approx([50, -30, 80], abs=6)  # mm, where the example puts it
    assert "\n".join(printed.splitlines()) in (ROOT / "docs" / "online.md").read_text(encoding="utf-8")


@pytest.mark.study
def test_a_report_shows_the_divisions_of_a_load_and_its_estimate_over_time(run, a1_robot, tmp_path):
    printed = run("load_report", tmp_path)
    mass, off = map(float, re.match(r"([\d.]+) kg, ([\d.]+) mm off: .*report\.html$", printed).groups())
    assert mass == pytest.approx(1.0, abs=0.02)  # kg, the example's cube; ± 0.015 in papers/xu, Case 2
    assert off < 4  # mm; 2.8, worst of 36 logs in papers/xu, Case 2
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for section in ("scene", "division", "convergence"):
        assert f'<section id="{section}"' in page
    assert 'id="course-3"' in page
    assert 'class="truth"' in page
    divisions = json.loads((tmp_path / "load.json").read_text(encoding="utf-8"))["divisions"]
    assert {"k", "objective", "mass", "com"} <= set(divisions[0])
    assert sum(cell["mass"] for cell in divisions[0]["cells"]) == pytest.approx(divisions[0]["mass"])
