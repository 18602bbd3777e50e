"""LuGre's bristles: what they tend to is Stribeck's curve, how far they bend, and what fixed steps make of
stiff ones.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_joint import ROTOR, block

import forearm as fa
from forearm.drives.bristles import Bristle, relaxed
from forearm.drives.coordinates import coordinates_of
from forearm.drives.friction import friction_torque

# C. Canudas de Wit et al. (1995), Table I: N/m, N s/m, N s/m, N, N, m/s
SIGMA0, SIGMA1, SIGMA2, FC, FS, VS = 1e5, math.sqrt(1e5), 0.4, 1.0, 1.5, 1e-3
PRINTED = fa.Friction(
    viscous=SIGMA2, coulomb=FC, static=FS, stribeck_speed=VS, bristle_stiffness=SIGMA0, bristle_damping=SIGMA1
)
UNEVEN = dataclasses.replace(PRINTED, coulomb=(1.0, -1.7), static=(1.2, -2.9), stribeck_speed=0.02)
LAWS = {
    "printed": PRINTED,
    "uneven": UNEVEN,
    "flat": fa.Friction(coulomb=(0.7, -0.4), bristle_stiffness=90.0),
}
each_law = pytest.mark.parametrize("name", LAWS)


def bristle(law: fa.Friction) -> Bristle:
    assert law.bristle_stiffness is not None
    return Bristle(law, law.bristle_stiffness, law.bristle_damping)


@pytest.mark.parametrize("v", [-0.3, -1.2e-3, -1e-7, 1e-7, 4e-4, 2e-3, 0.1])
@pytest.mark.parametrize("z", [-1.1e-5, 0.0, 3e-6, 1.49e-5])
def test_the_printed_equations(v: float, z: float) -> None:
    """dz/dt = v - |v| z / g(v), sigma0 g(v) = Fc + (Fs - Fc) exp(-(v/vs)^2), F = sigma0 z + sigma1 dz/dt +
    sigma2 v.
    """
    g = (FC + (FS - FC) * math.exp(-((v / VS) ** 2))) / SIGMA0
    zd = v - abs(v) / g * z
    made = bristle(PRINTED)
    assert made.rate(v, z) == pytest.approx(zd, rel=1e-12, abs=1e-15)
    assert made.torque(v, z) == pytest.approx(SIGMA0 * z + SIGMA1 * zd + SIGMA2 * v, rel=1e-12, abs=1e-12)


@each_law
def test_in_steady_motion_it_is_stribecks_curve(name: str) -> None:
    """In both directions, at speeds from a millionth of Stribeck's to thousands of it."""
    law, made = LAWS[name], bristle(LAWS[name])
    for v in [way * speed for speed in np.geomspace(1e-9, 100.0, 23) for way in (1.0, -1.0)]:
        rate, z = made.speed_of_slip(float(v))
        assert rate > 0.0
        assert made.rate(v, z) == pytest.approx(0.0, abs=1e-13 * abs(v))
        truth = friction_torque(law, float(v), math.copysign(1.0, v))
        # with what rounding leaves of z' there
        rounding = 1e-13 * law.bristle_damping * abs(v)
        assert made.torque(v, z) == pytest.approx(truth, rel=1e-12, abs=rounding)


@each_law
def test_a_bristle_never_bends_further_than_breaks_it_loose_and_bending_never_gives_power(name: str) -> None:
    """z' points inwards at the ends of [Fs- / sigma0, Fs+ / sigma0], so that z stays between them; between
    them sigma0 z v = d(sigma0 z^2 / 2)/dt + sigma0 z (v - z'), whose last part is never below 0.
    """
    law, made = LAWS[name], bristle(LAWS[name])
    high, low = (level / made.stiffness for level in law.static or law.coulomb)
    for v in np.concatenate([[0.0], *(way * np.geomspace(1e-9, 20.0, 40) for way in (1.0, -1.0))]).tolist():
        rounding = 1e-12 * abs(v)
        assert made.rate(v, high) <= rounding
        assert made.rate(v, low) >= -rounding
        assert low * (1.0 + 1e-12) <= made.speed_of_slip(v)[1] <= high * (1.0 + 1e-12)
        for z in np.linspace(low, high, 9).tolist():
            assert made.stiffness * z * (v - made.rate(v, z)) >= 0.0


