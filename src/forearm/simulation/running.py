"""Motion from torques, voltages or a controller: runs of fixed steps in machine code, or steps that follow the error."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load, drives_of
from forearm.drives.motor import DAC, torque_of, voltage_of
from forearm.dynamics.states import states_of
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.kernels.rolling import Roller, State
from forearm.simulation.adaptive import integrate
from forearm.simulation.books import energy_books, hermite
from forearm.simulation.events import EventFunction
from forearm.simulation.methods import METHODS, tableau_of
from forearm.simulation.result import Event, Simulation
from forearm.simulation.schedule import REACHED, Schedule
from forearm.simulation.solution import Solution, Status
from forearm.values import check_number

Floats = NDArray[np.float64]
Driving = ArrayLike | Schedule | Callable[[float], ArrayLike]
Controller = Callable[[float, Floats, Floats], ArrayLike]
Condition = Callable[[float, Floats, Floats], float]
FIXED = ("rk3", "rk4", "gill")
ADAPTIVE = ("dp45", "dp87", "radau")
MOST_NUMBERS = 200_000_000  # of a run's record
TINY = 5e-324
SLOW = 4.0  # times Stribeck's speed: below it adaptive steps go carefully
GOING = "the end was reached"  # until something else is said
PIECE = 20_000  # steps after which a run looks whether it should go on


@dataclass(frozen=True, eq=False)
class Input:
    """What drives the arm: a value held, a schedule, or a function of time; volts or torques."""

    arm: Arm
    voltage: bool
    source: Any
    dac: DAC | None

    def at(self, t: float) -> Floats:
        """(n,) at a time, as the converter gives it if there is one."""
        if self.dac is not None:
            t = self.dac.period * _periods(t, self.dac.period)
        return self.limited(self._value(t))

    def table(self, times: Floats, step: float) -> Floats:
        """(m, n) at times of steps, which are the converter's own if there is one."""
        if not isinstance(self.source, Schedule):
            return self.limited(np.array([self._value(float(t)) for t in times]))
        known = self.source.times
        next_ = known[np.minimum(np.searchsorted(known, times, side="right"), len(known) - 1)]
        is_reached = (next_ > times) & (next_ - times <= REACHED * step)  # but for rounding
        return self.limited(self.source.values_at(np.where(is_reached, next_, times)))

    def limited(self, value: Floats) -> Floats:
        """In the steps and bounds of the converter."""
        return value if self.dac is None or not self.voltage else self.dac.voltage(self.dac.out(value)[0])

    def _value(self, t: float) -> Floats:
        if isinstance(self.source, Schedule):
            return self.source.value(t)
        value = self.source(t) if callable(self.source) else self.source
        return _numbers(self.arm, value, "voltage" if self.voltage else "torque")

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at all times."""
        return not callable(self.source) and not isinstance(self.source, Schedule)

    @property
    def is_linear(self) -> bool:
        """Whether it goes straight between steps rather than being held."""
        return isinstance(self.source, Schedule) and self.source.how == "linear" and self.dac is None

    def breakpoints(self, start: float, end: float) -> Floats:
        """Times at which it may jump."""
        if self.dac is not None and not self.is_constant:
            first = math.floor(start / self.dac.period) + 1
            return np.asarray(self.dac.period * np.arange(first, math.ceil(end / self.dac.period)), dtype=np.float64)
        return self.source.times if isinstance(self.source, Schedule) else np.zeros(0)

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """The torques that the input makes at velocities."""
        return torque_of(self.arm, u, qd) if self.voltage else np.asarray(u, dtype=np.float64)


def simulate(
    arm: Arm, q0: ArrayLike, qd0: ArrayLike, duration: float, *, torque: Driving | None = None,
    voltage: Driving | None = None, controller: Controller | None = None, method: str = "rk3", step: float = 1e-3,
    dac: DAC | None = None, record: int = 1, rtol: float = 1e-6, atol: float = 1e-9, stops: bool = False,
    until: Condition | None = None, continued: Simulation | None = None,
) -> Simulation:  # fmt: skip
    """The motion of an arm from a state (n,) for `duration` s, driven by torques, voltages, or a controller's torques.

    What drives it is a value (n,), a `Schedule`, or a function of time; a controller is a function of (t, q, qd). With a `dac`
    functions are sampled and held at its period. Methods "rk3" (Swartz's), "rk4" and "gill" take fixed steps and keep every
    `record`-th; "dp45", "dp87" and "radau" (for stiff drives) follow the error. It ends early at a joint's limit if `stops`, or
    where `until(t, q, qd)` passes 0. `continued` goes on from another simulation's end as if it had not stopped.
    """
    if method not in FIXED and method not in ADAPTIVE:
        raise NameNotFound(f"simulate: there is no method {shorten(method)}; {suggest(str(method), (*FIXED, *ADAPTIVE))}")
    drive = _input(arm, torque, voltage, controller, dac)
    duration = check_number(duration, "simulate, duration", minimum=0.0)
    step = check_number(step, "simulate, step", above=0.0)
    if not isinstance(record, int) or isinstance(record, bool) or record < 1:
        raise InputError(f"simulate, record: a whole number of at least 1 is needed; came {shorten(record)}.")
    tableau = tableau_of(method if method in FIXED else "rk4")
    c, a, b = tableau.floats
    rows = tuple(tuple(float(x) for x in row) for row in a)
    roller = Roller(arm, drive.voltage, tuple(map(float, c)), rows, tuple(map(float, b)))
    start, state = _start(arm, roller, q0, qd0, continued)
    run = Run(arm, roller, drive, controller, start, state, stops, until)
    if continued is not None and continued.checkpoint is not None and continued.checkpoint.get("step") == step:
        run.origin, run.done = float(continued.checkpoint["origin"]), int(continued.checkpoint["done"])
    if method in FIXED:
        run.fixed(duration, step, record)
    else:
        run.adaptive(duration, method, rtol, atol)
    return run.result(method, step if method in FIXED else None)


def simulate_many(
    arm: Arm, q0: ArrayLike, qd0: ArrayLike, duration: float, *, torque: ArrayLike | None = None,
    voltage: ArrayLike | None = None, method: str = "rk4", step: float = 1e-3,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Where many simulations (B, n) end: q and qd (B, n), each driven by its own or a common torque or voltage, held."""
    if method not in FIXED:
        raise NameNotFound(f"simulate_many: there is no method {shorten(method)}; {suggest(str(method), FIXED)}")
    q, qd = states_of(arm, q0=q0, qd0=qd0)
    given = voltage if voltage is not None else np.zeros(arm.n) if torque is None else torque
    u = np.asarray(given, dtype=np.float64)
    if q.ndim != 2 or u.shape not in ((arm.n,), q.shape) or (torque is not None and voltage is not None):
        raise InputError(
            f"simulate_many: states (B, {arm.n}) and one of torque and voltage, ({arm.n},) or (B, {arm.n}), are needed; came "
            f"{q.shape} and {u.shape}."
        )
    c, a, b = tableau_of(method).floats
    rows = tuple(tuple(float(x) for x in row) for row in a)
    roller = Roller(arm, voltage is not None, tuple(map(float, c)), rows, tuple(map(float, b)))
    state = roller.at_rest_or_moving(q, qd)
    step = check_number(step, "simulate_many, step", above=0.0)
    steps, rest = _steps(check_number(duration, "simulate_many, duration", minimum=0.0), step)
    for count, h in ((steps, step), (1 if rest else 0, rest)):
        if count:
            roller.run(state, u if u.ndim == 1 else u[:, None], count, h, count, linear=False)
    return state.q, state.qd


class Run:
    """One simulation under way: samples so far, and what happened."""

    def __init__(
        self, arm: Arm, roller: Roller, drive: Input, controller: Controller | None, start: float, state: State, stops: bool,
        until: Condition | None,
    ) -> None:  # fmt: skip
        self.arm, self.roller, self.drive, self.controller, self.state = arm, roller, drive, controller, state
        self.start, self.stops, self.until = start, stops, until
        self.t: list[Floats] = [np.array([start])]
        self.q: list[Floats] = [state.q.copy()]
        self.qd: list[Floats] = [state.qd.copy()]
        self.u: list[Floats] = []
        self.found: list[Solution] = []  # of an adaptive run, piece after piece
        self.events: list[Event] = []
        self.message = GOING
        # Fixed steps are at origin + done step, also of the run that this one continues.
        self.origin, self.done, self.whole = start, 0, True
        self.stribeck = _stribeck_speeds(arm)
        self.thin = 1  # of the samples kept, every so-manieth is shown
        self.commands: list[tuple[float, Floats]] = []  # of a controller behind a converter, in an adaptive run
        self.armed = until is not None and float(until(start, state.q[0].copy(), state.qd[0].copy())) < 0.0
        if stops and (over := _beyond(arm, state.q[0])).max(initial=-1.0) > 0.0:
            joint = arm.joints[int(np.argmax(over))].name
            self._ended(start, "stop", joint, f"{joint} is at its limit")

    def fixed(self, duration: float, step: float, record: int) -> None:
        """Fixed steps, and a shorter one at the end where the duration asks for it."""
        steps, rest = _steps(duration, step)
        if (steps // record + 2) * self.arm.n > MOST_NUMBERS:
            raise InputError(
                f"simulate: {steps} steps of {self.arm.n} joints are too many to keep; keep every tenth with record=10, or go "
                "on in parts with continued=."
            )
        held = 1
        if self.drive.dac is not None:
            held = round(self.drive.dac.period / step)
            if held < 1 or abs(held * step - self.drive.dac.period) > 1e-9 * self.drive.dac.period:
                raise InputError(
                    f"simulate: the DAC's period {self.drive.dac.period:g} s must be a whole number of steps of {step:g} s."
                )
        end = self.done + steps
        if self.controller is not None:
            self.thin, record = record, 1
        while self.done < end and self.message == GOING:
            piece = min(max(PIECE // record, 1) * record, end - self.done)
            if self.controller is not None:
                piece = min(held - self.done % held, end - self.done)
            elif piece > record:
                piece -= piece % record
            self._piece(piece, step, min(record, piece), held)
        if rest and self.message == GOING:
            self._piece(1, step, 1, held, rest)
            self.whole = self.message != GOING

    def _piece(self, steps: int, step: float, record: int, held: int, rest: float | None = None) -> None:
        """Some steps with every `record`-th kept, or one of the length `rest`."""
        h = step if rest is None else rest
        ks = np.arange(self.done, self.done + steps + 1)
        at: Floats = self.origin + np.asarray(ks, dtype=np.float64) * step
        if rest is not None:
            at[1] = at[0] + rest
        if self.controller is not None:
            asked = self.controller(float(at[0]), self.state.q[0].copy(), self.state.qd[0].copy())
            table = np.tile(self.drive.limited(_numbers(self.arm, asked, "controller")), (steps + 1, 1))
        elif self.drive.is_constant:
            table = np.tile(self.drive.at(0.0), (steps + 1, 1))
        else:
            table = self.drive.table(
                at if held == 1 else self.origin + np.asarray(ks // held * held, dtype=np.float64) * step, step
            )
        before = self.state.copy()
        q, qd = self.roller.run(self.state, table, steps, h, record, self.drive.is_linear)
        self.u += [table[0 : steps + 1 : record]]
        kept = self._keep(at[record::record], q[0, 1:], qd[0, 1:])
        if kept < steps // record:  # the state is that of the last sample
            self.state, steps = before, kept * record
            if steps:
                self.roller.run(self.state, table[: steps + 1], steps, h, record, self.drive.is_linear)
        self.done += steps

    def _keep(self, times: Floats, q: Floats, qd: Floats) -> int:
        """Samples up to where the run should have ended; how many that are."""
        known = np.isfinite(q).all(axis=1) & np.isfinite(qd).all(axis=1)
        end = len(times)
        if not known.all():
            end = int(np.argmin(known))
            bad = np.flatnonzero(~(np.isfinite(q[end]) & np.isfinite(qd[end])))
            joint = self.arm.joints[int(bad[0])].name
            self._ended(float(times[end]), "diverged", joint, f"{joint} went beyond all numbers; take shorter steps{self._jam}")
        for k in range(end if self.stops or self.until is not None else 0):
            if (over := self._over(float(times[k]), q[k], qd[k])) is not None:
                end = k + 1
                self._ended(float(times[k]), *over)
                break
        self.t.append(times[:end])
        self.q.append(q[:end])
        self.qd.append(qd[:end])
        return end

    def _over(self, t: float, q: Floats, qd: Floats) -> tuple[str, str | None, str] | None:
        if self.stops:
            beyond = np.flatnonzero(_beyond(self.arm, q) > 0.0)
            if beyond.size:
                name = self.arm.joints[int(beyond[0])].name
                return "stop", name, f"{name} is at its limit"
        if self.until is not None:
            was, self.armed = self.armed, float(self.until(t, q.copy(), qd.copy())) < 0.0
            if was and not self.armed:
                return "condition", None, "the condition was met"
        return None

    def _ended(self, t: float, kind: str, joint: str | None, text: str) -> None:
        self.events.append(Event(t, kind, joint, text))
        self.message = f"{text}, at {t:g} s"

    @property
    def _jam(self) -> str:
        """What else no number may mean."""
        return "; or friction that grows with the load leaves no motion at all" if depends_on_load(self.arm) else ""

    def adaptive(self, duration: float, method: str, rtol: float, atol: float) -> None:
        """Steps that follow the error, from one change of friction to the next."""
        t, end, first = self.start, self.start + duration, None
        breaks = self.drive.breakpoints(t, end)
        period = self.drive.dac.period if self.drive.dac is not None and self.controller is not None else math.inf
        while t < end and self.message == GOING:
            until = end
            if period < math.inf:
                self._command(t)
                until = min(end, period * (_periods(t, period) + 1))
            self._loosen(t)
            state = self.state
            way, free = state.way[0].copy(), state.free[0].copy()

            def f(at: float, q: Floats, qd: Floats, way: Floats = way, free: Floats = free) -> Floats:
                return self.roller.accelerations(q, qd, self._u(at, q, qd), way, free)

            inside = breaks[(breaks > t) & (breaks < until)]
            found = integrate(
                f, t, until, state.q[0], state.qd[0], method=method, rtol=rtol, atol_q=atol, atol_qd=atol,
                events=self._watched(way, free), breakpoints=inside, first_step=self._careful(t, first),
            )  # fmt: skip
            if len(found.t) > 1:
                self.found.append(found)
            self.t.append(found.t[1:])
            self.q.append(found.q[1:])
            self.qd.append(found.qd[1:])
            t, first = float(found.t[-1]), found.next_step
            state.q[0], state.qd[0] = found.q[-1], found.qd[-1]
            if not found.ok:
                self._failed(found, t)
            elif found.status is Status.EVENT:
                self._changed(found.events, t)

    def _careful(self, t: float, first: float | None) -> float | None:
        """A first step that does not leap over Stribeck's friction, gone within a hundredth of the steps before."""
        q, qd, way, free = (v[0] for v in (self.state.q, self.state.qd, self.state.way, self.state.free))
        slow = (np.abs(qd) <= SLOW * 1.01 * self.stribeck) & (free > 0.0) & np.isfinite(self.stribeck)
        if not slow.any():
            return first
        x = np.abs(self.roller.accelerations(q, qd, self._u(t, q, qd), way, free)[slow])
        wanted = float(np.min(self.stribeck[slow] / (10.0 * np.maximum(x, 1e-12))))
        return wanted if first is None or wanted < first else first

    def _failed(self, found: Solution, t: float) -> None:
        if found.status is Status.DIVERGED and found.component is not None:
            joint = self.arm.joints[found.component].name
            self._ended(t, "diverged", joint, f"{joint} went beyond all numbers{self._jam}")
        else:
            self.message = found.message

    def _command(self, t: float) -> None:
        """The controller asked once for what the converter then holds."""
        assert self.controller is not None
        assert self.drive.dac is not None
        period = self.drive.dac.period
        if not self.commands or _periods(self.commands[-1][0], period) < _periods(t, period):
            asked = self.controller(t, self.state.q[0].copy(), self.state.qd[0].copy())
            self.commands.append((t, _numbers(self.arm, asked, "controller")))

    def _u(self, t: float, q: Floats, qd: Floats) -> Floats:
        if self.controller is None:
            return self.drive.at(t)
        if self.commands:
            return self.commands[max(bisect_right(self.commands, t, key=lambda c: c[0]) - 1, 0)][1]
        return _numbers(self.arm, self.controller(t, q.copy(), qd.copy()), "controller")

    def _watched(self, way: Floats, free: Floats) -> list[EventFunction]:
        """Where the run must stop for friction, limits and the user's condition."""
        dry = self.roller.dry
        moving, standing = np.flatnonzero(dry & (free > 0.0) & (way != 0.0)), np.flatnonzero(dry & (free == 0.0))
        made = []
        if moving.size:
            made.append(EventFunction("stick", lambda t, q, qd: way[moving] * qd[moving], -1, terminal=True))
            fast = moving[np.isfinite(self.stribeck[moving])]
            level = SLOW * self.stribeck[fast]
            made.append(EventFunction("slow", lambda t, q, qd: way[fast] * qd[fast] - level, -1, terminal=True))
        if standing.size:
            made.append(EventFunction("slip", lambda t, q, qd: self._excess(t, q, qd, way, free)[standing], 1, terminal=True))
        if self.stops:
            made.append(EventFunction("stop", lambda t, q, qd: _before_zero(_beyond(self.arm, q)), 1, terminal=True))
        if self.until is not None:
            made.append(EventFunction("condition", self.until, 1, terminal=True))
        self._moving, self._standing = moving, standing
        return made

    def _excess(self, t: float, q: Floats, qd: Floats, way: Floats, free: Floats) -> Floats:
        """How much more than either direction of motion would need the motors give."""
        u = self._u(t, q, qd)
        x, tau = self.roller.accelerations(q, qd, u, way, free), self.drive.torque(u, qd)
        stands = (free == 0.0) & self.roller.dry
        plus, minus = (self.roller.required(q, qd, x, np.where(stands, w, way)) for w in (1.0, -1.0))
        excess = np.maximum(tau - plus, minus - tau)
        return _before_zero(np.where(np.isnan(excess), -1.0, excess))  # NaN: no accelerations, the integration says so itself

    def _loosen(self, t: float) -> None:
        """Joints that stand and are driven hard enough begin to move, one after the other, the hardest driven first."""
        state = self.state
        q, qd, way, free = state.q[0], state.qd[0], state.way[0], state.free[0]
        u, new = self._u(t, q, qd), np.zeros(self.arm.n, dtype=bool)
        for _ in range(3 * self.arm.n):
            back = new & (way * self.roller.accelerations(q, qd, u, way, free) < 0.0)
            if back.any():  # what another joint's beginning took along the wrong way
                way[back], free[back], new[back] = 0.0, 0.0, False
            stands = (free == 0.0) & self.roller.dry
            if not stands.any():
                return
            x, tau = self.roller.accelerations(q, qd, u, way, free), self.drive.torque(u, qd)
            plus, minus = (self.roller.required(q, qd, x, np.where(stands, w, way)) for w in (1.0, -1.0))
            excess = np.where(stands, np.maximum(tau - plus, minus - tau), 0.0)
            j = int(np.argmax(excess))
            if not excess[j] > 0.0:
                return
            way[j], free[j], new[j] = 1.0 if tau[j] > plus[j] else -1.0, 1.0, True

    def _changed(self, hits: Any, t: float) -> None:
        """What a terminal event changes."""
        state, last = self.state, [hit for hit in hits if hit.terminal]
        for hit in last:
            if hit.name in ("stop", "condition"):
                joint = self.arm.joints[hit.component].name if hit.name == "stop" else None
                self._ended(t, hit.name, joint, f"{joint} is at its limit" if joint else "the condition was met")
            if hit.name == "stick":
                j = int(self._moving[hit.component])
                state.qd[0, j], state.way[0, j], state.free[0, j] = 0.0, 0.0, 0.0
                self.qd[-1] = self.qd[-1].copy()
                self.qd[-1][-1, j] = 0.0

    def result(self, method: str, step: float | None) -> Simulation:
        """All of it."""
        t, q, qd = (np.concatenate(v) for v in (self.t, self.q, self.qd))
        u = self._inputs(t, q, qd)
        if self.thin > 1:
            shown = np.unique([*range(0, len(t), self.thin), len(t) - 1])
            t, q, qd, u = t[shown], q[shown], qd[shown], u[shown]
        tau = self.drive.torque(u, qd)
        volts = u if self.drive.voltage else _voltage(self.arm, tau, qd)
        between = self._between(t, q, qd, u)
        held = not self.drive.is_linear and (not self.found or (self.drive.is_constant and self.controller is None))
        books = energy_books(self.roller, t, q, qd, u, between, self.drive.torque, self.drive.voltage, held)
        events = [*self.events, *_sticking(self.arm, self.roller, t, qd)]
        state = self.state
        checkpoint = {
            "t": float(t[-1]), "q": state.q.copy(), "qd": state.qd.copy(), "way": state.way.copy(), "free": state.free.copy(),
        }  # fmt: skip
        if step is not None and self.whole:
            checkpoint |= {"step": step, "origin": self.origin, "done": self.done}
        return Simulation(
            self.arm, method, step, t, q, qd, books.qdd, tau, volts, books.energy, books.lost,
            tuple(sorted(events, key=lambda e: e.t)), self.message, checkpoint,
        )  # fmt: skip

    def _between(self, t: Floats, q: Floats, qd: Floats, u: Floats) -> Callable[[float], tuple[Floats, Floats, Floats]]:
        """The motion at a share of each interval, and what drives it there."""

        def fixed(s: float) -> tuple[Floats, Floats, Floats]:
            return *hermite(q, qd, np.diff(t)[:, None], s), u[:-1] + (s * np.diff(u, axis=0) if self.drive.is_linear else 0.0)

        def adaptive(s: float) -> tuple[Floats, Floats, Floats]:
            times = [found.t[:-1] + s * np.diff(found.t) for found in self.found]
            states = [found(at) for found, at in zip(self.found, times, strict=True)]
            at, rate = (np.concatenate([state[k] for state in states]) for k in (0, 1))
            given = [self._u(float(a), b, c) for a, b, c in zip(np.concatenate(times), at, rate, strict=True)]
            return at, rate, np.array(given).reshape(at.shape)

        return adaptive if self.found else fixed

    def _inputs(self, t: Floats, q: Floats, qd: Floats) -> Floats:
        """What drove each sample."""
        if self.drive.is_constant and self.controller is None:
            return np.tile(self.drive.at(float(t[0])), (len(t), 1))
        if self.u:
            return np.concatenate([*(part[:-1] for part in self.u), self.u[-1][-1:]])[: len(t)]
        return np.array([self._u(float(at), a, b) for at, a, b in zip(t, q, qd, strict=True)])


def _input(
    arm: Arm, torque: Driving | None, voltage: Driving | None, controller: Controller | None, dac: DAC | None
) -> Input:  # fmt: skip
    given = [name for name, v in (("torque", torque), ("voltage", voltage), ("controller", controller)) if v is not None]
    if len(given) > 1:
        raise InputError(f"simulate: one of torque, voltage and controller drives the arm; came {' and '.join(given)}.")
    source: Any = voltage if voltage is not None else np.zeros(arm.n) if torque is None else torque
    if isinstance(source, Schedule):
        source.check_for(arm, "voltage" if voltage is not None else "torque")
    elif not callable(source):
        source = _numbers(arm, source, given[0] if given else "torque")
    return Input(arm, voltage is not None, source, dac)


def _numbers(arm: Arm, value: ArrayLike, what: str) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"simulate, {what}: {arm.n} numbers are needed; came {shorten(value)}.") from None
    if array.shape != (arm.n,) or not np.isfinite(array).all():
        raise InputError(f"simulate, {what}: {arm.n} finite numbers are needed, one a joint; came {shorten(value)}.")
    return array


def _start(
    arm: Arm, roller: Roller, q0: ArrayLike, qd0: ArrayLike, continued: Simulation | None
) -> tuple[float, State]:  # fmt: skip
    if continued is not None:
        kept = continued.checkpoint
        if kept is None or np.shape(kept.get("q", ())) != (1, arm.n):
            raise InputError("simulate, continued: a simulation of this arm with its checkpoint is needed; .npz files keep it.")
        names = ("q", "qd", "way", "free")
        return float(kept["t"]), State(*(np.array(kept[name], dtype=np.float64) for name in names))
    q, qd = states_of(arm, q0=q0, qd0=qd0)
    if q.ndim != 1 or not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise InputError(f"simulate: one state of finite numbers, ({arm.n},), is needed; many go to simulate_many.")
    return 0.0, roller.at_rest_or_moving(q[None], qd[None])


def _periods(t: float, period: float) -> int:
    """How many periods are over at t: the most k with k period <= t, as floats have it."""
    k = round(t / period)
    return k if period * k <= t else k - 1


def _beyond(arm: Arm, q: Floats) -> Floats:
    """How far each joint is beyond its limits; less than 0 within."""
    low, high = np.array([(j.limits.lower, j.limits.upper) for j in arm.joints]).T
    return np.asarray(np.maximum(low - q, q - high))


def _steps(duration: float, step: float) -> tuple[int, float]:
    """How many whole steps, and what is left of the duration after them."""
    steps = math.floor(duration / step * (1.0 + 1e-12) + 1e-9)
    rest = duration - steps * step
    return steps, rest if rest > 1e-9 * step else 0.0


def _voltage(arm: Arm, tau: Floats, qd: Floats) -> Floats | None:
    known = all(j.motor is not None and j.motor.torque_constant and j.motor.resistance for j in arm.joints)
    return voltage_of(arm, tau, qd) if known and arm.n else None


def _sticking(arm: Arm, roller: Roller, t: Floats, qd: Floats) -> list[Event]:
    """When joints came to stand, and began to move again; one that only turns round does neither."""
    stands = (qd == 0.0) & roller.dry
    stands[1:-1] &= stands[:-2] | stands[2:]
    made = []
    for k, j in zip(*np.nonzero(np.diff(stands.astype(int), axis=0)), strict=True):
        kind, at = ("stick", k + 1) if stands[k + 1, j] else ("slip", k)
        name = arm.joints[int(j)].name
        made.append(Event(float(t[at]), kind, name, f"{name} {'stands' if kind == 'stick' else 'begins to move'}"))
    return made


def _stribeck_speeds(arm: Arm) -> Floats:
    """Of each freedom, infinite where dry friction is the same at all speeds."""
    made = np.full(arm.n, np.inf)
    for drive in drives_of(arm):
        if drive.at_joint.stribeck_speed is not None:
            made[drive.freedom] = min(made[drive.freedom], drive.at_joint.stribeck_speed / abs(drive.multiplier))
    return made


def _before_zero(g: Floats) -> Floats:
    """With the least number below 0 for 0: what is at its limit has not passed it yet, and will be seen when it does."""
    return np.where(g == 0.0, -TINY, g)


assert set(FIXED) | set(ADAPTIVE) <= set(METHODS)
