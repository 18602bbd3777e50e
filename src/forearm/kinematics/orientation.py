"""Orientation of the hand in common forms, conversion to and from its rotation matrix, and rates. Waters II.

R = R_base_hand: its columns are the hand's axes in the base frame. Angular velocities are in base axes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.kinematics import angles as formula
from forearm.spatial import Floats
from forearm.values import as_floats, as_shape, chosen, frozen

ORTHONORMAL = 1e-9  # tolerance of R R^T from 1
UNIT = 1e-3  # tolerance of a quaternion's length from 1: passes values rounded to four digits


@frozen
class Form:
    """One form: shape and names of its values, which are angles, and the conversions between it, R and w."""

    shape: tuple[int, ...]
    names: tuple[str, ...]
    angles: bool
    of_matrix: Callable[[Floats], Floats]
    to_matrix: Callable[[Floats], Floats]
    rates: Callable[[Floats, Floats], Floats]
    spin: Callable[[Floats, Floats], Floats]


def orientation_forms() -> tuple[str, ...]:
    """The names of the forms.

    matrix: R itself, (..., 3, 3).
    waters: x, y, z: x is the angle from Y_0 to the hand's Y axis as seen along X_0 (the hand's axis projected
    onto the plane across X_0), y from Z_0 to Z_H about Y_0, z from X_0 to X_H about Z_0. Three angles define
    a unique rotation if and only if cos x cos y cos z + sin x sin y sin z > 0. If a projection vanishes its
    angle is 0, and the three do not determine R. They are not successive rotations. Waters II.
    rpy: roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF; roll is 0 at pitch +-pi/2.
    zyz: a, b, c with R = Rz(a) Ry(b) Rz(c), b in [0, pi]; a is 0 at b = 0 and pi. Mata 5.2.
    quaternion_wxyz, quaternion_xyzw: unit length, w >= 0; for a half turn the first nonzero of x, y, z is
    positive. rotation_vector: axis times angle in [0, pi], the axis of a half turn as for quaternions.
    """
    return tuple(FORMS)


def orientation_of(R: ArrayLike, form: str) -> Floats:
    """Convert a rotation matrix to another form: (..., 3), for quaternions (..., 4). NaN propagates.

    Args:
        R: rotation matrix (..., 3, 3).
        form: one of `orientation_forms()`.
    """
    return _form(form).of_matrix(_matrices(R))


def rotation_from(values: ArrayLike, form: str) -> Floats:
    """The rotation matrix (..., 3, 3) of an orientation; NaN if three Waters angles define no rotation.

    Args:
        values: its values in that form, (..., 3), (..., 4) or (..., 3, 3); angles in rad.
        form: one of `orientation_forms()`.
    """
    return _form(form).to_matrix(_values(values, form))


def orientation_rates(values: ArrayLike, w: ArrayLike, form: str) -> Floats:
    """The time derivative of an orientation, with the shape of `values`.

    NaN where the rate is singular: rpy at pitch +-pi/2, zyz at b = 0 and pi, Waters angles where an angle is
    undefined. A rotation vector has finite rates except at whole turns.

    Args:
        values: its values in that form.
        w: angular velocity (..., 3), base axes, rad/s.
        form: one of `orientation_forms()`.
    """
    given = _values(values, form)
    return _form(form).rates(given, _vectors(w, given, form))


def angular_velocity(values: ArrayLike, rates: ArrayLike, form: str) -> Floats:
    """The angular velocity (..., 3), base axes, of a changing orientation; inverse of `orientation_rates`.

    Args:
        values: its values in that form.
        rates: their time derivatives, of the same shape.
        form: one of `orientation_forms()`.
    """
    given = _values(values, form)
    return _form(form).spin(given, as_shape(rates, given.shape, "rates"))


def _form(name: str) -> Form:
    return chosen(FORMS, name, "form of orientation")


def _matrices(R: ArrayLike) -> Floats:
    given = as_floats(R, "R")
    if given.shape[-2:] != (3, 3):
        raise InputError(
            f"expected rotation matrices of shape (..., 3, 3), got {given.shape}. For a pose "
            "T use T[..., :3, :3].",
            "R",
        )
    given[~np.isfinite(given).all(axis=(-2, -1))] = np.nan
    off = np.abs(given @ np.swapaxes(given, -1, -2) - np.eye(3)).max(axis=(-2, -1), initial=0.0)
    if (off > ORTHONORMAL).any() or (formula.determinant(given) < 0.0).any():
        raise InputError(
            f"expected a right-handed rotation matrix, orthonormal to {ORTHONORMAL:g}; "
            "orthonormalise it first.",
            "R",
        )
    return given


def _values(values: ArrayLike, name: str) -> Floats:
    form = _form(name)
    if name == "matrix":
        return _matrices(values)
    given = as_floats(values, name)
    if given.shape[-1:] != form.shape:
        raise InputError(
            f"expected {form.shape[0]} values ({', '.join(form.names)}), got shape {given.shape}.", name
        )
    given[~np.isfinite(given).all(axis=-1)] = np.nan
    if form.shape == (4,) and (np.abs(np.linalg.norm(given, axis=-1) - 1.0) > UNIT).any():
        raise InputError(f"expected a unit quaternion, to {UNIT:g}; normalise it.", name)
    return given


def _vectors(w: ArrayLike, values: Floats, name: str) -> Floats:
    given = as_shape(w, (*values.shape[: values.ndim - len(_form(name).shape)], 3), "w")
    given[~np.isfinite(given)] = np.nan
    return given


def _solved(E: Floats, b: Floats) -> Floats:
    """Solve E x = b, NaN if E is singular."""
    regular = np.abs(formula.determinant(E)) > formula.ROUNDING  # also False for NaN
    x = np.linalg.solve(np.where(regular[..., None, None], E, np.eye(3)), b[..., None])[..., 0]
    return np.where(regular[..., None], x, np.nan)


def _times(E: Floats, x: Floats) -> Floats:
    product: Floats = np.einsum("...ij,...j->...i", E, x)
    return product


def _by_axes(
    names: tuple[str, str, str],
    of: Callable[[Floats], Floats],
    to: Callable[[Floats], Floats],
    E: Callable[[Floats], Floats],
) -> Form:
    """A form of three values with w = E(values) rates."""
    return Form(
        (3,),
        names,
        True,
        of,
        to,
        rates=lambda values, w: _solved(E(values), w),
        spin=lambda values, rates: _times(E(values), rates),
    )


def _quaternion_rates(q: Floats, w: Floats) -> Floats:
    """q' = (0, w) q / 2, order w, x, y, z."""
    scalar = -np.einsum("...i,...i->...", w, q[..., 1:])[..., None]
    return 0.5 * np.concatenate([scalar, q[..., :1] * w + np.cross(w, q[..., 1:])], axis=-1)


