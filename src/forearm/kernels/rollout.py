"""Simulations in machine code, loaded from the cache or compiled now:
complete runs with fixed steps, and the functions inside them.
"""

from __future__ import annotations

import ctypes
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.coordinates import coordinates_of
from forearm.drives.joint import count_of_loads
from forearm.errors import ModelError
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kinematics.limits import limits_of

Floats = NDArray[np.float64]
NONE = np.zeros(0)
# The functions, and the types of their arguments; `require` exists only where friction can hold a joint.
# With backlash the last two take one more pointer.
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
KINDS: dict[str, list[Any]] = {
    "rollout": [POINTER] * 9 + [COUNT] * 5 + [ctypes.c_double] * 2,
    "accelerate": [POINTER] * 6 + [COUNT],
    "require": [POINTER] * 5 + [COUNT],
}


@dataclass(eq=False)
class State:
    """States of B simulations, (B, m) each, with the m coordinates of `drives.coordinates`: `friction_sign`
    is the direction in which friction acts, `is_free` 0 where a coordinate sticks.

    `load_guess` (B, 2 k) are the loads on drives with load-dependent friction, and their change in the last
    step: the initial guess of the next solve. `contact` (B, gaps) are the flanks of backlash in contact.
    """

    q: Floats
    qd: Floats
    friction_sign: Floats
    is_free: Floats
    load_guess: Floats
    contact: Floats

    def copy(self) -> State:
        """A deep copy."""
        return State(*(array.copy() for array in vars(self).values()))


@dataclass(frozen=True)
class PlantOptions:
    """How an arm is simulated: driven by `voltage`, with `windings` whose currents are states, with motor
    torques saturated at max_effort if `is_limited`.
    """

    voltage: bool
    windings: bool = False
    is_limited: bool = False


