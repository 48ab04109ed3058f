"""Every short name loads the robot it names; an unknown one is refused with the nearest."""

import subprocess
import sys
import types

import pytest

from steelyard.errors import DescriptionError
from steelyard.robot import index
from steelyard.robot.description import read_description

installed = pytest.mark.skipif(not index._example_robot_data(), reason="example-robot-data is not installed")
NAMES = ["a1", "go1", "go2", "anymal", "solo12", "laikago", "hyq", "talos", "talos_full"]
NAMES += ["g1", "icub", "romeo", "ur5", "ur10", "panda", "b1", "z1", "ur3"]
URDF = '<robot name="r"><link name="a"/></robot>'


def refusal(name):
    with pytest.raises(DescriptionError) as error:
        read_description(name)
    (finding,) = error.value.findings
    return finding


@installed
@pytest.mark.parametrize("entry", index.robots(), ids=lambda entry: entry.name)
def test_the_table_has_the_joints_and_base_of_each_robot(entry):
    description = read_description(entry.name)
    assert sum(j.kind != "fixed" for j in description.joints.values()) == entry.joints
    assert entry.base == "fixed" or description.root != "world"


@installed
def test_the_index_has_all_names_of_the_design():
    assert set(NAMES) <= {entry.name for entry in index.robots() if entry.path}


@installed
def test_talos_is_the_reduced_model():
    assert index.find_description("talos").name == "talos_reduced.urdf"


def test_listing_the_robots_imports_nothing_heavy():
    code = "import sys; from steelyard.robot import index; index.robots(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"pinocchio", "mujoco", "scipy", "robot_descriptions"} & set(out.split())


def test_an_embedded_model_comes_first(monkeypatch, tmp_path):
    monkeypatch.setattr(index, "MODELS", tmp_path)
    for name in ("a1", "toy"):
        (tmp_path / f"{name}.urdf").write_text(URDF)
        assert index.find_description(name) == tmp_path / f"{name}.urdf"
    entries = {entry.name: entry for entry in index.robots()}
    assert entries["a1"].source == entries["toy"].source == "steelyard"
    assert entries["a1"].kind == "quadruped"


def test_a_known_robot_without_its_package_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setattr(index, "_example_robot_data", lambda: None)
    assert all(entry.path is None or entry.source == "steelyard" for entry in index.robots())
    finding = refusal("hyq")
    assert (finding.code, finding.where) == ("package-missing", "hyq")
    assert finding.remedy == {"install": "steelyard[robots]"}


def test_a_misspelt_name_is_refused_with_the_nearest(tmp_path):
    finding = refusal("anymall")
    assert (finding.code, finding.where) == ("robot-unknown", "anymall")
    assert finding.remedy == {"robot": "anymal"}
    (tmp_path / "robot.urdf").write_text(URDF)
    assert refusal(tmp_path / "robto.urdf").remedy == {"robot": str(tmp_path / "robot.urdf")}


@pytest.mark.parametrize("name", ["zzzzzzzz", "<robot>" * 1000])
def test_a_name_that_resembles_no_robot_is_refused(name):
    finding = refusal(name)
    assert (finding.code, finding.remedy) == ("robot-unknown", {})
    assert name.startswith(finding.where.removesuffix("…"))


@pytest.fixture
def robot_descriptions(monkeypatch, tmp_path):
    """A stand-in for the optional package: one robot that exists and one whose download fails."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "toy.urdf").write_text(URDF)
    (package / "toy_description.py").write_text(f"URDF_PATH = {str(tmp_path / 'toy.urdf')!r}")
    (package / "far_description.py").write_text("raise OSError('no route to host')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [m for m in sys.modules if m.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
    yield types.SimpleNamespace(folder=tmp_path)
    for name in [m for m in sys.modules if m.startswith("robot_descriptions")]:
        del sys.modules[name]


def test_an_unknown_name_falls_to_robot_descriptions(robot_descriptions):
    expected = robot_descriptions.folder / "toy.urdf"
    assert index.find_description("toy") == index.find_description("toy_description") == expected
    assert index.find_description("nobody") is None


def test_a_failed_download_is_refused(robot_descriptions):
    finding = refusal("far")
    assert (finding.code, finding.where) == ("download-failed", "far")
