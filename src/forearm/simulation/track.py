"""The record of a run: samples, events and whether it is over (`Track`), then the whole motion with its input
(`Course`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.elasticity import flank
from forearm.drives.joint import depends_on_load
from forearm.drives.motor import (
    constants_of,
    current_of,
    most_currents,
    torque_of,
    voltage_of,
    without_constants,
)
from forearm.kernels.rollout import Simulator
from forearm.kinematics.limits import limits_of
from forearm.simulation.result import Event
from forearm.simulation.solution import Status

Floats = NDArray[np.float64]
Condition = Callable[[float, Floats, Floats], float]
TINY = 5e-324
THERE = 1e-6  # of the interval to the next sample: a switch this close is at its instant


class Track:
    """Samples of all coordinates until an event ends the run: a limit if `stops`, or `until` crossing 0.
    `joint_of` maps each coordinate to its degree of freedom.
    """

    def __init__(
        self,
        arm: Arm,
        t: float,
        q: Floats,
        qd: Floats,
        stops: bool,
        until: Condition | None,
        joint_of: Sequence[int] | None = None,
    ) -> None:
        self.arm, self.stops, self.until = arm, stops, until
        self._joint_of = tuple(range(arm.n)) if joint_of is None else tuple(joint_of)
        self.t, self.q, self.qd = [np.array([t])], [q[None].copy()], [qd[None].copy()]
        self._times: list[float] = []  # of samples added one by one,
        self._rows: list[Floats] = []  # and their q and qd, (2 m,)
        self.is_watching = stops or until is not None  # so that every sample is checked
        self.events: list[Event] = []
        self.status, self.message = Status.END, Status.END.value
        self.is_over = False  # whether an event ended the run early
        self._is_armed = until is not None and until(t, q[: arm.n], qd[: arm.n]) < 0.0
        if stops:
            self._limits = limits_of(arm)
            if (over := self.beyond(q[: arm.n])).max(initial=-1.0) > 0.0:
                self.at_limit(t, int(np.argmax(over)))

    def __len__(self) -> int:
        return len(self.samples()[0])

    @property
    def last(self) -> float:
        """Time of the last sample."""
        return self._times[-1] if self._times else next(float(t[-1]) for t in reversed(self.t) if len(t))

    def beyond(self, q: Floats) -> Floats:
        """Distance of each joint, or its mimic joints, beyond its limits; negative within them."""
        low, high = self._limits
        return np.asarray(np.maximum(low - q, q - high))

    def samples(self) -> tuple[Floats, Floats, Floats]:
        """t (T,), q and qd (T, m)."""
        self._gather()
        if len(self.t) > 1:
            self.t, self.q, self.qd = ([np.concatenate(parts)] for parts in (self.t, self.q, self.qd))
        return self.t[0], self.q[0], self.qd[0]

    def add(self, times: Floats, q: Floats, qd: Floats) -> None:
        """Append samples; the first repeats the last one stored."""
        self._gather()
        if len(self.t) == 1 and len(self.t[0]) == 1:
            self.t[0], self.q[0], self.qd[0] = times, q, qd
        else:
            self.t.append(times[1:])
            self.q.append(q[1:])
            self.qd.append(qd[1:])

    def put(self, t: float, motion: Floats) -> None:
        """Append one sample, q and qd (2 m,) as one row."""
        self._times.append(t)
        self._rows.append(motion.copy())

    def _gather(self) -> None:
        """Merge samples that were added one by one."""
        if self._rows:
            rows, m = np.array(self._rows), len(self._joint_of)
            self.t.append(np.array(self._times))
            self.q.append(rows[:, :m])
            self.qd.append(rows[:, m:])
            self._times, self._rows = [], []

    def add_checked(self, times: Floats, q: Floats, qd: Floats) -> int:
        """Append samples up to an overflow or the end of the run; return how many were added after the
        first.
        """
        end = len(times)
        with np.errstate(all="ignore"):
            if not (isfinite(q.sum()) and isfinite(qd.sum())):
                known = np.isfinite(q).all(axis=1) & np.isfinite(qd).all(axis=1)
                end = end if known.all() else int(np.argmin(known))
        for k in range(1, end if self.is_watching else 0):
            if self._ends(float(times[k]), q[k], qd[k]):
                end = k + 1
                break
        self.add(times[:end], q[:end], qd[:end])
        return end - 1

    def at_limit(self, t: float, joint: int) -> None:
        """End the run: a joint is at its limit."""
        name = self.arm.joints[joint].name
        self.end(t, Status.EVENT, "stop", name, f"{name} is at its limit")

    def met(self, t: float) -> None:
        """End the run: the user's condition was met."""
        self.end(t, Status.EVENT, "condition", None, "the condition was met")

    def diverged(self, t: float, coordinate: int, remedy: str = "") -> None:
        """End the run: a coordinate overflowed; name its joint."""
        name = self.arm.joints[self._joint_of[coordinate]].name
        jam = "; or load-dependent friction admits no motion" if depends_on_load(self.arm) else ""
        self.end(t, Status.DIVERGED, "diverged", name, f"{name} overflowed{remedy}{jam}")

    def lost(self) -> None:
        """End the run: the arm diverged after the last sample; name its fastest joint."""
        fastest = int(np.argmax(np.abs(self.samples()[2][-1, : self.arm.n])))
        name = self.arm.joints[fastest].name
        text = f"diverged at t = {self.last:.6g} s; reduce the bandwidth or the sampling period"
        self.end(self.last, Status.DIVERGED, "diverged", name, text, text)

    def jammed(self, t: float) -> None:
        """End the run: no acceleration exists, at any step size."""
        text = "no acceleration exists: load-dependent friction jams the arm"
        self.end(t, Status.JAMMED, "jammed", None, text)

    def end(
        self, t: float, status: Status, kind: str, joint: str | None, text: str, message: str | None = None
    ) -> None:
        """End the run with an event; the message of the run is its text with the time, unless one is
        given.
        """
        self.events.append(Event(t, kind, joint, text))
        self.fail(status, f"{text}, at {t:g} s" if message is None else message)

    def fail(self, status: Status, message: str) -> None:
        """End the run without an event."""
        self.status, self.message, self.is_over = status, message, True

    def _ends(self, t: float, q: Floats, qd: Floats) -> bool:
        q, qd = q[: self.arm.n], qd[: self.arm.n]
        if self.stops and (over := np.flatnonzero(self.beyond(q) > 0.0)).size:
            self.at_limit(t, int(over[0]))
        elif self.until is not None:
            was, self._is_armed = self._is_armed, self.until(t, q, qd) < 0.0
            if was and not self._is_armed:
                self.met(t)
        return self.is_over


