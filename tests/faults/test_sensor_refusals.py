"""Force–torque sensors outside a weld, with nothing beyond them or with the opposite sign are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from steelyard.equations.setup import Setup
from steelyard.errors import DescriptionError, LogError, UsageError
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.identify.identification import identify
from steelyard.identify.options import Options
from steelyard.log.log import Log
from steelyard.log.table import write_log
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from steelyard.spatial import WRENCH
from tests.refusals import refuses

INERTIAL = """<inertial><origin xyz="0 0 {z}"/><mass value="{m}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>"""
TOOL = INERTIAL.format(z=0.05, m=1, i=0.002)
ARM = """<robot name="arm"><link name="ground"/>
<joint name="pan" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 0 1"/>
 <limit lower="-3" upper="3" velocity="3" effort="50"/></joint><link name="upper">{upper}</link>
<joint name="lift" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0 0 .3" rpy=".5 0 0"/>
 <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="3" effort="50"/></joint><link name="fore">{upper}</link>
<joint name="wrist" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0 0 .3"/></joint>
<link name="tool">{tool}</link></robot>"""


def written(tmp_path, tool=TOOL, weld="fixed"):
    path = tmp_path / "arm.urdf"
    text = ARM.format(upper=INERTIAL.format(z=0.1, m=2, i=0.01), tool=tool)
    path.write_text(text.replace('name="wrist" type="fixed"', f'name="wrist" type="{weld}"'))
    return path


def table(robot, sensors, seconds=3.0, drop=("tau.",)):
    """A log of the arm whose sensor columns have these names instead."""
    run = simulate_arm(robot, {b.name: b.parameters for b in robot.bodies}, seed=1, seconds=seconds, noise="none")
    columns = {n: x for n, x in run.columns.items() if not n.startswith(("sensor.", *drop))}
    for sensor in sensors:
        columns |= {f"sensor.{sensor}.{c}": run.columns[f"sensor.wrist.{c}"] for c in WRENCH}
    return Log.from_columns({"time": run.time, **columns}, source="run")


NO_WELD = {
    "wirst": ("name-unknown", {"name": "wrist"}),
    "gripper": ("name-unknown", {}),
    "lift": ("sensor-on-moving-joint", {}),
    "fore": ("sensor-on-moving-joint", {}),
    "ground": ("sensor-on-root", {}),
}


def refusal(error, call, *arguments, **options):
    with pytest.raises(error) as refused:
        call(*arguments, **options)
    (finding,) = refused.value.findings
    return finding


@pytest.mark.parametrize("name", NO_WELD)
def test_a_sensor_that_is_in_no_weld_is_refused_by_log_and_by_name(tmp_path, name):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), [name])
    by_log = refusal(LogError, Setup.of, read_description(path), [log], Options())
    assert (by_log.where, by_log.code, by_log.remedy) == (f"run, sensor.{name}", *NO_WELD[name])
    by_name = refusal(UsageError, Robot.load, path, sensors=[name, "wrist"])
    assert (by_name.where, by_name.code, by_name.remedy) == (f"sensor '{name}'", *NO_WELD[name])


def test_a_robot_without_welds_has_no_place_for_a_sensor(tmp_path):
    path = written(tmp_path, weld="continuous")
    finding = refusal(UsageError, Robot.load, path, sensors=["tool"])
    assert (finding.code, finding.where) == ("sensor-on-moving-joint", "sensor 'tool'")
    held = Robot.load(path, sensors=["tool"], lock={"wrist": 0.3})  # a joint that is held is a weld
    assert held.sensors[0].link == "tool"


