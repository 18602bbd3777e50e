"""Accelerations for a request that leaves them open: as large as the joints' torques allow
along the whole motion.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.kernel import Kernel
from forearm.trajectories.requests import Request
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through

Array = NDArray[np.float64]
BETWEEN = 20  # postures looked at between two points
PER_PIECE = 16  # moments between two switches at which torques are looked at
MOST_ROWS = 200_000  # of such moments in all: long requests have fewer between two switches
INSIDE = 1e-9  # of a piece: so near to its ends nothing has switched yet
SEARCHED = 60  # factors tried
MOST_FACTOR = 2.0**20  # beyond what a joint could do alone: no motion that can be planned is so hard
AMPLE = 1.5  # times what is needed, so that no joint holds the others up
LEAST = 1e-3  # of what a joint could do alone, where it has no way to go
CLOSE = 1e-3  # relative: near enough to the largest
USED = 0.999  # of max_effort: the rest is for what lies between the moments looked at
GIVE = (
    "give an acceleration (acceleration= of fa.Request, [limits] of a request file, "
    "--acceleration of forearm plan)"
)
NO_INERTIA = 1e-15  # kg m^2 or kg: less is rounding


def chosen_accelerations(arm: Arm, kernel: Kernel, q: Array, qd: Array, request: Request) -> Array:
    """One factor times what each joint needs, the largest that keeps |tau| <= 0.999 max_effort
    along the planned motion.

    Alone joint j could do (max_effort - |gravity|) / M_jj at the worst of postures along the lines between
    the points. It needs no more than lets it keep up with the slowest joint of each stretch, if each
    accelerated as it could alone. The factor is found to 1e-3, below 1 or above it; torques are looked at
    between every two switches and on both sides of each.
    """
    effort = _efforts(arm)
    needed = _gentle(q, qd, request, arm, _alone(arm, kernel, q, effort))
    if not (np.diff(q, axis=0).any() or np.nan_to_num(qd).any()):
        return needed  # nothing moves, whatever the factor

    def share_used(factor: float) -> float:
        return _largest_share(kernel, through(q, qd, request.limits(arm, factor * needed)), effort)

    return _largest_factor(share_used) * needed


def _efforts(arm: Arm) -> Array:
    """max_effort of each joint, (n,), or an error where one is not known or 0."""
    unknown = [j.name for j in arm.joints if j.max_effort is None]
    if unknown:
        raise InputError(
            f"plan: the request gives no acceleration, and none can be chosen as {', '.join(unknown)} of "
            f"{arm.name!r} {'has' if len(unknown) == 1 else 'have'} no max_effort; {GIVE}, or write "
            "max_effort into the arm file."
        )
    weak = [j.name for j in arm.joints if j.max_effort == 0.0]
    if weak:
        raise InputError(
            "plan: the request gives no acceleration, and none can be chosen as the max_effort of "
            f"{', '.join(weak)} of {arm.name!r} is 0; {GIVE}, or write max_effort into the arm file."
        )
    return np.array([j.max_effort for j in arm.joints], dtype=np.float64)


def _alone(arm: Arm, kernel: Kernel, q: Array, effort: Array) -> Array:
    """What each joint could do alone, (n,)."""
    shares = np.linspace(0.0, 1.0, BETWEEN, endpoint=False)[:, None]
    postures = np.vstack([*(a + shares * (b - a) for a, b in pairwise(q)), q[-1:]])
    spare = effort - np.abs(kernel.gravity(postures))
    if (spare <= 0.0).any():
        k, j = (int(i) for i in np.argwhere(spare <= 0.0)[0])
        raise InputError(
            f"plan: gravity alone takes {effort[j] - spare[k, j]:.4g} of the {effort[j]:g} N m (N) of "
            f"{arm.joints[j].name} on the way; take other points, or a lighter load."
        )
    inertia = np.diagonal(kernel.inertia_matrix(postures), axis1=1, axis2=2)
    idle = inertia.min(axis=0) < NO_INERTIA
    if idle.any():
        name = arm.joints[int(idle.argmax())].name
        raise InputError(
            f"plan: the request gives no acceleration, and none can be chosen as {name} of "
            f"{arm.name!r} moves no mass, so that no torque bounds it; {GIVE}, or give what it moves "
            "a mass and an inertia."
        )
    alone: Array = (spare / inertia).min(axis=0)
    return alone


def _gentle(q: Array, qd: Array, request: Request, arm: Arm, alone: Array) -> Array:
    """What each joint needs to take the time of the slowest:
    4 d / T^2, or v^2 / (v T - d) where it has to coast at v.

    Where the request gives velocities there may be no room to brake so gently,
    and each joint does what it can alone.
    """
    if (np.nan_to_num(qd) != 0.0).any():
        return alone
    limits = request.limits(arm, alone)
    motion = through(q, qd, limits)
    way, T, v = np.abs(np.diff(q, axis=0)), np.maximum(motion.segments[:, None], 1e-30), limits.velocity
    coasting = v * v / np.maximum(v * T - way, 1e-30)
    wanted = np.where(2.0 * way <= v * T, 4.0 * way / T**2, coasting).max(axis=0)
    return np.asarray(np.clip(AMPLE * wanted, LEAST * alone, alone))


def _largest_share(kernel: Kernel, motion: Switching, effort: Array) -> float:
    """The largest |tau| / max_effort: at even moments between switches, and at the tops of parabolas
    through three of them.
    """
    switches = motion.switches
    count = int(np.clip(MOST_ROWS // max(len(switches), 1), 4, PER_PIECE))
    shares = np.linspace(INSIDE, 1.0 - INSIDE, count)
    widths = np.diff(switches)
    t = np.clip((switches[:-1, None] + shares * widths[:, None]).ravel(), 0.0, motion.duration)
    if not t.size:  # from a point to the same one
        t, count = switches, len(switches)
    used = np.abs(kernel.inverse_dynamics(*motion.at(t))).reshape(-1, count, motion.n) / effort
    before, here, after = used[:, :-2], used[:, 1:-1], used[:, 2:]
    bend = before - 2.0 * here + after
    top = (bend < 0.0) & (here >= before) & (here >= after)
    rise = np.where(top, -((after - before) ** 2) / (8.0 * np.where(top, bend, -1.0)), 0.0)
    return float(max(used.max(), (here + rise).max(initial=0.0)))


def _largest_factor(share_used: Callable[[float], float]) -> float:
    """The largest factor that is allowed, to CLOSE; too small ones may be refused,
    as velocities then cannot be braked.
    """
    low, high, best, factor = 0.0, np.inf, 0.0, 1.0
    refused: InputError | None = None
    for _ in range(SEARCHED):
        try:
            allowed = share_used(factor) <= USED
            best = factor if allowed else best
        except InputError as error:
            allowed, refused = True, error  # as far as torques go: more may be possible
        low, high = (factor, high) if allowed else (low, factor)
        if (best > 0.0 and high - low < CLOSE * high) or low >= MOST_FACTOR:
            break
        factor = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
    if best > 0.0:
        return best
    if refused is not None and np.isinf(high):
        raise refused  # whatever the accelerations
    if refused is not None:
        raise InputError(
            f"plan: the velocities of the request need accelerations above {high:.2g} times what the "
            "torques allow; give lower velocities, or accelerations."
        ) from None
    raise InputError(
        "plan: friction and gravity leave no torque for this motion; take other points, or a lighter load."
    )