def _quaternion_spin(q: Floats, rates: Floats) -> Floats:
    """w = 2 q' q*, the vector part; a change of the length does not rotate."""
    return 2.0 * (
        q[..., :1] * rates[..., 1:] - rates[..., :1] * q[..., 1:] - np.cross(rates[..., 1:], q[..., 1:])
    )


def _last_first(q: Floats) -> Floats:
    return np.roll(q, 1, axis=-1)


def _first_last(q: Floats) -> Floats:
    return np.roll(q, -1, axis=-1)


FORMS = {
    "matrix": Form(
        (3, 3),
        ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"),
        False,
        lambda R: R,
        lambda R: R,
        rates=lambda R, w: formula.cross_matrix(w) @ R,
        spin=lambda R, rates: formula.axis_of(rates @ np.swapaxes(R, -1, -2)),
    ),
    "waters": Form(
        (3,),
        ("x", "y", "z"),
        True,
        formula.waters_of_matrix,
        formula.matrix_of_waters,
        rates=lambda values, w: _times(formula.slopes_of_waters(formula.matrix_of_waters(values)), w),
        spin=lambda values, rates: _solved(formula.slopes_of_waters(formula.matrix_of_waters(values)), rates),
    ),
    "rpy": _by_axes(
        ("roll", "pitch", "yaw"), formula.rpy_of_matrix, formula.matrix_of_rpy, formula.axes_of_rpy
    ),
    "zyz": _by_axes(("a", "b", "c"), formula.zyz_of_matrix, formula.matrix_of_zyz, formula.axes_of_zyz),
    "quaternion_wxyz": Form(
        (4,),
        ("w", "x", "y", "z"),
        False,
        formula.quaternion_of_matrix,
        formula.matrix_of_quaternion,
        rates=_quaternion_rates,
        spin=_quaternion_spin,
    ),
    "quaternion_xyzw": Form(
        (4,),
        ("x", "y", "z", "w"),
        False,
        lambda R: _first_last(formula.quaternion_of_matrix(R)),
        lambda q: formula.matrix_of_quaternion(_last_first(q)),
        rates=lambda q, w: _first_last(_quaternion_rates(_last_first(q), w)),
        spin=lambda q, rates: _quaternion_spin(_last_first(q), _last_first(rates)),
    ),
    "rotation_vector": _by_axes(
        ("x", "y", "z"), formula.vector_of_matrix, formula.matrix_of_vector, formula.spin_of_vector
    ),
}
