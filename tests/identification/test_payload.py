"""Loads found again: exactly without noise, within their intervals with it,
and what no test shows is said.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from sweeps import long

import forearm as fa
from forearm import Arm, control
from forearm.identification.payload.estimate import Noise, PayloadEstimate, estimate_payload
from forearm.identification.payload.physical import (
    body_of,
    is_physical,
    nearest_physical,
    parameters_of_body,
    pseudo_inertia,
)
from forearm.identification.payload.regressor import payload_regressor
from forearm.identification.payload.test_forces import canonical_tests

Floats = NDArray[np.float64]
LOAD: dict[str, Any] = {
    "mass": 1.7,
    "com": np.array([0.03, -0.02, 0.11]),
    "inertia": np.array([[0.012, 0.002, -0.001], [0.002, 0.01, 0.0015], [-0.001, 0.0015, 0.007]]),
}
TRUTH = parameters_of_body(LOAD["mass"], LOAD["com"], LOAD["inertia"])
EXACT = 1e-9  # of 1 kg, 0.1 kg m, 0.01 kg m^2: rounding of 1e-16 times the condition of the equations
SCALE = np.array([1.0, *[0.1] * 3, *[0.01] * 6])


def observed(arm: Arm, postures: int, seed: int, size: float = 4.0) -> tuple[Floats, Floats, Floats, Floats]:
    """Tests of the loaded arm in slow motion, and the accelerations that they have."""
    rng = np.random.default_rng(seed)
    q, tau = canonical_tests(arm, rng.uniform(-1.3, 1.3, (postures, arm.n)), size)
    qd = np.repeat(
        rng.uniform(0.05, 0.2, (postures, arm.n)) * rng.choice([-1.0, 1.0], arm.n), len(q) // postures, axis=0
    )
    return q, tau, fa.dynamics.forward(arm.with_payload(**LOAD), q, qd, tau), qd


def simple(seed: int, n: int) -> Arm:
    """An arm with rotors and viscous and Coulomb friction."""
    from dataclasses import replace

    arm = random_arm(seed, n)

    def changed(joint: Any) -> Any:
        friction = joint.friction and replace(joint.friction, static=None, stribeck_speed=None)
        return replace(joint, friction=friction, bearings=(), transmission=None)

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


@pytest.mark.parametrize("seed", [1, 2])
def test_regressor_of_a_load_is_what_the_load_adds(seed: int) -> None:
    arm = random_arm(seed, 5, mimic=seed == 2).rigid()
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 4, arm.n))
    added = fa.dynamics.inverse(arm.with_payload(**LOAD), q, qd, qdd) - fa.dynamics.inverse(arm, q, qd, qdd)
    assert (
        np.abs(payload_regressor(arm, q, qd, qdd) @ TRUTH - added).max() < 1e-12 * np.abs(added).max() + 1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("rigid", [True, False])
def test_exact_without_noise(rigid: bool) -> None:
    arm = simple(3, 6)
    arm = arm.rigid() if rigid else arm
    q, tau, qdd, qd = observed(arm, 3, 1)
    found = estimate_payload(arm, q, tau, qdd, qd)
    assert np.abs((found.parameters - TRUTH) / SCALE).max() < EXACT
    assert not found.unidentified
    assert not found.projected
    assert math.isnan(found.fit)
    assert found.mass == pytest.approx(LOAD["mass"], rel=1e-8)
    assert found.com == pytest.approx(LOAD["com"], rel=1e-7)
    assert np.abs(found.inertia - LOAD["inertia"]).max() < 1e-9
    assert "every parameter" in found.table()


@pytest.mark.long
def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, tau, qdd, qd = observed(arm, 3, 2, size=6.0)
    noise = Noise(qdd=0.03, tau=0.02, qdd_step=0.05)
    inside, chi, runs = np.zeros(10), [], 120
    for seed in range(runs):
        rng = np.random.default_rng([seed, 4])
        measured = np.round((qdd + 0.03 * rng.normal(size=qdd.shape)) / 0.05) * 0.05
        found = estimate_payload(
            arm, q, tau + 0.02 * rng.normal(size=tau.shape), measured, qd, noise=noise, confidence=0.9
        )
        inside += (found.intervals[:, 0] <= TRUTH) & (found.intervals[:, 1] >= TRUTH)
        chi.append(found.fit)
    shares = inside / runs
    # one share of 120 runs spreads by 0.027 about 0.9; the ten are not independent
    assert np.all(np.abs(shares - 0.9) < 0.1), shares
    assert abs(shares.mean() - 0.9) < 0.04, shares
    assert np.mean(chi) == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "noise"), [(24, Noise(tau=0.2)), (8, None)])
def test_noise_of_torques_does_no_more_harm_than_to_least_squares(runs: int, noise: Noise | None) -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, qd, qdd = np.random.default_rng(5).uniform(-2.0, 2.0, (3, 20, 4))
    tau = fa.dynamics.inverse(arm.with_payload(**LOAD), q, qd, qdd)
    Y = payload_regressor(arm, q, qd, qdd).reshape(-1, 10)
    own = fa.dynamics.inverse(arm, q, qd, qdd)
    inside, errors, plain = np.zeros(10), [], []
    for seed in range(runs):
        measured = tau + 0.2 * np.random.default_rng([seed, 7]).normal(size=tau.shape)
        found = estimate_payload(arm, q, measured, qdd, qd, noise=noise)
        assert found.settled
        inside += (found.intervals[:, 0] <= TRUTH) & (found.intervals[:, 1] >= TRUTH)
        errors.append(found.parameters - TRUTH)
        plain.append(np.linalg.lstsq(Y, (measured - own).ravel(), rcond=None)[0] - TRUTH)
    # the mean of ten shares of 8 runs spreads by some 0.04 about 0.95
    assert inside.mean() / runs > 0.85, inside / runs
    rms, least = (np.sqrt(np.mean(np.square(all_), axis=0)) for all_ in (errors, plain))
    assert (rms < 1.2 * least).all(), rms / least


@pytest.mark.long
def test_noise_of_accelerations_does_not_make_loads_lighter() -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, tau, qdd, qd = observed(arm, 3, 2, size=6.0)
    apart, runs = np.zeros(10), 40
    for seed in range(runs):
        seen = qdd + 2.0 * np.random.default_rng([seed, 9]).normal(size=qdd.shape)
        found = estimate_payload(arm, q, tau, seen, qd, noise=Noise(qdd=2.0))
        apart += (found.parameters - TRUTH) / found.deviations / runs
    # the mean of 40 has the deviation 0.16; with Y at what was measured it is 1.4 for the mass
    assert np.abs(apart).max() < 0.6, apart


@pytest.mark.parametrize("runs", [10, *long([40])])
@pytest.mark.long
def test_noise_of_positions_widens_the_intervals_as_much_as_it_should(runs: int) -> None:
    arm = random_arm(4, 3, prismatic=False).rigid()
    q, tau, _, qd = observed(arm, 2, 2)
    qdd = fa.dynamics.forward(arm.with_payload(mass=1.7, com=LOAD["com"]), q, qd, tau)
    inside, fits = np.zeros(3), []
    for seed in range(runs):
        seen = q + 2e-4 * np.random.default_rng([seed, 5]).normal(size=q.shape)
        found = estimate_payload(
            arm, seen, tau, qdd, qd, noise=Noise(qdd=1e-4, q=2e-4), shape="point", mass=1.7
        )
        inside += ((found.intervals[:, 0] <= TRUTH) & (found.intervals[:, 1] >= TRUTH))[1:4]
        fits.append(found.fit)
    # 95 % of 40 runs, spread 0.035
    assert (inside / runs > 0.84).all(), inside / runs
    assert np.mean(fits) == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_noise_beyond_all_tests_is_a_failure_that_says_so() -> None:
    arm = fa.load("puma560").rigid().replace(gravity=(0.0, 0.0, 0.0))
    q, tau = canonical_tests(arm, np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6)), 0.3)
    qdd = fa.dynamics.forward(arm.with_payload(**LOAD), q, 0.0 * q, tau)
    found = estimate_payload(
        arm, q, tau, qdd + np.random.default_rng(2).normal(size=qdd.shape), noise=Noise(qdd=1.0)
    )
    assert not found.settled
    assert "too large for these tests" in found.message


@pytest.mark.parametrize(
    ("given", "count"),
    [({}, 10), ({"mass": 1.7}, 9), ({"com": LOAD["com"]}, 7), ({"mass": 1.7, "com": LOAD["com"]}, 6)],
)
def test_what_is_known_is_not_asked(given: dict[str, Any], count: int) -> None:
    arm = random_arm(3, 6).rigid()
    q, tau, qdd, qd = observed(arm, 2, 1)
    found = estimate_payload(arm, q, tau, qdd, qd, noise=Noise(qdd=0.01), **given)
    assert np.linalg.matrix_rank(found.covariance / np.outer(SCALE, SCALE), tol=1e-12) == count
    assert np.abs((found.parameters - TRUTH) / SCALE).max() < 1e-8
    everything = estimate_payload(arm, q, tau, qdd, qd, noise=Noise(qdd=0.01))
    assert (found.deviations <= everything.deviations * (1.0 + 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"mass": 0.8}, {"com": (0.03, -0.02, 0.11)}])
def test_a_point_is_found_as_a_point(given: dict[str, Any]) -> None:
    arm = random_arm(3, 5).rigid()
    held = arm.with_payload(mass=0.8, com=LOAD["com"])
    q, tau = canonical_tests(arm, np.random.default_rng(1).uniform(-1.0, 1.0, (2, 5)), 4.0)
    found = estimate_payload(arm, q, tau, fa.dynamics.forward(held, q, 0.0 * q, tau), shape="point", **given)
    assert found.mass == pytest.approx(0.8, rel=1e-8)
    assert found.com == pytest.approx(LOAD["com"], rel=1e-7)
    assert np.abs(found.inertia).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "ur5", "panda"])
@pytest.mark.parametrize("com", [(0.0, 0.0, 0.11), (0.03, -0.02, 0.11), (0.2, 0.1, -0.1), (0.0, 0.0, 0.0)])
@pytest.mark.sweep
def test_points_are_found_in_the_hands_of_real_arms(name: str, com: tuple[float, ...]) -> None:
    arm = fa.load(name).rigid()
    for seed, mass in ((1, 1.7), (2, 1.7), (3, 0.1)):
        q, tau = canonical_tests(arm, np.random.default_rng(seed).uniform(-1.0, 1.0, (3, arm.n)), 4.0)
        qdd = fa.dynamics.forward(arm.with_payload(mass=mass, com=com), q, 0.0 * q, tau)
        found = estimate_payload(arm, q, tau, qdd, shape="point")
        assert found.settled
        # as for bodies, times the lightest mass's share
        assert found.mass == pytest.approx(mass, rel=1e-7)
        assert np.abs(found.com - com).max() < 1e-7
        assert np.abs(found.inertia).max() < 1e-9


@pytest.mark.long
def test_intervals_of_points_cover_the_truth_as_often_as_they_say() -> None:
    arm, com = fa.load("puma560").rigid(), np.array([0.0, 0.0, 0.11])
    truth = parameters_of_body(1.7, com, np.zeros((3, 3)))
    q, tau = canonical_tests(arm, np.random.default_rng(2).uniform(-1.0, 1.0, (2, 6)), 4.0)
    qdd = fa.dynamics.forward(arm.with_payload(mass=1.7, com=com), q, 0.0 * q, tau)
    inside, runs = np.zeros(10), 40
    for seed in range(runs):
        rng = np.random.default_rng([seed, 6])
        seen, given = qdd + 0.05 * rng.normal(size=qdd.shape), tau + 0.05 * rng.normal(size=tau.shape)
        found = estimate_payload(
            arm, q, given, seen, shape="point", noise=Noise(qdd=0.05, tau=0.05), confidence=0.9
        )
        assert found.settled
        inside += (found.intervals[:, 0] <= truth) & (found.intervals[:, 1] >= truth)
    # a share of 40 runs spreads by 0.047; x and y of the centre are 0, so that products of them have
    # no width to first order
    shares = inside[[0, 1, 2, 3]] / runs
    assert (np.abs(shares - 0.9) < 0.15).all(), shares


@pytest.mark.long
@pytest.mark.slow
def test_a_point_that_noise_hides_is_a_failure_that_says_so() -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, tau = canonical_tests(arm, np.random.default_rng(1).uniform(-1.0, 1.0, (1, 4)), 1.0)
    qdd = fa.dynamics.forward(arm, q, 0.0 * q, tau)  # nothing in the hand
    failed = 0
    for seed in range(8):
        seen = qdd + 2.0 * np.random.default_rng(seed).normal(size=qdd.shape)
        found = estimate_payload(arm, q, tau, seen, shape="point", noise=Noise(qdd=2.0))
        failed += not found.settled
        assert found.mass >= 0.0
        assert np.isfinite(found.parameters).all()
        assert found.settled or "did not converge" in found.message
    assert failed > 0


@pytest.mark.slow
def test_answers_of_no_load_at_all_end_in_a_result() -> None:
    arm = fa.load("puma560").rigid()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q, tau = canonical_tests(arm, rng.uniform(-1.0, 1.0, (1, 6)), 4.0)
        noise = Noise(tau=10.0 ** rng.uniform(-5.0, 0.0)) if seed % 2 else None
        qdd = rng.normal(size=q.shape) * 10.0 ** rng.uniform(0.0, 4.0)
        found = estimate_payload(arm, q, tau, qdd, shape="point", noise=noise)
        assert np.isfinite([*found.parameters, found.mass, *found.com]).all()
        assert found.settled or "did not converge" in found.message


@pytest.mark.long
def test_without_a_stated_noise_the_residuals_tell_it() -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, tau, qdd, qd = observed(arm, 2, 2, size=6.0)
    inside, runs = np.zeros(10), 100
    for seed in range(runs):
        seen = qdd + 0.03 * np.random.default_rng([seed, 8]).normal(size=qdd.shape)
        found = estimate_payload(arm, q, tau, seen, qd, confidence=0.9)
        inside += (found.intervals[:, 0] <= TRUTH) & (found.intervals[:, 1] >= TRUTH)
    # one share of 100 runs spreads by 0.03
    assert (np.abs(inside / runs - 0.9) < 0.1).all(), inside / runs
    assert "No noise is stated: intervals follow from the residuals, 0.0" in found.message
    assert "of accelerations" in found.message
    stated = estimate_payload(arm, q, tau, seen, qd, noise=Noise(qdd=0.03))
    assert np.allclose(found.deviations, stated.deviations, rtol=0.3)
    assert "stated" not in stated.message


@pytest.mark.slow
def test_without_noise_and_without_a_test_left_over_there_are_no_intervals() -> None:
    arm = fa.load("ascher2").lock({"joint2": 0.4})
    q, tau, qdd, qd = observed(arm, 1, 3)
    found = estimate_payload(arm, q, tau, qdd, qd)
    assert found.rows - (10 - len(found.unidentified)) > 0
    few = estimate_payload(arm, q[:2], tau[:2], qdd[:2], qd[:2])
    assert few.rows == 10 - len(few.unidentified)
    assert "there are no intervals" in few.message
    assert np.isinf(few.deviations[np.abs(few.parameters) > 0.0]).all()


def test_what_no_test_shows_is_said_and_left() -> None:
    arm = fa.load("ascher2")  # two parallel axes: it moves in a plane
    q, tau, qdd, qd = observed(arm, 3, 3)
    found = estimate_payload(arm, q, tau, qdd, qd, noise=Noise(qdd=0.01))
    assert found.unidentified == ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "mz")
    assert "Not identifiable, left at 0: Ixx" in found.message
    hidden = np.isinf(found.deviations)
    assert hidden.tolist() == [False, False, False, True, True, True, True, True, True, False]
    assert np.abs((found.parameters - TRUTH)[~hidden] / SCALE[~hidden]).max() < 1e-8
    assert (found.parameters[hidden] == 0.0).all()
    # the body invented for what is not seen leaves what is seen as it was
    body = parameters_of_body(found.mass, found.com, found.inertia)
    assert np.abs((body - TRUTH)[~hidden] / SCALE[~hidden]).max() < 1e-6


@pytest.mark.slow
def test_one_joint_under_gravity_shows_one_moment_and_one_inertia() -> None:
    arm = fa.load("ascher2").lock({"joint2": 0.4})
    q, tau, qdd, qd = observed(arm, 4, 3)
    found = estimate_payload(arm, q, tau, qdd, qd)
    assert len(found.unidentified) == 7
    assert np.isinf(found.deviations[0])


@pytest.mark.slow
def test_an_impossible_fit_becomes_the_most_likely_body() -> None:
    arm = random_arm(4, 4, prismatic=False).rigid()
    q, tau = canonical_tests(arm, np.random.default_rng(1).uniform(-1.0, 1.0, (1, 4)), 1.0)
    light = arm.with_payload(mass=0.02, com=(0.01, 0.0, 0.02))
    qdd = fa.dynamics.forward(light, q, 0.0 * q, tau)
    noise, seen = Noise(qdd=0.3), 0
    for seed in range(6):
        found = estimate_payload(
            arm, q, tau, qdd + 0.3 * np.random.default_rng(seed).normal(size=qdd.shape), noise=noise
        )
        seen += found.projected
        assert found.mass >= 0.0
        P = pseudo_inertia(parameters_of_body(found.mass, found.com, found.inertia))
        assert np.linalg.eigvalsh(P)[0] >= -1e-9 * np.trace(P)
        assert found.onto(arm).n == arm.n  # an arm takes it
        assert ("not physical" in found.message) == found.projected
    assert seen > 0


def test_pseudo_inertia_tells_bodies_from_others_and_gives_them_back() -> None:
    lengths = np.array([0.1, 0.1, 0.1, 1.0])
    assert is_physical(TRUTH, lengths)
    mass, com, inertia = body_of(pseudo_inertia(TRUTH))
    assert (mass, *com) == pytest.approx((LOAD["mass"], *LOAD["com"]), rel=1e-12)
    assert np.abs(inertia - LOAD["inertia"]).max() < 1e-15
    thin = parameters_of_body(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))  # breaks the triangle inequality
    assert not is_physical(thin, lengths)
    assert not is_physical(-TRUTH, lengths)


def test_the_nearest_body_is_nearer_than_others() -> None:
    rng = np.random.default_rng(3)
    lengths = np.array([0.1, 0.1, 0.1, 1.0])
    for _ in range(4):
        wrong = TRUTH + 1.5 * rng.normal(size=10) * np.abs(TRUTH)
        if is_physical(wrong, lengths):
            continue
        A = rng.normal(size=(14, 10)) / SCALE
        H = A.T @ A
        P = nearest_physical(wrong, H, np.eye(10), np.zeros(10), lengths)
        assert np.linalg.eigvalsh(P / np.outer(lengths, lengths))[0] >= -1e-12
        best = parameters_of_body(*body_of(P))
        least = (best - wrong) @ H @ (best - wrong)
        for _ in range(100):
            root = np.linalg.cholesky(P + 1e-9 * np.eye(4)) + 0.02 * rng.normal(size=(4, 4)) * np.sqrt(
                np.outer(lengths, lengths)
            )
            other = parameters_of_body(*body_of(root @ root.T))
            assert (other - wrong) @ H @ (other - wrong) >= least * (1.0 - 1e-5)


@pytest.mark.slow
def test_friction_at_rest_is_that_of_the_motion_that_begins() -> None:
    arm = fa.load("puma560")
    held, rng = arm.with_payload(**LOAD), np.random.default_rng(1)
    q, tau = canonical_tests(arm, rng.uniform(-1.3, 1.3, (4, 6)), [45.0, 60.0, 30.0, 15.0, 15.0, 10.0])
    step = 1e-5
    runs = [
        fa.simulate(held, at, np.zeros(6), 2 * step, torque=t, step=step)
        for at, t in zip(q, tau, strict=True)
    ]
    qdd = np.array([run.qd[1] / step for run in runs])
    found = estimate_payload(arm, q, tau, qdd)
    assert 0 < found.rows < q.size  # joints that friction holds are left out
    # viscous friction acts during the step from which the acceleration is taken: some parts in a thousand
    assert found.mass == pytest.approx(1.7, rel=0.1)
    assert np.abs((found.parameters - TRUTH) / SCALE)[1:].max() < 0.05


@pytest.mark.slow
def test_control_with_the_load_found_needs_less_correction() -> None:
    arm = simple(3, 6)
    q, tau, qdd, qd = observed(arm, 3, 1)
    rng = np.random.default_rng(7)
    found = estimate_payload(arm, q, tau, qdd + 0.01 * rng.normal(size=qdd.shape), qd, noise=Noise(qdd=0.01))
    t = np.linspace(0.0, 1.0, 40)[:, None]
    phase = rng.uniform(0.0, 6.0, 6)
    path = 0.5 * np.sin(3.0 * t + phase), 1.5 * np.cos(3.0 * t + phase), -4.5 * np.sin(3.0 * t + phase)
    truth = fa.dynamics.inverse(arm.with_payload(**LOAD), *path)
    before = np.abs(fa.dynamics.inverse(arm, *path) - truth).max()
    after = np.abs(fa.dynamics.inverse(found.onto(arm), *path) - truth).max()
    assert after < 0.02 * before


@pytest.mark.slow
def test_errors_of_a_controlled_motion_before_and_after() -> None:
    arm = fa.load("puma560").rigid()
    held = arm.with_payload(**LOAD)
    q, tau = canonical_tests(arm, np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6)), 4.0)
    qdd = fa.dynamics.forward(held, q, 0.0 * q, tau) + 0.02 * np.random.default_rng(2).normal(size=q.shape)
    found = estimate_payload(arm, q, tau, qdd, noise=Noise(qdd=0.02))
    motion = control.smooth([0.0, -0.8, 0.4, 0.0, 0.5, 0.0], [0.7, -0.2, -0.3, 0.6, -0.4, 0.5], 0.6)
    errors = [
        control.run(believed, control.ComputedTorque(believed), motion, plant=held).rms
        for believed in (arm, found.onto(arm), held)
    ]
    before, after, known = errors
    assert after < 0.05 * before
    # as good as with the load known: what is left is the sampling
    assert after == pytest.approx(known, rel=0.05)


def test_residuals_beyond_the_noise_are_said() -> None:
    arm = random_arm(3, 4).rigid()
    q, tau, qdd, qd = observed(arm, 2, 1)
    found = estimate_payload(arm, q, 1.05 * tau, qdd, qd, noise=Noise(qdd=1e-3))
    assert "times the stated noise" in found.message


def test_inputs_are_checked() -> None:
    arm = random_arm(3, 3).rigid()
    q, tau, qdd, qd = observed(arm, 1, 1)

    def refused(error: type[Exception], match: str, **changed: Any) -> None:
        given = {"q": q, "tau": tau, "qdd": qdd, "qd": qd} | changed
        with pytest.raises(error, match=match):
            estimate_payload(arm, **given)

    spoilt = qdd.copy()
    spoilt[2, 1] = np.nan
    refused(fa.InputError, "qdd: test 2, joint joint2 is nan", qdd=spoilt)
    refused(
        fa.InputError, r"qd: test 0, joint joint1 is 1e\+100; .* up to 1e\+06", qd=np.full_like(qd, 1e100)
    )
    refused(fa.InputError, "shape", tau=tau[:-1])
    refused(fa.NameNotFound, "shape: expected one of body, point, got 'rod'", shape="rod")
    refused(fa.InputError, "has no unknowns", shape="point", mass=1.0, com=(0.0, 0.0, 0.1))
    refused(fa.InputError, "confidence", confidence=1.0)
    with pytest.raises(fa.InputError, match="noise, qdd"):
        Noise(qdd=-1.0)
    with pytest.raises(fa.ModelError, match="depends on the load"):
        estimate_payload(random_arm(1, 3), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(fa.InputError, match="above 0"):
        canonical_tests(arm, q, 0.0)
    puma = fa.load("puma560")
    with pytest.raises(fa.InputError, match="all are held by friction"):
        estimate_payload(puma, np.zeros(6), fa.dynamics.gravity(puma, np.zeros(6)), np.zeros(6))


def test_the_same_tests_give_the_same_bits() -> None:
    arm = random_arm(3, 3).rigid()
    q, tau, qdd, qd = observed(arm, 1, 1)
    a, b = (estimate_payload(arm, q, tau, qdd, qd, noise=Noise(tau=0.1)) for _ in range(2))
    assert isinstance(a, PayloadEstimate)
    assert a.parameters.tobytes() == b.parameters.tobytes()
    assert a.table() == b.table()
