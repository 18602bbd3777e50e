"""Joint coordinates along one way of the hand, straight or curved, followed step by step
without leaving their branch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.jacobian import jacobian, jacobian_derivative
from forearm.kinematics.nearby import solve_nearby
from forearm.trajectories.hand_way import HandWay

Array = NDArray[np.float64]

STEPS = 48  # at least, over the whole way
# How far a posture may lie from where its slope pointed (rad, m): other branches are farther away than that.
SURPRISE = 0.02
STRIDE = 0.2  # rad, m: the longest step of a joint, so that a cubic between knots comes near
# Of the way: where not even such a step can be followed the branch has ended;
# only so short a one may pass a singular posture.
SHORTEST = 1e-7
# of the longest lever of a joint: a longer way is followed as one of that length, for no arm goes farther
LEVERS = 10.0
# of the largest singular value: below it a direction of the joints is taken not to move the hand
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class LineTask:
    """What is followed: the arm, the pose whose rotation counts if `attitude` says so,
    combinations of joints held, (k, n).
    """

    arm: Arm
    pose: Array
    attitude: bool
    held: Array

    def rows(self, q: Array) -> Array:
        """The Jacobian's rows that count and the combinations held below: (m, r, n) for q (m, n)."""
        J = jacobian(self.arm, q)[:, : 6 if self.attitude else 3]
        return np.concatenate([J, np.broadcast_to(self.held, (len(q), *self.held.shape))], axis=1)

    def side(self, q: Array) -> float:
        """On which side of singular postures q (n,) lies: the sign of the determinant,
        1 where the rows are not square.
        """
        A = self.rows(q[None])[0]
        return float(np.sign(np.linalg.det(A))) if A.shape[0] == A.shape[1] else 1.0

    def solve(self, places: Array, near: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Postures (m, n) that put the hand at places (m, 3), and whether there are any near those given."""
        poses = np.repeat(self.pose[None], len(places), axis=0)
        poses[:, :3, 3] = places
        found = solve_nearby(self.arm, poses, near, self.attitude, self.held)
        return found.q, found.converged

    def closeness(self, q: Array) -> Array:
        """Smallest over largest singular value of the rows, (m,): 0 at singular postures."""
        values = np.linalg.svd(self.rows(q), compute_uv=False)
        ratio: Array = values[:, -1] / np.where(values[:, 0] > 0.0, values[:, 0], 1.0)
        return ratio

    def slopes(self, q: Array, along: Array) -> Array:
        """dq/ds (m, n) where the hand goes along unit vectors u (3,) or (m, 3): J dq/ds = (u; 0),
        and what is held at rest.
        """
        return least_solution(self.rows(q), self._wanted(along, len(q)))

    def bends(self, q: Array, slopes: Array, curvature: Array) -> Array:
        """d2q/ds2 (m, n) on a way of curvature c (m, 3), 0 if straight: J d2q/ds2 = (c; 0) - dJ/ds dq/ds,
        and what is held at rest.
        """
        wanted = self._wanted(curvature, len(q))
        rows = 6 if self.attitude else 3
        wanted[:, :rows] -= np.einsum("mij,mj->mi", jacobian_derivative(self.arm, q, slopes), slopes)[
            :, :rows
        ]
        return least_solution(self.rows(q), wanted)

    def scale(self, q: Array, length: float) -> float:
        """How long a way from q (n,) is taken to be, m: its length, but no more than
        some levers of the joints.
        """
        lever = float(np.linalg.norm(jacobian(self.arm, q)[:3], axis=0).max())
        return min(length, LEVERS * lever) if lever > 0.0 else length

    def _wanted(self, linear: Array, count: int) -> Array:
        wanted = np.zeros((count, (6 if self.attitude else 3) + len(self.held)))
        wanted[:, :3] = linear
        return wanted


@dataclass(frozen=True, eq=False)
class Stretch:
    """The joints along one way of the hand, with knots at ways (k,): q and dq/ds (k, n) each.

    `way.length` is the whole of it, `ways[-1]` how far it could be followed.
    """

    way: HandWay
    ways: Array
    q: Array
    slopes: Array

    @property
    def length(self) -> float:
        """Of the whole way, m."""
        return self.way.length

    @property
    def whole(self) -> bool:
        """Whether it was followed to its end."""
        return bool(self.ways[-1] == self.length)

    def guess(self, s: Array) -> Array:
        """q (m, n) near the way, by a cubic between knots; NaN beyond the last."""
        k = np.clip(np.searchsorted(self.ways, s, side="right") - 1, 0, max(len(self.ways) - 2, 0))
        if len(self.ways) == 1:
            return np.where((s <= self.ways[0])[:, None], self.q[k], np.nan)
        h = (self.ways[k + 1] - self.ways[k])[:, None]
        x = (s - self.ways[k])[:, None] / h
        q = self.q[k] + x**2 * (3.0 - 2.0 * x) * (self.q[k + 1] - self.q[k])
        q += h * x * (1.0 - x) * ((1.0 - x) * self.slopes[k] - x * self.slopes[k + 1])
        inside = s <= self.ways[-1] * (1.0 + 1e-12)
        return np.where(inside[:, None], q, np.nan)


def follow_way(task: LineTask, q: Array, way: HandWay) -> Stretch:
    """The postures of a way from q (n,), each by Newton's iteration from where the slope
    of the last one points.

    A step is halved until the posture found is the one expected, on the same side of singular
    postures, so the branch is kept: beside a singular posture the joints swing round as they must.
    Where the way goes through one, the shortest step passes it. Where no step is short enough the
    branch has ended, and so do the knots.
    """
    length = way.length
    scale = task.scale(q, length)
    s, step, side = 0.0, scale / STEPS, task.side(q)
    ways, postures, slopes = [0.0], [q], [task.slopes(q[None], way.at(np.zeros(1))[1])[0]]
    while s < length:
        there = length if s + step >= length * (1.0 - 1e-9) else s + step
        expected = postures[-1] + (there - s) * slopes[-1]
        place, along, _ = way.at(np.array([there]))
        found, converged = task.solve(place, expected[None])
        expectable = converged[0] and np.abs(found[0] - expected).max() <= SURPRISE
        expectable &= np.abs(found[0] - postures[-1]).max() <= STRIDE
        now = task.side(found[0]) if expectable else 0.0
        if expectable and (now * side >= 0.0 or step < SHORTEST * scale):
            s, step, side = there, min(2.0 * step, scale / STEPS), now or side
            ways.append(s)
            postures.append(found[0])
            slopes.append(task.slopes(found, along)[0])
        elif step < SHORTEST * scale:
            break
        else:
            step *= 0.5
    return Stretch(way, np.array(ways), np.array(postures), np.array(slopes))


def least_solution(J: Array, wanted: Array) -> Array:
    """The least x (m, n) with J x = wanted, J (m, r, n) finite;
    directions that do not move the hand are left out.
    """
    inverse, regular = _inverses(J)
    if not regular.all():
        inverse = np.where(regular[:, None, None], inverse, np.linalg.pinv(J, rcond=NOTHING))
    return np.asarray((inverse @ wanted[..., None])[..., 0])


def _inverses(J: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Inverses of square J (m, n, n), and for which |J| |J^-1| >= s_max / s_min makes sure that
    nothing is to be left out.
    """
    none = np.zeros(len(J), dtype=bool)
    if J.shape[-2] != J.shape[-1]:
        return np.zeros((len(J), J.shape[-1], J.shape[-2])), none
    try:
        inverse = np.asarray(np.linalg.inv(J), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.zeros_like(J), none
    condition = np.linalg.norm(J, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    return inverse, np.asarray(condition * NOTHING < 1.0)
