"""What a run leaves behind it: samples, what happened and whether it is over (`Track`), then the motion as a
whole with what drove it (`Course`).
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
THERE = 1e-6  # of the way to the next sample: what switches here is at its instant


class Track:
    """Samples of all coordinates from a first one on, until an event ends them: a limit where `stops`, or
    `until` passing 0. `joint_of` has the freedom that each coordinate belongs to.
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
        self._times: list[float] = []  # of samples that came one by one,
        self._rows: list[Floats] = []  # and their q and qd, (2 m,)
        self.is_watching = stops or until is not None  # so that every sample is looked at
        self.events: list[Event] = []
        self.status, self.message = Status.END, Status.END.value
        self.is_over = False  # whether something ended the run before its time
        self._is_armed = until is not None and until(t, q[: arm.n], qd[: arm.n]) < 0.0
        if stops:
            self._limits = limits_of(arm)
            if (over := self.beyond(q[: arm.n])).max(initial=-1.0) > 0.0:
                self.at_limit(t, int(np.argmax(over)))

    def __len__(self) -> int:
        return len(self.samples()[0])

    @property
    def last(self) -> float:
        """The time of the last sample."""
        return self._times[-1] if self._times else next(float(t[-1]) for t in reversed(self.t) if len(t))

    def beyond(self, q: Floats) -> Floats:
        """How far each joint is beyond its limits, or those of what follows it; less than 0 within."""
        low, high = self._limits
        return np.asarray(np.maximum(low - q, q - high))

    def samples(self) -> tuple[Floats, Floats, Floats]:
        """t (T,), q and qd (T, m)."""
        self._gather()
        if len(self.t) > 1:
            self.t, self.q, self.qd = ([np.concatenate(parts)] for parts in (self.t, self.q, self.qd))
        return self.t[0], self.q[0], self.qd[0]

    def add(self, times: Floats, q: Floats, qd: Floats) -> None:
        """Samples behind those there are; the first is the last of those, again."""
        self._gather()
        if len(self.t) == 1 and len(self.t[0]) == 1:
            self.t[0], self.q[0], self.qd[0] = times, q, qd
        else:
            self.t.append(times[1:])
            self.q.append(q[1:])
            self.qd.append(qd[1:])

    def put(self, t: float, motion: Floats) -> None:
        """One sample behind those there are, q and qd (2 m,) as one row."""
        self._times.append(t)
        self._rows.append(motion.copy())

    def _gather(self) -> None:
        """Put samples that came one by one to the others."""
        if self._rows:
            rows, m = np.array(self._rows), len(self._joint_of)
            self.t.append(np.array(self._times))
            self.q.append(rows[:, :m])
            self.qd.append(rows[:, m:])
            self._times, self._rows = [], []

    def add_checked(self, times: Floats, q: Floats, qd: Floats) -> int:
        """The same up to where numbers end or the run should have ended; how many came behind the first."""
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
        """End: a joint is at its limit."""
        name = self.arm.joints[joint].name
        self.end(t, Status.EVENT, "stop", name, f"{name} is at its limit")

    def met(self, t: float) -> None:
        """End: the user's condition was met."""
        self.end(t, Status.EVENT, "condition", None, "the condition was met")

    def diverged(self, t: float, coordinate: int, remedy: str = "") -> None:
        """End: a coordinate overflowed; its joint is named."""
        name = self.arm.joints[self._joint_of[coordinate]].name
        jam = (
            "; or friction that grows with the load leaves no motion at all"
            if depends_on_load(self.arm)
            else ""
        )
        self.end(t, Status.DIVERGED, "diverged", name, f"{name} overflowed{remedy}{jam}")

    def lost(self) -> None:
        """End: after the last sample the arm left all bounds; its fastest joint is named."""
        fastest = int(np.argmax(np.abs(self.samples()[2][-1, : self.arm.n])))
        name = self.arm.joints[fastest].name
        text = f"diverged at t = {self.last:.6g} s; reduce the bandwidth or the sampling period"
        self.end(self.last, Status.DIVERGED, "diverged", name, text, text)

    def jammed(self, t: float) -> None:
        """End: there is no acceleration, whatever the step."""
        text = "no acceleration fits the torques: friction that grows with the load jams the arm"
        self.end(t, Status.JAMMED, "jammed", None, text)

    def end(
        self, t: float, status: Status, kind: str, joint: str | None, text: str, message: str | None = None
    ) -> None:
        """End with an event; the message of the run is its text with the time, unless given."""
        self.events.append(Event(t, kind, joint, text))
        self.fail(status, f"{text}, at {t:g} s" if message is None else message)

    def fail(self, status: Status, message: str) -> None:
        """End without an event."""
        self.status, self.message, self.is_over = status, message, True

    def _ends(self, t: float, q: Floats, qd: Floats) -> bool:
        q, qd = q[: self.arm.n], qd[: self.arm.n]
        if self.stops:
            over = np.flatnonzero(self.beyond(q) > 0.0)
            if over.size:
                self.at_limit(t, int(over[0]))
                return True
        if self.until is not None:
            was, self._is_armed = self._is_armed, self.until(t, q, qd) < 0.0
            if was and not self._is_armed:
                self.met(t)
                return True
        return False


@dataclass(frozen=True, eq=False)
class Flow:
    """What drives an arm at states (T, m): `u` as the machine code takes it, torques, volts,
    and the power put in, (T,).

    `winding` (T, n) is the power lost there, `field` (T,) the energy in the windings'
    inductance, where there are any.
    """

    u: Floats
    tau: Floats
    voltage: Floats | None
    power: Floats
    winding: Floats | None = None
    field: Floats | None = None


# At a share of each of the T - 1 intervals: q and qd (T - 1, m), and what drives the arm there, a row each.
Between = Callable[[float], tuple[Floats, Floats, Floats]]
Supply = Callable[[Floats, Floats], Flow]


