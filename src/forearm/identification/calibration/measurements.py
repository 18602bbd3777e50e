"""Measured poses or points of the hand with joint coordinates: checked arrays or files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kinematics.poses import forward
from forearm.spatial import Floats
from forearm.values import as_floats, frozen

MOST_ROWS = 20_000
TURN = 2.0 * math.pi
MANY_TURNS = 4.0  # a larger value of a joint without limits looks like degrees
ORTHONORMAL = 0.02  # tolerance of R^T R from 1 in a measured rotation, which is then orthonormalised
FAR = 100.0  # times the reach of the arm: millimetres are 1000 times


@frozen
class Measurements:
    """Joint coordinates and the hand poses or points measured there.

    Attributes:
        q: (B, n), rad (m).
        poses: (B, 4, 4), of the hand in the device's frame; None if points were measured.
        points: (B, 3), m; None if poses were measured.
        rows: the number of each row in its source (B,).
        name: of the file, for messages.
        findings: sentences on excluded rows.
        columns: names of the columns of q (n,), for messages.
    """

    q: Floats
    poses: Floats | None
    points: Floats | None
    rows: NDArray[np.intp]
    name: str
    findings: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def positions(self) -> Floats:
        """Measured positions of the hand or its point (B, 3)."""
        return self.poses[:, :3, 3] if self.poses is not None else np.asarray(self.points)


def measurements_of(
    arm: Arm, q: ArrayLike, poses: ArrayLike | None, points: ArrayLike | None
) -> Measurements:
    """Arrays as measurements; rows with NaN or infinite values are excluded and reported."""
    check_arm(arm, "calibrate, arm", moves=True)
    if (poses is None) == (points is None):
        raise InputError("expected poses (B, 4, 4) of the hand or points (B, 3), not both.", "calibrate")
    what, given, shape = ("poses", poses, (4, 4)) if points is None else ("points", points, (3,))
    assert given is not None
    joints, seen = as_floats(q, "calibrate, q"), as_floats(given, f"calibrate, {what}")
    if joints.ndim != 2 or joints.shape[1] != arm.n:
        raise InputError(
            f"{arm.name!r} has {arm.n} joints, expected (B, {arm.n}), got {joints.shape}.", "calibrate", "q"
        )
    if seen.shape != (len(joints), *shape):
        expected = (len(joints), *shape)
        raise InputError(
            f"expected shape {expected} for q {joints.shape}, got {seen.shape}.", "calibrate", what
        )
    if not len(joints):
        raise InputError("no rows; measure the hand at several configurations.", "calibrate", what)
    found = Measurements(
        joints,
        seen if what == "poses" else None,
        seen if what == "points" else None,
        np.arange(len(joints)),
        what,
    )
    return checked(arm, found, [f"q[:, {i}]" for i in range(arm.n)], array_columns(what))


def array_columns(what: str) -> list[str]:
    """Names of the position columns of arrays, for messages."""
    return [f"poses[:, {i}, 3]" if what == "poses" else f"points[:, {i}]" for i in range(3)]


def checked(
    arm: Arm, found: Measurements, q_columns: Sequence[str], columns: Sequence[str], asked: Sequence[str] = ()
) -> Measurements:
    """Exclude rows with NaN or infinite values and orthonormalise rotations; refuse values whose units look
    wrong unless these units were `asked` for.
    """
    seen = found.poses if found.poses is not None else np.asarray(found.points)
    good = np.isfinite(found.q).all(axis=1) & np.isfinite(seen).reshape(len(seen), -1).all(axis=1)
    findings = list(found.findings)
    if not good.all():
        findings.append(
            f"{found.name}: {_rows_in_words(found.rows[~good])} excluded: NaN or infinite values."
        )
    if not good.any():
        raise InputError("no usable row; every row has a NaN or infinite value.", found.name)
    q, seen, rows = found.q[good], seen[good], found.rows[good]
    if len(q) > MOST_ROWS:
        raise InputError(
            f"{len(q)} rows; at most {MOST_ROWS} are allowed, a few hundred are plenty.", found.name
        )
    if "angles" not in asked:
        _ask_about_degrees(arm, q, found.name, q_columns, rows)
    poses = _as_rotations(seen, found.name, rows) if found.poses is not None else None
    points = seen if poses is None else None
    made = Measurements(q, poses, points, rows, found.name, tuple(findings), tuple(q_columns))
    if "lengths" not in asked:
        _ask_about_millimetres(arm, made, columns)
    return made


def _as_rotations(poses: Floats, name: str, rows: NDArray[np.intp]) -> Floats:
    R = poses[:, :3, :3]
    off = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
    last = np.abs(poses[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1)
    for k in np.flatnonzero((off > ORTHONORMAL) | (np.linalg.det(R) < 0.0) | (last > 1e-9)):
        raise InputError(
            f"row {rows[k]} is not a pose: the upper left 3x3 must be a rotation (error "
            f"{off[k]:.2g}, at most {ORTHONORMAL:g}), the last row must be 0 0 0 1.",
            name,
        )
    made = poses.copy()
    U, _, Vt = np.linalg.svd(R)
    made[:, :3, :3] = U @ Vt
    return made


def _ask_about_degrees(
    arm: Arm, q: Floats, name: str, columns: Sequence[str], rows: NDArray[np.intp]
) -> None:
    for i, joint in enumerate(arm.joints):
        at = int(np.argmax(np.abs(q[:, i])))
        worst, (low, high) = float(q[at, i]), joint.limits
        beyond = abs(worst) > TURN and not low <= worst <= high
        if joint.kind == "revolute" and (beyond or abs(worst) > MANY_TURNS * TURN):
            raise InputError(
                f"column {columns[i]} ({joint.name}) is {worst:.6g} in row {rows[at]}, more "
                f"than a turn and beyond its limits, {low:.4g} to {high:.4g} rad. Are these "
                "degrees? Divide by 57.29578, or for a file set units to deg, or to rad if "
                "the values are right (--units deg).",
                name,
            )


def _ask_about_millimetres(arm: Arm, found: Measurements, columns: Sequence[str]) -> None:
    if len(found.q) < 2:
        return
    reached, at = forward(arm, found.q)[:, :3, 3], found.positions
    size = max(float(np.median(np.linalg.norm(reached, axis=1))), float(np.ptp(reached, axis=0).max()), 1e-9)
    spread = np.median(np.abs(at - np.median(at, axis=0)), axis=0)
    k = int(np.argmax(spread))
    if spread[k] > 0.1 * FAR * size:
        raise InputError(
            f"column {columns[k]} spans {spread[k]:.4g} m, but the arm reaches only {size:.3g}"
            " m. Are these millimetres? Divide by 1000, or for a file set units to mm, or to "
            "m if the values are right (--units mm).",
            found.name,
        )


def _rows_in_words(rows: NDArray[np.intp]) -> str:
    shown = ", ".join(str(row) for row in rows[:8]) + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")
    return f"row {shown} is" if len(rows) == 1 else f"rows {shown} are"
