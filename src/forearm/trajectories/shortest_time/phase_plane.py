"""Phase-plane curves of a motion along a path: ds/dt over s, its limits, and which limit binds where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forearm.charts import QUIET, Band, Chart, Curve, CurveLook, Mark, look
from forearm.spatial import Floats
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.trajectories.shortest_time.timing import PathTiming

MOST = 3000  # intervals drawn
FINEST = 2000  # minimum number of points drawn for a short grid, as speeds are curved between its nodes
RED, GREEN, BLACK = 1, 2, 6  # colours of the palette; black is for limits that have no colour of their own
HIGHEST = 1.7  # times the largest speed: visible part of the maximum-velocity curve


@frozen
class PhasePlane:
    """Curves of the phase plane.

    Attributes:
        s: places (m,).
        maximum: maximum-velocity curve at these, NaN where it lies above the drawn range.
        height: largest speed drawn.
        curves: by name of the binding limit ("" for none) s and ds/dt (k,) of its sections, separated by NaN;
            in descending order of duration.
        shares: of the duration, by the same names.
        stops: interior places at which the motion comes to rest.
        ends: (s, ds/dt) of the start and of the end, (2, 2).
    """

    s: Floats
    maximum: Floats
    height: float
    curves: dict[str, tuple[Floats, Floats]]
    shares: dict[str, float]
    stops: Floats
    ends: Floats


def phase_plane(timing: PathTiming) -> PhasePlane:
    """The curves of a timing."""
    motion, limits = timing.motion, timing.limits
    count, taken = len(limits), np.diff(motion.times)
    binds = {str(name): float(taken[limits == name].sum()) / motion.duration for name in set(limits)}
    names = sorted(binds, key=lambda name: (name == "", -binds[name]))
    every, parts = max(1, count // MOST), max(1, FINEST // count)
    bounds = np.concatenate([[0], np.flatnonzero(limits[1:] != limits[:-1]) + 1, [count]])
    drawn: dict[str, list[Floats]] = {name: [] for name in names}
    gap = np.full((2, 1), np.nan)
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        nodes = np.unique(np.append(np.arange(first, last, every), last))
        drawn[str(limits[first])] += [_between(timing, motion.times[nodes], parts), gap]
    curves = {name: np.concatenate(pieces[:-1], axis=1) for name, pieces in drawn.items()}
    fastest = max(float(np.nanmax(speed)) for _, speed in curves.values())
    height = 1.08 * max(min(float(timing.maximum_speed.max()), HIGHEST * fastest), fastest)
    s, maximum = _ceiling(timing)
    stops = timing.s[timing.profile.grid.stops]
    return PhasePlane(
        s,
        np.where(maximum > 1.02 * height, np.nan, maximum),
        height,
        {name: (curve[0], curve[1]) for name, curve in curves.items()},
        {name: binds[name] for name in names},
        stops[(stops > 0.0) & (stops < timing.s[-1])],
        _between(timing, motion.times[[0, -1]], 1).T,
    )


def phase_plane_chart(timing: PathTiming) -> Chart:
    """ds/dt over s below its largest, coloured by the binding limit; names say for how long each binds."""
    plane = phase_plane(timing)
    top = np.where(np.isnan(plane.maximum), plane.height, np.minimum(plane.maximum, plane.height))
    marks: list[Mark] = [Band(plane.s, top, np.full(len(top), plane.height), colour="block")]
    if np.isfinite(plane.maximum).any():
        marks.append(Curve(plane.s, plane.maximum, "maximum-velocity curve", CurveLook(QUIET, width=0.65)))
    others = 0.0
    for k, (name, (s, speed)) in enumerate(plane.curves.items()):
        is_named = not name or k < BLACK
        others += 0.0 if is_named else plane.shares[name]
        text = f"{name or 'no limit binds'}: {plane.shares[name]:.1%}" if is_named else ""
        colour = QUIET if not name else min(k, BLACK)
        marks += [
            Curve(s, speed, look=CurveLook(colour)),
            Curve(s, speed, text, replace(look(k), colour=colour, width=2.4)),
        ]
    none = np.zeros(0)
    marks += [Curve(none, none, f"other limits: {others:.1%}", CurveLook(BLACK, width=2.4))] if others else []
    dots = [("start", GREEN, "o", plane.ends[:1]), ("end", RED, "s", plane.ends[1:])]
    dots += (
        [("stop", BLACK, "D", np.stack([plane.stops, 0.0 * plane.stops], axis=1))] if plane.stops.size else []
    )
    marks += [
        Curve(at[:, 0], at[:, 1], name, CurveLook(colour, marker=kind, size=8, joined=False))
        for name, colour, kind, at in dots
    ]
    path = timing.problem.path.name
    return Chart(
        "s, path parameter",
        "ds/dt, 1/s",
        marks,
        f"{timing.problem.arm.name}, {path}: {timing.motion.duration:.4g} s",
        (0.0, float(timing.s[-1])),
        (0.0, plane.height),
    )


def _ceiling(timing: PathTiming) -> tuple[Floats, Floats]:
    """The maximum-velocity curve without the stops, at which it is 0."""
    every = max(1, len(timing.s) // MOST)
    free = np.ones(len(timing.s), dtype=bool)
    free[timing.profile.grid.stops] = False
    return timing.s[free][::every], timing.maximum_speed[free][::every]


def _between(timing: PathTiming, times: Floats, parts: int) -> Floats:
    """Places and speeds at times and between them, (2, m)."""
    share = np.arange(parts) / parts
    fine = np.append((times[:-1, None] + np.diff(times)[:, None] * share).ravel(), times[-1])
    return np.stack(timing.motion.along(fine)[:2])
