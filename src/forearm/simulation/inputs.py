"""What drives an arm, torques or volts: a value held, a schedule, a function of time or a controller; and the
converter that it may go through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, amplifier_gains, torque_of
from forearm.errors import InputError
from forearm.kernels.rollout import State
from forearm.logs.motion import HasLog, MotionLog
from forearm.simulation.arguments import check_function
from forearm.simulation.schedule import Quantity, Schedule
from forearm.values import as_finite

Floats = NDArray[np.float64]
Driving = ArrayLike | Schedule | MotionLog | HasLog | Callable[[float], ArrayLike]
Controller = Callable[[float, Floats, Floats], ArrayLike]


@dataclass(frozen=True, eq=False)
class Converter:
    """A DAC in front of an arm's amplifiers, voltage (or torque, where these make torques) = DACOut x gain;
    `gains` (n,), 1 where the arm gives none.
    """

    dac: DAC
    gains: Floats

    @property
    def period(self) -> float:
        """What is asked for is held for this time, s."""
        return self.dac.period

    def out(self, voltage: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """DACOut (..., n) for the voltages that are asked for, in its steps and bounds;
        and where it is at a bound.
        """
        return self.dac.out(voltage / self.gains)

    def voltage(self, out: Floats) -> Floats:
        """What the amplifiers make of DACOut."""
        return self.dac.voltage(out) * self.gains

    def limited(self, voltage: Floats) -> Floats:
        """The voltages in the steps and bounds of the converter."""
        return self.voltage(self.out(voltage)[0])


@dataclass(frozen=True, eq=False)
class Input:
    """What drives the arm, checked: `source` is (n,), a schedule or a function;
    a controller stands in its place.
    """

    arm: Arm
    voltage: bool
    source: Any
    controller: Controller | None
    converter: Converter | None
    name: str | None = None  # of the argument that gave it

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at all times."""
        return self.controller is None and isinstance(self.source, np.ndarray)

    @property
    def is_linear(self) -> bool:
        """Whether it goes straight between steps rather than being held."""
        return isinstance(self.source, Schedule) and self.source.how == "linear" and self.converter is None

    @property
    def is_data(self) -> bool:
        """Whether it can be asked again later: no function of the user's is in it."""
        return self.controller is None and not callable(self.source)

    def at(self, t: float) -> Floats:
        """(n,) at a time, as the converter gives it if there is one."""
        if self.converter is not None:
            period = self.converter.period
            t = period * periods(t, period)
            if isinstance(self.source, Schedule):  # whose times may be reached but for rounding
                held: Floats = self.table(np.array([t]), period)[0]
                return held
        return self.limited(self._value(t))

    def table(self, times: Floats, step: float) -> Floats:
        """(m, n) at times of steps, which are the converter's own if there is one."""
        if not isinstance(self.source, Schedule):
            return self.limited(np.array([self._value(float(t)) for t in times]))
        return self.limited(self.source.held_at(times, step))

    def asked(self, t: float, q: Floats, qd: Floats) -> Floats:
        """What the controller answers to a state, of whose links (n,) it is given copies."""
        assert self.controller is not None
        n = self.arm.n
        return numbers(self.arm, self.controller(t, q[:n].copy(), qd[:n].copy()), "controller")

    def answer(self, t: float, state: State) -> Floats:
        """The same for the one simulation of a state, in the steps and bounds of the converter."""
        return self.limited(self.asked(t, state.q[0], state.qd[0]).copy())  # the user may use the array again

    def limited(self, value: Floats) -> Floats:
        """In the steps and bounds of the converter."""
        return value if self.converter is None else self.converter.limited(value)

    def breakpoints(self, start: float, end: float, most: int) -> Floats:
        """Times between two others at which it may jump, the first `most` of them."""
        found = np.zeros(0)
        if self.converter is not None and not isinstance(self.source, np.ndarray):
            period = self.converter.period
            first = periods(start, period) + 1
            found = period * np.arange(first, min(first + most, periods(end, period) + 1), dtype=np.float64)
        elif isinstance(self.source, Schedule):
            first = int(np.searchsorted(self.source.times, start, side="right"))
            found = self.source.times[first : first + most]
        return found[found < end]

    def torque(self, u: Floats, qd: Floats) -> Floats:
        """The torques that the input makes at velocities, currents following voltages at once."""
        return torque_of(self.arm, u, qd) if self.voltage else np.asarray(u, dtype=np.float64)

    def _value(self, t: float) -> Floats:
        if isinstance(self.source, Schedule):
            return self.source.value(t)
        value: Floats = self.source
        return (
            numbers(self.arm, self.source(t), "voltage" if self.voltage else "torque")
            if callable(self.source)
            else value
        )


def input_of(
    arm: Arm, torque: Driving | None, voltage: Driving | None, controller: Controller | None, dac: DAC | None
) -> Input:
    """What drives the arm, from what a caller gave; nothing is zero torque."""
    given = [
        name
        for name, v in (("torque", torque), ("voltage", voltage), ("controller", controller))
        if v is not None
    ]
    if len(given) > 1:
        raise InputError(
            f"simulate: expected one of torque, voltage and controller, got {' and '.join(given)}."
        )
    if controller is not None:
        check_function(controller, "simulate, controller", "(t, q, qd)")
        _check_takes(
            controller,
            3,
            "simulate, controller: expected a function of (t, q, qd); one of t alone is torque=.",
        )
    source: Any = voltage if voltage is not None else np.zeros(arm.n) if torque is None else torque
    quantity: Quantity = "voltage" if voltage is not None else "torque"
    log = source if isinstance(source, MotionLog) else getattr(source, "log", None)
    if isinstance(log, MotionLog):
        source = Schedule.of_log(log, quantity)
    if isinstance(source, Schedule):
        source.check_for(arm, quantity)
    elif callable(source):
        _check_takes(
            source,
            1,
            f"simulate, {given[0]}: expected a function of t alone; one of (t, q, qd) is controller=.",
        )
    else:
        source = numbers(arm, source, given[0] if given else "torque")
    if dac is None:
        converter = None
    else:
        converter = converter_of(arm, dac) if voltage is not None else Converter(dac, np.ones(arm.n))
    return Input(arm, voltage is not None, source, controller, converter, given[0] if given else None)


def _check_takes(function: Any, arguments: int, message: str) -> None:
    """Refuse a function that cannot be called with so many arguments; of some nothing can be known before."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(arguments))
    except TypeError:
        raise InputError(f"{message} This one takes {signature}.") from None


def numbers(arm: Arm, value: ArrayLike, what: str) -> Floats:
    """One finite number per joint, (n,)."""
    return as_finite(value, (arm.n,), f"simulate, {what}")


def periods(t: float, period: float) -> int:
    """How many periods are over at t: the most k with k period <= t, as floats have it."""
    k = round(t / period)
    return k if period * k <= t else k - 1


def converter_of(arm: Arm, dac: DAC) -> Converter:
    """The converter with the gains of the arm's amplifiers; InputError where both have a say in the gain."""
    return Converter(dac, amplifier_gains(arm, dac))
