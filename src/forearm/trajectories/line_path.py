"""Joint coordinates along one Cartesian path, straight or curved, followed step by step on one branch."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.jacobian import jacobian, jacobian_derivative
from forearm.kinematics.nearby import solve_nearby
from forearm.spatial import Flags, Floats
from forearm.trajectories.hand_way import HandWay
from forearm.values import frozen

STEPS = 48  # minimum number, over the whole path
# Largest distance of a configuration from its linear prediction (rad, m): other branches are farther away.
SURPRISE = 0.02
STRIDE = 0.2  # rad, m: the longest step of a joint, so that a cubic between knots is accurate
# Of the path: if not even such a step can be followed the branch has ended; only a step this short may pass a
# singular configuration.
SHORTEST = 1e-7
# times the longest lever of a joint: longer paths count as this long, as no arm reaches farther
LEVERS = 10.0
# of the largest singular value: joint directions below it count as not moving the hand
NOTHING = 1e-9


@frozen
class LineTask:
    """The tracking task: the arm, the pose whose rotation is kept if `attitude` requires it, held joint
    combinations, (k, n).
    """

    arm: Arm
    pose: Floats
    attitude: bool
    held: Floats

    def rows(self, q: Floats) -> Floats:
        """Relevant rows of the Jacobian with the held combinations below: (m, r, n) for q (m, n)."""
        J = jacobian(self.arm, q)[:, : 6 if self.attitude else 3]
        return np.concatenate([J, np.broadcast_to(self.held, (len(q), *self.held.shape))], axis=1)

    def side(self, q: Floats) -> float:
        """Side of the singularity on which q (n,) lies: the sign of the determinant, 1 if the rows are not
        square.
        """
        A = self.rows(q[None])[0]
        return float(np.sign(np.linalg.det(A))) if A.shape[0] == A.shape[1] else 1.0

    def solve(self, places: Floats, near: Floats) -> tuple[Floats, Flags]:
        """Configurations (m, n) that put the hand at positions (m, 3), and whether there are any near the
        given ones.
        """
        poses = np.repeat(self.pose[None], len(places), axis=0)
        poses[:, :3, 3] = places
        found = solve_nearby(self.arm, poses, near, self.attitude, self.held)
        return found.q, found.converged

    def closeness(self, q: Floats) -> Floats:
        """Smallest over largest singular value of the rows, (m,): 0 at singular configurations."""
        values = np.linalg.svd(self.rows(q), compute_uv=False)
        return values[:, -1] / np.where(values[:, 0] > 0.0, values[:, 0], 1.0)

    def slopes(self, q: Floats, along: Floats) -> Floats:
        """dq/ds (m, n) for the hand moving along unit vectors u (3,) or (m, 3): J dq/ds = (u; 0), and zero
        for held combinations.
        """
        return least_solution(self.rows(q), self._wanted(along, len(q)))

    def bends(self, q: Floats, slopes: Floats, curvature: Floats) -> Floats:
        """d2q/ds2 (m, n) on a path of curvature c (m, 3), 0 if straight: J d2q/ds2 = (c; 0) - dJ/ds dq/ds,
        and zero for held combinations.
        """
        wanted = self._wanted(curvature, len(q))
        rows = 6 if self.attitude else 3
        wanted[:, :rows] -= np.einsum("mij,mj->mi", jacobian_derivative(self.arm, q, slopes), slopes)[
            :, :rows
        ]
        return least_solution(self.rows(q), wanted)

    def scale(self, q: Floats, length: float) -> float:
        """Effective length of a path from q (n,), m: its length, but at most some levers of the joints."""
        lever = float(np.linalg.norm(jacobian(self.arm, q)[:3], axis=0).max())
        return min(length, LEVERS * lever) if lever > 0.0 else length

    def _wanted(self, linear: Floats, count: int) -> Floats:
        wanted = np.zeros((count, (6 if self.attitude else 3) + len(self.held)))
        wanted[:, :3] = linear
        return wanted


@frozen
class Stretch:
    """Joint coordinates along one Cartesian path, with knots at arc lengths (k,): q and dq/ds (k, n) each.

    `way.length` is its total length, `ways[-1]` the length that could be followed.
    """

    way: HandWay
    ways: Floats
    q: Floats
    slopes: Floats

    @property
    def length(self) -> float:
        """Total length, m."""
        return self.way.length

    @property
    def whole(self) -> bool:
        """Whether it was followed to its end."""
        return bool(self.ways[-1] == self.length)

    def joints(self, task: LineTask, s: Floats) -> tuple[Floats, Flags]:
        """q (m, n) at arc lengths s (m,) by Newton's method from the knots, and where it converged."""
        return task.solve(self.way.at(s)[0], self.guess(s))

    def guess(self, s: Floats) -> Floats:
        """Approximate q (m, n), by a cubic between knots; NaN beyond the last."""
        k = np.clip(np.searchsorted(self.ways, s, side="right") - 1, 0, max(len(self.ways) - 2, 0))
        if len(self.ways) == 1:
            return np.where((s <= self.ways[0])[:, None], self.q[k], np.nan)
        h = (self.ways[k + 1] - self.ways[k])[:, None]
        x = (s - self.ways[k])[:, None] / h
        q = self.q[k] + x**2 * (3.0 - 2.0 * x) * (self.q[k + 1] - self.q[k])
        q += h * x * (1.0 - x) * ((1.0 - x) * self.slopes[k] - x * self.slopes[k + 1])
        inside = s <= self.ways[-1] * (1.0 + 1e-12)
        return np.where(inside[:, None], q, np.nan)


def follow_way(task: LineTask, q: Floats, way: HandWay) -> Stretch:
    """Configurations along a path from q (n,), each by Newton's method from the linear prediction of the last
    one.

    A step is halved until the configuration found is the predicted one, on the same side of singularities, so
    that the branch is kept: near a singularity the joints move fast as they must. If the path goes through
    one, the shortest step passes it. If no step is short enough the branch has ended, and so do the knots.
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


def least_solution(J: Floats, wanted: Floats) -> Floats:
    """The minimum-norm x (m, n) with J x = wanted, J (m, r, n) finite; directions that do not move the hand
    are left out.
    """
    inverse, regular = _inverses(J)
    if not regular.all():
        inverse = np.where(regular[:, None, None], inverse, np.linalg.pinv(J, rcond=NOTHING))
    return (inverse @ wanted[..., None])[..., 0]


def _inverses(J: Floats) -> tuple[Floats, Flags]:
    """Inverses of square J (m, n, n), and for which |J| |J^-1| >= s_max / s_min proves that nothing has to be
    left out.
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
