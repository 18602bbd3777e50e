"""Motors in an adaptive run: currents follow the voltages without delay, or through the inductance of their
windings.

Such a current is a state, L i' = V - R i - K qd, with its charge as the associated position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Motor
from forearm.arm.joint import Joint
from forearm.drives.motor import constants_of, current_of, most_currents
from forearm.errors import InputError
from forearm.kernels.rollout import Simulator
from forearm.simulation.events import EventFunction
from forearm.simulation.inputs import Input
from forearm.simulation.machine import simulator_of
from forearm.simulation.track import Flow, at_once, before_zero, most_efforts

Floats = NDArray[np.float64]
Asked = Callable[[float, Floats, Floats], Floats]


class Motors(Protocol):
    """Converts commands to torques. States x, xd are the simulator's coordinates, followed by charges and
    currents.
    """

    simulator: Simulator
    which: NDArray[np.intp]  # indices of joints whose currents are states
    current: Floats  # their currents

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """Flow at states (T, m)."""
        ...

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """Input of the machine code, (n,)."""
        ...

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """Torques of that input, (n,)."""
        ...

    def rates(self, t: float, xd: Floats) -> Floats:
        """i' (m,)."""
        ...

    def settle(self, t: float, xd: Floats) -> None:
        """Release currents from limits at which the voltage no longer holds them."""
        ...

    def events(self) -> list[EventFunction]:
        """Events at which currents reach or leave their limits."""
        ...

    def take(self, current: Floats, hits: list[tuple[str, int]]) -> None:
        """Continue from currents (m,) after events, each with its component."""
        ...

    def giving(self) -> Asked:
        """What `supply` needs at a state, as one row, with the present limit modes."""
        ...


class AtOnce:
    """Torques, or voltages whose currents follow without delay."""

    def __init__(self, drive: Input, simulator: Simulator, asked: Asked) -> None:
        self.simulator, self._asked, self._supply, self._drive = (simulator, asked, at_once(simulator), drive)
        self.which, self.current = np.zeros(0, dtype=np.intp), np.zeros(0)
        self._most = most_efforts(simulator)

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """Torques, and the power of the windings."""
        return self._supply(given, xd)

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """The command."""
        return self._asked(t, x, xd)

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """Torques by the motor constants."""
        torque = self._drive.torque(u, qd[self.simulator.motors])
        return np.clip(torque, -self._most, self._most)

    def rates(self, t: float, xd: Floats) -> Floats:
        """No current is a state."""
        return self.current

    def settle(self, t: float, xd: Floats) -> None:
        """Nothing to release."""

    def events(self) -> list[EventFunction]:
        """No events."""
        return []

    def take(self, current: Floats, hits: list[tuple[str, int]]) -> None:
        """Nothing to store."""

    def giving(self) -> Asked:
        """The command."""
        return self._asked


class Wound:
    """Voltages on windings with inductance; `is_limited` (m,) where a current is held at its motor's
    limit.
    """

    def __init__(self, drive: Input, is_limited: bool, current: Floats | None) -> None:
        self.simulator = simulator_of(drive.arm, False, "rk4")
        self._drive, self._n, self._c = drive, drive.arm.n, constants_of(drive.arm)
        self._m, self._motors = self.simulator.coordinates.count, self.simulator.motors
        self.which = np.flatnonzero(self._c.inductance > 0.0)
        self._all = np.array(most_currents(drive.arm, is_limited))
        self._most, self._L = self._all[self.which], self._c.inductance[self.which]
        self.current = np.zeros(len(self.which)) if current is None else current
        bound = self._c.most_current[self.which]
        if self.current.shape != self.which.shape or not np.all(np.abs(self.current) <= bound):
            raise InputError(
                "current of the checkpoint is damaged; simulate from the start again.",
                "simulate",
                "continued",
            )
        self.current = np.clip(self.current, -self._most, self._most)
        self.is_limited = np.abs(self.current) == self._most

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """Torques K i (n,)."""
        return self._c.K * self._currents(self._drive.at(t), xd[self._m :], xd[self._motors])

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """The input of the machine code is torques already."""
        return u

    def rates(self, t: float, xd: Floats) -> Floats:
        """i' = (V - R i - K qd) / L, and 0 for a current held at its limit."""
        return np.where(self.is_limited, 0.0, self._over(t, xd) / self._L)

    def settle(self, t: float, xd: Floats) -> None:
        """Keep a current at its limit only while the voltage would increase it further."""
        self.is_limited = self.is_limited & (np.sign(xd[self._m :]) * self._over(t, xd) > 0.0)

    def events(self) -> list[EventFunction]:
        """Events: a current reaches its limit, or the voltage no longer holds it there."""
        m, limits = self._m, np.isfinite(self._most)
        rising, held = np.flatnonzero(limits & ~self.is_limited), np.flatnonzero(self.is_limited)
        made = []
        if rising.size:
            made.append(
                EventFunction(
                    "limit",
                    lambda t, x, xd: before_zero(np.abs(xd[m:][rising]) - self._most[rising]),
                    1,
                    terminal=True,
                )
            )
        if held.size:
            made.append(
                EventFunction(
                    "release", lambda t, x, xd: (np.sign(xd[m:]) * self._over(t, xd))[held], -1, terminal=True
                )
            )
        self._rising, self._held = rising, held
        return made

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
        """Voltages (n), currents (m) and whether they are at their limits (m)."""
        limited = self.is_limited
        return lambda t, x, xd: np.concatenate([self._drive.at(t), xd[self._m :], limited])

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """Supplied power V i with the effective voltage, which is below the command while a current is
        limited.
        """
        n, m, c, qd = self._n, len(self.which), self._c, xd[:, self._motors]
        V, i, limited = given[:, :n], given[:, n : n + m], given[:, n + m :] > 0.0
        current = self._currents(V, i, qd)
        there = c.R * current + c.K * qd
        there[:, self.which] = np.where(limited, there[:, self.which], self._applied(V))
        field = 0.5 * np.sum(self._L * i**2, axis=1)
        tau = c.K * current
        return Flow(tau, tau, V, np.sum(there * current, axis=1), c.R * current**2, field)

    def _currents(self, V: Floats, i: Floats, qd: Floats) -> Floats:
        """All currents (..., n): states and algebraic ones."""
        if len(self.which) == self._n:
            return i
        made = np.clip(current_of(self._drive.arm, V, qd), -self._all, self._all)
        made[..., self.which] = i
        return made

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
        motor: Motor | None = joint.motor
        return (
            joint
            if motor is None or not motor.inductance
            else replace(joint, motor=replace(motor, inductance=None))
        )

    return arm.replace(tree=tuple(plain(joint) for joint in arm.tree)) if has_inductance(arm) else arm
