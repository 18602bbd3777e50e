"""Checked arguments: coordinates and states of an arm, and poses, whose rotations are orthonormalised to
machine precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.spatial import Flags, Floats
from forearm.values import LARGEST, as_floats, broadcast_states, is_number

# Tolerance of R^T R from 1, for rotations given with six decimals; they are then orthonormalised.
ORTHONORMAL = 1e-5
EXACT = 1e-12  # norm of a pose's deviation below which it is used as given
LAST_ROW = (0.0, 0.0, 0.0, 1.0)


def as_coordinates(arm: Arm, q: ArrayLike, name: str = "q") -> Floats:
    """q as float64 of shape (n,) or (B, n), or an error with the given shape; infinite values become NaN."""
    check_arm(arm, "arm")
    coordinates = as_floats(q, name)
    coordinates[np.isinf(coordinates)] = np.nan
    if coordinates.ndim not in (1, 2) or coordinates.shape[-1] != arm.n:
        raise InputError(
            f"{arm.name!r} has {arm.n} joints, expected shape ({arm.n},) or (B, {arm.n}), got "
            f"{coordinates.shape}.",
            name,
        )
    return coordinates


def states_of(arm: Arm, **given: ArrayLike) -> list[Floats]:
    """The arguments as float64 of one shape, (n,) or (B, n), by NumPy broadcasting; all but the first may be
    scalars.
    """
    states: dict[str, Floats] = {}
    for name, value in given.items():
        if states and (is_number(value) or (isinstance(value, np.ndarray) and value.ndim == 0)):
            value = np.full(arm.n, value)
        states[name] = as_coordinates(arm, value, name)
    return [np.array(state) for state in broadcast_states(states, [arm.n] * len(states))]


def one_state(arm: Arm, what: str, **given: ArrayLike) -> list[Floats]:
    """The arguments of `what`, which accepts a single state, as float64 of shape (n,)."""
    states = states_of(arm, **given)
    if states[0].ndim != 1:
        raise InputError(f"expected one state of shape ({arm.n},), got {states[0].shape}.", what)
    return states


def as_poses(T: ArrayLike, what: str = "T") -> tuple[Floats, bool]:
    """Poses (B, 4, 4) from one or many, orthonormalised to machine precision, and whether a single one was
    given.
    """
    poses = as_floats(T, what)
    if poses.ndim not in (2, 3) or poses.shape[-2:] != (4, 4):
        raise InputError(
            f"expected a pose of shape (4, 4) or poses of shape (B, 4, 4), got {poses.shape}.", what
        )
    single = poses.ndim == 2
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite values are refused below
        exact = _is_exact(poses.tolist() if single else poses.transpose(1, 2, 0))
    poses = poses.reshape(-1, 4, 4)
    if np.all(exact):
        return poses, single

    def refuse(bad: Flags, reason: str) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            place = what if single else f"{what}[{at}]"
            raise InputError(f"{reason}; got {shorten(poses[at].tolist(), 200)}.", place)

    flat = poses.reshape(-1, 16)
    refuse(
        np.asarray(~(np.abs(flat) < LARGEST).all(axis=1)), f"all entries must be finite and below {LARGEST:g}"
    )
    refuse(
        np.asarray((np.abs(flat[:, 12:] - LAST_ROW) > 1e-12).any(axis=1)),
        "the last row of a pose must be 0 0 0 1",
    )
    R = poses[:, :3, :3]
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(1, 2))
    worst = float(off[np.argmax(off > ORTHONORMAL)]) if len(off) else 0.0
    refuse(
        off > ORTHONORMAL,
        f"the upper left 3x3 must be a rotation, its columns of length 1 and at right angles "
        f"to {ORTHONORMAL:g} (off by {worst:.2g}); orthonormalise it first",
    )
    refuse(
        np.linalg.det(R) < 0.0,
        "the upper left 3x3 is a reflection; a rotation has determinant 1, so reverse one axis",
    )
    # Only deviating poses are changed, so that no result depends on the other poses.
    poses[:, :3, :3] = np.where(np.reshape(exact, (-1, 1, 1)), R, nearer_rotation(nearer_rotation(R)))
    return poses, single


def _is_exact(rows: Any) -> Any:
    """Whether four rows of four values, or arrays, are poses up to rounding: R R^T = 1, 0 0 0 1, det R."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), (r, s, t, u) = rows
    wrong = [a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0]
    wrong += [a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i, r, s, t, u - 1.0]
    squares = sum(w * w for w in wrong)
    right_handed = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0
    return (squares <= EXACT * EXACT) & right_handed & (abs(x) + abs(y) + abs(z) <= LARGEST)


def nearer_rotation(R: Floats) -> Floats:
    """R (3 - R^T R) / 2 of (..., 3, 3): squares the deviation from a rotation."""
    return 0.5 * R @ (3.0 * np.eye(3) - np.swapaxes(R, -1, -2) @ R)