@dataclass(frozen=True, eq=False)
class Flow:
    """Inputs of an arm at states (T, m): `u` as machine code takes it, torques, voltages, and supplied power,
    (T,).

    `winding` (T, n) is the power lost in the windings, `field` (T,) the energy in their inductance, if any.
    """

    u: Floats
    tau: Floats
    voltage: Floats | None
    power: Floats
    winding: Floats | None = None
    field: Floats | None = None


# At a fraction of each of the T - 1 intervals: q and qd (T - 1, m), and the input there, one row each.
Between = Callable[[float], tuple[Floats, Floats, Floats]]
Supply = Callable[[Floats, Floats], Flow]


@dataclass(frozen=True, eq=False)
class Course:
    """A motion: samples t (T,), q and qd (T, m) of all coordinates, interpolation between them, and the
    input, computed on demand.

    `supply(given, qd)` returns the flow; `is_held`: the input is constant between two samples; `is_asking`:
    it comes from a user's function, which must not be called after the run. `current` (T, n) are the currents
    that are states but not coordinates.
    """

    simulator: Simulator
    t: Floats
    q: Floats
    qd: Floats
    given: Callable[[], Floats]
    between: Between
    supply: Supply
    is_held: bool
    track: Track
    checkpoint: dict[str, Any]
    is_asking: bool = False
    current: Floats | None = None


def before_zero(g: Floats) -> Floats:
    """Replace 0 by the smallest negative number: a joint at its limit has not passed it, and is detected when
    it does.
    """
    return np.where(g == 0.0, -TINY, g)


def first_to_go(q: Floats, qd: Floats) -> tuple[int, int]:
    """The first non-finite row of states (T, n) whose last is non-finite, and its joint; of several, the
    fastest before.
    """
    bad = ~(np.isfinite(q) & np.isfinite(qd))
    row = int(np.argmax(bad.any(axis=1)))
    before = np.abs(qd[max(row - 1, 0)])
    return row, int(np.argmax(np.where(bad[row], np.nan_to_num(before), -1.0)))


def sticking(simulator: Simulator, t: Floats, qd: Floats) -> list[Event]:
    """Events of joints that stick and break loose; a mere reversal is neither."""
    if not simulator.dry.any():
        return []
    stands = (qd == 0.0) & simulator.dry
    stands[1:-1] &= stands[:-2] | stands[2:]
    events = []
    for k, j in zip(*np.nonzero(np.diff(stands, axis=0)), strict=True):
        is_stuck = bool(stands[k + 1, j])
        name = simulator.arm.joints[simulator.coordinates.joint_of[int(j)]].name
        who = name if j < simulator.arm.n else f"the motor of {name}"
        kind, does = ("stick", "sticks") if is_stuck else ("slip", "breaks loose")
        events.append(Event(float(t[k + is_stuck]), kind, name, f"{who} {does}"))
    return events


