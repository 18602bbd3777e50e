"""Closed form, Paul's pair, dropped terms and single precision, each against something
that it did not come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arms import STYLES, Style, random_arm
from dynamics.cases import assert_agree

import forearm as fa
from forearm.dynamics import closed_form, drop_errors, paul, precision_study
from forearm.dynamics.precision import METHODS, Single
from forearm.dynamics.silver import lagrange_silver, lagrange_silver_w
from forearm.model import AT_REST, Base, Wrench, model_of

AGREEMENT = 1e-12


@pytest.mark.parametrize("convention", STYLES)
def test_closed_form_is_the_torque_and_its_coefficients_are_derivatives(convention: Style) -> None:
    arm = random_arm(1, n=4, convention=convention, drives=False)
    q, qd, qdd = np.random.default_rng(1).uniform(-1.5, 1.5, (3, arm.n))
    form, tau = closed_form(arm, q), fa.dynamics.inverse(arm, q, qd, qdd)
    assert_agree(form.torque(qd, qdd), tau, AGREEMENT)
    D, E = paul(arm, q, qd)
    assert_agree(D @ qdd + E, tau, AGREEMENT)
    # h_ikm = 1/2 d2 tau_i / dqd_k dqd_m, and tau is quadratic in qd: differences of step 1 are exact.
    unit, rest = np.eye(arm.n), np.zeros(arm.n)
    single = fa.dynamics.inverse(arm, np.tile(q, (arm.n, 1)), unit, rest) - form.c
    for k in range(arm.n):
        both = fa.dynamics.inverse(arm, np.tile(q, (arm.n, 1)), unit[k] + unit, rest) - form.c
        mixed = (both - single[k] - single).T
        assert np.abs(form.h[:, k] - 0.5 * mixed).max() < 1e-11 * max(np.abs(form.h).max(), 1.0)


def test_closed_form_leaves_drives_out() -> None:
    arm = random_arm(3, n=3, convention="modified", drives=True)
    rigid, driven = (fa.dynamics.inertia_matrix(a, np.zeros(3)) for a in (arm.rigid(), arm))
    assert np.allclose(closed_form(arm, np.zeros(3)).D, rigid)
    assert not np.allclose(driven, rigid)


REFUSED: list[tuple[Callable[[fa.Arm], object], type[fa.ForearmError], str]] = [
    (lambda arm: closed_form(arm, np.zeros(2)).torque(np.zeros(1), np.zeros(2)), fa.InputError, "shape"),
    (lambda arm: closed_form(random_arm(4, 4, tree=True), np.zeros(4)), fa.ModelError, "serial chains"),
    (lambda arm: closed_form(arm, np.zeros((2, 2))), fa.InputError, "closed_form: expected one state"),
    (
        lambda arm: drop_errors(arm, *np.zeros((3, 2))),
        fa.InputError,
        r"samples of shape \(B, 2\), got \(2,\)",
    ),
    (
        lambda arm: drop_errors(arm, np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((3, 2))),
        fa.InputError,
        r"qd: expected a number, \(2,\) or \(3, 2\) beside q",
    ),
    (lambda arm: fa.dynamics.variant(arm, "silver-v", *np.zeros((3, 2))), fa.NameNotFound, "mean 'silver-w'"),
    (lambda arm: fa.dynamics.gibbs(arm, *np.zeros((3, 2, 2))), fa.InputError, "one state"),
]


@pytest.mark.parametrize(("call", "kind", "said"), REFUSED)
def test_what_is_refused(call: Callable[[fa.Arm], object], kind: type[fa.ForearmError], said: str) -> None:
    with pytest.raises(kind, match=said):
        call(random_arm(13, n=2, convention="modified"))


@pytest.mark.parametrize("kind", [{}, {"tree": True}, {"mimic": True}], ids=["chain", "tree", "followers"])
def test_dropped_terms_are_exactly_what_is_missing(kind: dict[str, bool]) -> None:
    """Against the Coriolis matrix and gravity."""
    arm = random_arm(5, n=4, convention="standard", drives=False, **kind)
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, 7, arm.n))
    errors = {e.dropped: e for e in drop_errors(arm, q, qd, qdd)}
    velocity = np.einsum("bij,bj->bi", fa.dynamics.coriolis_matrix(arm, q, qd), qd)
    for name, missing in (("no-velocity-terms", velocity), ("no-gravity", fa.dynamics.gravity(arm, q))):
        assert np.allclose(errors[name].largest, np.abs(missing).max(axis=0), rtol=1e-9, atol=1e-12)
        assert np.allclose(errors[name].rms, np.sqrt((missing**2).mean(axis=0)), rtol=1e-9, atol=1e-12)
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
    q = np.random.default_rng(8).uniform(-1.5, 1.5, (3, arm.n))
    study = precision_study(arm, q)
    epsilon = float(np.finfo(np.float32).eps)
    for method in METHODS:
        apart = np.abs(study.single[method] - study.double).max(axis=1)
        assert (apart > 0).any(), "float32 cannot be as good as float64 everywhere"
        assert (apart <= 50 * epsilon * study.condition * np.abs(study.double).max(axis=1)).all()
    assert np.allclose(study.double, fa.dynamics.forward(arm, q, 0.0, 0.0, "composite-body"), 1e-9, 1e-9)


@pytest.mark.slow
def test_articulated_bodies_keep_more_digits_on_the_two_bars() -> None:
    arm = fa.load("ascher2")
    study = precision_study(arm, [[0.0, np.radians(2.0 * k)] for k in range(0, 180, 6)])
    largest = {method: study.difference(method, 1)[0] for method in METHODS}
    assert largest["articulated-body"] < 1e-2 * largest["composite-body"]
    assert study.condition.max() > 1e4


@pytest.mark.parametrize("convention", STYLES)
def test_silver_in_W_is_silver_in_angular_velocity(convention: Style) -> None:
    """The memo's point: two representations of rotation, one torque; with a moving base and a loaded hand."""
    model = model_of(random_arm(11, n=5, convention=convention, drives=False))
    rng = np.random.default_rng(11)
    state = rng.uniform(-1.5, 1.5, (3, 5)).tolist()
    base, hand = Base(*rng.normal(size=(3, 3))), Wrench(*rng.normal(size=(2, 3)))
    for surroundings in ((AT_REST, None), (base, hand)):
        by_w, by_W = (silver(model, *state, *surroundings) for silver in (lagrange_silver, lagrange_silver_w))
        assert_agree(by_W, by_w, AGREEMENT)


@pytest.mark.parametrize(
    "kind", [{"convention": "standard"}, {"convention": "frames", "tree": True}], ids=str
)
def test_gibbs_function_differentiated_is_the_torque_and_the_inertia_matrix(kind: dict[str, Any]) -> None:
    arm = random_arm(12, n=4, drives=False, **kind)
    q, qd, qdd = np.random.default_rng(12).uniform(-1, 1, (3, arm.n))
    found = fa.dynamics.gibbs(arm, q, qd, qdd)
    for tau in (found.gradient, fa.dynamics.variant(arm, "gibbs-appell-sum", q, qd, qdd)):
        assert_agree(tau, fa.dynamics.inverse(arm, q, qd, qdd), 1e-11)
    for M in (found.hessian, fa.dynamics.inertia_by_sum(arm, q), fa.dynamics.inertia_by_moving_links(arm, q)):
        assert_agree(M, fa.dynamics.inertia_matrix(arm, q), 1e-11)