class Simulator:
    """An arm driven by torques or voltages, integrated by an explicit method with the tableau c, a, b."""

    def __init__(
        self,
        arm: Arm,
        options: PlantOptions,
        c: tuple[float, ...],
        a: tuple[tuple[float, ...], ...],
        b: tuple[float, ...],
    ) -> None:
        self.arm, self.options, self.voltage = arm, options, options.voltage
        self.tableau = (c, a, b)
        self.coordinates = coordinates_of(arm, options.windings and options.voltage)
        self._functions: dict[tuple[str, str], Any] = {}

    @cached_property
    def dry(self) -> NDArray[np.bool_]:
        """For each coordinate whether dry friction can hold it."""
        return np.array(self.coordinates.dry, dtype=bool)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Joint limits, (n,) each; infinite if the limits leave no range."""
        try:
            return limits_of(self.arm)
        except ModelError:
            return np.full(self.arm.n, -np.inf), np.full(self.arm.n, np.inf)

    @cached_property
    def loads(self) -> int:
        """The number of loads that friction depends on."""
        return count_of_loads(self.coordinates.mechanics)

    @cached_property
    def motors(self) -> NDArray[np.intp]:
        """For each joint the index of its motor's coordinate."""
        return np.array(self.coordinates.motors, dtype=np.intp)

    def at_rest_or_moving(self, q: Floats, qd: Floats) -> State:
        """Initial states from (B, n), or from (B, m) with all coordinates: those with dry friction and zero
        velocity stick. From (B, n), rotors start with unloaded springs, in the middle of gaps, and bristles
        with their steady-state deflection.
        """
        x, xd = (self.whole(v) for v in (q, qd))
        if qd.shape[1] < self.coordinates.count:
            xd = self.bent(xd)
        free = np.where(self.dry & (xd == 0.0), 0.0, 1.0)
        loads = np.zeros((len(x), 2 * self.loads))
        flanks = self.coordinates.contacts(list(x.T), list(xd.T))
        contact = np.array(np.broadcast_arrays(*flanks, np.zeros(len(x))), dtype=np.float64)[:-1].T
        return State(x, xd, np.sign(xd) + 0.0, free, loads, np.ascontiguousarray(contact))

    def whole(self, values: Floats) -> Floats:
        """All coordinates (B, m) from those of the links, with rotors following them; a copy."""
        if values.shape[1] == self.coordinates.count:
            return np.array(values, dtype=np.float64)
        made = np.zeros((len(values), self.coordinates.count))
        made[:, : self.arm.n] = values
        made[:, self.motors] = values
        return made

    def bent(self, xd: Floats) -> Floats:
        """Velocities (B, m) with the bristles' steady-state deflection."""
        for b in self.coordinates.bristles:
            speed = b.multiplier * xd[:, b.on]
            xd[:, b.place] = np.where(speed == 0.0, 0.0, b.law.speed_of_slip(speed)[1])
        return xd

    def run(
        self, state: State, u: Floats, steps: int, h: float, every: int, linear: bool
    ) -> tuple[Floats, Floats]:
        """Advance by this many steps, updating the state;
        return (q, qd) of every `every`-th step, (B, steps / every + 1, m) each.

        u is (n,), or (B, 1, n), held throughout, or (steps + 1, n) for all simulations: held over each step,
        or interpolated linearly.
        """
        count, m = state.q.shape
        n = self.arm.n
        if u.ndim == 1:
            u, by_state, by_step = np.concatenate([u, u]), 0, 0
        elif u.ndim == 3:
            by_state, by_step = n, 0
        else:
            by_state, by_step = 0, n
        u = np.ascontiguousarray(u, dtype=np.float64)
        out = [np.empty((count, steps // every + 1, m)) for _ in range(2)]
        rollout = self._function("rollout", "single" if count == 1 else "batch")
        arrays = (*vars(state).values(), u, *out)
        pointers = [array.ctypes.data for array in arrays]
        rollout(*pointers, count, steps, every, by_state, by_step, h, 1.0 if linear else 0.0)
        return out[0], out[1]

    def accelerations(
        self, q: Floats, qd: Floats, u: Floats, way: Floats, free: Floats, contact: Floats = NONE
    ) -> Floats:
        """Accelerations of one simulation, (m,)."""
        return self._called("accelerate", q, qd, u, way, free, contact)

    def accelerations_of(
        self, q: Floats, qd: Floats, u: Floats, way: Floats, free: Floats, contact: Floats | None = None
    ) -> Floats:
        """Accelerations of many simulations, (B, m)."""
        given = [q, qd, u, way, free, *([] if contact is None or not contact.size else [contact])]
        arrays = [np.ascontiguousarray(v, dtype=np.float64) for v in given]
        out = np.empty(arrays[0].shape)
        self._function("accelerate", "batch")(*(v.ctypes.data for v in (*arrays, out)), len(out))
        return out

    def required(self, q: Floats, qd: Floats, qdd: Floats, way: Floats, contact: Floats = NONE) -> Floats:
        """The generalised forces on the coordinates of one simulation that a motion with friction in these
        directions requires, (m,).
        """
        return self._called("require", q, qd, qdd, way, contact)

    def given(self, q: Floats, qd: Floats, motors: Floats, contact: Floats = NONE) -> Floats:
        """The generalised forces (m,) on the coordinates of one simulation, from motors (n,) and springs."""
        x, xd, flanks = q.tolist(), qd.tolist(), contact.tolist()
        return np.array(self.coordinates.given(x, xd, motors.tolist(), flanks))

    def _called(self, name: str, *given: Floats) -> Floats:
        numbers = np.concatenate([*given, np.empty(self.coordinates.count)])
        # one array: taking an array's address is the slowest part
        first, places, at = numbers.ctypes.data, [], 0
        for value in given:
            if len(value):
                places.append(first + 8 * at)
            at += len(value)
        self._function(name, "single")(*places, first + 8 * at, 1)
        out: Floats = numbers[at:]
        return out

    def _function(self, name: str, part: str) -> Any:
        """A function on rows of states: part "single" takes one at a time, "batch" a SIMD vector of them."""
        found = self._functions.get((name, part))
        return found or self._functions.setdefault((name, part), self._found(name, part))

    def _found(self, name: str, part: str) -> Any:
        tableau = self.tableau if name == "rollout" else ()  # the others are alike for all methods

        def make() -> tuple[About, bytes]:
            from forearm.codegen.simulation_step import TracedPlant
            from forearm.kernels.native import host, object_code
            from forearm.kernels.rollout_ir import plant_text

            about = {"arm": self.arm.name, "functions": ["simulate"], "dtype": "float64", "part": part}
            options = self.options
            plant = TracedPlant(
                self.arm, options.voltage, windings=options.windings, is_limited=options.is_limited
            )
            return about, object_code(
                plant_text(name, plant, tableau, host("float64", 1 if part == "single" else None))
            )

        more = [POINTER] * bool(self.coordinates.gaps and name != "rollout")
        return kept_or_made(
            ("rollout", self.arm, astuple(self.options), tableau, name, part),
            [name],
            make,
            lambda _, memory: function_of(memory, name, *more, *KINDS[name]),
        )
