"""Paul's pairs along a motion, tables over everything, and procedures between."""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from control.samples import asked, moving_arm, order, samples, worst
from numpy.typing import NDArray

import forearm as fa
from forearm.control.controller import Sample
from forearm.control.loop import run
from forearm.control.precomputed import Precomputed, pairs_along, walked
from forearm.control.procedures import AtSpeed, Family, Procedural, at_speeds, procedure
from forearm.control.reference import Motion, default_motion
from forearm.control.tables import full_tables, multilinear, table_error
from forearm.kernels import compile
from forearm.trajectories import MotionLimits, bang_bang

Array = NDArray[np.float64]
ROUNDING = 1e-11  # relative: D qdd + E against the recursion, and pairs against Waters' matrices
PERIOD = 1e-3


def test_pairs_are_pauls() -> None:
    arm, motion = moving_arm()
    pairs = pairs_along(arm, motion, 0.2)
    for q, qd, D, E in zip(pairs.q, pairs.qd, pairs.D, pairs.E, strict=True):
        right_D, right_E = fa.dynamics.paul(arm, q, qd)
        assert np.abs(D - right_D).max() < ROUNDING * np.abs(right_D).max()
        assert np.abs(E - right_E).max() < ROUNDING * np.abs(right_E).max()


def test_storage_is_waters_42_and_where_it_is() -> None:
    arm = fa.load("puma560").rigid()
    pairs = pairs_along(arm, default_motion(arm, 2.0), 0.1)
    assert len(pairs.t) == 21
    assert pairs.numbers == 21 * (42 + 12)
    counts = compile(arm).counts
    assert pairs.operations == 21 * sum(counts[f].mul + counts[f].add for f in ("inertia_matrix", "bias"))


def test_at_a_pair_the_force_is_exact_whatever_the_acceleration() -> None:
    arm, motion = moving_arm()
    controller = Precomputed(arm, motion, interval=0.1, bandwidth=None)
    t, rng = controller.pairs.t[5], np.random.default_rng(1)
    q, qd, _ = motion.at(t)
    qdd = rng.standard_normal(arm.n)
    there = controller.command(Sample(0, t, q, qd, None, (q, qd, qdd), (q, qd, qdd)))
    right = compile(arm).inverse_dynamics(q, qd, qdd)
    assert np.abs(there - right).max() < ROUNDING * np.abs(right).max()


@pytest.mark.slow
def test_the_nearest_pair_errs_in_first_order() -> None:
    arm, motion = moving_arm()
    errors = [
        worst(arm, Precomputed(arm, motion, interval=interval, bandwidth=None), motion, PERIOD)
        for interval in (0.04, 0.02, 0.01)
    ]
    assert order(errors) == pytest.approx(1.0, abs=0.25)


def test_walking_finds_the_nearest_of_a_motion() -> None:
    """As looking at all of them does, along the motion and beside it."""
    arm, motion = moving_arm()
    controller = Precomputed(arm, motion, interval=0.02)
    rng, at = np.random.default_rng(2), 0
    for sample in samples(motion, PERIOD):
        x = (np.concatenate([sample.q, sample.qd]) + 1e-4 * rng.standard_normal(6)) * controller._scale
        at, looked_at = walked(controller._scaled, x, at)
        assert at == np.argmin(np.sum((controller._scaled - x) ** 2, axis=1))
        assert looked_at <= 5


def test_errors_are_corrected_through_the_accelerations() -> None:
    """A small error of position changes the force by D w^2 times it, with the pair's D."""
    arm, motion = moving_arm()
    controller = Precomputed(arm, motion, interval=0.05, bandwidth=30.0)
    sample = samples(motion, PERIOD)[0]
    aside = Sample(0, 0.0, sample.q + 1e-6, sample.qd, None, sample.wanted, sample.ahead)
    difference = controller.command(aside) - controller.command(sample)
    assert difference == pytest.approx(-900.0e-6 * controller.pairs.D[0] @ np.ones(arm.n), rel=1e-6)


def test_friction_at_the_start_is_that_of_the_way_it_goes() -> None:
    """The PUMA's joints stand at first; pairs there have the friction of the motion that begins."""
    arm = fa.load("puma560")
    motion = default_motion(arm)
    pairs = pairs_along(arm, motion, 0.1)
    q, qd, qdd = motion.at(1e-4)
    right = compile(arm).inverse_dynamics(q, qd, qdd)
    first = pairs.D[0] @ qdd + pairs.E[0]
    assert np.abs(first - right).max() < 0.01 * np.abs(right).max()
    standing = compile(arm).bias(motion.at(0.0)[0], np.zeros(6))
    assert np.abs(pairs.E[0] - standing).max() > 1.0


