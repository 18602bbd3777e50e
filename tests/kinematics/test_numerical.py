"""Numeric inverse kinematics against forward kinematics, a Newton iteration in NumPy,
closed forms, and itself.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm
from kinematics.closed_form.wrist_arms import many
from numpy.typing import NDArray
from sweeps import long

import forearm as fa
from forearm.kinematics import NumericSolution, forward, inverse_numeric, jacobian
from forearm.kinematics.numerical import MOST_STARTS
from forearm.spatial import pose, rotation_rpy

Floats = NDArray[np.float64]
TOLERANCE = 1e-9  # m and rad, what is asked for where nothing else is said
FOUND = 0.99  # of reachable poses, some of which lie in the last corner of the limits
NEAREST = 1e-6  # m: a minimum is found where its slope vanishes, so its distance is known better than this


def loaded(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        return fa.load(name)


def bounds(arm: fa.Arm) -> tuple[Floats, Floats]:
    """The limits of the freedoms with those of what follows them, joint by joint."""
    lower, upper = np.full(arm.n, -np.inf), np.full(arm.n, np.inf)
    for body in arm.moving.bodies:
        ends = sorted((limit - body.offset) / body.multiplier for limit in body.joint.limits)
        lower[body.freedom] = max(lower[body.freedom], ends[0])
        upper[body.freedom] = min(upper[body.freedom], ends[1])
    return lower, upper


def reachable(arm: fa.Arm, seed: int, count: int) -> Floats:
    """Poses of random postures within the limits, (count, 4, 4)."""
    lower, upper = (
        np.where(np.isfinite(b), b, e) for b, e in zip(bounds(arm), (-math.pi, math.pi), strict=True)
    )
    return forward(arm, lower + (upper - lower) * np.random.default_rng(seed).random((count, arm.n)))


def apart(A: Floats, B: Floats) -> tuple[Any, Any]:
    """Distance, m, and angle, rad, between poses (..., 4, 4)."""
    D = A[..., :3, :3] @ np.swapaxes(B[..., :3, :3], -1, -2)
    skew = np.stack(
        [D[..., 2, 1] - D[..., 1, 2], D[..., 0, 2] - D[..., 2, 0], D[..., 1, 0] - D[..., 0, 1]], axis=-1
    )
    angle = np.arctan2(0.5 * np.linalg.norm(skew, axis=-1), 0.5 * (np.trace(D, axis1=-2, axis2=-1) - 1.0))
    return np.linalg.norm(A[..., :3, 3] - B[..., :3, 3], axis=-1), angle


def assert_right(arm: fa.Arm, T: Floats, found: NumericSolution, tolerance: float = TOLERANCE) -> None:
    """Solved where it says so, by forward kinematics; its errors are those of its postures;
    all within the limits.
    """
    lower, upper = bounds(arm)
    assert (found.q >= lower).all()
    assert (found.q <= upper).all()
    distance, angle = apart(forward(arm, found.q), T)
    assert np.max(np.maximum(distance, angle)[found.solved], initial=0.0) <= tolerance
    assert np.abs(found.error[:, 0] - distance).max() < 1e-12
    assert np.abs(found.error[:, 1] - angle).max() < 1e-8  # series of the angle, and arctangents next to pi


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "puma560", "ur5", "stanford", "chain12"])
def test_hand_comes_where_it_was_asked_to(name: str) -> None:
    arm = loaded(name)
    T = reachable(arm, 1, 200)
    found = inverse_numeric(arm, T)
    assert_right(arm, T, found)
    assert np.mean(found.solved) >= FOUND


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, *long([1, 5, 8])])
def test_arms_of_every_kind(n: int) -> None:
    for arm in every_kind(3, n):
        T = reachable(arm, 2, 40)
        found = inverse_numeric(arm, T)
        assert_right(arm, T, found)
        assert np.mean(found.solved) >= FOUND


@pytest.mark.long
def test_every_link_of_a_tree_and_joints_that_do_not_move_it() -> None:
    arm = random_arm(4, 6, tree=True)
    for link in arm.links:
        T = forward(arm, posture(arm, 5, 20), link.name)
        found = inverse_numeric(arm, T, link=link.name)
        assert np.all(found.solved)
        distance, angle = apart(forward(arm, found.q, link.name), T)
        assert max(distance.max(), angle.max()) <= TOLERANCE
        still = np.abs(jacobian(arm, posture(arm, 6), link.name)).max(axis=0) == 0.0
        start = posture(arm, 7)
        assert (inverse_numeric(arm, T[0], link=link.name, start=start).q[still] == start[still]).all()


@pytest.mark.slow
def test_a_pose_has_the_same_bits_alone_in_a_batch_and_in_any_order() -> None:
    arm = loaded("panda")
    T = np.concatenate([reachable(arm, 4, 60), reachable(arm, 5, 3) + pose(p=(9.0, 0.0, 0.0)) - np.eye(4)])
    whole = inverse_numeric(arm, T)
    again = inverse_numeric(arm, T)
    order = np.random.default_rng(6).permutation(len(T))
    mixed = inverse_numeric(arm, T[order])
    for name in ("q", "solved", "error", "steps", "starts"):
        together = getattr(whole, name)
        assert np.array_equal(together, getattr(again, name))
        assert np.array_equal(together[order], getattr(mixed, name))
        alone = [getattr(inverse_numeric(arm, one), name) for one in T]
        assert np.array_equal(together, np.array(alone))
    start = posture(arm, 9)
    assert np.array_equal(
        inverse_numeric(arm, T, start=start).q, inverse_numeric(arm, T, start=np.tile(start, (len(T), 1))).q
    )


@pytest.mark.slow
def test_seed_chooses_starts_and_more_starts_only_go_on() -> None:
    arm = loaded("puma560")
    T = reachable(arm, 7, 300)
    few, many, other = (
        inverse_numeric(arm, T, starts=4),
        inverse_numeric(arm, T, starts=40),
        inverse_numeric(arm, T, seed=1),
    )
    enough = many.starts < 4  # of those the fourth start, or going on from the nearest, may have solved some
    assert np.array_equal(few.q[enough], many.q[enough])
    assert np.sum(many.solved) > np.sum(few.solved)
    assert not np.array_equal(other.q, inverse_numeric(arm, T).q)
    assert np.all(few.starts <= 4)


LENGTHS = (0.7, 0.45)


def planar(limits: list[tuple[float, float]] | None = None) -> fa.Arm:
    rows = [(length, 0.0, 0.0, 0.0) for length in LENGTHS]
    return fa.from_dh("planar", rows, convention="standard", limits=limits)


@pytest.mark.parametrize("limits", [None, [(-2.9, 2.9), (-2.9, 2.9)]])
def test_nearest_point_of_a_planar_arm(limits: list[tuple[float, float]] | None) -> None:
    """Too short it is for four points, and without limits it cannot fold far enough for two."""
    outside = [(1.15001, 0.3, 0.0), (1.3, -2.0, 0.4), (4.0, 2.7, -3.0), (40.0, 0.3, 0.4)]
    hole = [(0.2, -1.5, 0.0), (0.05, 2.0, 0.1)] if limits is None else []
    for radius, angle, height in outside + hole:
        T = pose(p=(radius * math.cos(angle), radius * math.sin(angle), height))
        found = inverse_numeric(planar(limits), T, position_only=True)
        off = max(radius - sum(LENGTHS), LENGTHS[0] - LENGTHS[1] - radius)
        assert not found.solved
        assert abs(found.error[0] - math.hypot(off, height)) < NEAREST
        assert np.isnan(found.error[1])
        assert "not solved" in found.message
        assert f"{found.error[0]:.3g} m away" in found.message


def test_fewer_joints_than_a_pose_has_freedoms() -> None:
    arm = planar()
    T = forward(arm, [0.4, -1.1])
    found = inverse_numeric(arm, T)
    assert found.solved  # of the two elbows the one with this rotation
    assert np.abs(np.cos(found.q - [0.4, -1.1]) - 1.0).max() < 1e-9
    tilted = T @ pose(rotation_rpy((0.2, 0.0, 0.0)))
    assert not inverse_numeric(arm, tilted).solved
    assert inverse_numeric(arm, tilted, position_only=True).solved


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "puma560", "chain7"])
def test_nearest_posture_is_a_minimum_within_the_limits(name: str) -> None:
    arm = loaded(name)
    lower, upper = bounds(arm)
    T = reachable(arm, 9, 4)
    T[:, :3, 3] *= 6.0
    found = inverse_numeric(arm, T)
    assert not np.any(found.solved)
    assert_right(arm, T, found)
    rng = np.random.default_rng(10)
    for q, wanted, error in zip(found.q, T, found.error, strict=True):
        around = np.clip(q + 1e-3 * rng.normal(size=(200, arm.n)), lower, upper)
        distance, angle = apart(forward(arm, around), np.broadcast_to(wanted, (200, 4, 4)))
        assert (distance**2 + angle**2).min() >= error @ error - 1e-9  # a slope of 1e-6 along such a step


@pytest.mark.slow
def test_singular_targets() -> None:
    """A stretched arm, where the Jacobian has a rank less and a step goes half the way."""
    for limits in (None, [(-2.9, 2.9), (-2.9, 2.9)]):
        arm = planar(limits)
        T = forward(arm, [0.8, 0.0])
        for found in (inverse_numeric(arm, T), inverse_numeric(arm, T, position_only=True, start=[0.1, 1.0])):
            assert found.solved
            assert apart(forward(arm, found.q), T)[0] <= TOLERANCE
    for name, q in (("ur5", [0.3, 0.4, 0.0, 0.2, 0.0, 0.1]), ("puma560", [0.2, 0.3, 1.0, 0.5, 0.0, -0.4])):
        arm = loaded(name)
        found = inverse_numeric(arm, forward(arm, q))
        assert found.solved
        assert max(apart(forward(arm, found.q), forward(arm, q))) <= TOLERANCE


def wheel(lower: float, upper: float) -> fa.Arm:
    return fa.from_dh("wheel", [(0.3, 0.0, 0.0, 0.0)], convention="standard", limits=[(lower, upper)])


@pytest.mark.slow
def test_a_joint_goes_round_the_other_way_where_its_limits_ask_for_it() -> None:
    arm = wheel(2.0, 5.0)
    T = forward(arm, [-2.0])
    assert inverse_numeric(arm, T, start=[2.1]).q == pytest.approx([math.tau - 2.0], abs=1e-8)
    assert inverse_numeric(arm, T, start=[-1.9]).q == pytest.approx([math.tau - 2.0], abs=1e-8)
    there = inverse_numeric(arm, T, start=[-2.0 - 5.0 * math.tau])  # already, but for some turns
    assert there.steps == 1
    assert there.q == pytest.approx([math.tau - 2.0], abs=1e-8)
    # the short way leads past both limits
    across = inverse_numeric(wheel(-2.9, 2.9), forward(arm, [-2.8]), start=[2.8])
    assert across.q == pytest.approx([-2.8], abs=1e-8)
    assert across.starts == 1
    free = inverse_numeric(arm, T, start=[-2.1], limits=False)
    assert free.q == pytest.approx([-2.0], abs=1e-8)
    at_limit = inverse_numeric(wheel(-1.0, 1.0), forward(arm, [1.0]))
    assert at_limit.solved
    assert at_limit.q[0] <= 1.0
    beyond = inverse_numeric(wheel(-1.0, 1.0), forward(arm, [1.5]))
    assert not beyond.solved
    assert beyond.q == pytest.approx([1.0])
    assert beyond.error == pytest.approx([0.6 * math.sin(0.25), 0.5])


def test_half_a_turn_is_never_taken_for_none() -> None:
    for away in (math.pi, math.pi - 1e-9, math.pi - 1e-4, math.pi - 1e-3, math.pi - 0.01, 3.0):
        turned = pose(rotation_rpy((away, 0.0, 0.0)))
        arm = fa.from_dh("short", [(0.0, 0.0, 0.0, 0.0)], convention="standard", limits=[(-0.1, 0.1)])
        found = inverse_numeric(arm, turned)
        assert not found.solved
        assert found.error[1] == pytest.approx(apart(forward(arm, found.q), turned)[1], abs=2e-5)
        assert found.error[1] > 2.9


@pytest.mark.slow
def test_limits_of_followers_hold() -> None:
    arm = random_arm(2, 4, mimic=True)
    T = reachable(arm, 3, 50)
    found = inverse_numeric(arm, T)
    assert_right(arm, T, found)
    for body in arm.moving.bodies:
        coordinate = body.multiplier * found.q[:, body.freedom] + body.offset
        assert (coordinate >= body.joint.limits.lower - 1e-12).all()
        assert (coordinate <= body.joint.limits.upper + 1e-12).all()
    body = next(b for b in arm.moving.bodies if b.joint.mimic)
    away = dataclasses.replace(body.joint, limits=fa.Limits(90.0, 91.0))
    broken = arm.replace(tree=tuple(away if j.name == away.name else j for j in arm.tree))
    with pytest.raises(fa.ModelError, match="has an empty range: its limits and those of joints that mimic"):
        inverse_numeric(broken, T)


def test_tolerance_and_steps_are_kept() -> None:
    arm = loaded("ur5")
    T = reachable(arm, 12, 100)
    rough, fine = inverse_numeric(arm, T, tolerance=1e-2), inverse_numeric(arm, T, tolerance=1e-12)
    assert_right(arm, T, rough, 1e-2)
    assert_right(arm, T, fine, 1.1e-12)  # forward kinematics in another order of operations
    assert np.mean(fine.solved) >= FOUND
    assert np.sum(rough.steps) < np.sum(fine.steps)
    short = inverse_numeric(arm, T, starts=1, most_steps=2)
    assert np.all(short.steps <= 2 + 4 * 2)  # of the start, and going on from the nearest
    assert not np.all(short.solved)
    assert "of 100 solved; for the others, first" in short.message


def test_nothing_to_solve() -> None:
    arm = loaded("puma560")
    none = inverse_numeric(arm, np.zeros((0, 4, 4)))
    assert none.q.shape == (0, 6)
    assert none.error.shape == (0, 2)
    fixed = random_arm(1, 0)
    T = forward(fixed, [])
    assert inverse_numeric(fixed, T).solved
    assert not inverse_numeric(fixed, T @ pose(p=(0.1, 0.0, 0.0))).solved


def test_a_rotation_with_few_digits_is_made_one() -> None:
    """What `inverse` takes is taken here, and poses beside it keep their bits."""
    arm = loaded("ur5")
    T = forward(arm, np.random.default_rng(9).uniform(-2.0, 2.0, (20, 6)))
    for digits in (9, 7, 6):
        short = np.round(T, digits)
        found = inverse_numeric(arm, short)
        closed = many(arm, short, limits=False)
        assert np.all(found.solved)
        assert (closed.valid == many(arm, T, limits=False).valid).all()
        first = np.array([q[valid][0] for q, valid in zip(closed.q, closed.valid, strict=True)])
        for q in (found.q, first):
            made = forward(arm, q)
            assert np.abs(made - T).max() < 2.0 * 10.0**-digits
            square = made[:, :3, :3] @ np.swapaxes(made[:, :3, :3], 1, 2)
            assert np.abs(square - np.eye(3)).max() < 1e-14
        assert np.array_equal(inverse_numeric(arm, short[3]).q, found.q[3])
    mixed, kept = T.copy(), np.arange(20) != 4
    mixed[4] = short[4]
    assert np.array_equal(inverse_numeric(arm, mixed).q[kept], inverse_numeric(arm, T).q[kept])
    for solver in (inverse_numeric, fa.kinematics.inverse):
        with pytest.raises(fa.InputError, match=r"T\[0\]: the upper left 3x3 must be a rotation"):
            solver(arm, np.round(T, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"T": pose(p=(1e31, 0.0, 0.0))}, r"finite and below 1e\+30"),
        ({"start": [0.0]}, "has 6 joints"),
        ({"start": [[0.0] * 6] * 2}, "one configuration"),
        ({"start": [np.nan] * 6}, "row 0 is not"),
        ({"starts": 0}, f"starts: expected a whole number from 1 to {MOST_STARTS}"),
        ({"seed": -1}, "seed: expected a whole number from 0"),
        ({"most_steps": 1.5}, "most_steps: expected a whole number"),
        ({"limits": 1}, "limits: expected true or false"),
        ({"link": "elbow of nobody"}, "link"),
        ({"tolerance": 1e-15}, "tolerance: must be at least 1e-12"),
        ({"arm": "chain300"}, "at most 200 are supported"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"T": np.eye(4)} | options
    with pytest.raises(fa.ForearmError, match=message):
        inverse_numeric(loaded(given.pop("arm", "puma560")), **given)
