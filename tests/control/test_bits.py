"""Bits for accelerations: Waters' three numbers, and rounding along a motion against its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from control.samples import moving_arm

from forearm.control.bits import bits_needed, bits_of, rounded, seen

BITS = (8, 12, 16)


def test_waters_numbers() -> None:
    needed = bits_needed()
    assert (needed.acceleration, needed.velocity, needed.position) == (7, 17, 29)
    assert needed.velocity_step == pytest.approx(1e-5)
    assert needed.position_step == pytest.approx(1e-8)


def test_signs_take_one_bit_more() -> None:
    both = bits_needed(velocity=2.0, acceleration=2.0)
    assert (both.acceleration, both.velocity) == (8, 18)


def test_half_the_period_takes_one_bit_of_velocity_and_two_of_position() -> None:
    plain = bits_needed(accuracy=2.0**-7, period=2.0**-10, position=2.0)
    half = bits_needed(accuracy=2.0**-7, period=2.0**-11, position=2.0)
    assert (plain.acceleration, plain.velocity, plain.position) == (7, 17, 28)
    assert (half.acceleration, half.velocity, half.position) == (7, 18, 30)


def test_bits_cover_the_span_and_one_fewer_does_not() -> None:
    rng = np.random.default_rng(1)
    for span, step in rng.uniform(0.001, 3.0, (200, 2)):
        bits = bits_of(span, step)
        assert 2.0**bits * step >= span
        assert bits == 0 or 2.0 ** (bits - 1) * step < span


def test_rounding_is_to_the_nearest_level() -> None:
    values = np.random.default_rng(2).uniform(-1.0, 1.0, 1000)
    for bits in BITS:
        step = 2.0 / 2**bits
        error = rounded(values, 2.0, bits) - values
        assert np.abs(error).max() <= 0.5 * step
        assert np.abs(error).max() > 0.45 * step  # of a thousand values one comes near the middle of a step
        assert np.allclose(rounded(values, 2.0, bits) / step % 1.0, 0.0)


@pytest.mark.parametrize("bits", BITS)
def test_errors_keep_their_bounds_and_come_near_them(bits: int) -> None:
    """A / 2, V / T and 2 P / T^2, the last two by the worst roundings on either side."""
    _, motion = moving_arm()
    T = 1e-3
    found = seen(motion, position_bits=bits, velocity_bits=bits, acceleration_bits=bits, period=T).worst
    step = 2.0**-bits
    for name, bound in (
        ("accelerometers", 0.5 * step),
        ("tachometers", step / T),
        ("encoders", 2.0 * 3.0 * step / T**2),
    ):
        assert found[name] <= bound * (1.0 + 1e-9)
    assert found["tachometers"] > 0.5 * step / T
    assert found["encoders"] > 0.5 * 3.0 * step / T**2


def test_differences_need_what_waters_says() -> None:
    """With his bits all three see accelerations to some 0.01; with 7 bits differences show nothing."""
    _, motion = moving_arm()
    enough = seen(motion).worst
    assert max(enough.values()) < 0.02
    few = seen(motion, position_bits=7, velocity_bits=7).worst
    assert few["tachometers"] > 1.0
    assert few["encoders"] > 1000.0
