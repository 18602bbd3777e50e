"""Loads found again: exactly without noise, within their intervals with it,
and what no test shows is said.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import simple_drives
from numpy.typing import NDArray

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
    qd = rng.uniform(0.05, 0.2, (postures, arm.n)) * rng.choice([-1.0, 1.0], arm.n)
    qd = np.repeat(qd, len(q) // postures, axis=0)
    return q, tau, fa.dynamics.forward(arm.with_payload(**LOAD), q, qd, tau), qd


def at_rest(
    arm: Arm, postures: int, seed: int, size: float = 4.0, **load: Any
) -> tuple[Floats, Floats, Floats]:
    """Tests of the arm at rest, perhaps with a load: postures, torques and accelerations."""
    q, tau = canonical_tests(arm, np.random.default_rng(seed).uniform(-1.0, 1.0, (postures, arm.n)), size)
    held = arm.with_payload(**load) if load else arm
    return q, tau, fa.dynamics.forward(held, q, 0.0 * q, tau)


def wrong(found: PayloadEstimate) -> Floats:
    """How far parameters are off, in units of their sizes (10,)."""
    return np.asarray((found.parameters - TRUTH) / SCALE)


def holds(found: PayloadEstimate) -> Floats:
    """Which intervals hold the truth (10,)."""
    low, high = found.intervals.T
    return np.asarray((low <= TRUTH) & (high >= TRUTH), dtype=float)


TURNING = random_arm(4, 4, prismatic=False).rigid()


@pytest.mark.parametrize("seed", [1, 2])
def test_regressor_of_a_load_is_what_the_load_adds(seed: int) -> None:
    arm = random_arm(seed, 4, mimic=seed == 2).rigid()
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 2, arm.n))
    added = fa.dynamics.inverse(arm.with_payload(**LOAD), q, qd, qdd) - fa.dynamics.inverse(arm, q, qd, qdd)
    assert payload_regressor(arm, q, qd, qdd) @ TRUTH == pytest.approx(added, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rigid", [True, False])
def test_exact_without_noise_and_the_same_bits_again(rigid: bool) -> None:
    arm = simple_drives(random_arm(3, 6))
    arm = arm.rigid() if rigid else arm
    q, tau, qdd, qd = observed(arm, 2, 1)
    found, again = (estimate_payload(arm, q, tau, qdd, qd) for _ in range(2))
    assert np.abs(wrong(found)).max() < EXACT
    assert not found.unidentified
    assert not found.projected
    assert math.isnan(found.fit)
    assert found.mass == pytest.approx(LOAD["mass"], rel=1e-8)
    assert found.com == pytest.approx(LOAD["com"], rel=1e-7)
    assert np.abs(found.inertia - LOAD["inertia"]).max() < 1e-9
    assert "every parameter" in found.table()
    assert found.table() == again.table()
    assert found.parameters.tobytes() == again.parameters.tobytes()
    off = estimate_payload(arm, q, 1.05 * tau, qdd, qd, noise=Noise(qdd=1e-3))
    assert "times the stated noise" in off.message


@pytest.mark.long
def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    q, tau, qdd, qd = observed(TURNING, 3, 2, size=6.0)
    noise = Noise(qdd=0.03, tau=0.02, qdd_step=0.05)
    inside, chi, runs = np.zeros(10), [], 120
    for seed in range(runs):
        rng = np.random.default_rng([seed, 4])
        measured = np.round((qdd + 0.03 * rng.normal(size=qdd.shape)) / 0.05) * 0.05
        given = tau + 0.02 * rng.normal(size=tau.shape)
        found = estimate_payload(TURNING, q, given, measured, qd, noise=noise, confidence=0.9)
        inside += holds(found) / runs
        chi.append(found.fit)
    # one share of 120 runs spreads by 0.027 about 0.9; the ten are not independent
    assert np.all(np.abs(inside - 0.9) < 0.1), inside
    assert abs(inside.mean() - 0.9) < 0.04, inside
    assert np.mean(chi) == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "noise"), [(8, Noise(tau=0.2)), (5, None)])
def test_noise_of_torques_does_no_more_harm_than_to_least_squares(runs: int, noise: Noise | None) -> None:
    q, qd, qdd = np.random.default_rng(5).uniform(-2.0, 2.0, (3, 20, 4))
    tau = fa.dynamics.inverse(TURNING.with_payload(**LOAD), q, qd, qdd)
    Y = payload_regressor(TURNING, q, qd, qdd).reshape(-1, 10)
    own = fa.dynamics.inverse(TURNING, q, qd, qdd)
    inside, errors, plain = 0.0, [], []
    for seed in range(runs):
        measured = tau + 0.2 * np.random.default_rng([seed, 7]).normal(size=tau.shape)
        found = estimate_payload(TURNING, q, measured, qdd, qd, noise=noise)
        assert found.settled
        inside += holds(found).mean() / runs
        errors.append(found.parameters - TRUTH)
        plain.append(np.linalg.lstsq(Y, (measured - own).ravel(), rcond=None)[0] - TRUTH)
    # the mean of ten shares of 5 runs spreads by some 0.05 about 0.95
    assert inside > 0.82
    rms, least = (np.sqrt(np.mean(np.square(all_), axis=0)) for all_ in (errors, plain))
    assert (rms < 1.2 * least).all(), rms / least


@pytest.mark.long
def test_noise_of_accelerations_does_not_make_loads_lighter() -> None:
    q, tau, qdd, qd = observed(TURNING, 3, 2, size=6.0)
    apart, runs = np.zeros(10), 40
    for seed in range(runs):
        seen = qdd + 2.0 * np.random.default_rng([seed, 9]).normal(size=qdd.shape)
        found = estimate_payload(TURNING, q, tau, seen, qd, noise=Noise(qdd=2.0))
        apart += (found.parameters - TRUTH) / found.deviations / runs
    # the mean of 40 has the deviation 0.16; with Y at what was measured it is 1.4 for the mass
    assert np.abs(apart).max() < 0.6, apart


@pytest.mark.long
def test_noise_of_positions_widens_the_intervals_as_much_as_it_should() -> None:
    arm = random_arm(4, 3, prismatic=False).rigid()
    q, tau, _, qd = observed(arm, 2, 2)
    qdd = fa.dynamics.forward(arm.with_payload(mass=1.7, com=LOAD["com"]), q, qd, tau)
    inside, fits, noise, runs = np.zeros(10), [], Noise(qdd=1e-4, q=2e-4), 40
    for seed in range(runs):
        seen = q + 2e-4 * np.random.default_rng([seed, 5]).normal(size=q.shape)
        found = estimate_payload(arm, seen, tau, qdd, qd, noise=noise, shape="point", mass=1.7)
        inside += holds(found) / runs
        fits.append(found.fit)
    # 95 % of 40 runs, spread 0.035
    assert (inside[1:4] > 0.84).all(), inside
    assert np.mean(fits) == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_noise_beyond_all_tests_is_a_failure_that_says_so() -> None:
    arm = fa.load("puma560").rigid().replace(gravity=(0.0, 0.0, 0.0))
    q, tau, qdd = at_rest(arm, 3, 1, 0.3, **LOAD)
    seen = qdd + np.random.default_rng(2).normal(size=qdd.shape)
    found = estimate_payload(arm, q, tau, seen, noise=Noise(qdd=1.0))
    assert not found.settled
    assert "too large for these tests" in found.message


@pytest.mark.parametrize(
    ("given", "count"),
    [({"mass": 1.7}, 9), ({"com": LOAD["com"]}, 7), ({"mass": 1.7, "com": LOAD["com"]}, 6)],
)
def test_what_is_known_is_not_asked(given: dict[str, Any], count: int) -> None:
    arm = random_arm(3, 6).rigid()
    q, tau, qdd, qd = observed(arm, 2, 1)
    found, whole = (estimate_payload(arm, q, tau, qdd, qd, noise=Noise(qdd=0.01), **x) for x in (given, {}))
    for made, rank in ((found, count), (whole, 10)):
        assert np.linalg.matrix_rank(made.covariance / np.outer(SCALE, SCALE), tol=1e-12) == rank
        assert np.abs(wrong(made)).max() < 1e-8
    assert (found.deviations <= whole.deviations * (1.0 + 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize("given", ["", "mass", "com"])
@pytest.mark.parametrize("name", ["puma560", "ur5", "panda"])
@pytest.mark.parametrize("com", [(0.0, 0.0, 0.11), (0.03, -0.02, 0.11), (0.2, 0.1, -0.1), (0.0, 0.0, 0.0)])
@pytest.mark.sweep
def test_points_are_found_in_the_hands_of_real_arms(name: str, com: tuple[float, ...], given: str) -> None:
    arm = fa.load(name).rigid()
    for seed, mass in ((1, 1.7), (3, 0.1)):
        load: dict[str, Any] = {"mass": mass, "com": com}
        q, tau, qdd = at_rest(arm, 2, seed, **load)
        known = {given: load[given]} if given else {}
        found = estimate_payload(arm, q, tau, qdd, shape="point", **known)
        assert found.settled
        # as for bodies, times the lightest mass's share
        assert found.mass == pytest.approx(mass, rel=1e-7)
        assert np.abs(found.com - com).max() < 1e-7
        assert np.abs(found.inertia).max() < 1e-9


@pytest.mark.slow
def test_answers_of_no_load_at_all_end_in_a_result() -> None:
    arm = fa.load("puma560").rigid()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, tau, _ = at_rest(arm, 1, seed)
        noise = Noise(tau=10.0 ** rng.uniform(-5.0, 0.0)) if seed % 2 else None
        qdd = rng.normal(size=q.shape) * 10.0 ** rng.uniform(0.0, 4.0)
        found = estimate_payload(arm, q, tau, qdd, shape="point", noise=noise)
        assert np.isfinite([*found.parameters, found.mass, *found.com]).all()
        assert found.settled or "did not converge" in found.message


@pytest.mark.long
def test_without_a_stated_noise_the_residuals_tell_it() -> None:
    q, tau, qdd, qd = observed(TURNING, 2, 2, size=6.0)
    inside, runs = np.zeros(10), 100
    for seed in range(runs):
        seen = qdd + 0.03 * np.random.default_rng([seed, 8]).normal(size=qdd.shape)
        found = estimate_payload(TURNING, q, tau, seen, qd, confidence=0.9)
        inside += holds(found) / runs
    # one share of 100 runs spreads by 0.03
    assert (np.abs(inside - 0.9) < 0.1).all(), inside
    assert "No noise is stated: intervals follow from the residuals, 0.0" in found.message
    stated = estimate_payload(TURNING, q, tau, seen, qd, noise=Noise(qdd=0.03))
    assert np.allclose(found.deviations, stated.deviations, rtol=0.3)
    assert "stated" not in stated.message


@pytest.mark.slow
def test_one_joint_shows_three_parameters_and_without_a_test_left_over_there_are_no_intervals() -> None:
    """Under gravity one moment, two components, and one inertia."""
    arm = fa.load("ascher2").lock({"joint2": 0.4})
    q, tau, qdd, qd = observed(arm, 4, 3)
    found, few = (estimate_payload(arm, q[:k], tau[:k], qdd[:k], qd[:k]) for k in (len(q), 2))
    assert len(found.unidentified) == 7
    assert np.isinf(found.deviations[0])
    assert found.rows > 3
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
    assert np.flatnonzero(hidden).tolist() == [3, 4, 5, 6, 7, 8]
    assert np.abs(wrong(found)[~hidden]).max() < 1e-8
    assert not found.parameters[hidden].any()
    # the body invented for what is not seen leaves what is seen as it was
    body = parameters_of_body(found.mass, found.com, found.inertia)
    assert np.abs((body - TRUTH)[~hidden] / SCALE[~hidden]).max() < 1e-6


@pytest.mark.slow
def test_an_impossible_fit_becomes_the_most_likely_body() -> None:
    q, tau, qdd = at_rest(TURNING, 1, 1, 1.0, mass=0.02, com=(0.01, 0.0, 0.02))
    seen = 0
    for seed in range(4):
        loud = qdd + 0.3 * np.random.default_rng(seed).normal(size=qdd.shape)
        found = estimate_payload(TURNING, q, tau, loud, noise=Noise(qdd=0.3))
        seen += found.projected
        assert found.mass >= 0.0
        P = pseudo_inertia(parameters_of_body(found.mass, found.com, found.inertia))
        assert np.linalg.eigvalsh(P)[0] >= -1e-9 * np.trace(P)
        assert found.onto(TURNING).n == 4  # an arm takes it
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
    rng, lengths = np.random.default_rng(3), np.array([0.1, 0.1, 0.1, 1.0])
    scale = np.sqrt(np.outer(lengths, lengths))
    for _ in range(3):
        far = TRUTH + 1.5 * rng.normal(size=10) * np.abs(TRUTH)
        assert not is_physical(far, lengths)
        A = rng.normal(size=(14, 10)) / SCALE
        H = A.T @ A
        P = nearest_physical(far, H, np.eye(10), np.zeros(10), lengths)
        assert np.linalg.eigvalsh(P / np.outer(lengths, lengths))[0] >= -1e-12
        root = np.linalg.cholesky(P + 1e-9 * np.eye(4))
        near = [root + 0.02 * rng.normal(size=(4, 4)) * scale for _ in range(100)]
        off = np.array([parameters_of_body(*body_of(S)) - far for S in (P, *(x @ x.T for x in near))])
        sizes = np.einsum("ki,ij,kj->k", off, H, off)
        assert (sizes[1:] >= sizes[0] * (1.0 - 1e-5)).all()


@pytest.mark.slow
def test_friction_at_rest_is_that_of_the_motion_that_begins() -> None:
    arm = fa.load("puma560")
    held, rng, step = arm.with_payload(**LOAD), np.random.default_rng(1), 1e-5
    q, tau = canonical_tests(arm, rng.uniform(-1.3, 1.3, (4, 6)), [45.0, 60.0, 30.0, 15.0, 15.0, 10.0])
    tests = zip(q, tau, strict=True)
    runs = [fa.simulate(held, at, np.zeros(6), 2 * step, torque=t, step=step) for at, t in tests]
    found = estimate_payload(arm, q, tau, np.array([run.qd[1] / step for run in runs]))
    assert 0 < found.rows < q.size  # joints that friction holds are left out
    # viscous friction acts during the step from which the acceleration is taken: some parts in a thousand
    assert found.mass == pytest.approx(1.7, rel=0.1)
    assert np.abs(wrong(found))[1:].max() < 0.05


@pytest.mark.slow
def test_errors_of_a_controlled_motion_before_and_after() -> None:
    arm = fa.load("puma560").rigid()
    held = arm.with_payload(**LOAD)
    q, tau, qdd = at_rest(arm, 3, 1, **LOAD)
    seen = qdd + 0.02 * np.random.default_rng(2).normal(size=q.shape)
    found = estimate_payload(arm, q, tau, seen, noise=Noise(qdd=0.02))
    motion = control.smooth([0.0, -0.8, 0.4, 0.0, 0.5, 0.0], [0.7, -0.2, -0.3, 0.6, -0.4, 0.5], 0.6)
    before, after, known = (
        control.run(believed, control.ComputedTorque(believed), motion, plant=held).rms
        for believed in (arm, found.onto(arm), held)
    )
    assert after < 0.05 * before
    # as good as with the load known: what is left is the sampling
    assert after == pytest.approx(known, rel=0.05)


def test_inputs_are_checked() -> None:
    arm = random_arm(3, 3).rigid()
    q, tau, qdd, qd = observed(arm, 1, 1)
    spoilt = qdd.copy()
    spoilt[2, 1] = np.nan
    given: dict[str, Any] = {"arm": arm, "q": q, "tau": tau, "qdd": qdd, "qd": qd}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"qdd": spoilt}, "qdd: test 2, joint joint2 is nan"),
        ({"qd": np.full_like(qd, 1e100)}, r"qd: test 0, joint joint1 is 1e\+100; .* up to 1e\+06"),
        ({"tau": tau[:-1]}, "shape"),
        ({"shape": "rod"}, "shape: expected one of body, point, got 'rod'"),
        ({"shape": "point", "mass": 1.0, "com": (0.0, 0.0, 0.1)}, "has no unknowns"),
        ({"confidence": 1.0}, "confidence"),
        ({"arm": random_arm(1, 3)}, "depends on the load"),
    ]
    for changed, match in refused:
        with pytest.raises(fa.ForearmError, match=match):
            estimate_payload(**(given | changed))
    puma, rest = fa.load("puma560"), np.zeros(6)
    with pytest.raises(fa.InputError, match="all are held by friction"):
        estimate_payload(puma, rest, fa.dynamics.gravity(puma, rest), rest)
    with pytest.raises(fa.InputError, match="noise, qdd"):
        Noise(qdd=-1.0)
    with pytest.raises(fa.InputError, match="above 0"):
        canonical_tests(arm, q, 0.0)
