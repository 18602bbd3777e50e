"""Mode switches of an adaptive run: joints that stick and break loose, and drives with backlash that meet or
leave a flank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.drives.coordinates import Coordinates
from forearm.drives.joint import drives_of
from forearm.kernels.rollout import State
from forearm.simulation.events import EventFunction
from forearm.simulation.track import before_zero
from forearm.simulation.windings import Motors

Floats = NDArray[np.float64]
SLOW = 4.0  # times the Stribeck velocity: below it adaptive steps start small


class DryFriction:
    """Dry friction of an arm, with the stick and slip modes of `state`."""

    def __init__(self, motors: Motors, state: State) -> None:
        self.motors, self.simulator, self.state = motors, motors.simulator, state
        self.n = self.simulator.coordinates.count
        self.stribeck = _stribeck_speeds(self.simulator.coordinates)
        self._moving = np.zeros(0, dtype=np.intp)

    @property
    def stands(self) -> NDArray[np.bool_]:
        """Which coordinates stick now, (m,)."""
        return np.asarray(self.simulator.dry & (self.state.is_free[0] == 0.0))

    @property
    def slow(self) -> Floats:
        """Velocities below which steps start small, (m,), infinite where friction does not depend on
        speed.
        """
        return SLOW * self.stribeck

    def events(self) -> list[EventFunction]:
        """Events at which a moving joint's velocity reaches 0 or becomes slow, or a sticking joint breaks
        loose.
        """
        way, free, n = self.state.friction_sign[0].copy(), self.state.is_free[0].copy(), self.n
        moving = np.flatnonzero(self.simulator.dry & (free > 0.0) & (way != 0.0))
        standing, fast = np.flatnonzero(self.stands), moving[np.isfinite(self.stribeck[moving])]
        level, self._moving = self.slow[fast], moving
        coordinates, contact = self.simulator.coordinates, self.state.contact[0].tolist()

        def stick(t: float, x: Floats, xd: Floats) -> Floats:
            return np.asarray(way[moving] * xd[moving])

        def slow(t: float, x: Floats, xd: Floats) -> Floats:
            return np.asarray(way[fast] * xd[fast] - level)

        def slip(t: float, x: Floats, xd: Floats) -> Floats:
            over = self._excess(x[:n], xd[:n], self.motors.u(t, x, xd), way, free)[0]
            # NaN: no acceleration exists, which the integration reports itself
            return before_zero(np.where(np.isnan(over), -1.0, over))[standing]

        def flank(t: float, x: Floats, xd: Floats) -> list[float]:
            return coordinates.flanks(x.tolist(), xd.tolist(), contact)

        found = (
            (moving.size, "stick", stick, -1),
            (moving.size, "slow", slow, -1),
            (standing.size, "slip", slip, 1),
            (len(coordinates.gaps), "flank", flank, -1),
        )
        return [EventFunction(name, g, sign, terminal=True) for count, name, g, sign in found if count]

    def change_flank(self, component: int) -> None:
        """Switch the contact of a gap at a `flank` event."""
        contact, coordinates = self.state.contact[0], self.simulator.coordinates
        contact[component] = coordinates.next_contact(self.state.q[0], list(contact))[component]

    def stick(self, component: int) -> int:
        """Let the joint of a `stick` event stick from here on."""
        j = int(self._moving[component])
        self.state.qd[0, j], self.state.friction_sign[0, j], self.state.is_free[0, j] = 0.0, 0.0, 0.0
        return j

    def loosen(self, u: Floats) -> None:
        """Break loose sticking joints that are driven beyond static friction, one at a time, the hardest
        driven first.
        """
        q, qd, way, free = self._one()
        contact = self.state.contact[0]
        if not self.stands.any():
            return
        new = np.zeros(self.n, dtype=bool)
        for _ in range(3 * self.n):
            back = new & (way * self.simulator.accelerations(q, qd, u, way, free, contact) < 0.0)
            if back.any():  # a joint that another one's start accelerates in the wrong direction
                way[back], free[back], new[back] = 0.0, 0.0, False
            stands = (free == 0.0) & self.simulator.dry
            if not stands.any():
                return
            over, is_forward = self._excess(q, qd, u, way, free)
            excess = np.where(stands, over, 0.0)
            j = int(np.argmax(excess))
            if not excess[j] > 0.0:
                return
            way[j], free[j], new[j] = 1.0 if is_forward[j] else -1.0, 1.0, True

    def careful(self, u: Floats, first: float | None) -> float | None:
        """An initial step that does not skip over the Stribeck effect, which decays within a hundredth of
        earlier steps.
        """
        q, qd, way, free = self._one()
        slow = (np.abs(qd) <= SLOW * 1.01 * self.stribeck) & (free > 0.0) & np.isfinite(self.stribeck)
        if not slow.any():
            return first
        contact = self.state.contact[0]
        qdd = np.abs(self.simulator.accelerations(q, qd, u, way, free, contact)[slow])
        wanted = float(np.min(self.stribeck[slow] / (10.0 * np.maximum(qdd, 1e-12))))
        return wanted if first is None or wanted < first else first

    def _one(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.state.q[0], self.state.qd[0], self.state.friction_sign[0], self.state.is_free[0]

    def _excess(
        self, q: Floats, qd: Floats, u: Floats, way: Floats, free: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Effort beyond the static friction of either direction, (m,), and whether it is forwards."""
        simulator, contact = self.simulator, self.state.contact[0]
        qdd = simulator.accelerations(q, qd, u, way, free, contact)
        tau = simulator.given(q, qd, self.motors.torque(u, qd), contact)
        stands = (free == 0.0) & simulator.dry
        plus, minus = (simulator.required(q, qd, qdd, np.where(stands, w, way), contact) for w in (1.0, -1.0))
        return np.maximum(tau - plus, minus - tau), tau > plus


def _stribeck_speeds(coordinates: Coordinates) -> Floats:
    """Stribeck velocity of each coordinate, infinite where dry friction does not depend on speed or is
    modelled by bristles.
    """
    speeds = np.full(coordinates.count, np.inf)
    bristled = {b.body for b in coordinates.bristles}
    for k, drive in enumerate(drives_of(coordinates.mechanics)):
        speed = drive.at_joint.stribeck_speed
        if speed is not None and k not in bristled:
            speeds[drive.freedom] = min(speeds[drive.freedom], speed / abs(drive.multiplier))
    for rotor in coordinates.alone:
        f = rotor.friction
        if f is not None and f.stribeck_speed is not None and f.bristle_stiffness is None:
            speeds[rotor.place] = f.stribeck_speed
    return speeds
