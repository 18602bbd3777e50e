"""Friction of a joint: viscous, Coulomb's, Stribeck's curve, and that the whole of a drive
only ever takes power.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from drives.making import KINDS, loaded_arm

from forearm import Bearing, Friction, Transmission
from forearm.drives.friction import friction_torque
from forearm.drives.joint import Drive, drives_of

STRIBECK = Friction(viscous=0.23, coulomb=(0.8, -1.1), static=(1.7, -2.6), stribeck_speed=0.09)


def test_stribeck_in_both_directions_and_at_rest() -> None:
    """Without a direction none; about to move one way or the other, the static values."""
    v = np.array([0.0, 1e-300, 1e-9, 0.01, 0.09, 0.3, 2.0, 50.0])
    bump = np.exp(-((v / 0.09) ** 2))
    for way, coulomb, more in ((1.0, 0.8, 0.9), (-1.0, -1.1, -1.5)):
        truth = way * 0.23 * v + coulomb + more * bump
        found = [friction_torque(STRIBECK, way * x, way) for x in v.tolist()]
        np.testing.assert_allclose(found, truth, rtol=1e-14)
        np.testing.assert_allclose(
            friction_torque(STRIBECK, way * v, np.full_like(v, way)), truth, rtol=1e-14
        )
    assert friction_torque(STRIBECK, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("ratio", [57.0, 1.0])
def test_on_the_motor_side_it_is_seen_through_the_gear(ratio: float) -> None:
    """|N| (B |N| qd + Tc(N qd)), Stribeck's speed being the motor's."""
    friction = dataclasses.replace(STRIBECK, side="motor")
    seen = Drive(0, 1.0, ratio, friction, (), None).at_joint
    for v in (-0.7, -0.001, 0.0004, 0.02, 1.3):
        truth = ratio * friction_torque(friction, ratio * v, math.copysign(1.0, v))
        assert friction_torque(seen, v, math.copysign(1.0, v)) == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_a_drive_takes_power_whatever_its_load(kind: str) -> None:
    """Between rigid torque and motor every term is a loss: (tau - rigid) qd >= 0 for any
    load, either direction.
    """
    rng = np.random.default_rng(2)
    for drive in drives_of(loaded_arm(kind, 3, 5)):
        for _ in range(60):
            rigid, rate = rng.normal() * 30.0, rng.normal()
            reaction = (rng.normal(size=3) * 50.0, rng.normal(size=3) * 20.0)
            given = drive.torque(float(rigid), reaction, float(rate), float(np.sign(rate)))
            assert (given - rigid) * rate >= 0.0
            assert drive.torque(float(rigid), reaction, 0.0, 0.0) == rigid


def test_what_holds_a_joint() -> None:
    """Dry friction of any kind; static friction alone, which is gone in motion, too."""

    def dry(**parts: object) -> bool:
        values = {"friction": None, "bearings": (), "transmission": None} | parts
        return Drive(0, 1.0, 1.0, **values).is_dry  # type: ignore[arg-type]

    assert not dry()
    assert not dry(friction=Friction(viscous=3.0))
    assert not dry(bearings=(Bearing(kind="thrust", mu=0.0, radius=0.1),))
    assert dry(friction=Friction(coulomb=(0.1, 0.0)))
    assert dry(friction=Friction(static=(0.2, -0.2), stribeck_speed=0.1))
    assert dry(bearings=(Bearing(kind="thrust", mu=0.1, radius=0.1),))
    assert dry(transmission=Transmission(efficiency=((0.1, 0.8),), rated_torque=1.0))
