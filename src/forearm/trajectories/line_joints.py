"""Joint coordinates along a Cartesian line by arc length s: q, dq/ds and d2q/ds2, at singular configurations
by interpolation from both sides.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Flags, Floats
from forearm.trajectories.line_path import LineTask, Stretch
from forearm.trajectories.sampling import States

# Smallest over largest singular value. d2q/ds2 loses the rounding error of q divided by the cube of it: about
# 1e-7
# of it at the first of these, all of it at the second.
CLEAR, HOPELESS = 1e-4, 1e-6
WELL_CLEAR = 1e-3  # of the neighbours used around a singular configuration
SPACINGS = 2.0 ** -np.arange(10.0, 2.0, -1.0)  # of neighbours, as a fraction of the length
# the latter at the ends of the line
BOTH_SIDES, ONE_SIDE = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]), np.arange(1.0, 7.0)
SMOOTH = 1e-6  # rad, m: largest deviation of a configuration from the curve through its neighbours
MET = 1e-6  # of a slope: admissible error of the hand where joints lose a direction


def joints_along(task: LineTask, stretch: Stretch, s: Floats) -> States:
    """q, dq/ds, d2q/ds2 at arc lengths s (m,), (m, n) each, NaN beyond the reachable part.

    J dq/ds = (u; 0) and J d2q/ds2 = (c; 0) - dJ/ds dq/ds on a path of direction u and curvature c. At a
    singular configuration both are limits, from the polynomial of fifth degree through six neighbouring
    points. Where there is no limit the derivatives are NaN.
    """
    q, slopes, bends = np.full((3, len(s), task.arm.n), np.nan)
    near = stretch.guess(s)
    rows = np.flatnonzero(np.isfinite(near).all(axis=1))
    found, converged = task.solve(stretch.way.at(s[rows])[0], near[rows])
    missed = np.flatnonzero(~converged)
    if (
        missed.size
    ):  # close to a singular configuration rounding may mislead; the neighbourhood on either side does not
        found[missed], converged[missed] = _from_beside(task, stretch, s[rows[missed]])
    rows, found = rows[converged], found[converged]
    q[rows] = found
    if not rows.size:
        return q, slopes, bends
    closeness = task.closeness(found)
    slopes[rows], bends[rows] = _derivatives(task, stretch.way.at(s[rows]), found, closeness)
    near_singular = rows[closeness < CLEAR]
    # otherwise no neighbour is better
    if near_singular.size and task.closeness(stretch.q).max() >= CLEAR:
        limits = _limits(task, stretch, s[near_singular], q[near_singular])
        known = np.isfinite(limits[0]).all(axis=1)
        slopes[near_singular[known]], bends[near_singular[known]] = limits[0][known], limits[1][known]
        lost = near_singular[~known & (closeness[closeness < CLEAR] < HOPELESS)]
        slopes[lost] = bends[lost] = np.nan
    return q, slopes, bends


def _from_beside(task: LineTask, stretch: Stretch, s: Floats) -> tuple[Floats, Flags]:
    """Configurations at arc lengths s, started from the curve through neighbours, and whether they were
    found.
    """
    offsets = np.broadcast_to(SPACINGS[0] * stretch.length * BOTH_SIDES, (len(s), len(BOTH_SIDES)))
    ways = np.clip(s[:, None] + offsets, 0.0, float(stretch.ways[-1]))
    beside, there = stretch.joints(task, ways.ravel())
    whole = there.reshape(ways.shape).all(axis=1) & (ways == s[:, None] + offsets).all(axis=1)
    curve = np.einsum("mk,mkn->mn", _lagrange(offsets), beside.reshape(*ways.shape, -1))
    found, converged = task.solve(stretch.way.at(s)[0], np.where(whole[:, None], curve, 0.0))
    return found, converged & whole & (np.abs(found - curve).max(axis=1) <= SMOOTH)


def _derivatives(
    task: LineTask, hand: tuple[Floats, Floats, Floats], q: Floats, closeness: Floats
) -> tuple[Floats, Floats]:
    """Derivatives for the hand's position, direction and curvature, (m, 3) each; NaN where they are undefined
    or the hand would leave its line.
    """
    _, along, curvature = hand
    slopes = task.slopes(q, along)
    bends = task.bends(q, slopes, curvature)
    doubtful = closeness < HOPELESS
    if doubtful.any():
        gone = np.einsum("mij,mj->mi", task.rows(q[doubtful]), slopes[doubtful])
        gone[:, :3] -= along[doubtful]
        lost = np.flatnonzero(doubtful)[np.abs(gone).max(axis=1) > MET]
        slopes[lost] = bends[lost] = np.nan
    return slopes, bends


def _limits(task: LineTask, stretch: Stretch, s: Floats, q: Floats) -> tuple[Floats, Floats]:
    """dq/ds and d2q/ds2 (m, n) from points beside each, the nearest that are clear of the singularity; NaN
    where q is not a limit.
    """
    slopes, bends = np.full((2, *q.shape), np.nan)
    rows, end = np.arange(len(s)), float(stretch.ways[-1])
    for spacing in SPACINGS * stretch.length:
        at, both = s[rows, None], spacing * BOTH_SIDES
        has_room = (at + both[0] >= 0.0) & (at + both[-1] <= end)
        inward = spacing * ONE_SIDE * np.where(at < 0.5 * end, 1.0, -1.0)
        offsets = np.where(has_room, both, inward)
        ways = at + offsets
        fits = (ways.min(axis=1) >= 0.0) & (ways.max(axis=1) <= end)
        rows, offsets, ways = rows[fits], offsets[fits], ways[fits]
        if not rows.size:
            break
        beside, converged = stretch.joints(task, ways.ravel())
        clear = (converged & (task.closeness(beside) >= WELL_CLEAR)).reshape(ways.shape).all(axis=1)
        weights = _lagrange(offsets[clear])
        beside = beside.reshape(*ways.shape, -1)[clear]
        curve = np.einsum("mk,mkn->mn", weights, beside)
        smooth = np.abs(curve - q[rows[clear]]).max(axis=1) <= SMOOTH
        # In the configuration itself joints with a common axis are undetermined against each other; the
        # result of the curve is a valid choice.
        again, solved = task.solve(stretch.way.at(s[rows[clear]])[0], curve)
        smooth |= solved & (np.abs(again - curve).max(axis=1) <= SMOOTH)
        if smooth.any():
            chosen, found = rows[clear][smooth], beside[smooth].reshape(-1, q.shape[1])
            _, along, curvature = stretch.way.at(ways[clear][smooth].ravel())
            first = task.slopes(found, along)
            for made, values in ((slopes, first), (bends, task.bends(found, first, curvature))):
                made[chosen] = np.einsum(
                    "mk,mkn->mn", weights[smooth], values.reshape(-1, ways.shape[1], q.shape[1])
                )
        rows = rows[~clear]
    return slopes, bends


def _lagrange(offsets: Floats) -> Floats:
    """Weights of values at these offsets (m, 6) for the value at 0, (m, 6)."""
    same = np.eye(offsets.shape[1], dtype=bool)
    apart = np.where(same, 1.0, offsets[:, None, :] - offsets[:, :, None])
    weights: Floats = np.where(same, 1.0, offsets[:, None, :] / apart).prod(axis=2)
    return weights
