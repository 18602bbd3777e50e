"""A store of trajectories: recalled to the order of its points, learnt by doing without a model."""

from __future__ import annotations

import numpy as np
import pytest
from control.samples import moving_arm, order, samples, worst

import forearm as fa
from forearm.control.bookkeeping import parts
from forearm.control.loop import run
from forearm.control.reference import default_motion
from forearm.control.store import Store, Stored, computed_store, empty_store, met, practise
from forearm.kernels import compile

ROUNDING = 1e-12
PERIOD = 1e-3


@pytest.mark.parametrize("slopes", [True, False])
def test_at_its_points_it_is_exact(slopes: bool) -> None:
    arm, motion = moving_arm()
    store = computed_store(arm, motion, 0.1, slopes)
    for near in (None, 0):
        for k, state in enumerate(store.states):
            recalled = store.recall(state, near if near is None else k)
            assert recalled.distance == 0.0
            assert np.abs(recalled.force - store.forces[recalled.at]).max() <= ROUNDING
    right = compile(arm).inverse_dynamics(*parts(store.states))
    assert np.array_equal(store.forces, right)


@pytest.mark.slow
@pytest.mark.parametrize("slopes", [True, False])
def test_between_points_errors_fall_with_the_square(slopes: bool) -> None:
    """With slopes from one point, without by a straight line between two: both of second order."""
    arm, motion = moving_arm()
    errors = [
        worst(
            arm,
            Stored(arm, motion, store=computed_store(arm, motion, interval, slopes), bandwidth=None),
            motion,
            PERIOD,
        )
        for interval in (0.1, 0.05, 0.025)
    ]
    assert order(errors) == pytest.approx(2.0, abs=0.4)


def test_slopes_hold_beside_the_trajectory_and_neighbours_do_not() -> None:
    """Waters: to interpolate, derivatives have to be stored with the points.
    Aside of it, lines between points know nothing.
    """
    arm, motion = moving_arm()
    rng = np.random.default_rng(1)
    kernel = compile(arm)
    errors = {}
    for slopes in (True, False):
        store = computed_store(arm, motion, 0.02, slopes)
        found = []
        for sample in samples(motion, 0.05):
            state = np.concatenate(sample.wanted) + 0.02 * rng.standard_normal(9)
            right = kernel.inverse_dynamics(*parts(state))
            found.append(np.abs(store.recall(state).force - right).max() / np.abs(right).max())
        errors[slopes] = max(found)
    assert errors[True] < 0.1 * errors[False]


def test_storage_and_looking_up() -> None:
    arm, motion = moving_arm()
    store = computed_store(arm, motion, 0.1)
    m, p, n = len(store), 9, 3
    assert store.numbers == m * (p + n + n * p)
    whole = store.recall(store.states[3])
    walked = store.recall(store.states[3], near=3)
    assert whole.operations == p + 3 * p * m + p + 2 * n * p
    assert walked.operations == p + 3 * p * 3 + p + 2 * n * p  # itself and both neighbours
    controller = Stored(arm, motion, store=store, bandwidth=None)
    for sample in samples(motion, PERIOD):
        controller.command(sample)
    assert controller.operations < 0.7 * whole.operations  # now and then, where points are scarce, all of it
    assert controller.missed == 0


@pytest.mark.slow
def test_walking_finds_what_looking_at_all_finds() -> None:
    """Along a motion with joints that stand at its ends, dry friction and switches
    that no sample falls on.
    """
    arm = fa.load("puma560")
    motion = default_motion(arm)
    store = computed_store(arm, motion, 0.05)
    at = 0
    for sample in samples(motion, 2.1e-3)[1:]:
        state = np.concatenate(sample.wanted)
        walked, whole = store.recall(state, at), store.recall(state)
        assert walked.distance == whole.distance
        at = walked.at


@pytest.mark.slow
def test_a_walk_that_loses_the_motion_is_no_match() -> None:
    """In what an arm shows while feedback alone moves it, accelerations go to and fro, and a walk along them
    ends where no neighbour is nearer, be it far from the nearest point.
    """
    arm = fa.load("chain2")
    motion = default_motion(arm)
    controller = Stored(arm, motion, store=empty_store(arm, motion))
    store = empty_store(arm, motion).learned(*met(run(arm, controller, motion)))
    at = 0
    for sample in samples(motion, 3.0 * PERIOD):
        state = np.concatenate(sample.wanted)
        recalled, whole = store.recall(state, at), store.recall(state)
        assert recalled.distance <= max(whole.distance, store.interval)
        at = recalled.at


