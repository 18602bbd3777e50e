"""The fastest speeds along a grid: a backward pass finds those that lead to the end, a forward pass the
fastest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ForearmError
from forearm.kernels.scan import CompiledScan, compile_scan
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats, Indices
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.sampling import from_zero
from forearm.trajectories.shortest_time.limit_rows import AT_REST, HAND_KIND, RowLayout, compiled
from forearm.trajectories.shortest_time.path_limits import LimitCurves
from forearm.trajectories.shortest_time.path_loads import path_place
from forearm.trajectories.shortest_time.speed_steps import NEAR, traced_backward, traced_forward, traced_top
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

FASTEST = 1e14  # of the path's length squared, 1/s^2: x where it is unlimited
USED = 1.0 - 4e-4  # of every limit, so that limits hold between nodes too
ROUNDING = 1e-13  # of the largest |q'|: smaller values are set to 0
ROOM = 1e-9  # of x: tolerance of feasibility at an end


@frozen
class Places:
    """Places of a path with all limits of a motion there.

    Attributes:
        s: (m,).
        rows: numbers of each, (m, w), as in `RowLayout.slices`.
        limits: 1 / limit, (m, l), as in `RowLayout.limits`.
        pace: the largest share of a velocity limit, or of the hand's speed, that ds/dt = 1 uses, (m, 1).
    """

    s: Floats
    rows: Floats
    limits: Floats
    pace: Floats

    def __getitem__(self, rows: slice | Indices) -> Places:
        return Places(self.s[rows], self.rows[rows], self.limits[rows], self.pace[rows])


class PathProblem:
    """An arm along a path within limits.

    Args:
        arms: the arm; two, with different payloads, if limits must hold for both.
        path: the path.
        limits: limits of the motion.
    """

    def __init__(self, arms: tuple[Arm, ...], path: JointPath, limits: LimitCurves) -> None:
        self.arms, self.arm, self.path, self.limits = arms, arms[0], path, limits
        self.drives = DriveLimits.of(self.arm)
        kinds = {
            "torque": limits.bounds("torque") or limits.bounds("current"),
            "voltage": limits.bounds("voltage") or limits.bounds("DAC"),
            "acceleration": limits.bounds("acceleration"),
            HAND_KIND: limits.bounds("hand acceleration"),
        }
        hand = limits.bounds("hand speed") or limits.bounds("hand acceleration")
        self.layout = RowLayout(self.arm, tuple(k for k, there in kinds.items() if there), len(arms), hand)

    def with_limits(self, limits: LimitCurves) -> PathProblem:
        """The same with other limits."""
        return PathProblem(self.arms, self.path, limits)

    def places(self, s: Floats, piece: Indices, direction: Floats, margin: Floats | None = None) -> Places:
        """Places (m,) of pieces (m,), joints moving in directions (m, n), with limits times a margin (m,)."""
        q, dq, ddq = self.path.at(s, piece)
        dq[np.abs(dq) <= ROUNDING * self._steepest] = 0.0  # otherwise u would matter by a rounding error
        states, layout = (q, dq, ddq, direction), self.layout
        hand = [self._inverse(kind, s, margin) for kind in ("hand speed", "hand acceleration")]
        slowness = (self._inverse("velocity", s, margin), np.concatenate(hand, axis=1))
        made = [path_place(arm, layout.hand)(*states, *slowness, threads=1) for arm in self.arms]
        rows = made[0][0] if len(made) == 1 else np.concatenate([row for row, _ in made], axis=1)
        return Places(s, rows, self._limits(s, margin), made[0][1])

    def allowed(self, kind: str, s: Floats) -> Floats:
        """The limits of a kind at places (m,); of two limits of one quantity the smaller one."""
        found = self.limits.at(kind, s)
        if kind == "torque":
            return np.minimum(found, np.abs(self.drives.K) * self.limits.at("current", s))
        return np.minimum(found, self.limits.at("DAC", s)) if kind == "voltage" else found

    def _limits(self, s: Floats, margin: Floats | None) -> Floats:
        """1 / limit of all kinds of the layout, (m, l)."""
        K = np.abs(self.drives.K)
        parts = [self._inverse(kind, s) for kind in self.layout.kinds]
        for k, kind in enumerate(self.layout.kinds):  # of two limits of one quantity the smaller one counts
            if kind == "torque":
                parts[k] = _larger(parts[k], self._inverse("current", s), 1.0 / K)
            elif kind == "voltage":
                parts[k] = _larger(parts[k], self._inverse("DAC", s), np.ones_like(K))
        if not parts:
            return np.zeros((len(s), 1))
        if all(part.strides[0] == 0 for part in parts) and margin is None:
            row = np.concatenate([part[0] for part in parts])
            return np.broadcast_to(row, (len(s), len(row)))
        made = np.concatenate(parts, axis=1)
        return made if margin is None else made / margin[:, None]

    def _inverse(self, kind: str, s: Floats, margin: Floats | None = None) -> Floats:
        """1 / limit of a kind, (m, width): 0 if unlimited."""
        curve = self.limits.curves[kind]
        if curve.function is None and margin is None:
            return np.broadcast_to(1.0 / (USED * curve.at(s[:1])), (len(s), len(curve.values)))
        made = 1.0 / (USED * curve.at(s))
        return made if margin is None else made / margin[:, None]

    @cached_property
    def _steepest(self) -> float:
        """Approximate largest |q'|."""
        return float(np.abs(self.path.at(np.linspace(0.0, self.path.length, 101))[1]).max())

    def cap(self, places: Places) -> Floats:
        """Largest x within velocity limits, (m,)."""
        most = FASTEST * self.path.length**2
        return 1.0 / np.maximum(places.pace[:, 0] ** 2, 1.0 / most)

    def tops(self, places: Places) -> Floats:
        """Largest x at which the limits of each place alone admit an acceleration, (m,)."""
        cap = self.cap(places)
        if not self.layout.kinds:
            return cap
        return np.asarray(_top(self.layout)(places.rows, places.limits, cap[:, None], threads=1)[:, 0])

    def shares(self, places: Places, x: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Signed shares of the limits of `layout.names` that x and u (m,) use, and their derivatives by u and
        x, (m, r) each.
        """
        share, by_u, by_x = compiled(self.layout, "shares")(
            places.rows, places.limits, x[:, None], u[:, None], threads=1
        )
        return share, by_u, by_x

    def largest(self, places: Places, x: Floats, u: Floats) -> Floats:
        """The largest share of any limit, velocities included, that x and u (m,) use, (m,)."""
        use = compiled(self.layout, "use")
        return np.asarray(
            use(places.rows, places.limits, x[:, None], u[:, None], places.pace, threads=1)[:, 0]
        )


def _larger(a: Floats, b: Floats, factor: Floats) -> Floats:
    """The larger of a and b times a factor, (m, n), in one row for all where both are."""
    if a.strides[0] == b.strides[0] == 0:
        return np.broadcast_to(np.maximum(a[:1], b[:1] * factor), a.shape)
    return np.maximum(a, b * factor)


@lru_cache(maxsize=32)
def _pass(layout: RowLayout, name: str, traced: Callable[[RowLayout], Traced], *carry: str) -> CompiledScan:
    """A pass along the grid, by its steps."""
    return compile_scan(
        lambda: traced(layout),
        f"speed_{name}",
        carry=carry,
        key=(f"speed {name}", *layout.key),
        arm=layout.arm,
    )


@lru_cache(maxsize=16)
def _top(layout: RowLayout) -> TracedFunction:
    return compile_function(
        lambda: traced_top(layout), "speed_top", key=("speed top", *layout.key), arm=layout.arm
    )


@frozen
class Grid:
    """Places along a path between which s'' is constant, with the properties of each interval.

    Attributes:
        s: nodes (N + 1,), increasing from 0 to the path's length.
        piece: of the path, (N,).
        direction: of the joints, (N, n): -1, 0 or 1.
        stops: indices of nodes at which the motion must stop.
        margin: share of the limits that may be used, (N,); None: all.
    """

    s: Floats
    piece: Indices
    direction: Floats
    stops: Indices
    margin: Floats | None = None

    @staticmethod
    def of(path: JointPath, s: Floats) -> Grid:
        """A grid with nodes at places that include all corners and reversals of the path."""
        middle = 0.5 * (s[:-1] + s[1:])
        piece = path.piece_of(middle)
        direction = np.sign(path.at(middle, piece)[1])
        stops = np.searchsorted(s, np.asarray(path.corners))
        return Grid(s, piece, direction, stops)

    @property
    def count(self) -> int:
        """The number of intervals."""
        return len(self.piece)

    def within(self, problem: PathProblem, shares: Floats, which: Indices | slice = slice(None)) -> Places:
        """Places at fractions (k,) of every interval, or of some, interval by interval: (N k,)."""
        count = len(shares)
        s = (self.s[:-1][which, None] + shares * np.diff(self.s)[which, None]).ravel()
        if shares[-1] == 1.0:
            s[count - 1 :: count] = self.s[1:][which]
        return problem.places(
            s,
            np.repeat(self.piece[which], count),
            np.repeat(self.direction[which], count, axis=0),
            None if self.margin is None else np.repeat(self.margin[which], count),
        )


@frozen
class Profile:
    """Speeds along a grid.

    Attributes:
        grid: the grid.
        x: (ds/dt)^2 at the nodes, (N + 1,).
        top: the largest x that the limits of each node alone admit.
        low, high: range of x at each node from which the end can be reached.
        ends: the places at both ends of all intervals, (2 N,).
    """

    grid: Grid
    x: Floats
    top: Floats
    low: Floats
    high: Floats
    ends: Places

    @cached_property
    def u(self) -> Floats:
        """d2s/dt2 in the intervals, (N,)."""
        return np.diff(self.x) / (2.0 * np.diff(self.grid.s))

    @cached_property
    def times(self) -> Floats:
        """Times at the nodes, (N + 1,)."""
        speed = np.sqrt(self.x)
        with np.errstate(divide="ignore"):
            taken = 2.0 * np.diff(self.grid.s) / (speed[:-1] + speed[1:])
        return from_zero(taken)

    @property
    def duration(self) -> float:
        """From the first node to the last, s."""
        return float(self.times[-1])


class NoProfile(ForearmError):
    """No speed along the path respects the limits: a node of the grid is a dead end ("passage"), or the speed
    at the "start" or the "end" is not between `least` and `most`, (ds/dt)^2.
    """

    def __init__(self, grid: Grid, node: int, reason: str, most: float = 0.0, least: float = 0.0) -> None:
        super().__init__(reason)
        self.grid, self.node, self.reason, self.most, self.least = grid, node, reason, most, least


def smaller_at_nodes(values: Floats) -> Floats:
    """The smaller of the values on both sides of each node, (N + 1,), from the ends of all intervals, (2
    N,).
    """
    left, right = np.append(values[0::2], np.inf), np.append(np.inf, values[1::2])
    return np.asarray(np.minimum(left, right))


def ends_of(problem: PathProblem, grid: Grid, starts_at_rest: bool, ends_at_rest: bool) -> Places:
    """The places at both ends of all intervals, (2 N,); joints that come to rest there are marked."""
    ends = grid.within(problem, np.array([0.0, 1.0]))
    rest = np.concatenate([2 * grid.stops, 2 * grid.stops - 1, [0] * starts_at_rest, [-1] * ends_at_rest])
    directions = ends.rows.reshape(len(ends.s), problem.layout.payloads, -1)
    directions[rest.astype(np.intp), :, problem.layout.slices["direction"]] *= AT_REST
    return ends


def fastest_profile(
    problem: PathProblem,
    grid: Grid,
    x_start: float | None,
    x_end: float | None,
    ceiling: Floats | None = None,
) -> Profile:
    """The fastest profile on a grid.

    Args:
        problem: arm, path and limits.
        grid: the nodes.
        x_start, x_end: (ds/dt)^2 at the ends; None: as large as possible.
        ceiling: x (N + 1,) that must not be exceeded; None: no ceiling.
    """
    ends = ends_of(problem, grid, x_start == 0.0, x_end == 0.0)
    top = smaller_at_nodes(problem.tops(ends))
    if ceiling is not None:
        top = np.minimum(top, ceiling)
    top[grid.stops] = 0.0
    rows = {
        "left": ends.rows[0::2],
        "right": ends.rows[1::2],
        "left_limits": ends.limits[0::2],
        "right_limits": ends.limits[1::2],
        "interval": np.stack([2.0 * np.diff(grid.s), top[:-1]], axis=1),
    }
    last = (0.0, top[-1]) if x_end is None else (min(x_end, top[-1]), min(x_end, top[-1]))
    if x_end is not None and x_end > top[-1] * (1.0 + ROOM):
        raise NoProfile(grid, grid.count, "end", float(top[-1]))
    start = {"low": np.array(last[:1]), "high": np.array(last[1:])}
    backward = _pass(problem.layout, "backward", traced_backward, "low", "high")
    _, made = backward(carry=start, rows=rows, backwards=True)
    low, high = np.append(made["lows"][:, 0], last[0]), np.append(made["highs"][:, 0], last[1])
    if (high < 0.0).any():
        raise NoProfile(grid, int(np.flatnonzero(high < 0.0).max()), "passage")
    # edges are known to NEAR: slightly inside them a feasible u is guaranteed
    inside = np.maximum(low, high * (1.0 - 4.0 * NEAR))
    x0 = inside[0] if x_start is None else x_start
    if x0 > high[0] * (1.0 + ROOM) + ROOM**2 or x0 < low[0] * (1.0 - ROOM):
        raise NoProfile(grid, 0, "start", float(high[0]), float(low[0]))
    _, made = _pass(problem.layout, "forward", traced_forward, "x")(
        carry={"x": np.array([min(x0, high[0])])},
        rows=rows | {"ahead": np.stack([low[1:], inside[1:]], axis=1)},
    )
    x = np.append(min(x0, high[0]), made["reached"][:, 0])
    # sums of rounded steps end next to these
    x[grid.stops] = 0.0
    if x_end is not None:
        x[-1] = last[0]
    return Profile(grid, x, top, low, high, ends)
