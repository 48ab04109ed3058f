"""Every short name leads to the robot it says, and a missing one to what to do."""

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


@installed
@pytest.mark.parametrize("entry", index.robots(), ids=lambda entry: entry.name)
def test_the_table_tells_the_joints_and_base_of_each_robot(entry):
    description = read_description(entry.name)
    assert sum(j.kind != "fixed" for j in description.joints.values()) == entry.joints
    assert entry.base == "fixed" or description.root != "world"


@installed
def test_the_names_of_the_design_are_all_there():
    assert set(NAMES) <= {entry.name for entry in index.robots() if entry.path}


@installed
def test_talos_is_the_reduced_model():
    assert index.find("talos").name == "talos_reduced.urdf"


def test_listing_the_robots_imports_nothing_heavy():
    code = "import sys; from steelyard.robot import index; index.robots(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"pinocchio", "mujoco", "scipy", "robot_descriptions"} & set(out.split())


def test_an_embedded_model_comes_first(monkeypatch, tmp_path):
    monkeypatch.setattr(index, "MODELS", tmp_path)
    for name in ("a1", "toy"):
        (tmp_path / f"{name}.urdf").write_text(URDF)
        assert index.find(name) == tmp_path / f"{name}.urdf"
    entries = {entry.name: entry for entry in index.robots()}
    assert entries["a1"].source == entries["toy"].source == "steelyard"
    assert entries["a1"].kind == "quadruped"


def test_a_known_robot_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(index, "_example_robot_data", lambda: None)
    assert all(entry.path is None or entry.source == "steelyard" for entry in index.robots())
    with pytest.raises(DescriptionError, match=r"example-robot-data, which is not installed.*steelyard\[robots\]"):
        read_description("hyq")


def test_a_misspelt_name_is_answered_with_close_ones(monkeypatch, tmp_path):
    with pytest.raises(DescriptionError, match=r"anymall: is neither a file nor the name.*Did you mean anymal"):
        read_description("anymall")
    (tmp_path / "robot.urdf").write_text(URDF)
    with pytest.raises(DescriptionError, match=r"Did you mean .*robot\.urdf"):
        read_description(tmp_path / "robto.urdf")


def test_a_name_like_none_is_answered_with_where_to_look():
    with pytest.raises(DescriptionError, match="`steelyard robots` lists the names there are"):
        read_description("zzzzzzzz")
    with pytest.raises(DescriptionError, match="is neither a file"):
        read_description("<robot>" * 1000)


@pytest.fixture
def robot_descriptions(monkeypatch, tmp_path):
    """A stand-in for the optional package: one robot that is there and one whose download fails."""
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
    assert index.find("toy") == index.find("toy_description") == expected
    assert index.find("nobody") is None


def test_a_failed_download_is_told(robot_descriptions):
    with pytest.raises(DescriptionError, match="far: robot_descriptions could not provide it: no route to host"):
        index.find("far")
