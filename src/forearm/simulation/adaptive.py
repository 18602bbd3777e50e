"""Adaptive integration: error-controlled steps, dense output, events and breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from forearm.dynamics.step_control import FIRST_ERROR, GROW, next_factor, step_size
from forearm.records import flat
from forearm.simulation.events import EventFunction, EventHit, Watch
from forearm.simulation.implicit import Radau
from forearm.simulation.machine_steps import MachineSteps
from forearm.simulation.methods import Acceleration, Floats, tableau_of
from forearm.simulation.solution import DenseSolution, Status
from forearm.simulation.stepping import (
    PARTS,
    Explicit,
    Failure,
    System,
    TrialStep,
    along,
    tolerance,
    unfinite,
)

Stepper: TypeAlias = Explicit | Radau

# Step size factor after a step that produced non-finite values or whose stage equations were not solved.
AFTER_FAILURE = 0.25
# Minimum step, in units of the rounding error of t.
FLOOR_SPACINGS = 16.0
MOST_STEPS = 1_000_000  # accepted and rejected steps together
AT_ONCE = 256  # steps per call of machine code, before control returns to Python


@dataclass(frozen=True, eq=False)
class Controls:
    """How a system is integrated: the local error in every component of q and qd is within atol + rtol |y|,
    and steps end at the breakpoints.

    Between two breakpoints f is called only for start <= t < end, so that an input that jumps at one is seen
    from one side. `tell` is called with the time after every step, or after each batch of `at_once`.
    """

    method: str = "dp45"
    rtol: float = 1e-6
    atol_q: ArrayLike = 1e-9
    atol_qd: ArrayLike = 1e-9
    events: Sequence[EventFunction] = ()
    breakpoints: ArrayLike = ()
    first_step: float | None = None
    tell: Callable[[float], object] = lambda _: None
    at_once: MachineSteps | None = None


@flat(controls=Controls)
def integrate(
    f: Acceleration, t0: float, t1: float, q: Floats, qd: Floats, *, controls: Controls = Controls()
) -> DenseSolution:
    """Integrate q'' = f(t, q, qd) from t0 to t1. A failure is reported as the status of the solution,
    together with the partial result.
    """
    y = np.array([q, qd], dtype=np.float64)
    knots = np.asarray(controls.breakpoints, dtype=np.float64)
    ends = [*np.unique(knots[(knots > t0) & (knots < t1)]).tolist(), t1]
    run = _Run(System(f), controls, t0, y)
    for start, end in pairwise([t0, *ends]):
        if not run.stretch(start, end, controls.first_step if start == t0 else None):
            break
    return run.solution()


class _Run:
    """State of an integration in progress."""

    def __init__(self, system: System, controls: Controls, t: float, y: Floats) -> None:
        allowed = tolerance(controls.rtol, controls.atol_q, controls.atol_qd, y.shape[1])
        self.system, self.watch = system, Watch(controls.events, t, y)
        self.stepper: Stepper = (
            Radau(system, allowed)
            if controls.method == "radau"
            else Explicit(tableau_of(controls.method), system, allowed)
        )
        self.tell, self.at_once = controls.tell, controls.at_once
        self.t, self.y, self.h, self.error_before = t, y, 0.0, FIRST_ERROR
        # batches of steps, one array each
        self.times, self.states = [np.array([t])], [y[None]]
        self.dense = [np.zeros((0, 1, *y.shape))]
        self.widths = [np.zeros(0)]
        self.taken = self.rejected = 0
        self.hits: list[EventHit] = []
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
                self.h = first_step or first_guess(self.system, self.stepper, start, self.y, self.rate)
            at_once = self.at_once
            if at_once is not None:
                at_once.enter(start, end, self.y, self._shortest(end), self.stepper.tolerance)
            while self.t < end:
                is_more = at_once is not None and self._steps_at_once(at_once)
                if self.status is not Status.END:
                    return False
                if not is_more and self.t < end and not self._step(end):
                    return False
        return True

    def _steps_at_once(self, at_once: MachineSteps) -> bool:
        """Take compiled steps until an event is near; return whether more remain."""
        most = min(MOST_STEPS - self.taken - self.rejected, AT_ONCE)
        if most <= 0:
            return False
        steps = at_once.take(self.t, self.y, self.rate, self.h, self.error_before, most)
        self.rate, self.h, self.error_before = steps.rate, steps.h, steps.error_before
        self.rejected += steps.rejected
        self.system.evaluations += steps.evaluations
        if len(steps.t):
            self._take(steps.t, steps.y, steps.widths, steps.dense, [])
        # at a breakpoint, where a jump of the input may break a joint loose, and where signs differ by
        # rounding
        self.hits += (hits := self.watch.follow(self.t, self.y))
        if hits and hits[-1].terminal:
            self._end(hits[-1])
        elif steps.crossing is not None:
            self._cross(*steps.crossing)
        return not steps.is_over

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
            is_measured = trial.failure is None and isfinite(worst)
            self.h = h * (self._factor(worst, growth=1.0) if is_measured else AFTER_FAILURE)
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
            np.concatenate(self.dense[1:] or self.dense),
            np.concatenate(self.widths),
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
