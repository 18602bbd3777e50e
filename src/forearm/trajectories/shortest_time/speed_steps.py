"""One interval of the grid: the feasible x = (ds/dt)^2 at its left end, and the fastest x at its right end.

In an interval u = d2s/dt2 is constant, so that x at its right end is x + 2 D u with its length D; every limit
is enforced at both ends. At a given x each limit bounds u; the bounds are straight lines if limits are linear
in u and x, and found by Newton's method where friction makes them curved. Feasible x are those at which the
largest lower bound lies below the smallest upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forearm.model import Scalar
from forearm.symbols import Graph, derivative, iterate, substituted
from forearm.symbols.region import stand_ins
from forearm.symbols.scalars import choose, maximum, minimum
from forearm.trajectories.shortest_time.limit_rows import RowLayout, Scalars, solved_hand_share

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

FLAT = 1e-30  # of a share by u: below it a limit bounds x alone
FAR = 1e300  # bounds of u where there are none
CLOSE = 1e-10  # tolerance of limits, of x, and of the bounds of u
NEAR = 1e-8  # of x, or of the bounds: tolerance of their edge
MOST = 100  # iterations; five to ten are typical
SETTLING = 5.5  # of these, spent on u at one x
NEVER = -1.0  # value of x if nothing is feasible


@dataclass(frozen=True)
class UBound:
    """A bound of u at a given x, and its derivative by x."""

    value: Scalar
    slope: Scalar


@dataclass(frozen=True)
class URange:
    """The largest lower and the smallest upper bound of u."""

    least: UBound
    most: UBound

    def with_share(self, u: Scalar, share: Scalar, by_u: Scalar, by_x: Scalar) -> URange:
        """Add the constraint -1 <= share <= 1, linearised at u, with the tolerance of shares: for a limit
        that hardly depends on u this is a wide range of u.
        """
        inverse = 1.0 / choose(abs(by_u), FLAT, FLAT, by_u)
        most = 1.0 + CLOSE
        a, b, slope = u + (most - share) * inverse, u - (most + share) * inverse, -by_x * inverse
        return self.within(UBound(minimum(a, b), slope), UBound(maximum(a, b), slope))

    def within(self, least: UBound, most: UBound) -> URange:
        """Add explicit bounds."""
        return URange(
            UBound(
                maximum(self.least.value, least.value),
                choose(self.least.value, least.value, least.slope, self.least.slope),
            ),
            UBound(
                minimum(self.most.value, most.value),
                choose(most.value, self.most.value, most.slope, self.most.slope),
            ),
        )


Ranges = Callable[[Scalar, Scalar], URange]


def anywhere() -> URange:
    """No bounds."""
    return URange(UBound(-FAR, 0.0), UBound(FAR, 0.0))


def edge(ranges: Ranges, start: Scalar, u: Scalar, other: Scalar, known: Scalar) -> tuple[Scalar, Scalar]:
    """(x, lost): the x nearest to `start`, towards `other`, at which the bounds admit a u; `lost` is 1 if
    none was found. `known` is 1 if `other` is one.

    At each x first u moves between the bounds, as they are linear only near it. Then Newton's method is
    applied to the width between the bounds, bracketed by the last infeasible and the last feasible x, with a
    bisection in every third step.
    """

    def step(state: list[Scalar]) -> list[Scalar]:
        x, u, inside, outside, known, settling, turn, _ = state
        found = ranges(x, u)
        least, most = found.least, found.most
        room, slope = most.value - least.value, most.slope - least.slope
        off = CLOSE * (abs(least.value) + abs(most.value)) + FLAT  # of u: accuracy of the bounds
        between = minimum(maximum(u, least.value), most.value)
        # if infeasible, the bound nearer to 0: the other may be that of a limit that u hardly changes, and so
        # far away that the others drown in rounding
        nearer = choose(abs(least.value), abs(most.value), least.value, most.value)
        target = choose(room, 0.0, nearer, between)
        settles = choose(off, abs(target - u), choose(settling, SETTLING, 1.0, 0.0), 0.0)
        # only at a u between them the bounds are those of the limits themselves
        missed = choose(room, -off, 1.0, choose(off, abs(between - u), 1.0, 0.0))
        inside_next, outside_next = choose(0.5, missed, inside, x), choose(0.5, missed, x, outside)
        # a feasible start needs no search; where bounds are about to meet, it is the edge
        is_edge = choose(abs(x - start), FLAT, 1.0, choose(room, NEAR * abs(slope) * x, 1.0, 0.0))
        is_edge = maximum(
            is_edge, choose(abs(outside_next - inside_next), NEAR * abs(outside_next), 1.0, 0.0)
        )
        is_edge = choose(0.5, missed, 0.0, is_edge)
        newton = x - room / choose(abs(slope), FLAT, FLAT, slope)
        leads_out = choose(0.0, (newton - inside_next) * (outside_next - newton), 0.0, 1.0)
        share = choose(0.5, missed, 0.1, 0.5)
        aim = choose(0.5, leads_out, inside_next + share * (outside_next - inside_next), newton)
        aim = choose(turn, 1.5, aim, 0.5 * (inside_next + outside_next))
        moved = [
            choose(0.5, is_edge, x, aim),
            target,
            inside_next,
            outside_next,
            maximum(known, 1.0 - missed),
            0.0,
            choose(turn, 1.5, turn + 1.0, 0.0),
            1.0 - is_edge,
        ]
        settled = [x, target, inside, outside, known, settling + 1.0, turn, 1.0]
        return [choose(0.5, settles, a, b) for a, b in zip(settled, moved, strict=True)]

    begin = [start, u, other, start, known, 0.0, 0.0, 1.0]
    x, _, inside, _, known, *_, left = iterate(step, begin, lambda state: (0.5, state[7]), MOST)
    return choose(0.5, left, inside, x), choose(0.5, left, 1.0 - known, 0.0)


def fastest(ranges: Ranges, x: Scalar, u: Scalar) -> Scalar:
    """The largest u at x, from an initial guess."""

    def step(state: list[Scalar]) -> list[Scalar]:
        u, _ = state
        found = ranges(x, u)
        most = found.most.value
        scale = CLOSE * (abs(found.least.value) + abs(most)) + FLAT
        return [most, choose(scale, abs(most - u), 1.0, 0.0)]

    return iterate(step, [u, 1.0], lambda state: (0.5, state[1]), MOST)[0]


def bounded_by(shares: Callable[[Scalar, Scalar], list[Scalar]], graph: Graph) -> Ranges:
    """Bounds of u by shares on a graph, which are differentiated once and evaluated at any x and u."""
    x_any, u_any = stand_ins(graph, 2)
    made = shares(x_any, u_any)
    by_u, by_x = (derivative(graph, made, {v: 1.0}) for v in (u_any, x_any))

    def bounded(x: Scalar, u: Scalar) -> URange:
        found = anywhere()
        for share in zip(*substituted(graph, [made, by_u, by_x], {x_any: x, u_any: u}), strict=True):
            found = found.with_share(u, *share)
        return found

    return bounded


@dataclass(frozen=True)
class SpeedInterval:
    """An interval of the length `twice` / 2, with the places at its ends and their limits."""

    layout: RowLayout
    twice: Scalar
    left: Scalars
    right: Scalars
    left_limits: Scalars
    right_limits: Scalars

    def ranges(self, low: Scalar, high: Scalar) -> Ranges:
        """Bounds of u by the limits at both ends, and by the range of x from `low` to `high` that must be
        reached.
        """
        twice, inverse = self.twice, 1.0 / self.twice
        shares = partial(self.layout.shares, of_hand=solved_hand_share)
        bounded = bounded_by(
            lambda x, u: [
                *shares(self.left, self.left_limits, x, u),
                *shares(self.right, self.right_limits, x + twice * u, u),
            ],
            twice.graph,
        )
        low, high = low * (1.0 - CLOSE), high * (1.0 + CLOSE)  # accuracy of x
        return lambda x, u: bounded(x, u).within(
            UBound((low - x) * inverse, -inverse), UBound((high - x) * inverse, -inverse)
        )


def _interval_sizes(layout: RowLayout) -> dict[str, int]:
    """The rows that both passes read: 2 D and the largest x at the left end, places and limits."""
    return {
        "interval": 2,
        "left": layout.width,
        "right": layout.width,
        "left_limits": layout.limit_width,
        "right_limits": layout.limit_width,
    }


def traced_backward(layout: RowLayout) -> Traced:
    """Backward step with carry `low`, `high`: the x that lead on from the right end of an interval, and then
    to its left one; `lows` and `highs` are the carry as rows, NEVER if infeasible.
    """
    from forearm.codegen.functions import traced_formula

    def formula(low: Scalars, high: Scalars, interval: Scalars, *places: Scalars) -> dict[str, Scalars]:
        twice, top = interval
        ranges = SpeedInterval(layout, twice, *places).ranges(low[0], high[0])
        x_least, lost = edge(ranges, 0.0, low[0] / twice, top, 0.0)
        x_most, _ = edge(ranges, top, (high[0] - top) / twice, x_least, 1.0)
        # if the right end is infeasible, so is the left one
        lost = maximum(lost, choose(high[0], 0.0, 1.0, 0.0))
        low_next = choose(0.5, lost, -NEVER, minimum(x_least, x_most))
        high_next = choose(0.5, lost, NEVER, x_most)
        return {"low": [low_next], "high": [high_next], "lows": [low_next], "highs": [high_next]}

    return traced_formula(formula, {"low": 1, "high": 1} | _interval_sizes(layout))


def traced_forward(layout: RowLayout) -> Traced:
    """Forward step with carry `x`, from the left end of an interval to its right one, where `ahead` (low,
    high) lead on; `reached` is the carry as rows.
    """
    from forearm.codegen.functions import traced_formula

    def formula(x: Scalars, ahead: Scalars, interval: Scalars, *places: Scalars) -> dict[str, Scalars]:
        twice, _ = interval
        ranges = SpeedInterval(layout, twice, *places).ranges(*ahead)
        u = fastest(ranges, x[0], (ahead[1] - x[0]) / twice)
        # slightly above the feasible range, a limit that u hardly changes would demand unbounded braking
        there = minimum(maximum(x[0] + twice * u, 0.0), ahead[1])
        return {"x": [there], "reached": [there]}

    return traced_formula(formula, {"x": 1, "ahead": 2} | _interval_sizes(layout))


def traced_top(layout: RowLayout) -> Traced:
    """`top`: the largest x up to `cap` at which the limits of one `place` admit a u; 0 if none."""
    from forearm.codegen.functions import traced_formula

    def formula(place: Scalars, limits: Scalars, cap: Scalars) -> dict[str, Scalars]:
        shares = partial(layout.shares, place, limits, of_hand=solved_hand_share)
        return {"top": [edge(bounded_by(shares, cap[0].graph), cap[0], 0.0, 0.0, 1.0)[0]]}

    return traced_formula(formula, {"place": layout.width, "limits": layout.limit_width, "cap": 1})