def test_full_tables_are_hopeless() -> None:
    tables = full_tables(6, 5)
    assert tables["forces"].points == 5**18 == 3814697265625
    assert tables["D, E"].points == 5**12 == 244140625
    assert [t.each for t in tables.values()] == [6, 6 + 108, 42, 42 + 504]
    assert tables["forces"].bytes == 8 * 6 * 5**18
    assert tables["forces"].seconds(1e6) > 3600.0 * 24.0 * 40.0
    assert full_tables(2, 5)["forces"].points == 15625


def test_multilinear_is_exact_for_products_of_lines() -> None:
    rng = np.random.default_rng(3)
    grids = tuple(np.sort(rng.uniform(-1.0, 1.0, k)) for k in (3, 4, 2))
    a, b = rng.standard_normal((2, 3))

    def product(x: Array) -> Array:
        return np.asarray(np.prod(a + b * x, axis=-1))

    table = product(np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1))
    x = rng.uniform(-1.5, 1.5, (50, 3))  # outside of the grid too
    assert multilinear(grids, table, x) == pytest.approx(product(x), abs=1e-12)
    corners = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 3)
    assert multilinear(grids, table, corners) == pytest.approx(table.ravel(), abs=1e-13)
    alone = multilinear((np.array([0.3]),), np.array([7.0]), np.array([[2.0]]))
    assert alone == pytest.approx([7.0])


def test_a_table_of_five_values_is_coarse_too() -> None:
    """Two joints: 15,625 points and still far off; its errors fall with the square of the
    distance between values.
    """
    arm = random_arm(4, 2, "standard", prismatic=False, drives=False)
    widths = (np.full(2, np.pi), np.full(2, 2.0), np.full(2, 2.0))
    found = {k: table_error(arm, k, widths, checked=400) for k in (3, 5, 7)}
    assert found[5].points == 5**6
    assert found[5].worst > 0.1
    assert found[7].rms < 0.6 * found[5].rms < 0.6 * 0.6 * found[3].rms


def throwing(arm: fa.Arm) -> Family:
    """From rest to a place of release at a speed; the two are the parameters."""
    limits = MotionLimits(np.full(arm.n, 6.0))

    def family(speed: float, place: float) -> Motion:
        end = np.linspace(0.4, 0.6, arm.n)
        return bang_bang(np.zeros(arm.n), np.zeros(arm.n), place * end, speed * end, limits, duration=1.5)

    return family


def test_a_procedure_interpolates_between_its_members() -> None:
    """At a member only the phases err; between, errors fall with the square of the
    distance of the members.
    """
    arm, _ = moving_arm()
    family = throwing(arm)
    errors = []
    for count in (2, 3, 5):
        speeds, places = np.linspace(0.5, 1.5, count), np.linspace(0.5, 1.5, count)
        made = procedure(arm, family, [speeds, places], phases=257)
        asked_for = (0.8, 1.2)
        motion = family(*asked_for)
        u = np.linspace(0.0, 1.0, 100)
        q, qd, qdd = (np.ascontiguousarray(x) for x in motion.at(u * motion.duration))
        right = compile(arm).inverse_dynamics(q, qd, qdd)
        errors.append(float(np.abs(made.forces(asked_for, u, qdd) - right).max() / np.abs(right).max()))
    assert errors[2] < 0.35 * errors[1] < 0.35 * 0.8 * errors[0]
    assert made.numbers == 5 * 5 * 257 * 12


def test_the_same_motion_faster() -> None:
    """q(ct): velocities c times, accelerations c^2 times; as differences of places have it."""
    _, motion = moving_arm()
    faster = AtSpeed(motion, 1.3)
    assert faster.duration == pytest.approx(motion.duration / 1.3)
    h, t = 1e-4, 0.25
    q, qd, qdd = faster.at(np.array([t - h, t, t + h]))
    assert (q[2] - q[0]) / (2 * h) == pytest.approx(qd[1], abs=1e-6)
    assert (qd[2] - qd[0]) / (2 * h) == pytest.approx(qdd[1], abs=1e-6)
    assert np.array_equal(faster.at(faster.duration)[0], motion.at(motion.duration)[0])


@pytest.mark.long
def test_a_procedure_of_speeds_drives_the_arm() -> None:
    arm, motion = moving_arm()
    controller = Procedural(arm, motion)
    assert worst(arm, Procedural(arm, motion, bandwidth=None), motion, PERIOD) < 0.05
    assert run(arm, controller, motion).rms < 1e-3
    at_member = Procedural(arm, motion, procedure=at_speeds(arm, motion, [1.0], phases=513), bandwidth=None)
    assert worst(arm, at_member, motion, PERIOD) < 5e-3
    assert asked(controller, motion, PERIOD).shape[1] == arm.n
    n, p = arm.n, 2
    assert controller.operations == 2 * p + 4 * (1 + 2 * n * (n + 1)) + 2 * n * n + 6 * n
