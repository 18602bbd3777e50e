"""Motors in an adaptive run: currents follow the voltages without delay, or through the inductance of their
windings.

Such a current is a state, L i' = V - R i - K qd, with its charge as the associated position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.drives.motor import constants_of, current_of, most_currents
from forearm.kernels.rollout import Simulator
from forearm.simulation.events import EventFunction
from forearm.simulation.inputs import Input
from forearm.simulation.machine import simulator_of
from forearm.simulation.start import damaged
from forearm.simulation.track import Flow, at_once, before_zero, torques

Floats = NDArray[np.float64]
Asked = Callable[[float, Floats, Floats], Floats]


class Motors:
    """Converts commands to torques: at once, or through windings whose currents are states.

    States x, xd are the simulator's coordinates, followed by charges and currents; `which` are the joints
    with such currents, and `is_limited` (m,) says where one is held at its motor's limit.
    """

    def __init__(self, drive: Input, simulator: Simulator, asked: Asked, current: Floats | None) -> None:
        arm, self._drive, self._asked = drive.arm, drive, asked
        self.is_wound = drive.voltage and has_inductance(arm)
        self.simulator = simulator_of(arm, False, "rk4") if self.is_wound else simulator
        self._m, self._motors = self.simulator.coordinates.count, self.simulator.motors
        self._at_once, self._torque = at_once(simulator), torques(simulator)
        self.which: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._most = self._L = np.zeros(0)
        if self.is_wound:
            self._c = constants_of(arm)
            self.which = np.flatnonzero(self._c.inductance > 0.0)
            self._all = np.array(most_currents(arm, simulator.options.is_limited))
            self._most, self._L = self._all[self.which], self._c.inductance[self.which]
        self.current = np.zeros(len(self.which)) if current is None else current
        if self.current.shape != self.which.shape or (
            self.is_wound and not np.all(np.abs(self.current) <= self._c.most_current[self.which])
        ):
            raise damaged("current")
        self.current = np.clip(self.current, -self._most, self._most)
        self.is_limited = np.abs(self.current) == self._most

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """Input of the machine code, (n,): the command, or torques K i."""
        if not self.is_wound:
            return self._asked(t, x, xd)
        return self._c.K * self._currents(self._drive.at(t), xd[self._m :], xd[self._motors])

    def torque(self, u: Floats, xd: Floats) -> Floats:
        """Torques (n,) of that input."""
        return u if self.is_wound else self._torque(u, xd)

    def rates(self, t: float, xd: Floats) -> Floats:
        """i' = (V - R i - K qd) / L (m,), and 0 for a current held at its limit."""
        if not len(self.which):
            return self.current
        return np.where(self.is_limited, 0.0, self._over(t, xd) / self._L)

    def settle(self, t: float, xd: Floats) -> None:
        """Keep a current at its limit only while the voltage would increase it further."""
        if not self.is_limited.any():
            return
        self.is_limited = self.is_limited & (np.sign(xd[self._m :]) * self._over(t, xd) > 0.0)

    def events(self) -> list[EventFunction]:
        """Events: a current reaches its limit, or the voltage no longer holds it there."""
        m = self._m
        self._rising = rising = np.flatnonzero(np.isfinite(self._most) & ~self.is_limited)
        self._held = held = np.flatnonzero(self.is_limited)

        def limit(t: float, x: Floats, xd: Floats) -> Floats:
            return before_zero(np.abs(xd[m:][rising]) - self._most[rising])

        def release(t: float, x: Floats, xd: Floats) -> Floats:
            return np.asarray((np.sign(xd[m:]) * self._over(t, xd))[held])

        events = [EventFunction("limit", limit, 1, terminal=True)] * bool(rising.size)
        return events + [EventFunction("release", release, -1, terminal=True)] * bool(held.size)

    def take(self, current: Floats, hits: list[tuple[str, int]]) -> None:
        """Continue from the given currents; those that reached a limit are set exactly to it."""
        self.current, self.is_limited = current.copy(), self.is_limited.copy()
        for name, component in hits:
            if name == "limit":
                j = self._rising[component]
                self.current[j], self.is_limited[j] = np.copysign(self._most[j], current[j]), True
            if name == "release":
                self.is_limited[self._held[component]] = False

    def giving(self) -> Asked:
        """What `supply` needs at a state, as one row: the command, or voltages (n), currents (m) and whether
        they are at their limits (m).
        """
        if not self.is_wound:
            return self._asked
        limited = self.is_limited
        return lambda t, x, xd: np.concatenate([self._drive.at(t), xd[self._m :], limited])

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """Flow at states (T, m); supplied power V i with the effective voltage, which is below the command
        while a current is limited.
        """
        if not self.is_wound:
            return self._at_once(given, xd)
        n, m, c, qd = self._drive.arm.n, len(self.which), self._c, xd[:, self._motors]
        V, i, limited = given[:, :n], given[:, n : n + m], given[:, n + m :] > 0.0
        current = self._currents(V, i, qd)
        there = c.R * current + c.K * qd
        there[:, self.which] = np.where(limited, there[:, self.which], self._applied(V))
        field = 0.5 * np.sum(self._L * i**2, axis=1)
        tau = c.K * current
        return Flow(tau, tau, V, np.sum(there * current, axis=1), c.R * current**2, field)

    def _currents(self, V: Floats, i: Floats, qd: Floats) -> Floats:
        """All currents (..., n): states and algebraic ones."""
        if len(self.which) == self._drive.arm.n:
            return i
        current = np.clip(current_of(self._drive.arm, V, qd), -self._all, self._all)
        current[..., self.which] = i
        return current

    def _applied(self, V: Floats) -> Floats:
        """Voltages of windings with inductance, (..., m), within the motors' limits."""
        most = self._c.most_voltage[self.which]
        return np.asarray(np.clip(V[..., self.which], -most, most))

    def _over(self, t: float, xd: Floats) -> Floats:
        """V - R i - K qd (m,), the voltage left to change the currents."""
        w = self.which
        applied = self._applied(self._drive.at(t))
        return np.asarray(applied - self._c.R[w] * xd[self._m :] - self._c.K[w] * xd[self._motors[w]])


def has_inductance(arm: Arm) -> bool:
    """Whether a motor of the arm has a winding with inductance."""
    return any(joint.motor is not None and joint.motor.inductance for joint in arm.joints)


def without_inductance(arm: Arm) -> Arm:
    """The same arm with currents that follow the voltages without delay."""

    def plain(joint: Joint) -> Joint:
        if joint.motor is None or not joint.motor.inductance:
            return joint
        return replace(joint, motor=replace(joint.motor, inductance=None))

    return arm.replace(tree=tuple(map(plain, arm.tree))) if has_inductance(arm) else arm
