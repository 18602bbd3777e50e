"""Motors as an adaptive run sees them: currents that follow the voltages at once,
or behind their windings' inductance.

Such a current is a state of its own, L i' = V - R i - K qd, with its charge in the place of a position.
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
    """What turns what is asked for into torques. States x, xd are the simulator's coordinates,
    then charges and currents.
    """

    simulator: Simulator
    which: NDArray[np.intp]  # of the joints have currents that are states
    current: Floats  # those

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """What flows at states (T, m)."""
        ...

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """What the machine code takes, (n,)."""
        ...

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """The torques of it, (n,)."""
        ...

    def rates(self, t: float, xd: Floats) -> Floats:
        """i' (m,)."""
        ...

    def settle(self, t: float, xd: Floats) -> None:
        """Let go of currents at their limits that nothing holds there."""
        ...

    def events(self) -> list[EventFunction]:
        """Where currents reach their limits, and leave them."""
        ...

    def take(self, current: Floats, hits: list[tuple[str, int]]) -> None:
        """Go on from currents (m,) after events, each with its component."""
        ...

    def giving(self) -> Asked:
        """What `supply` needs of a state, as one row, while limits are as they are now."""
        ...


class AtOnce:
    """Torques, or voltages whose currents follow at once."""

    def __init__(self, drive: Input, simulator: Simulator, asked: Asked) -> None:
        self.simulator, self._asked, self._supply, self._drive = (simulator, asked, at_once(simulator), drive)
        self.which, self.current = np.zeros(0, dtype=np.intp), np.zeros(0)
        self._most = most_efforts(simulator)

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """Torques, and what windings take."""
        return self._supply(given, xd)

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """What is asked for."""
        return self._asked(t, x, xd)

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """By the motors' constants."""
        torque = self._drive.torque(u, qd[self.simulator.motors])
        return np.clip(torque, -self._most, self._most)

    def rates(self, t: float, xd: Floats) -> Floats:
        """No current is a state."""
        return self.current

    def settle(self, t: float, xd: Floats) -> None:
        """Nothing to let go of."""

    def events(self) -> list[EventFunction]:
        """None."""
        return []

    def take(self, current: Floats, hits: list[tuple[str, int]]) -> None:
        """Nothing to keep."""

    def giving(self) -> Asked:
        """What is asked for."""
        return self._asked


class Wound:
    """Voltages on windings with inductance; `is_limited` (m,) where a current is
    held at its motor's limit.
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
                "simulate, continued: current of the checkpoint is damaged; simulate from the start again."
            )
        self.current = np.clip(self.current, -self._most, self._most)
        self.is_limited = np.abs(self.current) == self._most

    def u(self, t: float, x: Floats, xd: Floats) -> Floats:
        """Torques K i (n,)."""
        return self._c.K * self._currents(self._drive.at(t), xd[self._m :], xd[self._motors])

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """What drives the machine code are torques already."""
        return u

    def rates(self, t: float, xd: Floats) -> Floats:
        """i' = (V - R i - K qd) / L, and 0 for a current held at its limit."""
        return np.where(self.is_limited, 0.0, self._over(t, xd) / self._L)

    def settle(self, t: float, xd: Floats) -> None:
        """A current stays at its limit only while the voltage would drive it further."""
        self.is_limited = self.is_limited & (np.sign(xd[self._m :]) * self._over(t, xd) > 0.0)

    def events(self) -> list[EventFunction]:
        """A current reaches its limit; the voltage no longer holds one there."""
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
        """Go on from currents, those that reached a limit exactly there."""
        self.current, self.is_limited = current.copy(), self.is_limited.copy()
        for name, component in hits:
            if name == "limit":
                j = self._rising[component]
                self.current[j], self.is_limited[j] = np.copysign(self._most[j], current[j]), True
            if name == "release":
                self.is_limited[self._held[component]] = False

    def giving(self) -> Asked:
        """Voltages (n), currents (m) and where they are held at their limits (m)."""
        limited = self.is_limited
        return lambda t, x, xd: np.concatenate([self._drive.at(t), xd[self._m :], limited])

    def supply(self, given: Floats, xd: Floats) -> Flow:
        """V i is put in, with the voltage that there is: less than asked where a
        current is held at its limit.
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
        """All of them (..., n): those that are states, and those that follow at once."""
        if len(self.which) == self._n:
            return i
        made = np.clip(current_of(self._drive.arm, V, qd), -self._all, self._all)
        made[..., self.which] = i
        return made

    def _applied(self, V: Floats) -> Floats:
        """What windings with inductance get, (..., m), within the motors' limits of voltage."""
        most = self._c.most_voltage[self.which]
        return np.asarray(np.clip(V[..., self.which], -most, most))

    def _over(self, t: float, xd: Floats) -> Floats:
        """V - R i - K qd (m,), what is left over to change the currents."""
        w = self.which
        applied = self._applied(self._drive.at(t))
        return np.asarray(applied - self._c.R[w] * xd[self._m :] - self._c.K[w] * xd[self._motors[w]])


def has_inductance(arm: Arm) -> bool:
    """Whether a motor of the arm has a winding with inductance."""
    return any(joint.motor is not None and joint.motor.inductance for joint in arm.joints)


def without_inductance(arm: Arm) -> Arm:
    """The same arm with currents that follow the voltages at once."""

    def plain(joint: Joint) -> Joint:
        motor: Motor | None = joint.motor
        return (
            joint
            if motor is None or not motor.inductance
            else replace(joint, motor=replace(motor, inductance=None))
        )

    return arm.replace(tree=tuple(plain(joint) for joint in arm.tree)) if has_inductance(arm) else arm
