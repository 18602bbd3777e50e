"""The closed form of an arm in machine code: every branch of a pose, and a look at each.

A look says whether a branch exists, within the limits, or needs a closer look: where the hand is nearly at
the pose, where branches meet, and for arms whose axes meet only nearly where one may hide behind that miss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.geometry import Geometry, Parallel
from forearm.kinematics.closed_form.recognition import branches_of, geometry_of
from forearm.kinematics.closed_form.screws import screws_of
from forearm.kinematics.limits import AT_LIMIT, bounds_of
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, choose, sin
from forearm.values import LARGEST

# Kinds of branches: the hand is far from the pose; it is there, within the limits or not; Newton's steps will
# bring it there; none of these for certain.
ABSENT, INSIDE, OUTSIDE, CLOSE, DOUBTFUL = range(5)
# A branch is a solution if the hand is within this of the pose (m, rad).
REACHED = 1e-9
# Branches farther off than this do not exist; nearer ones are polished.
NEARLY = 1e-2
# Errors that need no polishing.
FINE = 1e-12
# From this regularity on, branches are neither singular nor the same.
REGULAR = 1e-8
# In units of the miss: the error that it leaves to Newton's steps, and the regularity from which on it has
# moved a branch, but not made it vanish. Two that meet at x = 0 are the roots of c x^2 / 2 = d, where d is
# off by the miss: they are certain if (c x)^2, their regularity, exceeds 2 c miss, with c up to about 1.
LEFT, CERTAIN = 10.0, 2.0
# In units of the miss: the sine of joint 5 below which joint 6 depends on it (see `wrist_sine`).
IN_LINE = 100.0


def kind_of(miss: float, square: Scalar, regularity: Scalar, beyond: Scalar) -> Scalar:
    """The kind of a branch with this squared error of the hand, beyond its limits by so much. Over any
    scalar.
    """
    there = choose(AT_LIMIT, beyond, OUTSIDE, INSIDE)
    close = choose(square, (LEFT * miss + FINE) ** 2, CLOSE, DOUBTFUL)
    near = choose(least_regularity(miss), regularity, choose(square, FINE**2, there, close), DOUBTFUL)
    return choose(square, NEARLY**2, near, ABSENT)


def wrist_sine(geometry: Geometry, q: Any) -> Any:
    """The sine of joint 5, over any scalar; 1 unless axes 2, 3, 4 are parallel. There joint 6 gives the sum
    of joints 2, 3, 4: where axes 4 and 6 are in line but for the miss, it is off, and all branches may seem
    out of reach.
    """
    if not isinstance(geometry.carrier, Parallel) or geometry.wrist is None:
        return 1.0
    five = -q[..., 1] if geometry.backwards else q[..., 4]
    return abs(sin(geometry.signs[4] * five + geometry.wrist.turns[1]))


def least_regularity(miss: float) -> float:
    """The regularity from which on a branch is certain."""
    return max(REGULAR, CERTAIN * miss)


class Solver:
    """The compiled closed form of an arm.

    `branches` are those of poses, (12,) or (B, 12) -> (m, n) or (B, m, n); `look` is that of
    `kernels.closed_form_ik.look_function`.
    """

    def __init__(self, arm: Arm) -> None:
        from forearm.kernels.closed_form_ik import branches_function, look_function

        self.arm, self.geometry = arm, geometry_of(arm)
        self.is_exact = self.geometry.miss <= FINE
        self.look = look_function(arm, self.geometry, arm_length(arm)).call
        self.branches: Callable[[Floats], Floats] = self._by_quartic
        if self.geometry.uses_roots_only:
            self.branches = branches_function(arm, self.geometry).call
        self.count: int = self.branches(np.eye(4)[:3].reshape(12)).shape[0]
        self._bounds: dict[bool, Floats] = {}

    def bounds(self, limits: bool, near: Floats | None) -> Floats:
        """`limits.bounds_of` for the branches of a pose, (m, 3 n), finite as machine code needs them."""
        if limits not in self._bounds:
            row = np.clip(bounds_of(self.arm, limits, None), -LARGEST, LARGEST).ravel()
            self._bounds[limits] = np.tile(row, (self.count, 1))
        made = self._bounds[limits]
        if near is not None:
            made = made.copy()
            made[:, -len(near) :] = near
        return made

    def seen(self, q: Floats, T: Floats) -> tuple[Floats, Floats]:
        """Errors (B,) of the hand at q (B, n) from T (B, 4, 4), the larger of distance and angle, or the
        distance if n = 3, infinite for NaN; and regularities (B,), 0 for NaN.
        """
        bounds = np.tile(self.bounds(False, None)[0], (len(q), 1))
        figures = self.look(q, T[:, :3].reshape(-1, 12), bounds)[1]
        return np.nan_to_num(np.sqrt(figures[:, 0]), nan=np.inf), np.nan_to_num(figures[:, 1])

    def _by_quartic(self, T: Floats) -> Floats:
        found = branches_of(self.geometry, T.reshape(-1, 3, 4))
        return found if T.ndim == 2 else found[0]


@lru_cache(maxsize=64)
def solver_of(arm: Arm) -> Solver:
    """The solver of an arm, or a ModelError that says why it has no closed form."""
    return Solver(arm)


def arm_length(arm: Arm) -> float:
    """Length of the arm at q = 0, from joint to joint to the hand, m: converts lengths to angles."""
    screws = screws_of(arm)
    points = np.vstack([screws.p, screws.home[:3, 3]])
    return max(float(np.linalg.norm(np.diff(points, axis=0), axis=-1).sum()), 1e-3)