def test_a_sensor_cannot_be_called_base_on_a_floating_base(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(written(tmp_path).read_text().replace('"tool"', '"base"'))
    finding = refusal(UsageError, Robot.load, path, base="floating", sensors=["base"])
    assert (finding.code, finding.where) == ("sensor-named-base", "sensor 'base'")
    assert Robot.load(path, base="fixed", sensors=["base"]).readings[0] == "base.fx"


@pytest.mark.parametrize("repair", [False, True])
def test_a_part_without_mass_below_a_sensor_is_refused_even_where_priors_are_repaired(tmp_path, repair):
    path = written(tmp_path, tool="")
    sensors = {"wrist": WRENCH}
    finding = refusal(DescriptionError, build, read_description(path), base="fixed", sensors=sensors, repair=repair)
    assert finding.where.endswith("body 'tool' (tool)")
    assert (finding.code, finding.remedy) == ("sensor-carries-no-mass", {})


def test_logs_with_different_sensor_columns_are_refused(tmp_path):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), ["wrist"])
    less = {n: x for n, x in log.columns.items() if n != "sensor.wrist.mz"}
    with refuses(LogError, "logs-differ", "other, sensors"):
        identify(path, [log, replace(log, columns=less, source="other")])


def test_a_reading_that_is_not_finite_is_refused_with_its_row(tmp_path):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), ["wrist"])
    broken = log.columns["sensor.wrist.fz"].copy()
    broken[17] = np.nan
    with refuses(LogError, "column-not-finite", "sensor.wrist.fz, row 17"):
        Log.from_columns({"time": log.time, **log.columns, "sensor.wrist.fz": broken})


def test_a_tool_in_contact_leaves_no_equation_of_its_sensor(tmp_path):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), ["wrist"])
    with refuses(UsageError, "no-contact-free-equations", "feet=tool"):
        identify(path, [log], Options(feet=("tool:surface",)))


def test_joint_torques_are_used_where_a_tool_is_in_contact_below_its_sensor(tmp_path):
    path = written(tmp_path)
    robot = Robot.load(path, sensors=["wrist"])
    log = table(robot, ["wrist"], seconds=8.0, drop=())
    estimate = identify(path, [log], Options(feet=("tool:surface",))).estimate
    assert estimate.equations == "joint"
    assert len(estimate.fit.rmse) == 2
    assert estimate.body("tool").source.worst == "prior"
    assert estimate.count_base("body")[0] > 0


def test_sensors_and_force_plates_are_not_used_together(tmp_path):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), ["wrist"])
    pose = {"position": [0, 0, 0], "quaternion": [0, 0, 0, 1]}
    base = {
        f"base.{k}.{c}": np.full(len(log), float(c == "w"))
        for k, cs in (("position", "xyz"), ("quaternion", "xyzw"))
        for c in cs
    }
    both = replace(
        log, columns=log.columns | base | {"plate.p.fz": np.ones(len(log))}, metadata={"plates": {"p": pose}}
    )
    with refuses(LogError, "force-measured-twice", "plate.p and sensor.wrist"):
        Setup.of(read_description(path), [both], Options(base="floating"))


def test_check_reports_a_sensor_whose_sign_is_reversed(tmp_path, steelyard):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), ["wrist"], seconds=8.0)
    for sign, code in ((1, 4), (-1, 3)):  # two of its links have the same inertial values: doubts about the description
        columns = {n: sign * x + 3.0 if n.startswith("sensor.") else x for n, x in log.columns.items()}
        write_log(tmp_path / "log.csv", replace(log, columns=columns))
        done = steelyard("check", path, tmp_path / "log.csv", "--json")
        assert done.code == code, done.out
        reversed_sign = [("sign-reversed", {"negate": "sensor.wrist"})] if sign < 0 else []
        errors = [f for f in json.loads(done.out)["findings"] if f["severity"] == "error"]
        assert [(f["code"], f["remedy"]) for f in errors] == reversed_sign


def test_feet_are_of_no_use_on_a_fixed_base_without_sensors(tmp_path):
    path = written(tmp_path)
    log = table(Robot.load(path, sensors=["wrist"]), [], drop=())
    with refuses(UsageError, "option-conflict", "feet=tool", {"base": "floating"}):
        identify(path, [log], Options(feet=("tool",)))
