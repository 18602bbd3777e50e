"""Detection of acceleration jumps when joints reverse or stop, as with smooth controller torque and dry
friction: the position filter spreads such jumps over its window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from forearm.identification.log_derivatives import HALVES, smoothed
from forearm.spatial import Floats

SHORTER = 3  # times shorter: second window, which shows more of a jump
DIFFERING = 2.0  # times the difference of both windows elsewhere, in mean squares
CHANGING = 1.5  # times the rate of change of accelerations elsewhere, in mean squares
LEAST = 100  # least samples near reversals, and elsewhere
SLOW = 3.0  # standard deviations of qd


def jumping_joints(
    stretches: Sequence[tuple[Floats, Floats]], half: int, qd_error: Floats
) -> NDArray[np.bool_]:
    """Joints (n,) whose accelerations jump, from stretches of times (T,) and positions (T, n), a half window
    and the standard deviations of velocities (n,).

    If the window is short, accelerations change faster near reversals than elsewhere; with stiff tracking
    they change most slowly there. A long window hides this; but then a shorter one differs from it more near
    reversals than elsewhere, while noise affects both alike.
    """
    shorter = max(round(half / SHORTER), HALVES[0])
    sums = np.zeros((2, 3, len(qd_error)))  # near and elsewhere: changes, differences, counts
    for t, q in stretches:
        if len(t) <= 2 * half + 1:
            continue
        cut = half - shorter
        coarse = smoothed(t, q, half)
        fine = smoothed(t[cut : len(t) - cut], q[cut : len(t) - cut], shorter)
        changes = np.gradient(coarse.qdd, t[coarse.first : coarse.last], axis=0) ** 2
        slow = np.abs(coarse.qd) <= SLOW * np.nan_to_num(qd_error)
        slow[1:] |= np.sign(coarse.qd[1:]) != np.sign(coarse.qd[:-1])
        near = around(slow, half)
        for k, which in enumerate((near, ~near)):
            parts = (changes, (coarse.qdd - fine.qdd) ** 2, np.ones_like(changes))
            sums[k] += np.array([np.where(which, part, 0.0).sum(axis=0) for part in parts])
    near_sums, far_sums = sums
    counts = near_sums[2], far_sums[2]
    changing, differing = (
        near_sums[k] * counts[1] > factor * far_sums[k] * counts[0]
        for k, factor in enumerate((CHANGING, DIFFERING))
    )
    enough = np.minimum(*counts) >= LEAST
    return np.asarray(enough & (changing | (differing & (shorter < half))))


def around(marked: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Samples (T, n) within this distance of a marked one."""
    count = len(marked)
    sums = np.concatenate([np.zeros((1, marked.shape[1]), dtype=np.int64), np.cumsum(marked, axis=0)])
    first, last = (np.clip(np.arange(count) + k, 0, count) for k in (-reach, reach + 1))
    return sums[last] > sums[first]
