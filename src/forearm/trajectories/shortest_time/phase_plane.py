"""The phase plane of a motion along a path as curves to draw: ds/dt over s, what bounds it, and which limit
binds where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from forearm.trajectories.shortest_time.timing import PathTiming

Array = NDArray[np.float64]
MOST = 3000  # intervals that are drawn
FINEST = 2000  # of a short grid so many points are made: between nodes a speed is the root of a line
HIGHEST = 1.7  # times the largest speed: how much of the maximum-velocity curve is shown


@dataclass(frozen=True, eq=False)
class PhasePlane:
    """Curves of the phase plane.

    Attributes:
        s: places (m,).
        maximum: the maximum-velocity curve at them, NaN where it is higher than what is drawn.
        height: up to which speed is drawn.
        curves: by name of the limit that binds ("" for none) s and ds/dt (k,) of its stretches, NaN between;
            the limit that binds longest first.
        shares: of the duration, by the same names.
        stops: places within the path at which the motion comes to rest.
        ends: (s, ds/dt) of the start and of the end, (2, 2).
    """

    s: Array
    maximum: Array
    height: float
    curves: dict[str, tuple[Array, Array]]
    shares: dict[str, float]
    stops: Array
    ends: Array


def phase_plane(timing: PathTiming) -> PhasePlane:
    """The curves of a timing."""
    profile, limits = timing.profile, timing.limits
    count, taken = profile.grid.count, np.diff(profile.times)
    binds = {str(name): float(taken[limits == name].sum()) / profile.duration for name in set(limits)}
    names = sorted(binds, key=lambda name: (name == "", -binds[name]))
    ends = np.array([[timing.s[k], timing.speed[k]] for k in (0, -1)])
    height = 1.08 * min(float(timing.maximum_speed.max()), HIGHEST * float(timing.speed.max()))
    s, maximum = _ceiling(timing)
    every, parts = max(1, count // MOST), max(1, FINEST // count)
    changes = np.flatnonzero(limits[1:] != limits[:-1]) + 1
    bounds = np.concatenate([[0], changes, [count]])
    drawn: dict[str, list[tuple[Array, Array]]] = {name: [] for name in names}
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        nodes = np.unique(np.append(np.arange(first, last, every), last))
        drawn[str(limits[first])].append(_between(timing.s[nodes], profile.x[nodes], parts))
    gap = np.array([np.nan])
    curves = {}
    for name, pieces in drawn.items():
        joined = [np.concatenate([part for piece in pieces for part in (piece[i], gap)]) for i in (0, 1)]
        curves[name] = joined[0][:-1], joined[1][:-1]
    stops = timing.s[profile.grid.stops]
    inner = stops[(stops > 0.0) & (stops < timing.s[-1])]
    shown = np.where(maximum > 1.02 * height, np.nan, maximum)
    return PhasePlane(s, shown, height, curves, {name: binds[name] for name in names}, inner, ends)


def _ceiling(timing: PathTiming) -> tuple[Array, Array]:
    """The maximum-velocity curve without the stops, at which it is 0."""
    every = max(1, len(timing.s) // MOST)
    free = np.ones(len(timing.s), dtype=bool)
    free[timing.profile.grid.stops] = False
    return timing.s[free][::every], timing.maximum_speed[free][::every]


def _between(s: Array, x: Array, parts: int) -> tuple[Array, Array]:
    """Places and speeds at the nodes and between them, where x = (ds/dt)^2 is a line."""
    share = np.arange(parts) / parts
    fine_s, fine_x = (np.append((a[:-1, None] + np.diff(a)[:, None] * share).ravel(), a[-1]) for a in (s, x))
    return fine_s, np.sqrt(np.maximum(fine_x, 0.0))
