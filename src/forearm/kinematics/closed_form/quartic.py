"""Joint 3 of three general axes: the quartic, over arrays of many poses at once. Pieper 1968.

For a revolute joint, E is a trigonometric polynomial of degree two: five samples give its coefficients, and
with z = e^(ix) it is a quartic whose roots on the unit circle are the angles. Roots are eigenvalues of the
companion matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.kinematics.closed_form.geometry import Position
from forearm.kinematics.closed_form.joint3 import NOTHING, Equation, equation, slid
from forearm.kinematics.closed_form.linear import Scalar
from forearm.kinematics.closed_form.subproblems import Turn, both_turns
from forearm.spatial import Floats


def third_joint_quartic(position: Position, px: Scalar, py: Scalar, pz: Scalar) -> list[Turn]:
    """Four candidates for joint 3, sorted; complex roots are represented by their angle or real part, and
    fail verification.
    """
    E = equation(position, *(np.atleast_1d(np.asarray(v, dtype=float)) for v in (px, py, pz)))
    return turns_of(E) if position.revolute[2] else [slid(position, x) for x in slides_of(E)]


def turns_of(E: Equation) -> list[Turn]:
    """The angles with E = 0."""
    samples = 2.0 * np.pi / 5.0 * np.arange(5.0)
    parts = np.array([np.ones(5), np.cos(samples), np.sin(samples)])
    squares = (weight * _at(form, parts) ** 2 for weight, form in E.squares)
    values = sum(squares, _at(E.rest, parts))
    waves = np.exp(-1j * np.outer(samples, np.arange(-2.0, 3.0))) / 5.0
    coefficients = values @ waves  # of z^-2 ... z^2
    largest = np.abs(coefficients).max()
    if np.abs(coefficients[..., 4]).max() < NOTHING * largest:
        first = coefficients[..., 3]
        return list(both_turns(2.0 * first.real, -2.0 * first.imag, -coefficients[..., 2].real))
    angles = np.sort(np.angle(quartic_roots(coefficients)), axis=-1)
    return [Turn(x, np.cos(x), np.sin(x)) for x in np.moveaxis(angles, -1, 0)]


def slides_of(E: Equation) -> list[Floats]:
    """The displacements with E = 0, as the real parts of the roots."""
    coefficients: Any = 0.0
    for weight, (k0, k1, k2) in E.squares:
        k0 = np.asarray(k0, dtype=float)
        one = np.ones_like(k0)
        powers = [k0 * k0, 2.0 * k0 * k1, 2.0 * k0 * k2 + k1 * k1 * one, 2.0 * k1 * k2 * one, k2 * k2 * one]
        coefficients = coefficients + weight * np.stack(np.broadcast_arrays(*powers), axis=-1)
    k0, k1, k2 = E.rest
    coefficients = coefficients + np.stack(np.broadcast_arrays(k0, k1, k2, 0.0, 0.0), axis=-1)
    return list(np.moveaxis(np.sort(quartic_roots(coefficients).real, axis=-1), -1, 0))


def quartic_roots(coefficients: NDArray[Any]) -> NDArray[np.complex128]:
    """The roots (B, 4) of quartics with coefficients (B, 5), constant first; NaN if they are not finite."""
    finite = np.isfinite(coefficients).all(axis=-1)
    safe = np.where(finite[..., None], coefficients, [1.0, 0.0, 0.0, 0.0, 1.0])
    companion = np.zeros((*safe.shape[:-1], 4, 4), dtype=complex)
    companion[..., [1, 2, 3], [0, 1, 2]] = 1.0
    companion[..., :, 3] = -safe[..., :4] / safe[..., 4:]
    roots = np.asarray(np.linalg.eigvals(companion), dtype=np.complex128)
    return np.where(finite[..., None], roots, np.nan)


def _at(form: tuple[Scalar, float, float], parts: Floats) -> Floats:
    """The form at every sample, (B, 5)."""
    made: Floats = np.asarray(form[0], dtype=float)[..., None] + form[1] * parts[1] + form[2] * parts[2]
    return made
