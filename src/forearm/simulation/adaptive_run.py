"""Adaptive simulation in pieces between changes of the friction mode (stick, slip) or of current limits."""

from __future__ import annotations

import math
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from forearm.arm.elastic import link_side
from forearm.errors import Advice, InputError, Sentence
from forearm.simulation.adaptive import Controls, integrate
from forearm.simulation.events import EventFunction
from forearm.simulation.inputs import Input, periods
from forearm.simulation.jamming import is_jammed
from forearm.simulation.machine import adaptive_simulator_of
from forearm.simulation.machine_steps import MachineSteps
from forearm.simulation.solution import DenseSolution, Status
from forearm.simulation.start import Setup
from forearm.simulation.stiction import DryFriction
from forearm.simulation.track import Course, before_zero
from forearm.simulation.windings import Asked, Motors

Floats = NDArray[np.float64]
MOST_BREAKS = 10_000  # breakpoints per piece
# a share for the samples at a converter's periods; their dense output takes about a dozen times more
MOST_NUMBERS = 20_000_000
ANY = 1e300  # tolerance of the charge, on which nothing depends


class Commands:
    """The commanded effort at time t and state (q, qd); a controller behind a converter is called once per
    period.
    """

    def __init__(self, drive: Input) -> None:
        self._drive = drive
        self._kept: list[tuple[float, Floats]] = []
        self.period = drive.converter.period if drive.converter and drive.controller else math.inf

    def sample(self, t: float, q: Floats, qd: Floats) -> None:
        """Sample the command if a period of the converter is due."""
        if not self._kept or periods(self._kept[-1][0], self.period) < periods(t, self.period):
            self._kept.append((t, self._drive.asked(t, q, qd)))

    @property
    def is_straight(self) -> bool:
        """Whether the command is linear or held between breakpoints."""
        return self._drive.is_data or self._drive.converter is not None

    def line(self, start: float, end: float, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Command (n,) at the start of such an interval and its slope, per second."""
        first = self(start, q, qd)
        change = self._drive.at(end) - first if self._drive.is_linear else np.zeros_like(first)
        return first, change / (end - start)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        """Command (n,) at a time and state."""
        if self._drive.controller is None:
            return self._drive.at(t)
        if self._kept:
            return self._kept[max(bisect_right(self._kept, t, key=lambda c: c[0]) - 1, 0)][1]
        return self._drive.asked(t, q, qd)


def adaptive_run(setup: Setup) -> Course:
    """Simulate in pieces within which no joint sticks or slips and no limit becomes active."""
    converter, duration, n = setup.drive.converter, setup.duration, setup.drive.arm.n
    # each period has at least one sample
    if converter and not setup.drive.is_constant and duration / converter.period * n > MOST_NUMBERS:
        raise InputError(
            Sentence(
                f"{duration:g} s contain {duration / converter.period:.3g} converter periods of "
                f"{converter.period:g} s; of {n} joints at most {MOST_NUMBERS // n} are stored. Use a "
                "shorter duration and ",
                Advice("continued=", "--continue"),
                ", or a longer period, or fixed steps with ",
                Advice("Sampling(record=...)", "--record"),
                ".",
            ),
            "simulate",
        )
    return PiecewiseRun(setup).run()


class PiecewiseRun:
    """State of an adaptive simulation in progress."""

    def __init__(self, setup: Setup) -> None:
        drive, state, start = setup.drive, setup.state, setup.start
        commands = Commands(drive)
        motors = Motors(drive, setup.simulator, commands, start.current)
        self.setup, self.drive, self.commands, self.motors = setup, drive, commands, motors
        self.track, self.state = setup.track, state
        self.friction = DryFriction(motors, state)
        self.n = setup.simulator.coordinates.count
        self.machine = None
        is_in_python = motors.is_wound or setup.track.until is not None or setup.options.method == "radau"
        if commands.is_straight and not is_in_python:
            self.machine = MachineSteps(
                adaptive_simulator_of(drive.arm, setup.simulator.options, setup.options.method),
                commands.line,
                self.friction.slow,
                bool(setup.simulator.dry.any() or setup.simulator.coordinates.gaps),
                setup.simulator.limits if setup.track.stops else None,
            )
        self.atol_q, self.atol_qd = _tolerances(setup)
        self.found: list[tuple[DenseSolution, Asked]] = []
        # q, qd and u at which no acceleration was found last
        self.unsolved: tuple[Floats, Floats, Floats] | None = None
        self.currents: list[Floats] = [motors.current[None].copy()]  # (k, m) at the samples of each piece
        self.givings: list[tuple[int, Asked]] = [(1, motors.giving())]  # for this many samples

    def run(self) -> Course:
        """Simulate until the end, or until an event ends the run."""
        start = self.setup.start.t
        t, end, first = start, start + self.setup.duration, None
        while t < end and not self.track.is_over:
            until = end
            if self.commands.period < math.inf:
                self.commands.sample(t, self.state.q[0], self.state.qd[0])
                until = min(end, self.commands.period * (periods(t, self.commands.period) + 1))
            breaks = self.drive.breakpoints(t, until, MOST_BREAKS)
            if len(breaks) == MOST_BREAKS:
                until, breaks = float(breaks[-1]), breaks[:-1]
            found = self._piece(t, until, breaks, first)
            t, first = float(found.t[-1]), found.next_step
        return self._course(start)

    def _piece(self, t: float, until: float, breaks: Floats, first: float | None) -> DenseSolution:
        """Integrate until the next mode change, or `until`."""
        accuracy = self.setup.accuracy
        m, i = len(self.motors.current), self.motors.current
        # the state of the joints, followed by charges and currents
        x = np.concatenate([self.state.q[0], np.zeros(m)])
        xd = np.concatenate([self.state.qd[0], i])
        self.motors.settle(t, xd)
        self.friction.loosen(self.motors.u(t, x, xd))
        if self.machine is not None:
            self.machine.stand(self.state)
        giving, stands = self.motors.giving(), np.flatnonzero(self.friction.stands)
        found = integrate(
            self._accelerations(),
            t,
            until,
            x,
            xd,
            controls=Controls(
                method=self.setup.options.method,
                rtol=accuracy.rtol,
                atol_q=np.concatenate([self.atol_q, np.full(m, ANY)]),
                atol_qd=np.concatenate([self.atol_qd, np.full(m, accuracy.atol)]),
                events=self._events(),
                breakpoints=breaks,
                first_step=self.friction.careful(self.motors.u(t, x, xd), first),
                tell=self.setup.tell,
                at_once=self.machine,
            ),
        )
        # Rounding in the equations of an implicit step moves sticking joints by 1e-30, and a moving joint is
        # subject to other friction.
        found.q[:, stands], found.qd[:, stands] = x[stands], 0.0
        if len(found.t) > 1:
            self.found.append((found, giving))
        self.state.q[0], self.state.qd[0] = found.q[-1, : self.n], found.qd[-1, : self.n]
        self._take(found)
        self.givings.append((len(found.t) - 1, giving))
        self.currents.append(found.qd[1:, self.n :].copy())
        if len(found.t) > 1:
            self.currents[-1][-1] = self.motors.current
        return found

    def _accelerations(self) -> Asked:
        """The function for x'' (n + m) with the present set of sticking and slipping joints."""
        n, motors, has_currents = self.n, self.motors, len(self.motors.current) > 0
        way, free = self.state.friction_sign[0].copy(), self.state.is_free[0].copy()
        contact = self.state.contact[0].copy()
        self.unsolved = None

        def f(t: float, x: Floats, xd: Floats) -> Floats:
            u = motors.u(t, x, xd)
            qdd = motors.simulator.accelerations(x[:n], xd[:n], u, way, free, contact)
            if not np.isfinite(qdd).all():
                self.unsolved = x[:n].copy(), xd[:n].copy(), u
            return np.concatenate([qdd, motors.rates(t, xd)]) if has_currents else qdd

        return f

    def _events(self) -> list[EventFunction]:
        """Events that end a piece: stick and slip, backlash flanks, current and joint limits, the user's
        condition.
        """
        events, until = [*self.friction.events(), *self.motors.events()], self.track.until
        n = self.drive.arm.n
        if self.track.stops:
            events.append(
                EventFunction("stop", lambda t, x, xd: before_zero(self.track.beyond(x[:n])), 1, True)
            )
        if until is not None:
            events.append(EventFunction("condition", lambda t, x, xd: until(t, x[:n], xd[:n]), 1, True))
        return events

    def _take(self, found: DenseSolution) -> None:
        """Append the samples of a piece and apply the mode change at its end."""
        qd, hits = found.qd[:, : self.n], [hit for hit in found.events if hit.terminal]
        stuck = [self.friction.stick(hit.component) for hit in hits if hit.name == "stick"]
        if stuck:
            qd = qd.copy()
            qd[-1, stuck] = 0.0
        for hit in hits:
            if hit.name == "flank":
                self.friction.change_flank(hit.component)
        self.motors.take(found.qd[-1, self.n :], [(hit.name, hit.component) for hit in hits])
        self.track.add(found.t, found.q[:, : self.n], qd)
        t = float(found.t[-1])
        if found.status is Status.DIVERGED and self._jams():
            self.track.jammed(t)
        elif found.status is Status.DIVERGED and found.component is not None:
            self.track.diverged(t, int([*range(self.n), *self.motors.which][found.component]))
        elif not found.ok:
            self.track.fail(found.status, found.message)
        for hit in hits:
            if hit.name == "stop":
                self.track.at_limit(t, hit.component)
            if hit.name == "condition":
                self.track.met(t)

    def _jams(self) -> bool:
        """Whether the missing acceleration is due to jamming rather than to overflow."""
        if self.unsolved is None:
            return False
        x, xd, u = self.unsolved
        n, arm = self.drive.arm.n, self.motors.simulator.coordinates.mechanics
        tau = self.motors.simulator.given(x, xd, self.motors.torque(u, xd), self.state.contact[0])
        return is_jammed(link_side(self.drive.arm), x[:n], xd[:n], tau[:n]) if arm.n == n else False

    def _course(self, start: float) -> Course:
        t, q, qd = self.track.samples()
        drive, motors, state = self.drive, self.motors, self.state
        checkpoint = {"t": float(t[-1]), **vars(state.copy())}
        checkpoint |= {"current": motors.current.copy()} if len(motors.current) else {}

        def given() -> Floats:
            if drive.is_constant and not len(motors.current):
                return np.tile(drive.at(start), (len(t), 1))
            xd = np.hstack([qd, np.concatenate(self.currents)])
            each = [giving for count, giving in self.givings for _ in range(count)]
            return np.array([row(float(at), *x) for row, at, *x in zip(each, t, q, xd, strict=True)])

        def between(s: float) -> tuple[Floats, Floats, Floats]:
            parts = []
            for found, giving in self.found:
                times = found.t[:-1] + s * np.diff(found.t)
                x, xd = found(times)
                rows = [giving(float(t), *row) for t, *row in zip(times, x, xd, strict=True)]
                parts.append((x[:, : self.n], xd[:, : self.n], np.array(rows)))
            at, rate, u = (np.concatenate([part[k] for part in parts]) for k in range(3))
            return at, rate, u

        current, is_held = None, drive.is_constant and not len(motors.current)
        if len(motors.current):
            current = np.zeros((len(t), drive.arm.n))
            current[:, motors.which] = np.concatenate(self.currents)
        return Course(
            motors.simulator, t, q, qd, given, between, motors.supply, is_held, self.track, checkpoint,
            is_asking=not drive.is_data, current=current,
        )  # fmt: skip


def _tolerances(setup: Setup) -> tuple[Floats, Floats]:
    """Absolute tolerances of positions and velocities, (m,) each: scaled with the small deflection for
    bristles, unlimited for the integrals of relaxing states.
    """
    coordinates = setup.simulator.coordinates
    q, qd = (np.full(coordinates.count, setup.accuracy.atol) for _ in range(2))
    for bristle in coordinates.bristles:
        bent = min(abs(level) for level in bristle.law.law.coulomb) / bristle.law.stiffness
        q[bristle.place], qd[bristle.place] = ANY, setup.accuracy.atol * min(1.0, bent)
    return q, qd
