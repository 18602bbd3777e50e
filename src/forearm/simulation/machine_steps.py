"""Adaptive steps in machine code, in batches that return to Python at events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.kernels.adaptive_rollout import AdaptiveSimulator
from forearm.kernels.rollout import State
from forearm.simulation.stepping import Tolerance

Floats = NDArray[np.float64]
# from an interval and the state at its start: the input there (n,) and its slope
Line = Callable[[float, float, Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class TakenSteps:
    """A batch of steps: the times and states (k,) and (k, 2, n) they reach, their sizes (k,) and dense output
    (k, p, 2, n); the number of rejections; and the rate, step size and error from which the next starts. If
    `is_over`, the next step must be taken, or refused, by the caller; `crossing` is its size and dense output
    if its error is acceptable but an event lies within it.
    """

    t: Floats
    y: Floats
    widths: Floats
    dense: Floats
    rejected: int
    evaluations: int
    rate: Floats
    h: float
    error_before: float
    is_over: bool
    crossing: tuple[float, Floats] | None


class MachineSteps:
    """An arm with inputs that are linear between breakpoints. A batch ends where a joint passes `limits`;
    with dry friction, where a joint sticks, breaks loose or passes the velocity `slow` (m,); with backlash,
    where a flank is met or left.
    """

    def __init__(
        self,
        simulator: AdaptiveSimulator,
        line: Line,
        slow: Floats,
        is_switching: bool,
        limits: tuple[Floats, Floats] | None,
    ) -> None:
        self._run, self._line, self._n = simulator.start(), line, simulator.coordinates.count
        self._stages, self._pair = len(simulator.pair.c) - 1, simulator.pair
        given = self._run.given
        given["slow"][:] = slow
        given["low"][:], given["high"][:] = limits or (-np.inf, np.inf)
        given["is_watched"][0] = limits is not None or is_switching

    def stand(self, state: State) -> None:
        """Adopt the stick and slip state of the joints."""
        given = self._run.given
        for name in ("friction_sign", "is_free", "contact"):
            given[name][:] = getattr(state, name)[0]

    def enter(self, start: float, end: float, y: Floats, shortest: float, tolerance: Tolerance) -> None:
        """Begin the interval between two breakpoints."""
        given = self._run.given
        given["start"][0], given["end"][0], given["shortest"][0] = start, end, shortest
        given["rtol"][0], given["atol"][:] = tolerance.rtol, tolerance.atol.ravel()
        given["u"][:], given["slope"][:] = self._line(start, end, y[0], y[1])

    def take(self, t: float, y: Floats, rate: Floats, h: float, error_before: float, most: int) -> TakenSteps:
        """Take at most this many steps, rejected ones included."""
        given, n = self._run.given, self._n
        given["t"][0], given["h"][0], given["error_before"][0], given["is_retry"][0] = t, h, error_before, 0.0
        given["q"][:], given["qd"][:], given["qdd"][:] = y[0], y[1], rate[1]
        record, tried, taken = self._run.go_on(most)
        is_at_end = given["t"][0] == given["end"][0]
        is_over = tried < most or is_at_end
        dense = record["dense"].reshape(-1, self._pair.powers, 2, n)
        crossing = None
        if is_over and not is_at_end and record["is_crossed"][taken, 0]:
            crossing = float(record["width"][taken, 0]), dense[taken]
        beyond = 0 if self._pair.first_same_as_last else taken * (self._stages + 2)
        return TakenSteps(
            record["t"][:taken, 0],
            np.stack([record["q"][:taken], record["qd"][:taken]], axis=1),
            record["width"][:taken, 0],
            dense[:taken],
            tried - taken - int(is_over and not is_at_end),
            tried * self._stages + beyond,
            np.stack([given["qd"], given["qdd"]]),
            float(given["h"][0]),
            float(given["error_before"][0]),
            is_over,
            crossing,
        )
