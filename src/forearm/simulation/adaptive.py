"""Adaptive integration: error-controlled steps, dense output, events and breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from forearm.dynamics.step_control import FIRST_ERROR, GROW, next_factor, step_size
from forearm.errors import InputError
from forearm.progress import Progress
from forearm.simulation.events import EventFunction, EventHit, Watch
from forearm.simulation.implicit import Radau
from forearm.simulation.methods import Acceleration, Floats, stacked, tableau_of
from forearm.simulation.solution import DenseSolution, Status
from forearm.simulation.stepping import (
    PARTS,
    Explicit,
    Failure,
    Stepper,
    StepsAtOnce,
    System,
    Tolerance,
    TrialStep,
    along,
    tolerance,
    unfinite,
)
from forearm.values import as_floats, check_number

# Step size factor after a step that produced non-finite values or whose stage equations were not solved.
AFTER_FAILURE = 0.25
# Minimum step, in units of the rounding error of t.
FLOOR_SPACINGS = 16.0
MOST_STEPS = 1_000_000  # accepted and rejected steps together
AT_ONCE = 256  # steps per call of machine code, before control returns to Python


def integrate(
    f: Acceleration,
    t0: float,
    t1: float,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    method: str = "dp45",
    rtol: float = 1e-6,
    atol_q: ArrayLike = 1e-9,
    atol_qd: ArrayLike = 1e-9,
    events: Sequence[EventFunction] = (),
    breakpoints: ArrayLike = (),
    first_step: float | None = None,
    progress: Progress | None = None,
    at_once: StepsAtOnce | None = None,
) -> DenseSolution:
    """Integrate q'' = f(t, q, qd) from t0 to t1 with a local error within atol + rtol |y| in every component
    of q and qd.

    Steps end at the breakpoints. Between two of them f is called only for start <= t < end, so that an input
    that jumps at a breakpoint is seen from one side. `progress` is called after every step, or after each
    batch of `at_once`, with the elapsed part of t1 - t0. A failure is reported as the status of the solution,
    together with the partial result.
    """
    y = stacked(q, qd)
    stretches = _stretches(t0, t1, breakpoints)
    _check(y, first_step)
    tell = (lambda _: None) if progress is None else lambda t: progress(t - t0, t1 - t0, "integrating")
    system = System(f, y.shape[1])
    stepper = _stepper(method, system, tolerance(rtol, atol_q, atol_qd, y.shape[1]))
    run = _Run(system, stepper, Watch(events, t0, y), tell, at_once, t0, y)
    for start, end in stretches:
        if not run.stretch(start, end, first_step if start == t0 else None):
            break
    return run.solution()


class _Run:
    """State of an integration in progress."""

    def __init__(
        self,
        system: System,
        stepper: Stepper,
        watch: Watch,
        tell: Callable[[float], object],
        at_once: StepsAtOnce | None,
        t: float,
        y: Floats,
    ) -> None:
        self.system, self.stepper, self.watch, self.tell = system, stepper, watch, tell
        self.at_once = at_once
        self.t, self.y, self.h, self.error_before = t, y, 0.0, FIRST_ERROR
        # batches of steps, one array each
        self.times, self.states = [np.array([t])], [y[None]]
        self.dense: list[Floats] = []
        self.widths: list[Floats] = []
        self.taken = 0
        self.hits: list[EventHit] = []
        self.rejected = 0
        self.status, self.message = Status.END, Status.END.value
        self.component: int | None = None

    def stretch(self, start: float, end: float, first_step: float | None) -> bool:
        """Integrate from one breakpoint to the next; return False if the integration ends before."""
        self.system.before = end
        self.stepper.restart()
        self.error_before = FIRST_ERROR
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.rate = self.system(start, self.y)
            failure = unfinite(self.y, [self.rate], self.y)
            if failure is not None:
                return self._fail(Status.DIVERGED, failure)
            if self.h == 0.0:
                self.h = (
                    first_step
                    if first_step is not None
                    else first_guess(self.system, self.stepper, start, self.y, self.rate)
                )
            if self.at_once is not None:
                self.at_once.enter(start, end, self.y, self._shortest(end), self.stepper.tolerance)
            while self.t < end:
                is_more = self.at_once is not None and self._steps_at_once(self.at_once)
                if self.status is not Status.END:
                    return False
                if not is_more and self.t < end and not self._step(end):
                    return False
        return True

    def _steps_at_once(self, at_once: StepsAtOnce) -> bool:
        """Take compiled steps until an event is near; return whether more remain."""
        most = min(MOST_STEPS - self.taken - self.rejected, AT_ONCE)
        if most <= 0:
            return False
        made = at_once.take(self.t, self.y, self.rate, self.h, self.error_before, most)
        self.rate, self.h, self.error_before = made.rate, made.h, made.error_before
        self.rejected += made.rejected
        self.system.evaluations += made.evaluations
        if len(made.t):
            self._take(made.t, made.y, made.widths, made.dense, [])
        # at a breakpoint, where a jump of the input may break a joint loose, and where signs differ by
        # rounding
        self.hits += (hits := self.watch.follow(self.t, self.y))
        if hits and hits[-1].terminal:
            self._end(hits[-1])
        elif made.crossing is not None:
            self._cross(*made.crossing)
        return not made.is_over

    def _cross(self, h: float, dense: Floats) -> None:
        """End at a terminal event within the step; without one, leave the step to be taken."""
        trial, signs = TrialStep(h, along(self.y, dense, 1.0), []), self.watch.signs
        hits = self._events(trial, dense)
        if hits and hits[-1].terminal:
            self._stop(trial, dense, hits)
        self.watch.signs = signs

    def _step(self, end: float) -> bool:
        """Take one accepted step, retrying after rejections; return False if the integration ends."""
        failure: Failure | None = None
        while self.taken + self.rejected < MOST_STEPS:
            h, landing = self._size(end)
            floor = self._shortest(end)
            if h < floor and not landing:
                if failure is not None:
                    return self._fail(Status.DIVERGED if failure.diverged else Status.STEP_TOO_SMALL, failure)
                h, landing = (floor, False) if floor < end - self.t else (end - self.t, True)
            trial = self.stepper.attempt(self.t, self.y, self.rate, h)
            worst = 0.0 if trial.error is None else float(trial.error.max())
            if trial.failure is None and worst <= 1.0:
                return self._accept(trial, worst, end if landing else self.t + h, failure is not None)
            failure = trial.failure or self._blame(trial)
            self.h = h * (
                self._factor(worst, growth=1.0)
                if trial.failure is None and isfinite(worst)
                else AFTER_FAILURE
            )
            self.rejected += 1
        return self._fail(Status.TOO_MANY_STEPS, Failure(f"maximum number of steps, {MOST_STEPS}, reached"))

    def _shortest(self, end: float) -> float:
        """Minimum step size from here to the end of the stretch."""
        return FLOOR_SPACINGS * float(np.spacing(max(abs(self.t), abs(end))))

    def _size(self, end: float) -> tuple[float, bool]:
        """Size of the next step, and whether it ends at the end of the stretch."""
        left = end - self.t
        return step_size(self.h, left), left <= self.h

    def _factor(self, error: float, growth: float) -> float:
        """Ratio of the next step size to this one."""
        return float(
            next_factor(self.stepper.exponent, self.stepper.memory, error, self.error_before, growth)
        )

    def _accept(self, trial: TrialStep, error: float, t_new: float, rejected: bool) -> bool:
        rate_end, dense = self.stepper.finish(self.t, self.y, self.rate, trial)
        hits = self._events(trial, dense)
        if hits and hits[-1].terminal:
            return self._stop(trial, dense, hits)
        factor = self._factor(error, growth=1.0 if rejected else GROW)
        proposed = trial.h * (1.0 if 1.0 <= factor <= self.stepper.deadband else factor)
        # A step truncated at the end of a stretch does not reduce the step size.
        self.h = max(proposed, self.h) if trial.h < self.h and not rejected else proposed
        self.error_before = max(error, FIRST_ERROR)
        self._take(np.array([t_new]), trial.y[None], np.array([trial.h]), dense[None], hits)
        self.rate = rate_end
        failure = unfinite(self.y, [rate_end], self.y)
        return self._fail(Status.DIVERGED, failure) if failure is not None else True

    def _events(self, trial: TrialStep, dense: Floats) -> list[EventHit]:
        if not self.watch.rows:
            return []
        states = [(theta, along(self.y, dense, theta)) for theta in self.stepper.sections] + [(1.0, trial.y)]
        return self.watch.step(self.t, trial.h, states, partial(along, self.y, dense))

    def _stop(self, trial: TrialStep, dense: Floats, hits: list[EventHit]) -> bool:
        """End at a terminal event, on the dense output of the step that crossed it."""
        last = hits[-1]
        y = np.stack([last.q, last.qd])
        self._take(np.array([last.t]), y[None], np.array([trial.h]), dense[None], hits)
        return self._end(last)

    def _end(self, hit: EventHit) -> bool:
        self.status = Status.EVENT
        self.message = f"event {hit.name!r} at t = {hit.t:.9g}"
        return False

    def _take(self, t: Floats, y: Floats, widths: Floats, dense: Floats, hits: list[EventHit]) -> None:
        """Append steps to times (k,) and states (k, 2, n)."""
        self.t, self.y = float(t[-1]), y[-1]
        self.times.append(t)
        self.states.append(y)
        self.dense.append(dense)
        self.widths.append(widths)
        self.taken += len(t)
        self.hits += hits
        self.tell(self.t)

    def _blame(self, trial: TrialStep) -> Failure:
        """Name the component with the largest error, for a message."""
        assert trial.error is not None
        part, index = np.unravel_index(int(np.argmax(trial.error)), trial.error.shape)
        size, error = self.y[part, index], trial.error[part, index]
        return Failure(
            f"the error of {PARTS[int(part)]}[{index}] = {size:.6g} is {error:.3g} times the tolerance",
            int(index),
        )

    def _fail(self, status: Status, failure: Failure) -> bool:
        self.status, self.component = status, failure.component
        self.message = f"integration stopped at t = {self.t:.9g} with step {self.h:.3g}: {failure.reason}"
        return False

    def solution(self) -> DenseSolution:
        """The solution so far."""
        states = np.concatenate(self.states)
        return DenseSolution(
            np.concatenate(self.times),
            states[:, 0],
            states[:, 1],
            self.status,
            self.message,
            self.component,
            tuple(self.hits),
            self.h,
            self.system.evaluations,
            self.rejected,
            np.concatenate(self.dense) if self.dense else np.zeros((0, 1, *self.y.shape)),
            np.concatenate(self.widths) if self.widths else np.zeros(0),
        )


def first_guess(system: System, stepper: Stepper, t: float, y: Floats, rate: Floats) -> float:
    """Initial step size from the norms of y, y' and y'' (Hairer, Norsett and Wanner, section II.4)."""
    scale = stepper.tolerance.scale(y)
    size, speed = float(np.max(np.abs(y) / scale)), float(np.max(np.abs(rate) / scale))
    h = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
    change = system(t + h, y + h * rate) - rate
    bend = float(np.max(np.abs(change) / scale)) / h
    if not isfinite(bend):
        return h
    largest = max(speed, bend)
    return min(100.0 * h, max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** stepper.exponent)


