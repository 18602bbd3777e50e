"""A motor with a gear and its supply. Swartz (11), (12), gear ratio N: V = R i + Kt N qd, tau = N Kt i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Motor
from forearm.errors import InputError, ModelError
from forearm.records import number, positional_record, whole
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, maximum, minimum, quantised, rounded
from forearm.values import as_floats, broadcast_states


@dataclass(frozen=True)
class Constants:
    """Constants of all motors, one entry per degree of freedom: N Kt in N m / A, R in ohm, limits in V and A
    (infinite if unlimited).
    """

    K: Floats
    R: Floats
    most_voltage: Floats
    most_current: Floats
    inductance: Floats


def without_constants(arm: Arm) -> list[str]:
    """The joints whose motor constants are not sufficient for voltages."""
    return [
        j.name
        for j in arm.joints
        if j.motor is None or j.motor.torque_constant is None or j.motor.resistance is None
    ]


def constants_of(arm: Arm, what: str = "voltages", instead: str = "compute with torques") -> Constants:
    """The motors' constants; a ModelError names joints whose motor constants are incomplete.

    Args:
        arm: the arm.
        what: what needs them, for the message.
        instead: what does not.
    """
    motors: list[Motor | None] = [joint.motor for joint in arm.joints]
    unknown = without_constants(arm)
    if unknown:
        raise ModelError(
            f"{what} need torque_constant and resistance of every motor; {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none. Give them in the arm file, or "
            f"{instead}.",
            f"arm {arm.name!r}",
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


def most_currents(arm: Arm, is_limited: bool) -> list[float]:
    """The largest current of each motor, A; optionally also limited by the joint's max_effort."""
    c = constants_of(arm)
    made = []
    for most, K, joint in zip(c.most_current.tolist(), c.K.tolist(), arm.joints, strict=True):
        effort = joint.max_effort if is_limited else None
        made.append(most if effort is None else min(most, effort / abs(K)))
    return made


def voltage_of(arm: Arm, tau: ArrayLike, qd: ArrayLike) -> Floats:
    """The voltages needed for these torques at these speeds, V = R tau / K + K qd with K = N Kt: (n,) or (B,
    n). Swartz (11).

    Args:
        arm: the arm.
        tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
        qd: joint velocities, of the same shape, rad/s (m/s).
    """
    c = constants_of(arm)
    torque, rate = _pair(arm, tau, qd, "tau")
    return np.asarray(c.R * torque / c.K + c.K * rate)


def current_of(arm: Arm, voltage: ArrayLike, qd: ArrayLike) -> Floats:
    """The currents driven by these voltages at these speeds, A, within the motors' voltage and current
    limits; inductance neglected.

    Args:
        arm: the arm.
        voltage: motor voltages, (n,) or (B, n), V.
        qd: joint velocities, of the same shape, rad/s (m/s).
    """
    c = constants_of(arm)
    given, rate = _pair(arm, voltage, qd, "voltage")
    V = np.clip(given, -c.most_voltage, c.most_voltage)
    return np.asarray(np.clip((V - c.K * rate) / c.R, -c.most_current, c.most_current))


def _pair(arm: Arm, value: ArrayLike, qd: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Two arrays broadcast to one shape, (n,) or (B, n); a number stands for (n,)."""
    a, b = (np.full(arm.n, x) if x.ndim == 0 else x for x in (as_floats(value, name), as_floats(qd, "qd")))
    for what, array in ((name, a), ("qd", b)):
        if array.ndim not in (1, 2) or array.shape[-1] != arm.n:
            raise InputError(f"expected shape ({arm.n},) or (B, {arm.n}), got {array.shape}.", what)
    a, b = broadcast_states({name: a, "qd": b}, [arm.n, arm.n])
    return a, b


def torque_of(arm: Arm, voltage: ArrayLike, qd: ArrayLike) -> Floats:
    """The torques that voltages produce, tau = K (V - K qd) / R within the motors' limits. Swartz (12).

    Args:
        arm: the arm.
        voltage: motor voltages, (n,) or (B, n), V.
        qd: joint velocities, of the same shape, rad/s (m/s).
    """
    return np.asarray(constants_of(arm).K * current_of(arm, voltage, qd))


@positional_record
class DAC:
    """A digital-to-analog converter with zero-order hold, quantisation, saturation and gain; DACOut is its
    output.
    """

    period: float = number("hold time of each output", "s", default=1e-3, above=0.0)
    bits: int | None = whole(
        "number of bits: 2^bits levels over +-span; if absent, not quantised", 1, 52, default=None
    )
    span: float | None = number(
        "output range, DACOut within +-span; if absent, unlimited", "V", default=None, above=0.0
    )
    gain: float = number("voltage / DACOut", default=1.0, nonzero="leave it out if there is no amplifier")

    def __post_init__(self) -> None:
        if self.bits is not None and self.span is None:
            raise InputError(f"{self.bits} bits need a span to divide; give it in V.", "DAC", "bits")

    def out(self, voltage: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
        """DACOut for the commanded voltages, quantised and limited, and whether it saturates."""
        wanted = as_floats(voltage, "voltage") / self.gain
        if self.span is None:
            return wanted, np.zeros(wanted.shape, dtype=bool)
        over = np.abs(wanted) > self.span
        if self.bits is not None:  # 0 is one of the levels, so that the highest is one step below the span
            step = 2.0 * self.span / 2**self.bits
            over |= rounded(minimum(wanted, self.span) / step) > 2 ** (self.bits - 1) - 1
        return np.asarray(self.held(wanted)), over

    def held(self, wanted: Scalar) -> Scalar:
        """DACOut for a command, over any scalar."""
        if self.span is None:
            return wanted
        within = minimum(maximum(wanted, -self.span), self.span)
        if self.bits is None:
            return within
        half = float(2 ** (self.bits - 1))
        return quantised(within, self.span / half, -half, half - 1.0)

    def voltage(self, out: ArrayLike) -> Floats:
        """The amplifier output for DACOut."""
        return as_floats(out, "out") * self.gain


def amplifier_gains(arm: Arm, dac: DAC) -> Floats:
    """The gains of the arm's amplifiers, (n,), 1 by default; InputError if both the DAC and the arm define
    one.
    """
    given = [None if joint.motor is None else joint.motor.amplifier_gain for joint in arm.joints]
    if dac.gain != 1.0 and any(gain is not None for gain in given):
        raise InputError(
            f"got {dac.gain:g}, but motors of {arm.name!r} have their own amplifier_gain. "
            "Omit the DAC's, or change the arm's.",
            "DAC",
            "gain",
        )
    return np.array([1.0 if gain is None else gain for gain in given], dtype=np.float64)