def changing_flanks(simulator: Simulator, t: Floats, q: Floats, qd: Floats) -> list[Event]:
    """Events of drives with backlash that meet or leave a flank: at the sample where they do, or the next."""
    coordinates, made = simulator.coordinates, []
    x, xd = list(q.T), list(qd.T)
    for rotor, side in zip(coordinates.gaps, coordinates.contacts(x, xd), strict=True):
        name, e, ed = simulator.arm.joints[rotor.freedom].name, rotor.deflection(x), rotor.deflection(xd)
        for k in np.flatnonzero(np.diff(side)) + 1:
            way = float(side[k] or side[k - 1])
            before, after = flank(rotor.elasticity, e[k - 1 : k + 1], ed[k - 1 : k + 1], way)
            at = k - 1 if abs(before) <= THERE * abs(after - before) else k
            text = f"{name} {'meets' if side[k] else 'leaves'} the {'upper' if way > 0.0 else 'lower'} flank"
            made.append(Event(float(t[at]), "contact" if side[k] else "release", name, text))
    return made


def drive_states(course: Course) -> dict[str, Floats]:
    """Drive states at the samples, (T, n) each: `motor_q` and `motor_qd`, motor angles and speeds over gear
    ratios, and `spring`, the spring torque, if joints are elastic; `bristle` and `motor_bristle`, the bristle
    deflections of the joint and of its rotor; `current` if it is a state. Joints without such a state have
    the value of a rigid drive, or 0.
    """
    c, q, qd = course.simulator.coordinates, course.q, course.qd
    states: dict[str, Floats] = {}

    def put(name: str, freedom: int, values: Floats) -> None:
        states.setdefault(name, np.zeros((len(q), c.n)))[:, freedom] = values

    if c.rotors:
        states |= {"motor_q": q[:, list(c.motors)], "motor_qd": qd[:, list(c.motors)]}
        x, xd = list(q.T), list(qd.T)
        contact = c.contacts(x, xd)
        for rotor in c.rotors:
            put("spring", rotor.freedom, rotor.torque(x, xd, contact))
    for b in c.bristles:
        if b.body is None or c.mechanics.moving.bodies[b.body].joint.mimic is None:  # its source is shown
            put("bristle" if b.on < c.n else "motor_bristle", c.joint_of[b.place], qd[:, b.place])
    for freedom, place in c.currents.items():
        put("current", freedom, qd[:, place])
    return states if course.current is None else states | {"current": course.current}


def passing_limits(simulator: Simulator, t: Floats, q: Floats) -> list[Event]:
    """Events of joints, or their mimic joints, that pass their limits or start beyond them."""
    (low, high), q = simulator.limits, q[:, : simulator.arm.n]
    events = []
    for side, limit, beyond in (("lower", low, q < low), ("upper", high, q > high)):
        beyond[1:] &= ~beyond[:-1]
        for k, j in zip(*np.nonzero(beyond), strict=True):
            joint = simulator.arm.joints[int(j)]
            unit = "rad" if joint.kind == "revolute" else "m"
            text = f"{joint.name} is beyond its {side} limit, {limit[j]:.6g} {unit}"
            events.append(Event(float(t[k]), "limit", joint.name, text))
    return events


def torques(simulator: Simulator) -> Callable[[Floats, Floats], Floats]:
    """The function from inputs (..., n) at velocities (..., m) to torques (..., n), with currents that follow
    voltages without delay; at most max_effort if effort limits apply.
    """
    arm, motors, voltage = simulator.arm, simulator.motors, simulator.voltage
    efforts = [joint.max_effort if simulator.options.is_limited else None for joint in arm.joints]
    most = np.array([np.inf if effort is None else effort for effort in efforts])
    return lambda u, xd: np.clip(torque_of(arm, u, xd[..., motors]) if voltage else u, -most, most)


def at_once(simulator: Simulator) -> Supply:
    """Torques, or voltages that the currents follow without delay."""
    arm, torque = simulator.arm, torques(simulator)
    has_motors = arm.n and not without_constants(arm)

    def supply(given: Floats, xd: Floats) -> Flow:
        tau, qd = torque(given, xd), xd[:, simulator.motors]
        power = np.sum(tau * qd, axis=1)
        if not simulator.voltage:
            return Flow(given, tau, voltage_of(arm, tau, qd) if has_motors else None, power)
        c = constants_of(arm)
        winding = c.R * (tau / c.K) ** 2
        return Flow(given, tau, given, power + winding.sum(axis=1), winding)

    return supply


def behind_windings(simulator: Simulator) -> Supply:
    """Voltages on windings whose currents are coordinates. The power is losses plus mechanical power; the
    rest of the supply goes into the magnetic field.
    """
    arm, c = simulator.arm, constants_of(simulator.arm)
    freedoms, places = np.array(list(simulator.coordinates.currents.items()), dtype=np.intp).T
    most = np.array(most_currents(arm, simulator.options.is_limited))

    def supply(given: Floats, xd: Floats) -> Flow:
        qd = xd[:, simulator.motors]
        current = np.clip(current_of(arm, given, qd), -most, most)
        current[:, freedoms] = i = xd[:, places]
        V = np.clip(given, -c.most_voltage, c.most_voltage)
        there = c.R * current + c.K * qd
        field = 0.5 * np.sum(c.inductance[freedoms] * i**2, axis=1)
        return Flow(given, c.K * current, V, np.sum(there * current, axis=1), c.R * current**2, field)

    return supply
