"""Fehlberg's six-stage pair of orders 4 and 5, restarted at each of given times. Mata 5.2, Table 7."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from forearm.dynamics.explicit_methods import Row
from forearm.simulation.methods import Rate, Tableau, explicit_stages, weighted
from forearm.spatial import Floats
from forearm.values import frozen


def _row(text: str) -> Row:
    return tuple(Fraction(x) for x in text.split())


# E. Fehlberg, Low-order classical Runge-Kutta formulas with stepsize control, NASA TR R-315, 1969: RK4(5).
FEHLBERG = Tableau(
    "rkf45",
    _row("0 1/4 3/8 12/13 1 1/2"),
    (
        (),
        _row("1/4"),
        _row("3/32 9/32"),
        _row("1932/2197 -7200/2197 7296/2197"),
        _row("439/216 -8 3680/513 -845/4104"),
        _row("-8/27 2 -3544/2565 1859/4104 -11/40"),
    ),
    _row("16/135 0 6656/12825 28561/56430 -9/50 2/55"),
    5,
    _row("25/216 0 1408/2565 2197/4104 -1/5 0"),
    4,
)
GROW, SHRINK = 4.0, 0.1  # largest and smallest ratio of the next step to this one


@dataclass(frozen=True)
class StepControl:
    """Options of step control in which implementations of this pair differ.

    Attributes:
        relative: the error tolerance of a step is tolerance times 1 + |y|; otherwise the tolerance itself.
        extrapolate: continue with the solution of order 5, otherwise with that of order 4.
        anew: recompute the rate at the start of a step after a rejection.
        safety: safety factor on the step that would just meet the tolerance.
    """

    relative: bool = True
    extrapolate: bool = True
    anew: bool = True
    safety: float = 0.9


@frozen
class Attempts:
    """Numbers of accepted and rejected steps and of rate evaluations; the states (T, ...) at the times."""

    taken: int
    rejected: int
    evaluations: int
    states: Floats


def restarted(rate: Rate, t: Floats, y: Floats, tolerance: float, control: StepControl) -> Attempts:
    """Integrate y' = rate(t, y) from each time to the next; the first step tried is the whole interval."""
    taken = rejected = 0
    states = [y]
    for start, end in pairwise(t.tolist()):
        now, h = start, end - start
        first = None
        while now < end:
            landing = h >= end - now
            tried = end - now if landing else h
            K = explicit_stages(FEHLBERG, rate, now, y, tried, first)
            step = weighted(FEHLBERG.floats[2], tried, K)
            error = np.abs(weighted(FEHLBERG.error_weights, tried, K))
            worst = float((error / (tolerance * (1.0 + np.abs(y) if control.relative else 1.0))).max())
            factor = control.safety * max(worst, 1e-10) ** -0.2
            if worst > 1.0:
                rejected, h = rejected + 1, tried * max(factor, SHRINK)
                first = None if control.anew else K[0]
                continue
            taken, first = taken + 1, None
            y = y + (step if control.extrapolate else step - weighted(FEHLBERG.error_weights, tried, K))
            now, h = end if landing else now + tried, tried * min(factor, GROW)
        states.append(y)
    evaluations = 6 * (taken + rejected) - (0 if control.anew else rejected)
    return Attempts(taken, rejected, evaluations, np.array(states))
