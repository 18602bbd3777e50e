"""Events: zero crossings of functions of the state, located during integration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, log2
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from forearm.simulation.methods import Floats

# Bracket width of a crossing, relative to the step; at least a few roundings of t.
LOCATED = 1e-12

StateAt: TypeAlias = Callable[[float], Floats]


@dataclass(frozen=True)
class EventFunction:
    """A function g(t, q, qd), a number or (m,), whose zero crossings are events: rising (+1), falling (-1) or
    both (0).

    A terminal event ends the integration at the first crossing. The reported time lies just past the zero,
    within the tolerance, so that a continued run does not meet the event again; a g that starts at exactly 0
    counts as having crossed.
    """

    name: str
    g: Callable[[float, Floats, Floats], ArrayLike]
    direction: int = 0
    terminal: bool = False


@dataclass(frozen=True)
class EventHit:
    """A crossing: its event, component of g, time, state and direction, rising (+1) or falling (-1)."""

    name: str
    component: int
    t: float
    q: Floats
    qd: Floats
    direction: int
    terminal: bool


class Watch:
    """Monitor of the events of one integration: tracks the sign of every component of every g from step to
    step.
    """

    def __init__(self, events: Sequence[EventFunction], t: float, y: Floats) -> None:
        self.events = events
        # Each row of all g: its event and its component there.
        self.rows = [(event, k) for event in events for k in range(_value(event, t, y).size)]
        self.signs = np.sign(self.values(t, y))

    def values(self, t: float, y: Floats) -> Floats:
        """All g at a state, concatenated."""
        return np.concatenate([np.zeros(0), *(_value(event, t, y) for event in self.events)])

    def step(self, t: float, h: float, states: Sequence[tuple[float, Floats]], at: StateAt) -> list[EventHit]:
        """Crossings within a step in order of time, up to and including the first terminal one.

        `states` are (theta, y) at the section points of the step and at its end; `at` returns the state at
        any theta.
        """
        end = inf
        hits: list[EventHit] = []
        for theta, index, direction in sorted(self._crossings(t, h, states, at)):
            if theta > end:
                break
            event, component = self.rows[index]
            y = at(theta)
            hits.append(EventHit(event.name, component, t + theta * h, y[0], y[1], direction, event.terminal))
            if event.terminal:
                end = theta
        return sorted(hits, key=lambda hit: hit.terminal) if end < inf else hits

    def follow(self, t: float, y: Floats) -> list[EventHit]:
        """Crossings since the last recorded signs, at a state reached by steps that saw none; terminal ones
        last.
        """
        if not self.rows:
            return []
        before, self.signs = self.signs, np.sign(self.values(t, y))
        hits = []
        for index in np.flatnonzero((before != 0.0) & (self.signs != before)).tolist():
            (event, component), direction = self.rows[index], -int(before[index])
            if event.direction in (0, direction):
                hits.append(EventHit(event.name, component, t, y[0], y[1], direction, event.terminal))
        return sorted(hits, key=lambda hit: hit.terminal)

    def _crossings(
        self, t: float, h: float, states: Sequence[tuple[float, Floats]], at: StateAt
    ) -> list[tuple[float, int, int]]:
        """(theta, row, direction) of every crossing in the direction that its event asks for."""
        found = []
        low = 0.0
        for theta, y in states:
            signs = np.sign(self.values(t + theta * h, y))
            for index in np.flatnonzero((self.signs != 0.0) & (signs != self.signs)).tolist():
                direction = -int(self.signs[index])
                if self.rows[index][0].direction in (0, direction):
                    found.append((self._located(t, h, low, theta, index, at), index, direction))
            self.signs, low = signs, theta
            if any(self.rows[index][0].terminal for _, index, _ in found):
                break  # later crossings are not reached
        return found

    def _located(self, t: float, h: float, low: float, high: float, index: int, at: StateAt) -> float:
        event, component = self.rows[index]

        def g(theta: float) -> float:
            return float(_value(event, t + theta * h, at(theta))[component])

        return bracketed(g, low, high, max(LOCATED, 4.0 * float(np.spacing(abs(t) + h)) / h))


def _value(event: EventFunction, t: float, y: Floats) -> Floats:
    return np.ravel(np.asarray(event.g(t, y[0], y[1]), dtype=float))


def bracketed(g: Callable[[float], float], low: float, high: float, width: float) -> float:
    """A point just past a sign change of g within (low, high], to the given bracket width.

    ITP method: interpolate, truncate and project (I. F. D. Oliveira, R. H. C. Takahashi, An enhancement of
    the bisection method, ACM Trans. Math. Software 47, 2020), at most one iteration more than bisection.
    Returns `high` if g has one sign at both ends.
    """
    g_low, g_high = g(low), g(high)
    if g_high == 0.0 or (g_low > 0.0) == (g_high > 0.0):
        return high
    most = max(0, ceil(log2((high - low) / width))) + 1
    start = high - low
    for k in range(most + 1):
        if high - low <= width:
            break
        middle = 0.5 * (low + high)
        radius = 0.5 * width * 2.0 ** (most - k) - 0.5 * (high - low)
        secant = (g_high * low - g_low * high) / (g_high - g_low)
        side = 1.0 if middle >= secant else -1.0
        shift = 0.2 / start * (high - low) ** 2
        point = secant + side * shift if shift <= abs(middle - secant) else middle
        if abs(point - middle) > radius:
            point = middle - side * radius
        if not low < point < high:
            point = middle
        g_point = g(point)
        if (g_point > 0.0) == (g_low > 0.0) and g_point != 0.0:
            low, g_low = point, g_point
        else:
            high, g_high = point, g_point
            if g_point == 0.0:
                break
    return high
