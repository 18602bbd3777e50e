"""Sensor resolution: bits of position or velocity that are equivalent to a few bits of acceleration. Waters
IV, direct acceleration servoing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.values import check_number, check_whole

MOST_BITS = 60
SAMPLES = 1_000_000


@dataclass(frozen=True)
class BitsNeeded:
    """The smallest changes to be resolved, A, V = A T and P = V T, and the bits required for the full
    range.
    """

    acceleration_step: float
    velocity_step: float
    position_step: float
    acceleration: int
    velocity: int
    position: int


def bits_needed(
    *,
    position: float = 3.0,
    velocity: float = 1.0,
    acceleration: float = 1.0,
    accuracy: float = 1e-2,
    period: float = 1e-3,
) -> BitsNeeded:
    """Bits of an accelerometer, tachometer or encoder that resolve accelerations within one period. Waters
    IV.

    A change A of acceleration is one V = A T of velocity differences and one P = V T of position differences,
    with T the period. The defaults are those of Waters' joint.

    Args:
        position: range of q, rad (m).
        velocity: largest |qd|, rad/s (m/s); its sign needs one bit more.
        acceleration: largest |qdd|, rad/s^2 (m/s^2); its sign needs one bit more.
        accuracy: A, the smallest change of acceleration to be resolved, rad/s^2 (m/s^2).
        period: T, s.
    """
    spans = {
        "position": position,
        "velocity": velocity,
        "acceleration": acceleration,
        "accuracy": accuracy,
        "period": period,
    }
    x, v, a, A, T = (check_number(value, f"bits_needed, {name}", above=0.0) for name, value in spans.items())
    V = A * T
    P = V * T
    return BitsNeeded(A, V, P, bits_of(a, A), bits_of(v, V), bits_of(x, P))


def bits_of(span: float, step: float) -> int:
    """The fewest bits whose levels, `step` apart, cover a span: the smallest b with 2^b step >= span."""
    return max(math.ceil(math.log2(span / step)), 0)


def rounded(values: Floats, span: float, bits: int) -> Floats:
    """Round values to the nearest of 2^bits levels over a span, without clipping."""
    step = span / 2 ** check_whole(bits, "bits", 1, MOST_BITS)
    levels: Floats = np.round(values / step) * step
    return levels


@dataclass(frozen=True, eq=False)
class Seen:
    """Accelerations (m, n) from three kinds of sensors at times (m,), with errors relative to no rounding."""

    t: Floats
    accelerometers: Floats
    tachometers: Floats
    encoders: Floats

    @property
    def worst(self) -> dict[str, float]:
        """Largest error of each sensor, rad/s^2 or m/s^2."""
        return {
            name: float(np.abs(getattr(self, name)).max())
            for name in ("accelerometers", "tachometers", "encoders")
        }


def seen(
    motion: Motion,
    *,
    position_bits: int = 29,
    velocity_bits: int = 17,
    acceleration_bits: int = 7,
    period: float = 1e-3,
    position: float = 3.0,
    velocity: float = 1.0,
    acceleration: float = 1.0,
) -> Seen:
    """Effect of rounding on accelerations along a motion: measured directly, from differences of qd, from
    second differences of q.

    Errors are at most half a step A / 2, V / T and 2 P / T^2. The default spans are Waters', as in
    `bits_needed`; the first two samples, needed to start second differences, are omitted.
    """
    T = check_number(period, "seen, period", above=0.0)
    if motion.duration / T > SAMPLES:
        raise InputError(
            f"{T!r} s gives more than {SAMPLES} samples in {motion.duration:g} s; use a longer one.",
            "seen",
            "period",
        )
    t: Floats = np.arange(int(motion.duration / T) + 1.0) * T
    t = t[t <= motion.duration]
    if len(t) < 3:
        raise InputError(
            f"{T!r} s gives {len(t)} samples in {motion.duration:g} s; expected at least 3.", "seen", "period"
        )
    q, qd, qdd = motion.at(t)
    of_q = rounded(q, position, position_bits) - q
    of_qd = rounded(qd, velocity, velocity_bits) - qd
    return Seen(
        t=t[2:],
        accelerometers=(rounded(qdd, acceleration, acceleration_bits) - qdd)[2:],
        tachometers=np.diff(of_qd, axis=0)[1:] / T,
        encoders=np.diff(of_q, n=2, axis=0) / T**2,
    )