def test_suddenly_dragged_it_pushes() -> None:
    """A known fault of the model: a bristle bent as at rest, at a speed at which it slips, is relaxed so
    quickly that its damper drives.
    """
    made, v = bristle(PRINTED), 0.1
    push = made.torque(v, FS / SIGMA0) - (FS + SIGMA2 * v)
    assert push == pytest.approx(-SIGMA1 * v * (FS / FC - 1.0), rel=1e-12)
    assert made.torque(v, FS / SIGMA0) < -14.0


def test_less_damping_than_viscous_friction_allows_never_pushes() -> None:
    """sigma1 <= B Tc / (Ts - Tc): what is rubbed takes more power than bends the bristle."""
    law = dataclasses.replace(PRINTED, bristle_damping=SIGMA2 * FC / (FS - FC))
    made, fast = bristle(law), np.geomspace(1e-6, 300.0, 40)
    for v, share in itertools.product(
        [*fast.tolist(), *(-fast).tolist()], np.linspace(-1.0, 1.0, 9).tolist()
    ):
        z = share * FS / SIGMA0
        assert made.torque(v, z) * v - made.stiffness * z * made.rate(v, z) >= -1e-9 * v**2


@given(x=st.floats(-3.0, 3.0), y=st.floats(-3.0, 3.0), a=st.floats(0.0, 1e6), b=st.floats(0.0, 1e6))
@settings(max_examples=40)
def test_what_relaxes_stays_between_itself_and_its_target(x: float, y: float, a: float, b: float) -> None:
    off = 1e-15 * (abs(x) + abs(y))
    assert min(x, y) - off <= relaxed(x, (a, b), (y, y), 1e-3) <= max(x, y) + off


@pytest.mark.parametrize("y", [(0.4, 0.4), (-2.7, 3.0), (2.9, -1.3)])
def test_what_relaxes_fast_follows_behind_a_target_that_moves(y: tuple[float, float]) -> None:
    for x, a in itertools.product((-3.0, 0.1, 2.8), (1e6, 3e7, 1e9)):
        assert relaxed(x, (a, a), y, 1.0) == pytest.approx(y[1] - (y[1] - y[0]) / a, abs=1e-9)


@pytest.mark.parametrize("slope", [0.0, -2.3])
def test_what_relaxes_slowly_does_so_to_the_fourth_power(slope: float) -> None:
    """Against the solution of x' = a (y - x) with y = y0 + slope a t."""
    x, y, errors = 1.3, 0.7, []
    for ah in (0.08, 0.04, 0.02):
        truth = y + slope * (ah - 1.0) + (x - y + slope) * math.exp(-ah)
        errors.append(abs(relaxed(x, (ah, ah), (y, y + slope * ah), 1.0) - truth))
    for coarse, fine in pairwise(errors):
        assert math.log2(coarse / fine) > 3.8


def test_figures_of_the_motor_are_moved_across_its_gear() -> None:
    """z of the joint's side is that of the motor's / N, sigma0 and sigma1 are N^2 times the motor's."""
    N = ROTOR.gear_ratio
    own = fa.Friction(
        side="motor",
        viscous=SIGMA2 / N**2,
        coulomb=FC / abs(N),
        static=FS / abs(N),
        stribeck_speed=VS * abs(N),
        bristle_stiffness=SIGMA0 / N**2,
        bristle_damping=SIGMA1 / N**2,
    )
    rigid = block(friction=own, motor=ROTOR)
    soft = block(friction=own, motor=ROTOR, elasticity=fa.Elasticity(stiffness=50.0))
    truth = bristle(PRINTED)
    for arm in (rigid, soft):
        (found,) = coordinates_of(arm).bristles
        assert found.on == (0 if arm is rigid else 1), "on the rotor, where the joint is elastic"
        for v, z in ((0.3, 2e-6), (-4e-4, 1.1e-5)):
            assert found.law.torque(v, z) == pytest.approx(truth.torque(v, z), rel=1e-12)
            assert found.law.rate(v, z) == pytest.approx(truth.rate(v, z), rel=1e-12)
