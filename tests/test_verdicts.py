"""Data or prior: sources, intervals, priors, and when an estimate can be trusted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import LeastSquares, Lmi, Options, UsageError, identify, inertia
from steelyard.compose import prior as priors
from steelyard.equations.columns import Columns
from steelyard.equations.setup import Setup
from steelyard.equations.subspace import Subspace
from steelyard.errors import Finding
from steelyard.experiment.simulate.truth import perturbed
from steelyard.identify import identification
from steelyard.identify.estimate_json import estimate_json
from steelyard.identify.evidence import Evidence, HeldOut
from steelyard.identify.sentence import sentence
from steelyard.identify.solving import solve
from steelyard.identify.verdict import WRONG_MODEL, answer_questions, exit_code, failed_checks, is_trusted
from steelyard.inference.residual_structure import Structure
from steelyard.inference.uncertainty import BodySource, Uncertainty, compute_uncertainty
from steelyard.information import Information
from steelyard.output.results import write_results
from steelyard.robot import geometry
from steelyard.robot.build import build
from steelyard.robot.description import read_description
from steelyard.robot.model import Robot
from tests.motions import segment
from tests.refusals import refuses

HINGE = """<robot name="hinge"><link name="world"/><link name="arm">
<inertial><origin xyz="{com}"/><mass value="2"/>
<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0.1 0.05 0"/><geometry><box size="0.4 0.1 0.2"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="20" velocity="2"/></joint></robot>"""


@pytest.fixture(scope="module")
def identified(arm):
    return identify("demo_arm", [arm.train], Options(friction="all"), validate=[arm.test])


def hinge(folder, com="0.05 0 0", x=0.02, y=0.05, z=0.04):
    path = folder / f"hinge {x}.urdf"
    path.write_text(HINGE.format(com=com, x=x, y=y, z=z))
    return build(read_description(path), base="fixed")


def known(data_std, prior_std):
    """Parameters seen one by one with these widths (None: not at all), believed to within those."""
    seen = [k for k, s in enumerate(data_std) if s is not None]
    unit = np.eye(len(data_std))[:, seen]
    space = Subspace(np.ones(len(data_std)), np.ones(len(seen)), unit, unit @ unit.T)
    root = unit * np.array([data_std[k] for k in seen])
    return Uncertainty(space, root, np.diag(np.square(prior_std)), np.diag(np.square(prior_std)))


@pytest.mark.parametrize(("data", "prior", "moved", "source"), [
    (0.09, 1.0, 0.0, "data"),
    (0.11, 1.0, 0.0, "narrowed"),
    (0.9, 1.0, 0.0, "narrowed"),
    (1.1, 1.0, 0.4, "prior"),
    (1.1, 1.0, 0.6, "narrowed"),  # the data moved it, though they do not determine it
    (0.05, 0.04, 0.0, "data"),
    (0.15, 0.04, 0.0, "prior"),  # the prior is narrower
    (None, 1.0, 0.0, "prior"),
    (None, 1.0, -0.6, "narrowed"),
])  # fmt: skip
def test_a_source_compares_the_data_with_the_scale_and_with_the_prior(data, prior, moved, source):
    unc = known([0.01, data], [1.0, prior])
    assert unc.source(np.array([0.0, 1.0]), 1.0, moved) == source
    assert unc.source(np.array([1.0, 0.0]), 1.0, moved) == "data"
    assert unc.source(np.array([0.0, 2.0]), 2.0, 2 * moved) == source, "a unit changes no source"


def test_a_sum_is_as_uncertain_as_its_worst_term():
    unc = known([0.01, 0.5, None], [1.0, 1.0, 1.0])
    assert unc.source(np.array([1.0, 1.0, 0.0]), 1.0, 0.0) == "narrowed"
    assert unc.source(np.array([1.0, 0.0, 1e-3]), 1.0, 0.0) == "prior"