def _stepper(name: str, system: System, allowed: Tolerance) -> Stepper:
    tableau = tableau_of(name)
    if tableau.name == "radau":
        return Radau(system, allowed)
    if tableau.b_embedded is None:
        raise InputError(f"method {name!r} has no error estimate; use 'dp45', 'dp87' or 'radau'.")
    return Explicit(tableau, system, allowed)


def _stretches(t0: float, t1: float, breakpoints: ArrayLike) -> list[tuple[float, float]]:
    """Intervals (start, end) between the breakpoints inside (t0, t1)."""
    knots = as_floats(breakpoints, "breakpoints")
    if not (isfinite(t0) and isfinite(t1) and t1 > t0):
        raise InputError(f"expected finite times with t1 > t0, got t0 = {t0:g}, t1 = {t1:g}.", "t0", "t1")
    if knots.ndim != 1 or np.isnan(knots).any():
        raise InputError("expected a list of times without NaN.", "breakpoints")
    inside = np.unique(knots[(knots > t0) & (knots < t1)]).tolist()
    return list(zip([t0, *inside], [*inside, t1], strict=True))


def _check(y: Floats, first_step: float | None) -> None:
    if y.ndim != 2:
        raise InputError(
            f"q and qd: expected one state (n,), got {y.shape[1:]}; use explicit_step for batches."
        )
    if first_step is not None:
        check_number(first_step, "first_step", above=0.0)
