"""Consistent parameters: against Clarabel, log-Cholesky coordinates, differences, closed forms."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.dynamics.reference import inertial_parameters, regressor
from forearm.errors import InputError
from forearm.identification.consistent import Consistent, consistent
from forearm.identification.payload.physical import parameters_of_body, pseudo_inertia
from forearm.identification.prior import Prior, cad_prior
from forearm.spatial import Floats

DATA = Path(__file__).parent.parent / "data" / "consistent.json"
CASES = json.loads(DATA.read_text(encoding="utf-8"))["cases"]
UNITS = np.array([1.0, *[0.1] * 3, *[0.02] * 6])
SPHERE = parameters_of_body(2.0, np.array([0.02, -0.03, 0.05]), np.diag([0.02, 0.025, 0.03]))


def bodies_of(found: Consistent, bodies: int) -> Floats:
    return np.asarray(found.x[: 10 * bodies].reshape(-1, 10))


def solved(case: dict[str, Any]) -> Consistent:
    mass, prior = case["total_mass"], Prior(np.array(case["mean"]), np.array(case["std"]))
    total = (mass[0], mass[1]) if isinstance(mass, list) else None if mass is None else (mass, 0.0)
    R, z, lower = (np.array(case[x], dtype=np.float64) for x in ("R", "z", "lower"))
    return consistent(R, z, case["bodies"], prior, lower, total_mass=total, least=case["least"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['bodies']} bodies, {len(c['x'])} unknowns")
def test_solutions_are_those_of_clarabel(case: dict[str, Any]) -> None:
    found = solved(case)
    assert found.objective == pytest.approx(case["objective"], rel=1e-7)
    assert found.gap < 1e-9
    units = np.concatenate([np.tile(UNITS, case["bodies"]), np.full(len(case["lower"]), 0.3)])
    assert np.abs((found.x - case["x"]) / units).max() < 1e-4
    assert all(np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0.0 for ten in bodies_of(found, case["bodies"]))


def impossible(seed: int, others: int = 1) -> tuple[Floats, Floats, Prior, Floats]:
    """One body whose data say that it cannot exist, and other unknowns, as R, z, prior, lower."""
    rng = np.random.default_rng(seed)
    units = np.concatenate([UNITS, np.full(others, 0.3)])
    truth = np.concatenate([SPHERE, np.full(others, 0.2)])
    R = rng.normal(size=(9, len(truth))) / units * 3.0
    z = R @ (truth + 0.7 * units * rng.normal(size=len(truth)))
    mean = truth + 0.3 * units * rng.normal(size=len(truth))
    mean[0] = 2.0
    return R, z, Prior(mean, units * rng.uniform(0.5, 2.0, len(truth))), np.zeros(others)


def rows_of(R: Floats, z: Floats, prior: Prior) -> tuple[Floats, Floats]:
    """Data and prior as one set of rows."""
    return np.vstack([R, np.diag(1.0 / prior.std)]), np.concatenate([z, prior.mean / prior.std])


def test_where_nothing_binds_it_is_least_squares() -> None:
    rng = np.random.default_rng(5)
    R = rng.normal(size=(30, 11)) / np.append(UNITS, 1.0) * 20.0
    x = np.append(SPHERE, 0.7)
    prior = Prior(x * 1.01, np.append(UNITS, np.inf))
    found = consistent(R, R @ x, 1, prior, np.zeros(1))
    A, b = rows_of(R, R @ x, prior)
    normal = np.linalg.inv(A.T @ A)
    assert (found.iterations, found.gap, found.at_bound, found.at_lower) == (0, 0.0, (), ())
    assert found.x == pytest.approx(normal @ A.T @ b, rel=1e-9)
    assert found.covariance == pytest.approx(normal, rel=1e-7, abs=1e-12)


def test_bounds_alone_are_those_of_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(8)
    R, z = rng.normal(size=(9, 4)), rng.normal(size=9)
    found = consistent(R, z, 0, Prior(np.zeros(4), np.full(4, np.inf)), np.array([0.0, 0.0, 0.0, -np.inf]))
    best, x = math.inf, np.zeros(4)
    for kept in itertools.product((False, True), repeat=3):  # every set of unknowns that are not at 0
        free = np.array([*kept, True])
        tried = np.zeros(4)
        tried[free] = np.linalg.lstsq(R[:, free], z, rcond=None)[0]
        cost = 0.5 * float(np.sum((R @ tried - z) ** 2))
        if (tried[:3] >= 0.0).all() and cost < best:
            best, x = cost, tried
    assert found.x == pytest.approx(x, abs=1e-6)
    assert found.objective == pytest.approx(best, rel=1e-9)
    assert found.at_lower == tuple(np.flatnonzero(x[:3] == 0.0))
    assert found.at_lower
    free = x != 0.0
    assert found.covariance[np.ix_(free, free)] == pytest.approx(
        np.linalg.inv(R[:, free].T @ R[:, free]), rel=1e-4
    )
    assert np.abs(found.covariance[~free]).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("total_mass", [None, (2.1, 0.0)])
def test_covariance_is_that_of_small_changes_of_data_and_prior(
    total_mass: tuple[float, float] | None,
) -> None:
    R, z, prior, lower = impossible(4)
    found = consistent(R, z, 1, prior, lower, total_mass=total_mass)
    assert found.at_bound == (0,)
    h, columns = 1e-4, []
    for k in range(len(z) + len(prior.mean)):
        ends = []
        for sign in (1.0, -1.0):
            moved, mean = z.copy(), prior.mean.copy()
            if k < len(z):
                moved[k] += sign * h
            else:
                mean[k - len(z)] += sign * h * prior.std[k - len(z)]
            # sizes come from the prior: the mean of rows may move, that of sizes not
            rows, right = rows_of(R, moved, Prior(mean, prior.std))
            still = Prior(prior.mean, prior.std * 1e6)
            ends.append(consistent(rows, right, 1, still, lower, total_mass=total_mass).x)
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    change = np.array(columns).T
    units = np.append(UNITS, 0.3)
    scaled = (found.covariance - change @ change.T) / np.outer(units, units)
    assert np.abs(scaled).max() < 1e-4
    # the bound takes something away
    A, _ = rows_of(R, z, prior)
    assert np.trace(found.covariance / np.outer(units, units)) < 0.95 * np.trace(
        np.linalg.inv(A.T @ A) / np.outer(units, units)
    )


def test_what_nothing_tells_stays_near_the_mean_and_is_infinitely_wide() -> None:
    rng = np.random.default_rng(6)
    R = rng.normal(size=(12, 11)) / np.append(UNITS, 1.0)
    R[:, 0] = R[:, 10] = 0.0
    R[:, 4] = R[:, 9] * 2.0  # only Ixx + Izz / 2
    truth = np.append(SPHERE, 0.4)
    mean = truth.copy()
    mean[[0, 10]] = 2.5, -0.2
    found = consistent(R, R @ truth, 1, Prior(mean, np.full(11, np.inf)), np.array([-np.inf]))
    assert found.x[[0, 10]] == pytest.approx([2.5, -0.2], rel=1e-6)
    assert np.flatnonzero(np.isinf(np.diag(found.covariance))).tolist() == [0, 4, 9, 10]
    assert np.isfinite(found.covariance[[1, 2, 3, 5, 6, 7, 8]][:, [1, 2, 3, 5, 6, 7, 8]]).all()
    assert R @ found.x == pytest.approx(R @ truth, rel=1e-6, abs=1e-9)
    assert found.x[4] + 0.5 * found.x[9] == pytest.approx(truth[4] + 0.5 * truth[9], rel=1e-6)


@pytest.mark.slow
def test_a_whole_arm_is_fitted_better_than_by_its_true_parameters() -> None:
    arm, rng = fa.load("panda").rigid(), np.random.default_rng(1)
    truth, drawn = inertial_parameters(arm), cad_prior(arm)
    states = [s * rng.normal(size=(40, arm.n)) for s in (1.0, 1.0, 3.0)]
    Y = regressor(arm, *states).reshape(-1, len(truth)) / 0.3  # divided by the noise
    z = Y @ truth + rng.normal(size=len(Y))
    prior = Prior(truth + 0.8 * drawn.std * np.random.default_rng(2).normal(size=len(truth)), drawn.std)
    A, b = rows_of(Y, z, prior)
    mass = float(truth[::10].sum())
    for spread in (0.0, 0.1):
        found = consistent(Y, z, 7, prior, np.zeros(0), total_mass=(mass, spread))
        assert found.gap < 1e-9
        assert found.at_bound  # the prior itself is no body
        assert found.objective < 0.5 * np.sum((A @ truth - b) ** 2)
        assert np.sqrt(np.mean((Y @ (found.x - truth)) ** 2)) < 0.6  # of the noise
        if not spread:
            assert found.x[::10].sum() == pytest.approx(mass, rel=1e-12)
        assert all(np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0.0 for ten in bodies_of(found, 7))


def test_eigenvalues_stay_above_the_least() -> None:
    R, z, prior, lower = impossible(7, others=0)
    L, free = math.sqrt(0.5 * prior.mean[[4, 6, 9]].sum() / 2.0), Prior(prior.mean, np.full(10, np.inf))
    scale = math.sqrt(2.0) * np.array([L, L, L, 1.0])
    for least in (1e-6, 1e-3, 1e-2):
        x = consistent(R, z, 1, free, lower, least=least).x
        smallest = np.linalg.eigvalsh(pseudo_inertia(x) / np.outer(scale, scale))[0]
        assert smallest == pytest.approx(least, rel=1e-3)


def test_the_prior_of_drawings_is_a_share_of_each_body() -> None:
    arm = random_arm(3, 4)
    prior = cad_prior(arm, 0.2)
    assert prior.mean == pytest.approx(inertial_parameters(arm))
    tens, mean = prior.std.reshape(-1, 10), prior.mean.reshape(-1, 10)
    assert tens[:, 0] == pytest.approx(0.2 * mean[:, 0])
    lengths = tens[:, 1] / tens[:, 0]
    assert tens[:, 9] == pytest.approx(tens[:, 0] * lengths**2)
    assert (mean[:, 0] * lengths**2 >= 0.4999999 * (mean[:, 4] + mean[:, 6] + mean[:, 9])).all()
    assert (np.abs(mean[:, 1:4]) <= 1.0000001 * (mean[:, 0] * lengths)[:, None]).all()
    light = arm.with_link(fa.Link(name=arm.tree[-1].child)).with_link(fa.Link(name=arm.tree[-2].child))
    unweighed = cad_prior(light).std.reshape(-1, 10)
    masses = inertial_parameters(light)[::10]
    assert masses[-1] == 0.0
    assert unweighed[-1, 0] == pytest.approx(np.median(masses[:-1]))
    bare = arm.replace(links=tuple(fa.Link(name=link.name) for link in arm.links))
    assert (cad_prior(bare).std > 0.0).all()


def test_a_total_mass_far_from_the_prior_is_refused() -> None:
    R, z, prior, lower = impossible(1, others=0)
    with pytest.raises(InputError, match="Check the unit"):
        consistent(R, z, 1, prior, lower, total_mass=(1e-9, 0.0))
