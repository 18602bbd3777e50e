"""Closed form, Paul's pair, dropped terms and single precision, each against something
that it did not come from.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import Style, random_arm

import forearm as fa
from forearm.dynamics import closed_form, drop_errors, paul, precision_study
from forearm.dynamics.precision import METHODS, Single
from forearm.dynamics.silver import lagrange_silver, lagrange_silver_w
from forearm.model import AT_REST, Base, Wrench, model_of

AGREEMENT = 1e-12


@pytest.mark.parametrize("convention", ["standard", "modified", "frames"])
@pytest.mark.parametrize("seed", [1, 2])
def test_closed_form_is_the_torque_and_its_coefficients_are_derivatives(convention: Style, seed: int) -> None:
    arm = random_arm(seed, n=4, convention=convention, drives=False)
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, arm.n))
    form = closed_form(arm, q)
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    assert np.abs(form.torque(qd, qdd) - tau).max() <= AGREEMENT * np.abs(tau).max()
    # h_ikm = 1/2 d2 tau_i / dqd_k dqd_m, and tau is quadratic in qd: differences of step 1 are exact.
    unit, rest = np.eye(arm.n), np.zeros(arm.n)

    def velocity_torque(rates: np.ndarray) -> np.ndarray:
        return fa.dynamics.inverse(arm, q, rates, rest) - form.c

    for k in range(arm.n):
        for m in range(arm.n):
            mixed = velocity_torque(unit[k] + unit[m]) - velocity_torque(unit[k]) - velocity_torque(unit[m])
            assert np.abs(form.h[:, k, m] - 0.5 * mixed).max() < 1e-11 * max(np.abs(form.h).max(), 1.0)
    D, E = paul(arm, q, qd)
    assert np.abs(D @ qdd + E - tau).max() <= AGREEMENT * np.abs(tau).max()


def test_closed_form_leaves_drives_out_and_refuses_trees_and_batches() -> None:
    arm = random_arm(3, n=3, convention="modified", drives=True)
    rigid = fa.dynamics.inertia_matrix(arm.rigid(), np.zeros(3))
    assert np.allclose(closed_form(arm, np.zeros(3)).D, rigid)
    assert not np.allclose(fa.dynamics.inertia_matrix(arm, np.zeros(3)), rigid)
    with pytest.raises(fa.InputError, match="shape"):
        closed_form(arm, np.zeros(3)).torque(np.zeros(2), np.zeros(3))
    with pytest.raises(fa.ModelError, match="serial chains"):
        closed_form(random_arm(4, n=4, convention="frames", tree=True), np.zeros(4))
    with pytest.raises(fa.InputError, match="closed_form: expected one state"):
        closed_form(arm, np.zeros((2, 3)))


@pytest.mark.parametrize("kind", [{}, {"tree": True}, {"mimic": True}], ids=["chain", "tree", "followers"])
def test_dropped_terms_are_exactly_what_is_missing(kind: dict[str, bool]) -> None:
    """Against the Coriolis matrix and gravity, and against the slope of the potential energy."""
    arm = random_arm(5, n=4, convention="standard", drives=False, **kind)
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, 7, arm.n))
    errors = {e.dropped: e for e in drop_errors(arm, q, qd, qdd)}
    velocity = np.array([fa.dynamics.coriolis_matrix(arm, a, b) @ b for a, b in zip(q, qd, strict=True)])
    gravity = np.array([fa.dynamics.gravity(arm, a) for a in q])
    for name, missing in (("no-velocity-terms", velocity), ("no-gravity", gravity)):
        assert np.allclose(errors[name].largest, np.abs(missing).max(axis=0), rtol=1e-9, atol=1e-12)
        assert np.allclose(errors[name].rms, np.sqrt((missing**2).mean(axis=0)), rtol=1e-9, atol=1e-12)
    step = 1e-6 * np.eye(arm.n)
    ahead, behind = (
        np.array([fa.dynamics.potential_energy(arm, a + way * step) for a in q]) for way in (1.0, -1.0)
    )
    assert np.allclose(
        errors["no-gravity"].largest, np.abs((ahead - behind) / 2e-6).max(axis=0), rtol=1e-6, atol=1e-7
    )
    if not kind:  # the last joint has no link behind it: nothing is lost there
        assert errors["own-link-only"].largest[-1] < 1e-12
        assert errors["own-link-only"].largest[0] > 1e-3


def test_own_link_only_is_the_arm_with_every_link_behind_weightless() -> None:
    arm = random_arm(6, n=3, convention="modified", drives=False, fixed=False)
    q, qd, qdd = np.random.default_rng(6).uniform(-1, 1, (3, arm.n))
    exact = fa.dynamics.inverse(arm, q, qd, qdd)
    (own,) = (e for e in drop_errors(arm, q[None], qd[None], qdd[None]) if e.dropped == "own-link-only")
    for i, joint in enumerate(arm.joints):
        behind = {j.child for j in arm.joints[i + 1 :]}
        links = tuple(fa.Link(name=link.name) if link.name in behind else link for link in arm.links)
        alone = fa.dynamics.inverse(arm.replace(links=links), q, qd, qdd)[i]
        assert np.isclose(own.largest[i], abs(exact[i] - alone), rtol=1e-9, atol=1e-10), joint.name


def test_drop_errors_needs_a_motion() -> None:
    arm = random_arm(7, n=2, convention="modified")
    with pytest.raises(fa.InputError, match=r"samples of shape \(B, 2\), got \(2,\)"):
        drop_errors(arm, np.zeros(2), np.zeros(2), np.zeros(2))
    with pytest.raises(fa.InputError, match=r"qd: expected a number, \(2,\) or \(3, 2\) beside q"):
        drop_errors(arm, np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((3, 2)))


def test_an_unknown_posture_gives_nan_in_its_row_of_the_study() -> None:
    study = precision_study(fa.load("ascher2"), [[0.4, 0.9], [np.nan, 0.3]])
    alone = precision_study(fa.load("ascher2"), [[0.4, 0.9]])
    assert study.condition[0] == alone.condition[0]
    assert np.array_equal(study.double[0], alone.double[0])
    assert np.isnan(study.condition[1])
    assert all(np.isnan(values[1]).any() for values in (study.double, *study.single.values()))


def test_single_rounds_every_operation() -> None:
    third = Single(1.0) / 3.0
    assert float(third) == float(np.float32(1.0) / np.float32(3.0))
    assert float(third * third - 0.1) == float(
        np.float32(np.float32(third.value * third.value) - np.float32(0.1))
    )
    assert float(1.0 - third) == float(np.float32(1.0) - third.value)
    assert float(2.0 / third) == float(np.float32(2.0) / third.value)
    array = third * np.array([1.0, 2.0], dtype=object)
    assert [float(v) for v in array] == [float(third), float(third * 2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ascher2", "panda", "chain4"])
def test_single_precision_is_close_and_worse_where_the_matrix_is_ill_conditioned(name: str) -> None:
    arm = fa.load(name)
    q = np.random.default_rng(8).uniform(-1.5, 1.5, (12, arm.n))
    study = precision_study(arm, q)
    epsilon = float(np.finfo(np.float32).eps)
    for method in METHODS:
        apart = np.abs(study.single[method] - study.double).max(axis=1)
        assert (apart > 0).any(), "float32 cannot be as good as float64 everywhere"
        assert (apart <= 50 * epsilon * study.condition * np.abs(study.double).max(axis=1)).all()
    truth = np.array(
        [fa.dynamics.forward(arm, row, np.zeros(arm.n), np.zeros(arm.n), "composite-body") for row in q]
    )
    assert np.allclose(study.double, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_articulated_bodies_keep_more_digits_on_the_two_bars() -> None:
    arm = fa.load("ascher2")
    study = precision_study(arm, [[0.0, np.radians(2.0 * k)] for k in range(0, 180, 6)])
    largest = {method: study.difference(method, 1)[0] for method in METHODS}
    assert largest["articulated-body"] < 1e-2 * largest["composite-body"]
    assert study.condition.max() > 1e4


@pytest.mark.parametrize("convention", ["standard", "modified", "frames"])
def test_silver_in_W_is_silver_in_angular_velocity(convention: Style) -> None:
    """The memo's point: two representations of rotation, one torque; with a moving base and a loaded hand."""
    arm = random_arm(11, n=5, convention=convention, drives=False)
    model = model_of(arm)
    rng = np.random.default_rng(11)
    q, qd, qdd = ([float(v) for v in row] for row in rng.uniform(-1.5, 1.5, (3, arm.n)))
    base, hand = Base(*rng.normal(size=(3, 3))), Wrench(*rng.normal(size=(2, 3)))
    for surroundings in ((AT_REST, None), (base, None), (base, hand)):
        by_w = np.array(lagrange_silver(model, q, qd, qdd, *surroundings))
        by_W = np.array(lagrange_silver_w(model, q, qd, qdd, *surroundings))
        assert np.abs(by_w - by_W).max() <= AGREEMENT * np.abs(by_w).max()


