"""A motor behind a gear, and what feeds it. Swartz (11), (12) with gear ratio N:
V = R i + Kt N qd, tau = N Kt i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Motor
from forearm.errors import InputError, ModelError, shorten
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, maximum, minimum, quantised, rounded
from forearm.values import as_floats, broadcast_states, is_number


@dataclass(frozen=True)
class Constants:
    """Of all motors, one entry a freedom: N Kt in N m / A, R in ohm, limits in V and A
    (infinite where none is given).
    """

    K: Floats
    R: Floats
    most_voltage: Floats
    most_current: Floats
    inductance: Floats


def without_constants(arm: Arm) -> list[str]:
    """The joints whose motor is not known well enough for voltages."""
    return [
        j.name
        for j in arm.joints
        if j.motor is None or j.motor.torque_constant is None or j.motor.resistance is None
    ]


def constants_of(arm: Arm) -> Constants:
    """The motors' constants; ModelError names the joints whose motor is not known well enough."""
    motors: list[Motor | None] = [joint.motor for joint in arm.joints]
    unknown = without_constants(arm)
    if unknown:
        raise ModelError(
            f"arm {arm.name!r}: voltages need torque_constant and resistance of every motor; "
            f"{', '.join(unknown)} {'has' if len(unknown) == 1 else 'have'} none. Give them in the arm "
            "file, or compute with torques."
        )

    def each(value: Any) -> Floats:
        return np.array([value(m) for m in motors], dtype=np.float64)

    return Constants(
        each(lambda m: m.gear_ratio * m.torque_constant),
        each(lambda m: m.resistance),
        each(lambda m: np.inf if m.max_voltage is None else m.max_voltage),
        each(lambda m: np.inf if m.max_current is None else m.max_current),
        each(lambda m: m.inductance or 0.0),
    )


def voltage_of(arm: Arm, tau: ArrayLike, qd: ArrayLike) -> Floats:
    """The voltages that torques need at these speeds, V = R tau / K + K qd with K = N Kt: (n,)
    or (B, n). Swartz (11).
    """
    c = constants_of(arm)
    torque, rate = _pair(arm, tau, qd, "tau")
    return np.asarray(c.R * torque / c.K + c.K * rate)


def current_of(arm: Arm, voltage: ArrayLike, qd: ArrayLike) -> Floats:
    """The currents that voltages drive at these speeds, within the motors' limits of
    both; inductance not in it.
    """
    c = constants_of(arm)
    given, rate = _pair(arm, voltage, qd, "voltage")
    V = np.clip(given, -c.most_voltage, c.most_voltage)
    return np.asarray(np.clip((V - c.K * rate) / c.R, -c.most_current, c.most_current))


def _pair(arm: Arm, value: ArrayLike, qd: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Two arrays of one shape, (n,) or (B, n), as NumPy broadcasts them; a number stands for (n,)."""
    a, b = (np.full(arm.n, x) if x.ndim == 0 else x for x in (as_floats(value, name), as_floats(qd, "qd")))
    for what, array in ((name, a), ("qd", b)):
        if array.ndim not in (1, 2) or array.shape[-1] != arm.n:
            raise InputError(f"{what}: expected shape ({arm.n},) or (B, {arm.n}), got {array.shape}.")
    a, b = broadcast_states({name: a, "qd": b}, [arm.n, arm.n])
    return a, b


def torque_of(arm: Arm, voltage: ArrayLike, qd: ArrayLike) -> Floats:
    """The torques that voltages produce, tau = K (V - K qd) / R within the motors' limits. Swartz (12)."""
    return np.asarray(constants_of(arm).K * current_of(arm, voltage, qd))


@dataclass(frozen=True)
class DAC:
    """What turns numbers into voltages: it holds each for `period` s, in steps of its `bits`
    within +-`span` V, times `gain`.

    DACOut = voltage / gain is what it is asked for. Without bits it has no steps, without a span no bound.
    """

    period: float = 1e-3
    bits: int | None = None
    span: float | None = None
    gain: float = 1.0

    def __post_init__(self) -> None:
        if not is_number(self.period) or not 0.0 < self.period < np.inf:
            raise InputError(f"DAC, period: expected more than 0 s, got {shorten(self.period)}.")
        if not is_number(self.gain) or not 0.0 < abs(self.gain) < np.inf:
            raise InputError(f"DAC, gain: expected a number other than 0, got {shorten(self.gain)}.")
        whole = isinstance(self.bits, int | np.integer) and not isinstance(self.bits, bool)
        if self.bits is not None and (self.span is None or not whole or not 1 <= self.bits <= 52):
            raise InputError(
                "DAC, bits: expected a whole number from 1 to 52, and a span, which the steps divide, got "
                f"{shorten(self.bits)}."
            )
        if self.span is not None and (not is_number(self.span) or not 0.0 < self.span < np.inf):
            raise InputError(f"DAC, span: expected more than 0 V, got {shorten(self.span)}.")

    def out(self, voltage: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
        """DACOut for the voltages that are asked for, in its steps and bounds;
        and where it is at a bound (saturated).
        """
        wanted = as_floats(voltage, "voltage") / self.gain
        if self.span is None:
            return wanted, np.zeros(wanted.shape, dtype=bool)
        over = np.abs(wanted) > self.span
        if self.bits is not None:  # 0 is one of its levels, so that the uppermost is a step below the span
            step = 2.0 * self.span / 2**self.bits
            over |= rounded(minimum(wanted, self.span) / step) > 2 ** (self.bits - 1) - 1
        return np.asarray(self.held(wanted)), over

    def held(self, wanted: Scalar) -> Scalar:
        """DACOut for what is asked of it, over any scalar."""
        if self.span is None:
            return wanted
        within = minimum(maximum(wanted, -self.span), self.span)
        if self.bits is None:
            return within
        half = float(2 ** (self.bits - 1))
        return quantised(within, self.span / half, -half, half - 1.0)

    def voltage(self, out: ArrayLike) -> Floats:
        """What the amplifier makes of DACOut."""
        return as_floats(out, "out") * self.gain