def test_what_is_far_is_left_to_feedback() -> None:
    arm, motion = moving_arm()
    controller = Stored(arm, motion, reach=1e-6, bandwidth=None)
    rows = [controller.command(s) for s in samples(motion, PERIOD)[:20]]
    assert controller.missed == 19  # the first sample is a stored point
    assert not np.any(rows[7])
    empty = Stored(arm, motion, store=empty_store(arm, motion))
    sample = samples(motion, PERIOD)[0]
    assert np.array_equal(empty.command(sample), np.zeros(3))  # on the motion there is no error to feed back
    assert empty.missed == 1


@pytest.mark.slow
def test_what_an_arm_shows_is_what_its_equations_say() -> None:
    """q, qd and qdd between two samples and the torque held there:
    inverse dynamics, but for the period's square.
    """
    arm, motion = moving_arm()
    kernel, errors = compile(arm), []
    for period in (4e-3, 2e-3, 1e-3):
        q, qd, qdd, tau = met(run(arm, Stored(arm, motion), motion, period=period))
        errors.append(float(np.abs(kernel.inverse_dynamics(q, qd, qdd) - tau).max()))
    assert order(errors) == pytest.approx(2.0, abs=0.6)
    assert errors[-1] < 1e-2


@pytest.mark.slow
def test_learning_keeps_points_apart() -> None:
    arm, motion = moving_arm()
    rows = met(run(arm, Stored(arm, motion), motion))
    fine, coarse = (empty_store(arm, motion).learned(*rows, spacing=s) for s in (0.02, 0.1))
    assert len(fine) > 2 * len(coarse) > 20
    apart = np.linalg.norm(coarse.scaled[:, None] - coarse.scaled[None], axis=-1) + 9.0 * np.eye(len(coarse))
    assert apart.min() > 0.1
    again = coarse.learned(*rows, spacing=0.1)
    assert len(again) == len(coarse)
    q, qd, qdd, tau = rows
    with_gap = np.where(np.arange(len(q))[:, None] == 5, np.nan, q)
    assert np.isfinite(empty_store(arm, motion).learned(with_gap, qd, qdd, tau, spacing=0.02).states).all()


def test_what_was_measured_last_replaces_what_is_near() -> None:
    """And the points on both sides of a replaced one are no longer consecutive."""
    places = np.arange(5.0)[:, None] * np.array([1.0, 0.0, 0.0])
    store = Store(places, 10.0 + places[:, :1], np.zeros(5, np.intp), np.ones(3))
    learnt = store.learned([[2.1]], [[0.0]], [[0.0]], [[7.0]], spacing=0.5)
    assert learnt.states[:, 0].tolist() == [0.0, 1.0, 3.0, 4.0, 2.1]
    assert learnt.forces[:, 0].tolist() == [10.0, 11.0, 13.0, 14.0, 7.0]
    first, last = learnt.course[:2], learnt.course[2:4]
    assert first[0] == first[1] != last[0] == last[1]
    assert learnt.course[4] not in learnt.course[:4]


@pytest.mark.slow
def test_fitted_slopes_help_where_they_reach() -> None:
    arm, motion = moving_arm()
    rows = met(run(arm, Stored(arm, motion), motion))
    store = empty_store(arm, motion).learned(*rows, spacing=0.05)
    assert store.slopes is None
    sloped = store.sloped()
    assert sloped.slopes is not None
    assert np.isfinite(sloped.slopes).all()
    assert store.sloped().learned(*rows).slopes is None
    alone = Store(store.states[:1], store.forces[:1], store.course[:1], store.scale).sloped()
    assert alone.slopes is not None
    assert not alone.slopes.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain2", "rigid", "ur5"])
@pytest.mark.sweep(first=1)
def test_a_motion_is_learnt_by_doing_it(name: str) -> None:
    """From feedback alone, without a model, on a plant that the gains do not know; and no run is worse than
    the one before by more than what sampling costs a store computed from the plant's own equations.
    """
    rigid, way = moving_arm()
    arm = rigid if name == "rigid" else fa.load(name)
    motion = way if name == "rigid" else default_motion(arm)
    plant = arm.with_payload(mass=0.5 if name == "chain2" else 1.0, com=(0.02, 0.01, 0.05))
    store, runs = practise(arm, motion, plant=plant, trials=5)
    known = Stored(arm, motion, store=computed_store(plant, motion, 5e-3))
    least = run(arm, known, motion, plant=plant).rms
    errors = np.array([made.rms for made in runs])
    assert errors[1] < 0.1 * errors[0]
    assert (np.diff(errors) <= least).all(), errors
    assert errors[-1] < 4.0 * least
    assert len(store) > 50
