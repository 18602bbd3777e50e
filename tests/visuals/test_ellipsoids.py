"""Inertia as an ellipsoid: the ellipsoid's own inertia is the one that was given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from nearness import assert_near
from refusals import refused

from forearm.spatial import rotation_rpy
from forearm.visuals import ellipsoid
from forearm.visuals.ellipsoids import principal_axes

R = rotation_rpy((0.3, -0.8, 1.9))


def test_the_solid_of_these_radii_has_the_inertia() -> None:
    mass, radii = 3.7, np.array([0.11, 0.23, 0.42])
    second = mass / 5 * radii**2
    inertia = R @ np.diag(second.sum() - second) @ R.T
    found = ellipsoid(mass, inertia)
    assert found is not None
    np.testing.assert_allclose(found.radii, radii, rtol=1e-12)
    np.testing.assert_allclose(
        found.rotation @ np.diag(radii**2) @ found.rotation.T, R @ np.diag(radii**2) @ R.T
    )
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_principal_axes_are_those_of_lapack(seed: int) -> None:
    """Random tensors, two equal values, three equal values, and sizes far from 1."""
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-1, 2, 3), np.array([1.0, 1.0, 3.0]), np.full(3, 0.7)][seed % 3] * 10.0 ** (
        4 * seed - 14
    )
    R = rotation_rpy(rng.uniform(-3, 3, 3))
    J = R @ np.diag(values) @ R.T
    J = 0.5 * (J + J.T)
    found, axes = principal_axes(J)
    size = np.abs(values).max()
    assert_near(found, np.linalg.eigvalsh(J), 1e-14 * size)
    assert_near(axes @ np.diag(found) @ axes.T, J, 1e-14 * size)
    assert_near(axes @ axes.T, np.eye(3), 1e-14)
    assert np.linalg.det(axes) > 0.0


def test_axes_that_are_free_are_those_of_the_frame() -> None:
    _, axes = principal_axes(np.diag([2.0, 1.0, 1.0]))
    assert {tuple(column) for column in np.abs(axes).T.tolist()} == {tuple(row) for row in np.eye(3).tolist()}
    assert np.array_equal(principal_axes(np.zeros((3, 3)))[1], np.eye(3))


def test_moments_that_no_body_has_are_clipped() -> None:
    found = ellipsoid(2.0, np.diag([1.0, 2.0, 5.0]))  # 1 + 2 < 5
    assert found is not None
    assert found.radii[0] == 0.0
    assert found.radii[1:] == pytest.approx([math.sqrt(5 / 2 * 2), math.sqrt(5 / 2 * 3)])


def test_nothing_without_mass_or_extent() -> None:
    assert ellipsoid(0.0, np.eye(3)) is None
    assert ellipsoid(1.0, np.zeros((3, 3))) is None
    with refused("InputError.*ellipsoid, inertia"):
        ellipsoid(1.0, np.eye(2))
