"""Compiled simulations with error-controlled steps, loaded from the cache or compiled on demand."""

from __future__ import annotations

import ctypes
from dataclasses import astuple
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.coordinates import coordinates_of
from forearm.dynamics.adaptive_step import EmbeddedPair
from forearm.dynamics.driven_arm import BOUNDS, DRIVE, RECORD, STATE, sizes_of
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of
from forearm.kernels.rollout import PlantOptions

Floats = NDArray[np.float64]


class AdaptiveSimulator:
    """An arm driven by torques or voltages, integrated by an embedded Runge-Kutta pair."""

    def __init__(self, arm: Arm, options: PlantOptions, pair: EmbeddedPair) -> None:
        self.arm, self.options, self.pair = arm, options, pair
        self.coordinates = coordinates_of(arm)
        sizes = sizes_of(self.coordinates, pair.powers)
        self._given = _places((*STATE, *BOUNDS, *DRIVE), sizes)
        self._record = _places(RECORD, sizes)

    def start(self) -> AdaptiveRun:
        """A new simulation from this initial state."""
        return AdaptiveRun(self.code, self._given, self._record)

    @cached_property
    def code(self) -> Any:
        """The compiled function of `adaptive_rollout_ir`."""
        arm, options, pair, name = self.arm, self.options, self.pair, "adaptive_rollout"

        def make() -> tuple[About, bytes]:
            from forearm.codegen.simulation_step import TracedPlant
            from forearm.kernels.adaptive_rollout_ir import adaptive_rollout_text
            from forearm.kernels.native import host, object_code

            about = {"arm": arm.name, "functions": ["simulate"], "dtype": "float64", "part": "adaptive"}
            plant = TracedPlant(arm, options.voltage, is_limited=options.is_limited)
            return about, object_code(adaptive_rollout_text(plant, pair, host("float64", 1)))

        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        return kept_or_made(
            (name, arm, astuple(options), astuple(pair)),
            [name],
            make,
            lambda _, m: function_of(m, name, *kinds),
        )


class AdaptiveRun:
    """One simulation in progress; its variables have the names of `dynamics.driven_arm`."""

    def __init__(self, code: Any, given: dict[str, slice], record: dict[str, slice]) -> None:
        self._code, self._record = code, record
        size = max(place.stop for place in given.values())
        self._numbers = np.zeros(size + 2)
        self._counts = self._numbers[size:]
        self.given = {name: self._numbers[place] for name, place in given.items()}
        self._address = self._numbers.ctypes.data
        self._width = max(place.stop for place in record.values())
        self._rows = np.empty((0, self._width))

    def go_on(self, most: int) -> tuple[dict[str, Floats], int, int]:
        """Try at most this many steps, or until an attempt ends the segment. Returns the RECORD values of the
        accepted steps, followed by those of the last attempt if it was rejected, (k, m) each; the number of
        attempts; and the number of accepted steps.
        """
        if len(self._rows) < most:
            self._rows = np.empty((most, self._width))
        self._code(self._address, self._rows.ctypes.data, most)
        taken, tried = (int(count) for count in self._counts)
        rows = self._rows[: taken + 1].copy()
        return {name: rows[:, place] for name, place in self._record.items()}, tried, taken


def _places(names: tuple[str, ...], sizes: dict[str, int]) -> dict[str, slice]:
    ends = np.cumsum([sizes[name] for name in names]).tolist()
    return {name: slice(end - sizes[name], end) for name, end in zip(names, ends, strict=True)}
