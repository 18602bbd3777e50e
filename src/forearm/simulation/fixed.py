"""Fixed-step runs in machine code, with an input that depends on time alone or a command sampled once per
period; shared by `simulate` and `control.run`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import Advice, InputError, Sentence
from forearm.kernels.rollout import Simulator, State
from forearm.simulation.inputs import Input
from forearm.simulation.jamming import jams_within
from forearm.simulation.stability import is_near, warn_of_long_steps
from forearm.simulation.start import Clock, Setup, from_zero, held_steps, whole_steps, without_currents
from forearm.simulation.track import Between, Course, Track, at_once, behind_windings, first_to_go
from forearm.trajectories.recorded import cubic

Floats = NDArray[np.float64]
# The input (n,) of the machine code at a time and state; the callable may end the run through its track.
Ask = Callable[[float, State], Floats]
MOST_NUMBERS = 200_000_000  # per recorded run
FOLLOWED = ", or method 'radau'"
PIECE = 20_000  # steps per call, between checks for interruption


def fixed_run(setup: Setup) -> Course:
    """Fixed steps, recording every `record`-th, with a shorter last step if the duration requires it.

    A shorter first step aligns the run with the times of the converter, whole periods from 0.
    """
    simulator, drive, track, clock = setup.simulator, setup.drive, setup.track, setup.clock
    record, duration = setup.record, setup.duration
    stepping = simulator, setup.options.method, setup.options.step
    share = warn_of_long_steps(*stepping, [setup.state.q[0]], "simulate", FOLLOWED, callers=3)
    missing, held = 0.0, 1 if drive.converter is None else held_steps(drive.converter.period, clock.step)
    if drive.converter is not None and not drive.is_constant:
        clock, missing = from_zero(clock)
    steps, rest = whole_steps(duration - min(missing, duration), clock.step)
    check_record(simulator.arm, steps, record)
    plant, thin = SimulatedPlant(simulator, track, setup.state, clock, is_linear=drive.is_linear), 1
    loop: OpenLoop | SampledLoop
    if drive.controller is None:
        loop = OpenLoop(plant, drive, held, record)
    else:  # sampled at every step, so that every step is recorded; the result is thinned afterwards
        loop, thin = SampledLoop(plant, drive.answer, held), record
    if missing and duration and not track.is_over:
        plant.is_whole = duration >= missing
        loop.advance(1, min(missing, duration))
    if plant.is_whole:
        loop.run(steps, setup.tell)
    if rest and not track.is_over:
        plant.is_whole = False
        loop.advance(1, rest)
    if is_near(share):
        warn_of_long_steps(*stepping, [plant.state.q[0]], "simulate", FOLLOWED, callers=3)
    if drive.is_constant:
        return plant.course(loop.rows)
    rows = loop.rows()  # the user's functions are evaluated now, and never after the run
    return plant.course(lambda: rows, thin)


class SimulatedPlant:
    """A simulated arm that machine code steps forward; its track records where the run ends.

    One step of its clock is `substeps` steps of machine code. The run has diverged once the norm of (q, qd)
    exceeds `bound`.
    """

    def __init__(
        self,
        simulator: Simulator,
        track: Track,
        state: State,
        clock: Clock,
        *,
        is_linear: bool = False,
        substeps: int = 1,
        bound: float = math.inf,
    ) -> None:
        self.simulator, self.track, self.clock = simulator, track, clock
        # The state is a view of one array, so that one copy saves it and one restores it.
        arrays = list(vars(state).values())
        self._numbers = np.concatenate([array.ravel() for array in arrays])
        ends = np.cumsum([array.size for array in arrays])[:-1]
        parts = zip(np.split(self._numbers, ends), arrays, strict=True)
        self.state = State(*(part.reshape(array.shape) for part, array in parts))
        self._motion = self._numbers[: 2 * simulator.coordinates.count]  # q and qd
        self.is_linear, self.substeps, self.bound = is_linear, substeps, bound
        self.is_whole = True  # whether it is at a time of its clock

    def times(self, steps: int, h: float) -> Floats:
        """Times from the last sample on, (steps + 1,): those of the clock, or h later for an off-clock
        step.
        """
        times = self.clock.times(steps)
        times[0] = self.track.last
        if not self.is_whole:
            times[1] = times[0] + h
        return times

    def move(self, times: Floats, u: Floats, h: float, record: int = 1) -> int:
        """Take steps of h at these times under u, (n,) or (steps + 1, n), recording every `record`-th; return
        how many were taken before the run ended.
        """
        steps, track, before = len(times) - 1, self.track, self._numbers.copy()
        q, qd = self._run(self.state, u, steps, h, record)
        # a state that overflows within the steps stays non-finite
        is_fine = math.hypot(*self._motion.tolist()) < self.bound
        if is_fine and not track.is_watching:
            if steps == record:
                track.put(float(times[-1]), self._motion)
            else:
                track.add(times[::record], q, qd)
        elif not is_fine and self.bound < math.inf:
            steps, self._numbers[:] = 0, before
            track.lost()
        elif (kept := track.add_checked(times[::record], q, qd)) < steps // record:
            steps, self._numbers[:] = kept * record, before  # the state is that of the last sample
            table = np.broadcast_to(u, (len(times), u.shape[-1]))
            if steps:
                self._run(self.state, table[: steps + 1], steps, h, record)
            if not track.is_over:
                self._blame(times[steps:], table[steps : steps + record + 1], h, record)
        self.clock.done += steps
        return steps

    def course(self, given: Callable[[], Floats], thin: int = 1) -> Course:
        """The motion so far with its input at the samples; every `thin`-th sample and the last."""
        t, q, qd = self.track.samples()
        if thin > 1:
            shown = np.unique([*range(0, len(t), thin), len(t) - 1])
            t, q, qd, kept = t[shown], q[shown], qd[shown], given()[shown]
            given = lambda: kept  # noqa: E731
        checkpoint = {"t": float(t[-1]), **without_currents(self.simulator, self.state)}
        if self.is_whole:
            checkpoint |= {"step": self.clock.step, "origin": self.clock.origin, "done": self.clock.done}
        simulator, is_linear = self.simulator, self.is_linear
        between = straight(t, q, qd, given, is_linear, simulator.coordinates.relaxing)
        supply = (behind_windings if simulator.coordinates.windings else at_once)(simulator)
        return Course(simulator, t, q, qd, given, between, supply, not is_linear, self.track, checkpoint)

    def _run(self, state: State, u: Floats, steps: int, h: float, record: int) -> tuple[Floats, Floats]:
        """(q, qd) at every `record`-th step of the clock, (steps / record + 1, n) each; advances the
        state.
        """
        k = self.substeps
        q, qd = self.simulator.run(state, u, steps * k, h / k, record * k, self.is_linear)
        return q[0], qd[0]

    def _blame(self, times: Floats, table: Floats, h: float, steps: int) -> None:
        """Record which joint overflowed within these steps, and at which step."""
        row, joint = first_to_go(*self._run(self.state.copy(), table, steps, h, 1))
        before = self.state.copy()
        if row > 1:
            self._run(before, table[:row], row - 1, h, 1)
        after = before.copy()
        self._run(after, table[row - 1 : row + 1], 1, h, 1)
        inputs = table[row - 1], table[row] if self.is_linear else table[row - 1]
        if jams_within(self.simulator, before, after, inputs, h):
            self.track.jammed(float(times[row - 1]))
        else:
            self.track.diverged(float(times[row]), joint, "; use a shorter step")


class OpenLoop:
    """A plant whose input depends on time alone; every `record`-th step is recorded."""

    def __init__(self, plant: SimulatedPlant, drive: Input, held: int, record: int) -> None:
        self.plant, self.drive, self.held, self.record = plant, drive, held, record
        self.given: list[Floats] = []  # (kept + 1, n) per piece, unless constant

    def run(self, steps: int, tell: Callable[[], object]) -> None:
        """Take this many steps, in interruptible pieces of whole records."""
        clock, track, record = self.plant.clock, self.plant.track, self.record
        end = clock.done + steps
        while clock.done < end and not track.is_over:
            piece = min(max(PIECE // record, 1) * record, end - clock.done)
            self.advance(piece - piece % record if piece > record else piece, clock.step)
            tell()

    def rows(self) -> Floats:
        """Input at each sample, (T, n)."""
        t = self.plant.track.samples()[0]
        if self.drive.is_constant:
            return np.tile(self.drive.at(0.0), (len(t), 1))
        if not self.given:
            return self.drive.at(float(t[0]))[None]
        return np.concatenate([*(part[:-1] for part in self.given), self.given[-1][-1:]])[: len(t)]

    def advance(self, steps: int, h: float) -> None:
        """Take a few steps, or one shorter step, which may end at a time of the clock."""
        plant, drive, record = self.plant, self.drive, min(self.record, steps)
        times = at = plant.times(steps, h)
        if drive.is_constant:
            u = drive.at(0.0)
        else:
            if drive.converter is not None:
                at = plant.clock.times(steps, self.held)
                if not plant.is_whole:  # the value is held beyond the end
                    at[1] = at[0]
            u = drive.table(at, plant.clock.step)
            self.given.append(u[::record])
        plant.move(times, u, h, record)


class SampledLoop:
    """A plant under control: the command is computed once per period of `held` steps and held."""

    def __init__(self, plant: SimulatedPlant, ask: Ask, held: int = 1) -> None:
        self.plant, self.ask, self.held = plant, ask, held
        self.answers: list[Floats] = []  # (n,) each,
        self.counts: list[int] = []  # held for this many steps

    def run(self, steps: int, tell: Callable[[], object] = lambda: None) -> None:
        """Take this many steps, or until an event ends them."""
        clock, track, held = self.plant.clock, self.plant.track, self.held
        times, step, begin = self.plant.times(steps, clock.step), clock.step, clock.done
        while (done := clock.done - begin) < steps and not track.is_over:
            count = min(held - clock.done % held, steps - done)
            self._hold(times[done : done + count + 1], step)
            tell()

    def advance(self, steps: int, h: float) -> None:
        """Take one shorter step, which may end at a time of the clock."""
        self._hold(self.plant.times(steps, h), h)

    def rows(self) -> Floats:
        """Input at each sample, (T, n); at the last, the value held before it."""
        if not self.answers:
            return self.ask(self.plant.track.last, self.plant.state)[None]
        return np.concatenate([np.repeat(self.answers, self.counts, axis=0), self.answers[-1:]])

    def _hold(self, times: Floats, h: float) -> None:
        plant = self.plant
        if not self.answers or plant.clock.done % self.held == 0:
            u = self.ask(float(times[0]), plant.state)
            if plant.track.is_over:
                return
            self.answers.append(u)
            self.counts.append(0)
        self.counts[-1] += plant.move(times, self.answers[-1], h)


def straight(
    t: Floats,
    q: Floats,
    qd: Floats,
    given: Callable[[], Floats],
    is_linear: bool,
    relaxing: Sequence[int] = (),
) -> Between:
    """Cubic Hermite interpolant between samples, with the input held or linear there; relaxing states, whose
    integrals are not recorded, are interpolated linearly.
    """

    def between(s: float) -> tuple[Floats, Floats, Floats]:
        u = given()
        x, xd = cubic(q[:-1], qd[:-1], q[1:], qd[1:], np.diff(t)[:, None], s)
        for place in relaxing:
            xd[:, place] = qd[:-1, place] + s * np.diff(qd[:, place])
        return x, xd, u[:-1] + (s * np.diff(u, axis=0) if is_linear else 0.0)

    return between


def check_record(arm: Arm, steps: int, record: int) -> None:
    """Refuse a run whose record would not fit into memory."""
    if (steps // record + 2) * arm.n > MOST_NUMBERS:
        raise InputError(
            Sentence(
                f"{steps} steps of {arm.n} joints are too many to record; record every tenth with ",
                Advice("sampling=Sampling(record=10)", "--record 10"),
                ", or simulate in parts with ",
                Advice("continued=", "--continue"),
                ".",
            ),
            "simulate",
        )