@pytest.mark.parametrize("sources", [
    ("data", "narrowed", "data"), ("prior", "data", "narrowed"), ("data",) * 3,
])  # fmt: skip
def test_the_source_of_a_body_is_the_worst_of_its_quantities(sources):
    expected = next(v for v in ("prior", "narrowed", "data") if v in sources)
    assert BodySource(*sources).worst == expected


def test_no_single_link_of_an_arm_is_called_identified_though_most_base_parameters_are(identified):
    """Masses of an arm's links only show in sums, whatever the motion."""
    assert "data" not in {b.source.mass for b in identified.estimate.bodies}
    assert "data" not in {b.source.worst for b in identified.estimate.bodies}
    assert 0 < identified.estimate.count_base("body")[0] < len(identified.estimate.base)


def test_with_white_noise_the_posterior_is_the_inverse_of_both_informations():
    rng = np.random.default_rng(0)
    Y, K = rng.normal(size=(40, 4)), np.diag([0.5, 1.0, 2.0, 4.0]) + 0.1 * rng.normal(size=(4, 4))
    Y[:, 3] = 0.0
    info = Information.of(Y, np.zeros(40))
    space = Subspace.of(info.R, np.array([1.0, 2.0, 0.5, 1.0]))
    unc = compute_uncertainty(space, info, Y.T @ Y, K)
    np.testing.assert_allclose(unc.posterior, np.linalg.inv(Y.T @ Y + K.T @ K), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(unc.prior, np.linalg.inv(K.T @ K), rtol=1e-9)
    assert unc.std(np.eye(4)[3]) > 0.2, "what no row sees stays as wide as the belief"
    assert unc.std_data(np.eye(4)[3]) is None
    one = np.eye(4)[0]
    assert unc.std_data(one) == pytest.approx(np.sqrt(np.linalg.inv(Y[:, :3].T @ Y[:, :3])[0, 0]))
    assert unc.std(one) < unc.std_data(one)


def test_autocorrelated_noise_widens_data_and_posterior_alike():
    rng = np.random.default_rng(1)
    Y, K = rng.normal(size=(40, 3)), 1e-6 * np.eye(3)
    info = Information.of(Y, np.zeros(40))
    space = Subspace.of(info.R, np.ones(3))
    once, nine = (compute_uncertainty(space, info, factor * Y.T @ Y, K) for factor in (1, 9))
    for g in np.eye(3):
        assert nine.std_data(g) == pytest.approx(3 * once.std_data(g))
        assert nine.std(g) == pytest.approx(3 * once.std(g), rel=1e-6)


def test_intervals_of_least_squares_are_those_of_the_data_in_the_row_space(arm):
    plain = identify("demo_arm", [arm.train], Options(friction="all", method="least-squares"))
    regularised = identify("demo_arm", [arm.train], Options(friction="all"))
    pairs = [(s, d) for b in plain.estimate.bodies for s, d in zip(b.std, b.std_data, strict=True) if d is not None]
    assert len(pairs) > 10
    np.testing.assert_allclose(*zip(*pairs, strict=True), rtol=1e-6)
    narrower = [
        s / d for b in regularised.estimate.bodies for s, d in zip(b.std, b.std_data, strict=True) if d is not None
    ]
    assert min(narrower) < 0.9, "a prior that regularises also narrows"


def test_the_null_space_of_least_squares_is_as_uncertain_as_the_prior():
    rng = np.random.default_rng(2)
    Y = np.column_stack([rng.normal(size=(30, 2)), np.zeros(30)])
    info = Information.of(Y, np.zeros(30))
    unc = compute_uncertainty(
        Subspace.of(info.R, np.ones(3)), info, Y.T @ Y, np.diag([1.0, 1.0, 1 / 7]), regularised=False
    )
    assert unc.std(np.eye(3)[2]) == pytest.approx(7.0)
    assert unc.std(np.eye(3)[0]) == pytest.approx(unc.std_data(np.eye(3)[0]))


def test_the_mean_of_a_box_prior_is_a_uniform_box_of_the_described_mass(tmp_path):
    robot = hinge(tmp_path)
    mean = priors.make(robot, Columns(("arm",)), "box").mean
    mass, com, I = inertia.unpack(mean)
    assert mass == 2.0
    np.testing.assert_allclose(com, [0.1, 0.05, 0.0])
    np.testing.assert_allclose(I, np.diag([0.1**2 + 0.2**2, 0.4**2 + 0.2**2, 0.4**2 + 0.1**2]) / 6, atol=1e-15)
    np.testing.assert_array_equal(priors.make(robot, Columns(("arm",)), "cad").mean, robot.bodies[0].parameters)


def test_a_box_prior_of_a_body_with_shapes_does_not_depend_on_its_described_inertia(tmp_path):
    one = priors.make(hinge(tmp_path), Columns(("arm",)), "box")
    other = priors.make(hinge(tmp_path, "-0.1 0.02 0.03", 0.005, 0.006, 0.007), Columns(("arm",)), "box")
    for field in ("mean", "K", "scale"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9, atol=1e-12)


def test_the_chosen_prior_is_the_one_that_is_reported(arm, identified):
    box = identify("demo_arm", [arm.train], Options(friction="all", prior="box"))
    for body, cad in zip(box.estimate.bodies, identified.estimate.bodies, strict=True):
        described = arm.robot.body(body.name)
        np.testing.assert_allclose(body.prior, geometry.box_inertia(described.parameters[0], described.box))
        np.testing.assert_array_equal(cad.prior, described.parameters)
        assert np.linalg.norm(body.prior - cad.prior) > 1e-3 * np.linalg.norm(cad.prior[4:])


def test_an_entropic_prior_has_the_weight_that_it_states():
    """½‖Rθ − z‖² + Σ γ (tr J₀⁻¹J − log det J₀⁻¹J − 4), γ = 1/(2·0.5²), is stationary; so with no other γ."""
    robot = Robot.load("demo_arm")
    columns = Columns(tuple(b.name for b in robot.bodies))
    (block,) = Setup(robot, "joint", columns).rows([segment(robot, np.random.default_rng(3), 60)])
    truth = np.concatenate(list(perturbed(robot, np.random.default_rng(4)).values()))
    Y = block.Y.reshape(-1, columns.n)
    info = Information.of(Y, Y @ truth, columns.names)
    prior = priors.make(robot, columns)
    theta, proof, *_ = solve(
        Setup(robot, "joint", columns), info, prior, Options(method=Lmi(regularisation="entropic"))
    )
    assert proof.holds
    pull = np.zeros(columns.n)
    for body in robot.bodies:
        at = columns.body(body.name)
        slope = np.linalg.inv(inertia.pseudo(body.parameters)) - np.linalg.inv(inertia.pseudo(theta[at]))
        pull[at] = np.einsum("kij,ij->k", inertia.PSEUDO_BASIS, slope)
    data = info.R.T @ (info.R @ theta - info.z)
    width = prior.std
    off = {weight: np.abs((data + weight * pull) * width).max() for weight in (0.0, 1.0, 2.0, 4.0)}
    assert off[2.0] < 1e-3 * min(off[0.0], off[1.0], off[4.0])


def test_least_squares_in_the_space_of_the_data_leaves_directions_in_which_the_prior_is_better():
    robot = Robot.load("demo_arm")
    columns = Columns(tuple(b.name for b in robot.bodies))
    (block,) = Setup(robot, "joint", columns).rows([segment(robot, np.random.default_rng(3), 60)])
    Y = block.Y.reshape(-1, columns.n) / 3
    info = Information.of(Y, Y @ (1.3 * robot.prior), columns.names)
    prior = priors.make(robot, columns)
    setup = Setup(robot, "joint", columns)
    theta, proof, *_ = solve(setup, info, prior, Options(method=LeastSquares(null_space="data")))
    assert proof.holds
    space = Subspace.of(info.R, prior.scale)
    moved = space.V.T @ ((theta - robot.prior) / prior.scale)
    weak = space.values < 1 / priors.RELATIVE
    assert 3 < weak.sum() < len(weak) - 3
    np.testing.assert_allclose(moved[weak], 0, atol=1e-9)
    assert np.all(moved[~weak] != 0)


def spoiled(estimate, what):
    """The same estimate with one thing wrong."""
    body, seen = estimate.bodies[0], estimate.evidence
    flat = inertia.pack(body.mass, body.com, np.diag([1.0, 1.0, 3.0]))
    overruled = Finding("stamp-jitter", "log, time", "is off", "Stamp it", {}, "error")
    spoil = {"elbow_joint": 0.3}
    validation = {k: replace(s, unexplained={**s.unexplained, **spoil}) for k, s in estimate.validation.items()}
    narrowed = tuple(replace(p, source="narrowed") for p in estimate.base if p.kind == "body")
    worse = replace(seen, pooled=HeldOut(0.1, 0.2), worse=1e-3)
    return {
        "certificate": replace(estimate, certificate=replace(estimate.certificate, gap=1e-3)),
        "slope": replace(estimate, certificate=replace(estimate.certificate, kkt=1e-2)),
        "overruled": replace(estimate, findings=(overruled,)),
        "count": replace(estimate, base=narrowed),
        "joints alone": replace(estimate, base=tuple(p for p in estimate.base if p.kind == "joint")),
        "physics": replace(estimate, bodies=(replace(body, parameters=flat), *estimate.bodies[1:])),
        "fit": replace(estimate, fit=replace(estimate.fit, unexplained={**estimate.fit.unexplained, **spoil})),
        "held out": replace(estimate, validation=validation),
        "pattern": replace(estimate, evidence=replace(
            seen, explained={**seen.explained, "elbow_joint": 0.2},
            structure={**seen.structure, "elbow_joint": Structure(0.5, "posture")},
        )),
        "spread": replace(estimate, evidence=replace(seen, spread=10.0)),
        "scale": replace(estimate, evidence=replace(seen, scale=0.4)),
        "mass": replace(estimate, bodies=(replace(body, parameters=0.01 * body.parameters), *estimate.bodies[1:])),
        "com": replace(estimate, bodies=(replace(body, outside=2 * body.size), *estimate.bodies[1:])),
        "worse": replace(estimate, evidence=worse),
    }[what]  # fmt: skip


@pytest.mark.parametrize(("what", "check", "where"), [
    ("certificate", "proved", ()),
    ("slope", "proved", ()),
    ("overruled", "log", ("log, time: stamp-jitter",)),
    ("count", "informative", ()),
    ("joints alone", "informative", ()),
    ("physics", "physical", ("shoulder_link",)),
    ("fit", "explained", ("elbow_joint",)),
    ("held out", "explained", ("elbow_joint",)),
    ("pattern", "structure", ("elbow_joint (posture)",)),
    ("spread", "stable", ()),
    ("scale", "plausible", ("scale",)),
    ("mass", "plausible", ("shoulder_link mass",)),
    ("com", "plausible", ("shoulder_link com",)),
    ("worse", "better", ()),
])  # fmt: skip
def test_one_question_that_fails_is_enough_not_to_be_trusted(identified, what, check, where):
    good = identified.estimate
    assert [q.result for q in answer_questions(good)] == ["pass"] * 9
    assert is_trusted(good)
    assert exit_code(good) == 0
    assert sentence(good).startswith("Trusted")
    bad = spoiled(good, what)
    assert not is_trusted(bad)
    assert exit_code(bad) == 4
    assert sentence(bad).startswith("Not to be trusted")
    assert [(q.code, q.where) for q in failed_checks(bad)] == [(check, where)]
    assert estimate_json(bad)["verdict"]["trusted"] is False


def test_a_tie_with_the_description_is_no_failure_and_neither_is_chance(identified):
    seen = identified.estimate.evidence
    for pooled, worse in ((HeldOut(0.1, 0.1), 0.5), (HeldOut(0.1, 0.11), 0.3)):
        estimate = replace(identified.estimate, evidence=replace(seen, pooled=pooled, worse=worse))
        assert is_trusted(estimate)


@pytest.mark.parametrize("code", sorted(WRONG_MODEL))
def test_a_doubt_that_the_model_is_what_was_measured_fails(identified, code):
    doubt = Finding(code, "log", "is off", "Mend it", {}, "doubt")
    assert [q.code for q in failed_checks(replace(identified.estimate, findings=(doubt,)))] == ["log"]


def test_a_doubt_about_the_log_leaves_its_question_open_and_is_named(identified):
    doubt = Finding("stamp-outlier", "log, time", "is off", "Drop it", {}, "doubt")
    estimate = replace(identified.estimate, findings=(doubt,))
    (log,) = (q for q in answer_questions(estimate) if q.code == "log")
    assert (log.result, log.figure, log.where) == ("unknown", 1, ("log, time: stamp-outlier",))
    assert is_trusted(estimate)
    assert "stamp-outlier" in sentence(estimate)


def test_a_question_that_logs_cannot_answer_is_unknown_and_does_not_fail(identified):
    estimate = replace(identified.estimate, evidence=Evidence(), findings=None)
    unknown = [q.code for q in answer_questions(estimate) if q.result == "unknown"]
    assert unknown == ["log", "structure", "stable", "better"]
    assert is_trusted(estimate)
    assert all(code in sentence(estimate) for code in unknown)


def test_the_verdict_is_data_in_json(identified):
    checks = estimate_json(identified.estimate)["verdict"]["checks"]
    assert [set(c) for c in checks] == [{"code", "question", "result", "figure", "limit", "where"}] * 9
    codes = ["physical", "proved", "log", "informative", "explained", "structure", "stable", "plausible", "better"]
    assert [c["code"] for c in checks] == codes


def test_python_refuses_to_overwrite_an_input_too(identified, arm, tmp_path):
    inputs = {str(tmp_path / "series.npz"): "0" * 64}
    result = replace(identified, estimate=replace(identified.estimate, provenance={"inputs": inputs}))
    with refuses(UsageError, "input-overwritten", "series.npz"):
        write_results(result, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("role", ["robot", "log", "held out", "mapping"])
def test_an_input_that_a_result_would_replace_is_refused_before_any_work(steelyard, arm, tmp_path, monkeypatch, role):
    def never(*_, **__):
        raise AssertionError("nothing may be identified")

    monkeypatch.setattr(identification, "identify", never)
    file = tmp_path / {"robot": "robot.urdf", "mapping": "estimate.json"}.get(role, "series.npz")
    file.write_text("mine")
    robot, log = (file if role == "robot" else "demo_arm"), (file if role == "log" else arm.train)
    more = {"held out": ["--validate", file], "mapping": ["--mapping", file]}.get(role, [])
    done = steelyard("identify", robot, log, "-o", tmp_path, *more)
    assert done.code == 2
    assert f"{file.name}: " in done.err
    assert "[input-overwritten]" in done.err
    assert file.read_text() == "mine"


def test_the_folder_of_the_result_may_have_an_input_of_the_same_name_elsewhere(steelyard, arm, tmp_path):
    (tmp_path / "in").mkdir()
    source = tmp_path / "in" / "robot.urdf"
    source.write_text(Robot.load("demo_arm").description.text)
    done = steelyard("identify", source, arm.train, "-o", tmp_path / "out", "--friction", "all")
    assert done.code == 0, done.err
