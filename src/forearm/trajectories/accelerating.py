"""Accelerations for a request that leaves them open: as large as the joints' torques allow along the whole motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.kernel import Kernel
from forearm.trajectories.passing import through
from forearm.trajectories.requests import Request

Array = NDArray[np.float64]
BETWEEN = 20  # postures looked at between two points
SAMPLES = 400  # moments of a motion at which torques are looked at, and every switch
HALVINGS = 40
AMPLE = 1.5  # times what is needed, so that no joint holds the others up
LEAST = 1e-3  # of what a joint could do alone, where it has no way to go
CLOSE = 1e-3  # relative: near enough to the largest


def chosen_accelerations(arm: Arm, kernel: Kernel, q: Array, qd: Array, request: Request) -> Array:
    """One factor times what each joint needs, the largest that keeps |tau| <= max_effort along the planned motion.

    Alone joint j could do (max_effort - |gravity|) / M_jj at the worst of postures along the lines between the points. It needs
    no more than lets it keep up with the slowest joint of each stretch, if each accelerated as it could alone.
    """
    effort = np.array([np.nan if j.max_effort is None else j.max_effort for j in arm.joints])
    unknown = [j.name for j in arm.joints if j.max_effort is None]
    if unknown:
        raise InputError(
            f"plan: the request gives no acceleration, and none can be chosen as {', '.join(unknown)} of {arm.name!r} "
            f"{'has' if len(unknown) == 1 else 'have'} no max_effort; write acceleration under [limits], or max_effort "
            "into the arm file."
        )
    shares = np.linspace(0.0, 1.0, BETWEEN, endpoint=False)[:, None]
    postures = np.vstack([*(a + shares * (b - a) for a, b in pairwise(q)), q[-1:]])
    spare = effort - np.abs(kernel.gravity(postures))
    if (spare <= 0.0).any():
        k, j = (int(i) for i in np.argwhere(spare <= 0.0)[0])
        raise InputError(
            f"plan: gravity alone takes {effort[j] - spare[k, j]:.4g} of the {effort[j]:g} N m (N) of {arm.joints[j].name} "
            "on the way; take other points, or a lighter load."
        )
    inertia = np.diagonal(kernel.inertia_matrix(postures), axis1=1, axis2=2)
    needed = _gentle(q, qd, request, arm, (spare / inertia).min(axis=0))

    def share_used(factor: float) -> float:
        motion = through(q, qd, request.limits(arm, factor * needed))
        t = np.unique(np.concatenate([motion.switches, np.linspace(0.0, motion.duration, SAMPLES)]))
        before = np.maximum(motion.switches - 1e-9 * motion.duration, 0.0)  # torques on both sides of a jump
        states = motion.at(np.concatenate([t, before]))
        tau = kernel.inverse_dynamics(*states)
        return float((np.abs(tau) / effort).max())

    low, high = 0.0, 1.0
    if share_used(high) <= 1.0:
        return needed
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        try:
            low, high = (middle, high) if share_used(middle) <= 1.0 else (low, middle)
        except InputError:  # velocities given, and no room to brake so gently
            raise InputError(
                f"plan: the velocities of the request need accelerations above {middle:.2g} times what the torques allow; "
                "give lower velocities, or accelerations."
            ) from None
        if low > 0.0 and high - low < CLOSE * high:
            return low * needed
    raise InputError("plan: friction and gravity leave no torque for this motion; take other points, or a lighter load.")


def _gentle(q: Array, qd: Array, request: Request, arm: Arm, alone: Array) -> Array:
    """What each joint needs to take the time of the slowest: 4 d / T^2, or v^2 / (v T - d) where it has to coast at v.

    Where the request gives velocities there may be no room to brake so gently, and each joint does what it can alone.
    """
    if (np.nan_to_num(qd) != 0.0).any():
        return alone
    limits = request.limits(arm, alone)
    motion = through(q, qd, limits)
    way, T, v = np.abs(np.diff(q, axis=0)), np.maximum(motion.segments[:, None], 1e-30), limits.velocity
    coasting = v * v / np.maximum(v * T - way, 1e-30)
    wanted = np.where(2.0 * way <= v * T, 4.0 * way / T**2, coasting).max(axis=0)
    return np.asarray(np.clip(AMPLE * wanted, LEAST * alone, alone))
