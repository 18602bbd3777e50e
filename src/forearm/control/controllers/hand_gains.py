"""Parameters of operational-space laws: controlled directions, apparent inertia, and the posture of redundant
joints.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import check_arm
from forearm.control.controllers.hand_inertia import AXES, HandInertia, HandTask
from forearm.control.gains import critically_damped
from forearm.control.options import NEAR, HandOptions
from forearm.dynamics.reference import inertia_matrix
from forearm.errors import InputError, shorten
from forearm.kinematics.arguments import one_state
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.limits import limits_of, middle
from forearm.spatial import Floats
from forearm.values import as_floats, frozen_array

MARGIN = 0.1  # of a joint's range, at either end


def task_of(arm: Arm, options: HandOptions) -> HandTask:
    """The named directions, x, y, z and rx, ry, rz about these; by default all six if at least six joints can
    serve them, else x, y, z.
    """
    check_arm(arm)
    given = AXES[: 6 if arm.n >= 6 else 3] if options.axes is None else tuple(options.axes)
    if not given or len(set(given)) != len(given) or not set(given) <= set(AXES):
        raise InputError(f"expected some of {', '.join(AXES)}, each once, got {shorten(given)}.", "axes")
    rows = tuple(i for i, axis in enumerate(AXES) if axis in given)
    return HandTask(rows, options.near)


def hand_inertia(arm: Arm, q: ArrayLike, axes: Iterable[str] | None = None, near: float = NEAR) -> Floats:
    """Operational-space inertia Lambda = (J M^-1 J^T)^-1 (m, m) in a configuration (n,), rotors included: the
    force, N, or moment, N m, per unit acceleration of the hand; damped where nearly singular. Khatib 1987.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
        axes, near: as in `OperationalSpace`.
    """
    task = task_of(arm, HandOptions(axes=axes, near=near))
    found = _inertia_at(arm, q, task)
    return np.array([found.force(unit) for unit in np.eye(len(task.rows))]).T


def usual_masses(arm: Arm, task: HandTask) -> Floats:
    """Apparent mass of the hand in mid-range, (m,), kg and for rotations kg m^2: 1 over the mean of (J M^-1
    J^T)_jj, which weights light directions most, so that no configuration is much lighter.
    """
    return np.asarray(task.near / _inertia_at(arm, middle(arm), task).least)


def posture_numbers(arm: Arm, options: HandOptions) -> dict[str, Floats]:
    """Gains of the posture, the posture if given, and the gains that push joints back from limits: within a
    tenth of the range from a limit, with w^2 of a separate bandwidth.
    """
    gains = critically_damped(arm.n, options.bandwidth)
    made = {"kp": gains.kp, "kd": gains.kd}
    if options.posture is not None:
        made["posture"] = frozen_array(options.posture, (arm.n,), "posture")
    if (w := options.avoid_limits) is not None:
        lower, upper = limits_of(arm)
        with np.errstate(invalid="ignore"):
            margin = np.where(np.isfinite(upper - lower), MARGIN * (upper - lower), 0.0)
        made |= {"lower": lower + margin, "upper": upper - margin, "push": np.full(arm.n, w * w)}
    return made


def each_given(value: ArrayLike, count: int, what: str) -> Floats:
    """Numbers of at least 0, (count,); one number stands for all."""
    array = as_floats(value, what)
    made = frozen_array(np.full(count, array) if array.ndim == 0 else array, (count,), what)
    if (made < 0.0).any():
        raise InputError(f"expected numbers of at least 0, got {made.tolist()}.", what)
    return made


def directions_given(value: ArrayLike, m: int, what: str) -> Floats:
    """Values of the m directions: (m,), or a positive semidefinite matrix (m, m) row by row."""
    array = as_floats(value, what)
    array = np.full(m, array) if array.ndim == 0 else array
    if array.shape not in ((m,), (m, m)):
        raise InputError(f"expected {m} numbers or a matrix ({m}, {m}), got shape {array.shape}.", what)
    square = np.diag(array) if array.ndim == 1 else array
    if not np.isfinite(square).all() or not np.allclose(square, square.T, rtol=1e-9, atol=0.0):
        raise InputError(f"expected finite numbers, or a symmetric matrix, got {shorten(value)}.", what)
    if np.linalg.eigvalsh(square).min() < -1e-9 * np.abs(square).max():
        raise InputError(f"expected numbers or eigenvalues of at least 0, got {shorten(value)}.", what)
    return array.ravel()


def _inertia_at(arm: Arm, q: ArrayLike, task: HandTask) -> HandInertia:
    (posture,) = one_state(arm, "hand_inertia", q=q)
    J = jacobian(arm, posture)[list(task.rows)]
    return HandInertia.of(inertia_matrix(arm, posture), J, task)