@dataclass(frozen=True, eq=False)
class Course:
    """A motion: samples t (T,), q and qd (T, m) of all coordinates, the motion between them, and what drove
    it, asked for when it is needed.

    `supply(given, qd)` says what flows, `is_held` that nothing given changes between two samples, `is_asking`
    that a function of the user's is asked for it, which must not be after the run. `current` (T, n) are those
    that are states, but no coordinates.
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
    """With the least number below 0 for 0: what is at its limit has not passed it yet,
    and will be seen when it does.
    """
    return np.where(g == 0.0, -TINY, g)


def first_to_go(q: Floats, qd: Floats) -> tuple[int, int]:
    """Of states (T, n) whose last is no finite number, the first such row and its joint;
    of several the fastest before.
    """
    bad = ~(np.isfinite(q) & np.isfinite(qd))
    row = int(np.argmax(bad.any(axis=1)))
    before = np.abs(qd[max(row - 1, 0)])
    return row, int(np.argmax(np.where(bad[row], np.nan_to_num(before), -1.0)))


def sticking(simulator: Simulator, t: Floats, qd: Floats) -> list[Event]:
    """When joints came to stand, and began to move again; one that only turns round does neither."""
    if not simulator.dry.any():
        return []
    stands = (qd == 0.0) & simulator.dry
    stands[1:-1] &= stands[:-2] | stands[2:]
    made = []
    for k, j in zip(*np.nonzero(np.diff(stands.astype(int), axis=0)), strict=True):
        kind, at = ("stick", k + 1) if stands[k + 1, j] else ("slip", k)
        name = simulator.arm.joints[simulator.coordinates.joint_of[int(j)]].name
        who = name if j < simulator.arm.n else f"the motor of {name}"
        text = f"{who} {'stands' if kind == 'stick' else 'begins to move'}"
        made.append(Event(float(t[at]), kind, name, text))
    return made


def changing_flanks(simulator: Simulator, t: Floats, q: Floats, qd: Floats) -> list[Event]:
    """When drives with backlash met a flank, and left it: at the sample where they do, or the next."""
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
    """What drives have of their own at the samples, (T, n) each: `motor_q` and `motor_qd`, motor angles over
    gear ratios, and `spring`, what the springs carry, where joints are elastic; `bristle`, how far bristles
    of the joint and `motor_bristle`, how far those of its rotor are bent; `current` where it is a state. What
    a joint does not have is that of a rigid drive, or 0.
    """
    c, q, qd = course.simulator.coordinates, course.q, course.qd
    made: dict[str, Floats] = {}
    if c.rotors:
        made |= {"motor_q": q[:, list(c.motors)], "motor_qd": qd[:, list(c.motors)]}
        made["spring"] = np.zeros((len(q), c.n))
        x, xd = list(q.T), list(qd.T)
        contact = c.contacts(x, xd)
        for rotor in c.rotors:
            made["spring"][:, rotor.freedom] = rotor.torque(x, xd, contact)
    for b in c.bristles:
        if b.body is not None and c.mechanics.moving.bodies[b.body].joint.mimic is not None:
            continue  # of a joint that follows another, whose own is shown
        name = "bristle" if b.on < c.n else "motor_bristle"
        made.setdefault(name, np.zeros((len(q), c.n)))[:, c.joint_of[b.place]] = qd[:, b.place]
    for freedom, place in c.currents.items():
        made.setdefault("current", np.zeros((len(q), c.n)))[:, freedom] = qd[:, place]
    return made if course.current is None else made | {"current": course.current}


def passing_limits(simulator: Simulator, t: Floats, q: Floats) -> list[Event]:
    """When joints, or those that follow them, passed their limits, or began beyond them."""
    (low, high), q = simulator.limits, q[:, : simulator.arm.n]
    if (low <= q).all() and (q <= high).all():
        return []
    made = []
    for side, beyond in (("lower", q < low), ("upper", q > high)):
        limit = low if side == "lower" else high
        passed = beyond.copy()
        passed[1:] &= ~beyond[:-1]
        for k, j in zip(*np.nonzero(passed), strict=True):
            joint = simulator.arm.joints[int(j)]
            unit = "rad" if joint.kind == "revolute" else "m"
            text = f"{joint.name} is beyond its {side} limit, {limit[j]:.6g} {unit}"
            made.append(Event(float(t[k]), "limit", joint.name, text))
    return made


def at_once(simulator: Simulator) -> Supply:
    """Torques, or voltages that the currents follow at once."""
    arm, motors, voltage = simulator.arm, simulator.motors, simulator.voltage
    most = most_efforts(simulator)

    def supply(given: Floats, xd: Floats) -> Flow:
        qd = xd[:, motors]
        tau = np.clip(torque_of(arm, given, qd) if voltage else given, -most, most)
        power = np.sum(tau * qd, axis=1)
        if not voltage:
            has_motors = arm.n and not without_constants(arm)
            return Flow(given, tau, voltage_of(arm, tau, qd) if has_motors else None, power)
        c = constants_of(arm)
        winding = c.R * (tau / c.K) ** 2
        return Flow(given, tau, given, power + winding.sum(axis=1), winding)

    return supply


def most_efforts(simulator: Simulator) -> Floats:
    """The largest torque of each motor (n,): max_effort where that is respected, else infinite."""
    efforts = [joint.max_effort if simulator.options.is_limited else None for joint in simulator.arm.joints]
    return np.array([np.inf if effort is None else effort for effort in efforts])


def behind_windings(simulator: Simulator) -> Supply:
    """Voltages on windings whose currents are coordinates. Power is what is lost and what moves the arm: the
    rest of what is put in is the growth of the field.
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
