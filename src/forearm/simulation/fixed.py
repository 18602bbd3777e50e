"""Runs of fixed steps in machine code, piece after piece: what drives them, what is kept, where they end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.rollout import Simulator, State
from forearm.simulation.clock import Clock, from_zero, held_steps, whole_steps
from forearm.simulation.course import Between, Course, at_once
from forearm.simulation.inputs import Input
from forearm.simulation.jamming import jams_within
from forearm.simulation.result import cubic
from forearm.simulation.track import Track, first_to_go

Floats = NDArray[np.float64]
Progress = Callable[[float, int], object]
MOST_NUMBERS = 200_000_000  # of a run's record
PIECE = 20_000  # steps after which a run looks whether it should go on


class Fixed:
    """A run under way."""

    def __init__(self, simulator: Simulator, drive: Input, track: Track, state: State, clock: Clock) -> None:
        self.simulator, self.drive, self.track, self.state, self.clock = simulator, drive, track, state, clock
        self.held = 1 if drive.converter is None else held_steps(drive.converter.period, clock.step)
        self.answer: Floats | None = None  # of the controller, held
        self.given: list[Floats] = []  # (kept + 1, n) for each piece, unless always the same
        self.is_whole = True

    def run(self, duration: float, record: int, progress: Progress | None) -> Course:
        """Steps with every `record`-th kept, and a shorter one at the end where the duration asks for it.

        A shorter one at the start leads to the times of the converter, whole periods from 0.
        """
        missing = 0.0
        if self.drive.converter is not None and not self.drive.is_constant:
            self.clock, missing = from_zero(self.clock)
        steps, rest = whole_steps(duration - min(missing, duration), self.clock.step)
        check_record(self.simulator.arm, steps, record)
        first, end, thin = self.clock.done, self.clock.done + steps, 1
        # asked at every step, so that every step is a sample; fewer are shown
        if self.drive.controller is not None:
            thin, record = record, 1
        if missing and duration and not self.track.is_over:
            end += 1
            self._short(min(missing, duration), duration >= missing)
        while self.clock.done < end and self.is_whole and not self.track.is_over:
            self._piece(self._length(end - self.clock.done, record), record)
            if progress is not None:
                progress(float(self.track.t[-1][-1]), self.clock.done - first)
        if rest and not self.track.is_over:
            self._short(rest, is_whole=False)
        return self._course(thin)

    def _short(self, h: float, is_whole: bool) -> None:
        """A step shorter than others, which may end at a time of the clock."""
        self.is_whole = is_whole
        self._piece(1, 1, h)

    def _length(self, left: int, record: int) -> int:
        """How many steps the next piece has: whole records, or what a controller's answer holds for."""
        if self.drive.controller is not None:
            return min(self.held - self.clock.done % self.held, left)
        piece = min(max(PIECE // record, 1) * record, left)
        return piece - piece % record if piece > record else piece

    def _piece(self, steps: int, record: int, short: float | None = None) -> None:
        """Some steps with every `record`-th kept, or one of the length `short`."""
        record = min(record, steps)
        h = self.clock.step if short is None else short
        times = self.clock.times(steps)
        # the same but for rounding, or later, where a short step leads to the clock's times
        times[0] = self.track.t[-1][-1]
        if not self.is_whole:
            times[1] = times[0] + h
        u = self._inputs(times)
        if not self.drive.is_constant:
            self.given.append((np.broadcast_to(u, (steps + 1, len(u))) if u.ndim == 1 else u)[::record])
        before = self.state.copy()
        q, qd = self.simulator.run(self.state, u, steps, h, record, self.drive.is_linear)
        kept = self.track.add_checked(times[::record], q[0], qd[0])
        if kept < steps // record:  # the state is that of the last sample
            steps, self.state = kept * record, before
            if steps:
                self.simulator.run(
                    self.state, u if u.ndim == 1 else u[: steps + 1], steps, h, record, self.drive.is_linear
                )
            if not self.track.is_over:
                self._blame(times[steps:], u if u.ndim == 1 else u[steps:], h, record)
        self.clock.done += steps

    def _blame(self, times: Floats, u: Floats, h: float, steps: int) -> None:
        """Which joint overflowed within these steps, and at which of them."""
        table = u if u.ndim == 1 else u[: steps + 1]
        q, qd = self.simulator.run(self.state.copy(), table, steps, h, 1, self.drive.is_linear)
        row, joint = first_to_go(q[0], qd[0])
        if self._jams(table, h, row):
            self.track.jammed(float(times[row - 1]))
        else:
            self.track.diverged(float(times[row]), joint, "; take shorter steps")

    def _jams(self, table: Floats, h: float, row: int) -> bool:
        """Whether the step to this row found no acceleration."""
        rows = np.broadcast_to(table, (row + 1, self.simulator.arm.n)) if table.ndim == 1 else table
        before = self.state.copy()
        if row > 1:
            self.simulator.run(before, rows[:row], row - 1, h, 1, self.drive.is_linear)
        after = before.copy()
        self.simulator.run(after, rows[row - 1 : row + 1], 1, h, 1, self.drive.is_linear)
        inputs = rows[row - 1], rows[row] if self.drive.is_linear else rows[row - 1]
        return jams_within(self.simulator, before, after, inputs, h, self.drive.torque)

    def _inputs(self, times: Floats) -> Floats:
        """What drives these steps: (n,) where it is held over all of them, or (steps + 1, n)."""
        if self.drive.controller is not None:
            if self.answer is None or self.clock.done % self.held == 0:
                self.answer = self.drive.limited(
                    self.drive.asked(float(times[0]), self.state.q[0], self.state.qd[0])
                )
            return self.answer
        if self.drive.is_constant:
            return self.drive.at(0.0)
        if self.drive.converter is not None:
            times = self.clock.times(len(times) - 1, self.held)
            if not self.is_whole:  # it holds beyond the end
                times[1] = times[0]
        return self.drive.table(times, self.clock.step)

    def _course(self, thin: int) -> Course:
        t, q, qd = self.track.samples()
        rows = None if self.drive.is_constant else self._rows(t, q, qd)
        if thin > 1:
            shown = np.unique([*range(0, len(t), thin), len(t) - 1])
            t, q, qd, rows = t[shown], q[shown], qd[shown], None if rows is None else rows[shown]
        checkpoint = {"t": float(t[-1]), **vars(self.state.copy())}
        if self.is_whole:
            checkpoint |= {"step": self.clock.step, "origin": self.clock.origin, "done": self.clock.done}

        def given() -> Floats:
            return np.tile(self.drive.at(float(t[0])), (len(t), 1)) if rows is None else rows

        between = straight(t, q, qd, given, self.drive.is_linear)
        return Course(
            self.simulator,
            t,
            q,
            qd,
            given,
            between,
            at_once(self.drive),
            not self.drive.is_linear,
            self.track,
            checkpoint,
        )

    def _rows(self, t: Floats, q: Floats, qd: Floats) -> Floats:
        """What drove each sample."""
        if self.given:
            return np.concatenate([*(part[:-1] for part in self.given), self.given[-1][-1:]])[: len(t)]
        if self.drive.controller is not None:
            return self.drive.asked(float(t[0]), q[0], qd[0])[None]
        return self.drive.at(float(t[0]))[None]


def straight(t: Floats, q: Floats, qd: Floats, given: Callable[[], Floats], is_linear: bool) -> Between:
    """Hermite's cubic between samples, driven by what is held there or goes straight."""

    def between(s: float) -> tuple[Floats, Floats, Floats]:
        u = given()
        motion = cubic(q[:-1], qd[:-1], q[1:], qd[1:], np.diff(t)[:, None], s)
        return *motion, u[:-1] + (s * np.diff(u, axis=0) if is_linear else 0.0)

    return between


def check_record(arm: Arm, steps: int, record: int) -> None:
    """Refuse runs whose record would not fit into memory."""
    if (steps // record + 2) * arm.n > MOST_NUMBERS:
        raise InputError(
            f"simulate: {steps} steps of {arm.n} joints are too many to keep; keep every tenth with "
            "record=10, or go on in parts with continued=."
        )