@pytest.mark.parametrize(
    "kind", [{"convention": "standard"}, {"convention": "frames", "tree": True}], ids=str
)
def test_gibbs_function_differentiated_is_the_torque_and_the_inertia_matrix(kind: dict[str, object]) -> None:
    arm = random_arm(12, n=4, drives=False, **kind)  # type: ignore[arg-type]
    q, qd, qdd = np.random.default_rng(12).uniform(-1, 1, (3, arm.n))
    found = fa.dynamics.gibbs(arm, q, qd, qdd)
    tau, M = fa.dynamics.inverse(arm, q, qd, qdd), fa.dynamics.inertia_matrix(arm, q)
    assert np.abs(found.gradient - tau).max() <= 1e-11 * np.abs(tau).max()
    assert np.abs(found.hessian - M).max() <= 1e-11 * np.abs(M).max()
    assert np.abs(fa.dynamics.inertia_by_sum(arm, q) - M).max() <= 1e-11 * np.abs(M).max()
    assert np.abs(fa.dynamics.inertia_by_moving_links(arm, q) - M).max() <= 1e-11 * np.abs(M).max()
    assert (
        np.abs(fa.dynamics.variant(arm, "gibbs-appell-sum", q, qd, qdd) - tau).max()
        <= 1e-11 * np.abs(tau).max()
    )


def test_variants_are_refused_by_name() -> None:
    arm = random_arm(13, n=2, convention="modified")
    with pytest.raises(fa.NameNotFound, match="did you mean 'silver-w'"):
        fa.dynamics.variant(arm, "silver-v", np.zeros(2), np.zeros(2), np.zeros(2))
    with pytest.raises(fa.InputError, match="one state"):
        fa.dynamics.gibbs(arm, np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)))
