"""Search space, windows, prediction error and observability."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from steelyard import inertia
from steelyard.compose.prior import of_bodies
from steelyard.errors import LogError, UsageError
from steelyard.experiment.search.coordinates import jacobian, scale_by_sensitivity
from steelyard.experiment.search.observability import base_parameter_error, compute_observability, theta_jacobian
from steelyard.experiment.search.prediction_engine import CompiledEngine
from steelyard.experiment.search.record_sines import record_sines
from steelyard.experiment.search.search_problem import (
    SearchProblem,
    SearchSpace,
    nearest_consistent_values,
    parameter_error,
    parameters_about_origin,
    values_about_com,
)
from steelyard.experiment.search.windows import Windows
from steelyard.experiment.simulate.simulate_arm import simulate_arm
from steelyard.log.log import Log
from steelyard.robot.model import Robot


def test_both_errors_are_zero_at_the_truth_and_only_the_gc_error_is_zero_elsewhere_too(puma):
    problem = puma.problem()
    assert problem.gc_error(puma.truth) == 0.0
    assert parameter_error(problem.space, puma.values, puma.values)["relative"] == 0.0
    assert problem.gc_error(parameters_about_origin(puma.start())) > 0.1
    assert parameter_error(problem.space, puma.start(), puma.values)["relative"] > 0.3
    seen = compute_observability(problem, puma.robot, puma.truth)
    away = puma.truth + 0.3 * seen.space.null[:, 3].reshape(6, 10)
    assert problem.gc_error(away) < 1e-16


def test_configurations_are_bounded_by_half_and_zero_stays_zero(puma):
    space = SearchSpace.of(puma.robot)
    assert space.n == 31
    assert "link5.cx" in space.held
    assert "link6.cz" in space.names
    z = np.full((1, space.n), 0.5)
    moved, start = space.configurations(z)[0], space.values
    free = np.zeros((6, 10), bool)
    free[tuple(np.array(space.free).T)] = True
    assert np.allclose(np.abs(moved - start)[free], 0.5 * np.abs(start[free]))
    assert np.array_equal(moved[~free], start[~free])
    assert np.allclose(space.z_of(moved), 0.5)
    full = SearchSpace.of(puma.robot, "ten", links=["link5", "link6"])
    assert (full.n, full.held) == (20, ())
    assert np.all(full.scale > 0)


def test_values_about_the_centre_of_mass_and_parameters_about_the_origin_convert_back(puma):
    assert np.allclose(
        parameters_about_origin(np.array([values_about_com(p) for p in puma.truth])), puma.truth, atol=1e-15
    )


def test_inconsistent_candidates_become_the_nearest_consistent_ones(puma):
    values = np.tile(puma.values, (2, 1, 1))
    values[0, 2, 9] = 0.086  # Armstrong's own: 0.066 + 0.0125 < 0.086
    sizes = np.array([b.size for b in puma.robot.bodies])
    fixed = nearest_consistent_values(values, sizes)
    assert np.array_equal(fixed[1], values[1])
    assert np.array_equal(np.delete(fixed[0], 2, axis=0), np.delete(values[0], 2, axis=0))
    before, after = parameters_about_origin(values[0, 2]), parameters_about_origin(fixed[0, 2])
    assert not inertia.is_consistent(before, sizes[2])
    assert np.allclose(after, inertia.nearest_consistent(before, sizes[2]), atol=1e-15)


def test_masses_are_adjusted_to_the_total_mass(puma):
    space = puma.problem().space
    z = space.adjust_masses(np.zeros(space.n))
    assert abs(space.mass_excess(np.zeros(space.n))) > 0.1
    assert abs(space.mass_excess(z)) < 1e-9
    assert np.array_equal(z[~space.masses], np.zeros((~space.masses).sum()))
    T = scale_by_sensitivity(puma.problem(), z, keep_mass=True)
    assert T.shape == (space.n, space.n - 1)
    assert np.abs(T.T @ (space.scale * space.masses)).max() < 1e-12


def test_scaled_coordinates_change_the_prediction_equally(puma):
    problem = puma.problem()
    z = np.zeros(problem.space.n)
    sizes = np.linalg.norm(jacobian(problem, z) @ scale_by_sensitivity(problem, z, keep_mass=False), axis=0)
    shown = sizes > 0.99 * sizes.max()
    assert 3 < shown.sum() < problem.space.n
    assert np.allclose(sizes[shown], sizes.max(), rtol=1e-3)


def test_the_jacobian_of_one_step_is_that_of_the_equations_of_motion(puma):
    windows = Windows.of(puma.robot, [puma.log], horizon=1e-3, count=5)
    problem = SearchProblem(SearchSpace.of(puma.robot), (CompiledEngine(puma.robot, windows),))
    scale = of_bodies(puma.robot.bodies).scale
    G = theta_jacobian(problem, puma.truth, list(range(6)), scale).reshape(5, 2, 6, 60) * scale
    model, data = puma.robot.model.copy(), puma.robot.model.createData()
    for k in range(5):
        q, v = windows.q[k], windows.v[k]
        a = pin.aba(model, data, q, v, windows.torques[k, 0])
        Y = pin.computeJointTorqueRegressor(model, data, q, v, a)
        M = np.array([pin.rnea(model, data, q, v, e) - pin.rnea(model, data, q, v, 0 * e) for e in np.eye(6)])
        expected = -windows.step * np.linalg.solve(M, Y) * scale  # of the velocity: Mq̈ + h = τ by θ
        assert np.allclose(G[k, 1], expected, atol=1e-9 * np.abs(expected).max())
        assert np.allclose(G[k, 0], windows.step * expected, atol=1e-7 * np.abs(windows.step * expected).max())


def test_no_horizon_observes_more_than_the_base_parameters_and_few_windows_observe_fewer(puma):
    def rank(horizon, count):
        windows = Windows.of(puma.robot, [puma.log, puma.other], horizon=horizon, count=count)
        return compute_observability(
            SearchProblem(SearchSpace.of(puma.robot), (CompiledEngine(puma.robot, windows),)), puma.robot, puma.truth
        )

    views = [rank(0.005, 30), rank(0.05, 30)]
    assert [v.space.rank for v in views] == [36, 36]  # base parameters of the PUMA's six links
    assert views[0].dependence == views[1].dependence
    assert rank(0.005, 1).space.rank < 36
    seen = views[0].dependence
    assert seen["link1.m"] == "never"
    assert seen["link6.m"] == "combined"
    assert seen["link6.Izz"] == "alone"
    assert {v.mass for v in views[0].sources.values()} == {"prior"}
    moved = puma.truth + 0.1 * views[0].space.null[:, 5].reshape(6, 10)
    assert base_parameter_error(puma.robot, moved, puma.truth) < 1e-9
    assert base_parameter_error(puma.robot, parameters_about_origin(puma.start()), puma.truth) > 0.01


def test_evaluations_do_not_depend_on_the_number_of_threads(puma):
    from concurrent.futures import ThreadPoolExecutor

    problem = puma.problem()
    Z = 0.2 * np.random.default_rng(0).normal(size=(40, problem.space.n))
    with ThreadPoolExecutor(2) as pool:
        spread = SearchProblem(problem.space, problem.engines, mapper=pool.map)
        assert np.array_equal(problem.evaluate(Z), spread.evaluate(Z))
    assert problem.evaluations == spread.evaluations == 40
    assert problem.evaluate(Z[:1])[0] == pytest.approx(problem.gc_error(problem.space.parameters(Z[:1])[0]))


def test_a_log_of_continuous_motion_is_predicted_by_its_own_robot(arm):
    truth = np.array([arm.truth[b.name] for b in arm.robot.bodies])
    log = simulate_arm(arm.robot, arm.truth, seed=4, seconds=6.0, noise="none")
    windows = Windows.of(arm.robot, [log], horizon=0.05, count=20)
    assert (windows.integrator, windows.ramp, len(windows)) == ("rk4", True, 20)
    problem = SearchProblem(SearchSpace.of(arm.robot), (CompiledEngine(arm.robot, windows),))
    described = np.array([b.parameters for b in arm.robot.bodies])
    assert problem.gc_error(truth) < 1e-5 * problem.gc_error(described)


def test_windows_never_span_a_gap(puma):
    keep = np.ones(len(puma.log), bool)
    keep[900:1100] = False
    columns = {k: v[keep] for k, v in puma.log.columns.items()} | {"time": puma.log.time[keep]}
    log = Log.from_columns(columns, puma.log.metadata)
    windows = Windows.of(puma.robot, [log], horizon=0.05, count=400)
    problem = SearchProblem(SearchSpace.of(puma.robot), (CompiledEngine(puma.robot, windows),))
    assert problem.gc_error(puma.truth) < 1e-18


def test_logs_that_cannot_be_predicted_are_refused_with_every_reason(puma):
    columns = {k: v for k, v in puma.log.columns.items() if k not in ("tau.joint2", "q.joint3")}
    log = Log.from_columns(columns | {"time": puma.log.time}, source="bad")
    with pytest.raises(LogError) as refused:
        Windows.of(puma.robot, [log], horizon=-1.0, count=0)
    assert [(f.code, f.where) for f in refused.value.findings] == [
        ("option-value", "horizon=-1.0"),
        ("option-value", "windows=0"),
        ("column-missing", "bad, q.joint3"),
        ("column-missing", "bad, tau.joint2"),
    ]
    with pytest.raises(LogError) as refused:
        Windows.of(puma.robot, [puma.log], horizon=9.0)
    assert [(f.code, f.remedy) for f in refused.value.findings] == [("log-too-short", {"horizon": None})]
    slow = record_sines(puma.robot, puma.truth, seed=0, seconds=0.5, step=2e-3)
    with pytest.raises(UsageError) as refused:
        Windows.of(puma.robot, [puma.log, slow])
    assert [f.code for f in refused.value.findings] == ["logs-differ"]
    with pytest.raises(UsageError) as refused:
        SearchSpace.of(puma.robot, total=-3.0)
    assert [(f.code, f.where) for f in refused.value.findings] == [("option-value", "total_mass=-3.0")]


def test_a_floating_log_needs_the_state_of_its_base():
    robot = Robot.load("demo_a1")
    time = np.arange(50) / 100
    columns = {"time": time} | {f"{kind}.{j}": 0 * time for j in robot.joints for kind in ("q", "tau")}
    with pytest.raises(LogError) as refused:
        Windows.of(robot, [Log.from_columns(columns, source="bare")])
    assert {f.code for f in refused.value.findings} == {"column-missing"}
    missing = {f.where.removeprefix("bare, ") for f in refused.value.findings}
    assert len(missing) == 13
    assert {"base.position.x", "base.quaternion.w", "base.angular_velocity.z"} <= missing
    base = {f"base.{n}.{c}": 0 * time for n in ("position", "velocity", "angular_velocity") for c in "xyz"}
    base |= {f"base.quaternion.{c}": 0 * time + (c == "w") for c in "xyzw"}
    with pytest.raises(LogError) as refused:
        Windows.of(robot, [Log.from_columns(columns | base)])
    assert [f.code for f in refused.value.findings] == ["velocity-missing"]
