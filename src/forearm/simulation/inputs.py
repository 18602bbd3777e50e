"""Inputs of an arm, torques or voltages: a constant, a schedule, a function of time or a controller,
optionally through a DAC.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, amplifier_gains
from forearm.errors import InputError, shorten
from forearm.kernels.rollout import State
from forearm.logs.motion import MotionLog
from forearm.simulation.arguments import Controller, RowOptions, RunOptions
from forearm.simulation.schedule import Quantity, Schedule
from forearm.values import as_finite

Floats = NDArray[np.float64]
INPUTS = ("torque", "voltage", "controller")


@dataclass(frozen=True, eq=False)
class Converter:
    """A DAC in front of an arm's amplifiers, voltage (or torque, for torque amplifiers) = DACOut x gain;
    `gains` (n,), 1 where the arm defines none.
    """

    dac: DAC
    gains: Floats

    @property
    def period(self) -> float:
        """Sample-and-hold period, s."""
        return self.dac.period

    def out(self, voltage: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """DACOut (..., n) for the commanded voltages, quantised and clipped; and where it is clipped."""
        return self.dac.out(voltage / self.gains)

    def voltage(self, out: Floats) -> Floats:
        """Amplifier output for DACOut."""
        return self.dac.voltage(out) * self.gains

    def limited(self, voltage: Floats) -> Floats:
        """Voltages as quantised and clipped by the converter."""
        return self.voltage(self.out(voltage)[0])


@dataclass(frozen=True, eq=False)
class Input:
    """Checked input of an arm: `source` is (n,), a schedule or a function; for a controller, a
    placeholder.
    """

    arm: Arm
    voltage: bool
    source: Any
    controller: Controller | None
    converter: Converter | None
    name: str | None = None  # argument that it was passed as

    @property
    def is_constant(self) -> bool:
        """Whether it is constant in time."""
        return self.controller is None and isinstance(self.source, np.ndarray)

    @property
    def is_linear(self) -> bool:
        """Whether it is linear between steps rather than held."""
        return isinstance(self.source, Schedule) and self.source.how == "linear" and self.converter is None

    @property
    def is_data(self) -> bool:
        """Whether it can be re-evaluated later: it calls no user function."""
        return self.controller is None and not callable(self.source)

    def at(self, t: float) -> Floats:
        """Value (n,) at a time, after the converter if there is one."""
        if self.converter is not None:
            period = self.converter.period
            t = period * periods(t, period)
            if isinstance(self.source, Schedule):  # whose times may be missed by rounding
                held: Floats = self.table(np.array([t]), period)[0]
                return held
        return self.limited(self._value(t))

    def table(self, times: Floats, step: float) -> Floats:
        """Values (m, n) at times of steps, or of the converter if there is one."""
        if not isinstance(self.source, Schedule):
            return self.limited(np.array([self._value(float(t)) for t in times]))
        return self.limited(self.source.held_at(times, step))

    def asked(self, t: float, q: Floats, qd: Floats) -> Floats:
        """The controller's command at a state; it receives copies of q and qd of the links (n,)."""
        assert self.controller is not None
        n = self.arm.n
        return numbers(self.arm, self.controller(t, q[:n].copy(), qd[:n].copy()), "controller")

    def answer(self, t: float, state: State) -> Floats:
        """The same for the single simulation of a state, quantised and clipped by the converter."""
        return self.limited(self.asked(t, state.q[0], state.qd[0]).copy())  # the caller may reuse the array

    def limited(self, value: Floats) -> Floats:
        """Value as quantised and clipped by the converter."""
        return value if self.converter is None else self.converter.limited(value)

    def breakpoints(self, start: float, end: float, most: int) -> Floats:
        """Times in (start, end) at which it may jump, the first `most` of them."""
        found = np.zeros(0)
        if self.converter is not None and not isinstance(self.source, np.ndarray):
            period = self.converter.period
            first = periods(start, period) + 1
            found = period * np.arange(first, min(first + most, periods(end, period) + 1), dtype=np.float64)
        elif isinstance(self.source, Schedule):
            first = int(np.searchsorted(self.source.times, start, side="right"))
            found = self.source.times[first : first + most]
        return found[found < end]

    def _value(self, t: float) -> Floats:
        if isinstance(self.source, Schedule):
            return self.source.value(t)
        if callable(self.source):
            return numbers(self.arm, self.source(t), "voltage" if self.voltage else "torque")
        return np.asarray(self.source)


def one_input(options: RunOptions | RowOptions, where: str) -> tuple[str, Any]:
    """The one input among torque, voltage and controller, by name; None for zero torque."""
    given = {name: x for name in INPUTS if (x := getattr(options, name)) is not None}
    if len(given) > 1:
        raise InputError(f"expected one of torque, voltage and controller, got {' and '.join(given)}.", where)
    return next(iter(given.items()), ("torque", None))


def input_of(arm: Arm, options: RunOptions, dac: DAC | None) -> Input:
    """The input from the arguments of a caller; none means zero torque."""
    name, source = one_input(options, "simulate")
    passed, is_voltage = None if source is None else name, name == "voltage"
    controller = source if name == "controller" else None
    if controller is not None:
        _check_takes(controller, 3, "(t, q, qd); pass a function of t alone as torque=.", name)
    if controller is not None or source is None:
        source = np.zeros(arm.n)
    quantity: Quantity = "voltage" if is_voltage else "torque"
    log = source if isinstance(source, MotionLog) else getattr(source, "log", None)
    if isinstance(log, MotionLog):
        source = Schedule.of_log(log, quantity)
    if isinstance(source, Schedule):
        source.check_for(arm, quantity)
    elif callable(source):
        _check_takes(source, 1, "t alone; pass a function of (t, q, qd) as controller=.", name)
    else:
        source = numbers(arm, source, name)
    converter = None
    if dac is not None:
        converter = converter_of(arm, dac) if is_voltage else Converter(dac, np.ones(arm.n))
    return Input(arm, is_voltage, source, controller, converter, passed)


def _check_takes(function: Any, arguments: int, wanted: str, name: str) -> None:
    """Refuse what is no function, and one that cannot be called with this many arguments, where its signature
    is known.
    """
    if not callable(function):
        raise InputError(f"expected a function of {wanted} Got {shorten(function)}.", "simulate", name)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(arguments))
    except TypeError:
        raise InputError(
            f"expected a function of {wanted} The signature of this one is {signature}.", "simulate", name
        ) from None


def numbers(arm: Arm, value: ArrayLike, what: str) -> Floats:
    """One finite number per joint, (n,)."""
    return as_finite(value, (arm.n,), f"simulate, {what}")


def periods(t: float, period: float) -> int:
    """Number of whole periods before t: the largest k with k period <= t in floating point."""
    k = round(t / period)
    return k if period * k <= t else k - 1


def converter_of(arm: Arm, dac: DAC) -> Converter:
    """The converter with the gains of the arm's amplifiers; InputError if both define a gain."""
    return Converter(dac, amplifier_gains(arm, dac))
