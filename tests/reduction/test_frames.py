"""The chain in its frames, nothing regrouped, is the arm: torques, matrices, energies, hand;
and its steps have two entries.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import STYLES, every_kind, random_arm
from codegen.truths import assert_close
from dynamics.cases import awkward_states, random_state
from reduction.cases import (
    GRAVITIES,
    assert_same_dynamics,
    chain_for,
    dynamics_of,
    hand_of,
    nearly_parallel,
    reference,
    special_geometry,
    with_gravity,
)

import forearm as fa
from forearm import Arm
from forearm.reduction.chain import NO_TURN, QUARTERS, about_x, about_z, back, cos_sin_of, moments, moved
from forearm.reduction.plan import planned
from forearm.spatial import rotation_rpy, rotation_x, rotation_z

SPECIAL = special_geometry()
EVERY = {
    f"seed {seed}, n{n}, {k}": arm
    for seed, n in enumerate((1, 2, 5))
    for k, arm in enumerate(every_kind(seed, n))
}
BUILT_IN = [name for name in fa.arms() if not name.startswith("chain")]
# Where two axes cross at a small angle their common normal is found with 1e-16 / angle:
# no zero is left in its place.
CROSSING = 0.1


def assert_is(arm: Arm, tolerance: float = 1e-12) -> None:
    """The plain chain says of random states what the reference says, of the hand too."""
    chain = chain_for(arm)
    for seed in (1, 2):
        state = random_state(arm, seed)
        truth = reference(arm, state)
        for name, value in (dynamics_of(chain, state) | hand_of(chain, state)).items():
            assert_close(value, truth[name], tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_kind_of_arm(name: str) -> None:
    assert_is(EVERY[name].rigid())


@pytest.mark.parametrize("name", SPECIAL)
def test_special_geometry(name: str) -> None:
    assert_is(SPECIAL[name])


@pytest.mark.parametrize("gravity", GRAVITIES)
def test_gravity(gravity: str) -> None:
    for name in ("parallel", "first two vertical", "PRP", "PPP", "gantry and wrist"):
        assert_is(with_gravity(SPECIAL[name], GRAVITIES[gravity]))
    assert_is(with_gravity(random_arm(6, 4, "frames", tree=True, mimic=True).rigid(), GRAVITIES[gravity]))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_arms_where_things_break(name: str) -> None:
    arm = fa.load(name).rigid()
    chain = chain_for(arm)
    for state in awkward_states(arm).values():
        truth = reference(arm, state)
        for what, value in (dynamics_of(chain, state) | hand_of(chain, state)).items():
            assert_close(value, truth[what])


@pytest.mark.parametrize("angle", [0.3, 1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-14])
def test_nearly_parallel_axes_and_those_whose_common_normal_is_far_away(angle: float) -> None:
    """A URDF that writes 1.570796 for a right angle has such axes:
    the origins must not go to where the normals are.
    """
    assert_is(nearly_parallel(angle, skewed=False))
    arm = nearly_parallel(angle, skewed=True)
    assert_is(arm)
    assert_same_dynamics(planned(chain_for(arm)), arm, seeds=(3,))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("style", STYLES)
def test_steps_of_a_chain_of_turning_joints_have_two_entries(style: str, seed: int) -> None:
    arm = random_arm(seed, 6, style, prismatic=False, fixed=seed % 2 == 0).rigid()  # type: ignore[arg-type]
    for s in chain_for(arm).segments[1:]:
        assert abs(s.alpha[1]) > CROSSING, "choose another seed"
        assert s.l[1] == 0.0
        assert s.phi == NO_TURN


@pytest.mark.parametrize("name", BUILT_IN)
def test_steps_of_built_in_arms_have_two_entries(name: str) -> None:
    segments = chain_for(fa.load(name)).segments
    turning = [
        s for i, s in enumerate(segments) if s.revolute and any(before.revolute for before in segments[:i])
    ]
    assert turning
    assert all(s.l[1] == 0.0 and s.phi == NO_TURN for s in turning)


def test_right_angles_and_parallel_axes_leave_zeros_and_ones() -> None:
    for s in chain_for(fa.load("puma560-akb")).segments:
        assert set(s.alpha) <= {0.0, 1.0, -1.0}
        assert s.alpha[0] ** 2 + s.alpha[1] ** 2 == 1.0
    runs = chain_for(fa.load("puma560-akb")).runs()
    assert runs == [0, 1, 1, 3, 4, 5]  # joints 2 and 3 are parallel
    assert chain_for(fa.load("ur5")).runs() == [0, 1, 1, 1, 4, 5]


def test_axes_of_turning_segments_are_their_z_and_sliding_ones_keep_their_parents_axes() -> None:
    for arm in SPECIAL.values():
        for s in chain_for(arm).segments:
            if s.revolute:
                assert s.axis.tolist() == [0.0, 0.0, 1.0]
            else:
                assert (s.phi, s.alpha) == (NO_TURN, NO_TURN)
                assert np.linalg.norm(s.axis) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("quarter", [-5, -1, 0, 1, 2, 3])
def test_turns_are_rotations_and_quarters_only_exchange_cosine_and_sine(quarter: int) -> None:
    c, s = math.cos(0.7), math.sin(0.7)
    (turned_c, turned_s), (c0, s0) = cos_sin_of(0.7, quarter * math.pi / 2.0), QUARTERS[quarter % 4]
    assert (turned_c, turned_s) == (c * c0 - s * s0, s * c0 + c * s0)
    assert {abs(turned_c), abs(turned_s)} == {abs(c), abs(s)}
    assert turned_c == pytest.approx(math.cos(0.7 + quarter * math.pi / 2.0), abs=1e-15)
    assert turned_s == pytest.approx(math.sin(0.7 + quarter * math.pi / 2.0), abs=1e-15)
    v, pair = np.array([0.3, -0.7, 1.1]), (turned_c, turned_s)
    angle = 0.7 + quarter * math.pi / 2.0
    np.testing.assert_allclose(about_z(pair, v), rotation_z(angle) @ v, atol=1e-14)
    np.testing.assert_allclose(about_x(pair, v), rotation_x(angle) @ v, atol=1e-14)
    np.testing.assert_allclose(about_z(back(pair), about_z(pair, v)), v, atol=1e-15)


def test_moments_of_points() -> None:
    """Mass, first and second moments of some points, summed point by point,
    before and after a motion of the frame.
    """
    rng = np.random.default_rng(2)
    masses, points = rng.uniform(0.5, 2.0, 7), rng.normal(size=(7, 3))
    m = float(masses.sum())
    r = masses @ points / m
    around = points - r
    inertia = sum(mass * (x @ x * np.eye(3) - np.outer(x, x)) for mass, x in zip(masses, around, strict=True))
    R, p = rotation_rpy((0.3, 0.5, -0.9)), np.array([0.4, -0.2, 0.8])
    there = points @ R.T + p
    for (_, h, J), at in ((moments(m, r, inertia), points), (moved(*moments(m, r, inertia), R, p), there)):
        np.testing.assert_allclose(h, masses @ at, atol=1e-13)
        np.testing.assert_allclose(J, np.einsum("k,ki,kj->ij", masses, at, at), atol=1e-13)
