"""Simulations in machine code, from the cache or made now: whole runs of fixed steps,
and the functions inside them.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import count_of_loads, held_freedoms
from forearm.errors import ModelError
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kinematics.limits import limits_of

Floats = NDArray[np.float64]
# The functions of the code, and the kinds of their arguments;
# `require` is there only where friction can hold a joint.
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
KINDS: dict[str, list[Any]] = {
    "rollout": [POINTER] * 8 + [COUNT] * 5 + [ctypes.c_double] * 2,
    "accelerate": [POINTER] * 6 + [COUNT],
    "require": [POINTER] * 5 + [COUNT],
}


@dataclass(eq=False)
class State:
    """Simulations under way, (B, n) each: `friction_sign` is the direction in which friction acts,
    `is_free` 0 where a joint stands.

    `load_guess` (B, 2 m) are the loads on drives with friction that depends on them, and how they changed in
    the last step: where the next begins to look for them.
    """

    q: Floats
    qd: Floats
    friction_sign: Floats
    is_free: Floats
    load_guess: Floats

    def copy(self) -> State:
        """The same, apart."""
        return State(*(array.copy() for array in vars(self).values()))


class Simulator:
    """An arm driven by torques or voltages, under an explicit method with the tableau c, a, b."""

    def __init__(
        self,
        arm: Arm,
        voltage: bool,
        c: tuple[float, ...],
        a: tuple[tuple[float, ...], ...],
        b: tuple[float, ...],
    ) -> None:
        self.arm, self.voltage = arm, voltage
        self.tableau = (c, a, b)
        self._parts: dict[str, dict[str, Any]] = {}

    @cached_property
    def dry(self) -> NDArray[np.bool_]:
        """For each freedom whether friction can hold it."""
        return np.array(held_freedoms(self.arm), dtype=bool)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Where the freedoms may stand, (n,) each; anywhere, where limits leave nothing."""
        try:
            return limits_of(self.arm)
        except ModelError:
            return np.full(self.arm.n, -np.inf), np.full(self.arm.n, np.inf)

    @cached_property
    def loads(self) -> int:
        """How many numbers the loads are that friction depends on."""
        return count_of_loads(self.arm)

    def at_rest_or_moving(self, q: Floats, qd: Floats) -> State:
        """Simulations that begin at (B, n): joints with dry friction and no velocity stand."""
        free = np.where(self.dry & (qd == 0.0), 0.0, 1.0)
        return State(q.copy(), qd.copy(), np.sign(qd) + 0.0, free, np.zeros((len(q), 2 * self.loads)))

    def run(
        self, state: State, u: Floats, steps: int, h: float, every: int, linear: bool
    ) -> tuple[Floats, Floats]:
        """Go on for so many steps; the state is changed. (q, qd) of every `every`-th step, (B,
        steps / every + 1, n) each.

        u is (n,), or (B, 1, n), held throughout, or (steps + 1, n) for all:
        held from step to step, or going straight.
        """
        count, n = state.q.shape
        if u.ndim == 1:
            u, by_state, by_step = np.concatenate([u, u]), 0, 0
        elif u.ndim == 3:
            by_state, by_step = n, 0
        else:
            by_state, by_step = 0, n
        u = np.ascontiguousarray(u, dtype=np.float64)
        out = [np.empty((count, steps // every + 1, n)) for _ in range(2)]
        part = self._part("single" if count == 1 else "batch")
        arrays = (*vars(state).values(), u, *out)
        pointers = [array.ctypes.data for array in arrays]
        part["rollout"](*pointers, count, steps, every, by_state, by_step, h, 1.0 if linear else 0.0)
        return out[0], out[1]

    def accelerations(self, q: Floats, qd: Floats, u: Floats, way: Floats, free: Floats) -> Floats:
        """Of one simulation, (n,)."""
        return self._called("accelerate", q, qd, u, way, free)

    def accelerations_of(self, q: Floats, qd: Floats, u: Floats, way: Floats, free: Floats) -> Floats:
        """Of many, (B, n)."""
        arrays = [np.ascontiguousarray(v, dtype=np.float64) for v in (q, qd, u, way, free)]
        out = np.empty(arrays[0].shape)
        self._part("batch")["accelerate"](*(v.ctypes.data for v in (*arrays, out)), len(out))
        return out

    def required(self, q: Floats, qd: Floats, qdd: Floats, way: Floats) -> Floats:
        """What the drives of one simulation must give for a motion with friction in
        these directions, (n,).
        """
        return self._called("require", q, qd, qdd, way)

    def _called(self, name: str, *given: Floats) -> Floats:
        rows = np.empty((len(given) + 1, self.arm.n))  # one array: asking for its address takes longest
        for row, value in zip(rows, given, strict=False):
            row[:] = value
        first, step = rows.ctypes.data, rows.strides[0]
        self._part("single")[name](*(first + k * step for k in range(len(rows))), 1)
        out: Floats = rows[-1]
        return out

    def _part(self, name: str) -> dict[str, Any]:
        return self._parts.get(name) or self._parts.setdefault(name, self._found(name))

    def _found(self, part: str) -> dict[str, Any]:
        arm, voltage, tableau = self.arm, self.voltage, self.tableau

        def make() -> tuple[About, bytes]:
            from forearm.codegen.simulation_step import TracedPlant
            from forearm.dynamics.explicit_methods import ExplicitMethod
            from forearm.kernels.native import host, object_code
            from forearm.kernels.rollout_ir import rollout_text

            about = {"arm": arm.name, "functions": ["simulate"], "dtype": "float64", "part": part}
            target = host("float64", 1 if part == "single" else None)
            return about, object_code(
                rollout_text(TracedPlant(arm, voltage), ExplicitMethod(*tableau), target)
            )

        names = [name for name in KINDS if name != "require" or self.dry.any()]
        return kept_or_made(
            ("rollout", arm, voltage, tableau, part),
            names,
            make,
            lambda _, memory: {name: function_of(memory, name, *KINDS[name]) for name in names},
        )
