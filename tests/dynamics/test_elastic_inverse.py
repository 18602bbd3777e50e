"""Inverse dynamics with elastic joints: against forward dynamics, differences of many digits along a motion,
and the rigid arm.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from drives.making import loaded_arm
from dynamics.cases import assert_agree, simple_drives
from dynamics.elastic_cases import Motion, elastic_arms, with_springs
from dynamics.test_any_scalar import DIGITS, Precise, digits_of, precise

import forearm as fa
from forearm import Arm, Elasticity, InputError, ModelError, dynamics
from forearm.arm.elastic import elastic_freedoms, link_side
from forearm.drives.elasticity import spring_torque
from forearm.drives.joint import driven, drives_of, needs_reactions, rotor_inertia
from forearm.dynamics import elastic_forward, elastic_inverse, elastic_inverse_along
from forearm.dynamics.load_friction import reactions_of
from forearm.dynamics.newton_euler import newton_euler
from forearm.model import model_of

EXACT = 1e-12  # what some hundred operations on floats lose
ARMS = elastic_arms()
DAMPED = {
    "damped": with_springs(loaded_arm("chain", 91, 3), 1, damping=25.0),
    "damped, rigid first": with_springs(loaded_arm("tree", 92, 4), 2, damping=18.0, rigid=1),
}
EVERY = ARMS | DAMPED
each_arm = pytest.mark.parametrize("arm", EVERY.values(), ids=EVERY.keys())


def motion(arm: Arm, seed: int) -> Motion:
    """q and four derivatives, (n,) each, nothing in them near 0."""
    rng = np.random.default_rng([seed, 63])
    q, qd, qdd, qddd, qdddd = rng.uniform(0.3, 1.6, (5, arm.n)) * rng.choice([-1.0, 1.0], (5, arm.n))
    return q, qd, qdd, qddd, qdddd


@each_arm
def test_forward_gives_the_motion_back_and_rigid_joints_are_as_ever(arm: Arm) -> None:
    """Springs multiply the last digit of theta - q, and light links what is left of it."""
    own, states = list(elastic_freedoms(arm)), motion(arm, 1)
    q, qd, qdd = states[:3]
    made = elastic_inverse(arm, *states)
    back, thetadd = elastic_forward(arm, q, qd, made.theta, made.thetad, made.tau)
    M = dynamics.inertia_matrix(link_side(arm), q)
    lost = 1e-16 * 4e4 * np.abs(q).max() * np.linalg.norm(np.linalg.inv(M), 2)
    assert np.abs(back - qdd).max() <= 100.0 * lost + 1e-10
    assert_agree(thetadd[own], made.thetadd[own], 1e-9)
    assert_agree(made.theta, q + made.deflection, 1e-15)
    assert_agree(made.thetad, qd + made.deflection_rate, 1e-15)
    rigid = [j for j in range(arm.n) if j not in own]
    assert (made.theta[rigid] == q[rigid]).all()
    assert (made.thetadd[rigid] == qdd[rigid]).all()
    assert (made.tau[rigid] == dynamics.inverse(link_side(arm), q, qd, qdd)[rigid]).all()


class Digits(Precise):
    """Forty digits with the functions that friction and bearings take."""

    def sqrt(self) -> Digits:
        return Digits(self.value.sqrt())

    def exp(self) -> Digits:
        return Digits(self.value.exp())

    def sign(self) -> float:
        return float((self.value > 0) - (self.value < 0))

    def __abs__(self) -> Digits:
        return Digits(abs(self.value))

    def __lt__(self, other: Any) -> bool:
        return self.value < digits_of(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > digits_of(other)

    def __neg__(self) -> Digits:
        return Digits(-self.value)

    def _with(self, other: Any, operation: Any) -> Any:
        made = super()._with(other, operation)
        return made if made is NotImplemented else Digits(made.value)

    def _series(self, term: Decimal, k: int) -> Digits:
        return Digits(super()._series(term, k).value)


STEP = Decimal("1e-4")  # s: what is left of seven points is its sixth power
FIRST = [Decimal(w) / (60 * STEP) for w in (-1, 9, -45, 0, 45, -9, 1)]
SECOND = [Decimal(w) / (180 * STEP * STEP) for w in (2, -27, 270, -490, 270, -27, 2)]


def loads_of(arm: Arm, states: Motion) -> list[list[float]]:
    """What springs carry, and two derivatives, by differences along the polynomial that the derivatives say;
    of every freedom.
    """
    link = link_side(arm)
    with localcontext() as context:
        context.prec = DIGITS
        at = [loads_at(link, states, k * STEP) for k in range(-3, 4)]
        rows = [at[3], *([sum(w * y for w, y in zip(ws, ys, strict=True)) for ys in zip(*at, strict=True)]
                         for ws in (FIRST, SECOND))]  # fmt: skip
        return [[float(y) for y in row] for row in rows]


def loads_at(link: Arm, states: Motion, t: Decimal) -> list[Decimal]:
    model = precise(model_of(link))
    joints = []
    for first in range(3):
        freedoms = [Digits(polynomial([x[j] for x in states[first:]], t)) for j in range(link.n)]
        joints.append(model.coordinates(freedoms) if first == 0 else model.rates(freedoms))
    q, qd, qdd = joints
    torques, reactions = newton_euler(model, q, qd, qdd), None
    if needs_reactions(link):
        torques, reactions = reactions_of(model, q, qd, qdd)
        reactions = [(as_digits(f), as_digits(n)) for f, n in reactions]
    torques = list(as_digits(torques))
    made = model.gathered(driven(drives_of(link), torques, reactions, qd))
    spun = [Digits(float(J)) * a for J, a in zip(rotor_inertia(link), freedoms, strict=True)]
    return [digits_of(y + z) for y, z in zip(made, spun, strict=True)]


def as_digits(values: Any) -> Any:
    return np.array([Digits(digits_of(v)) for v in values], dtype=object)


def polynomial(derivatives: list[float], t: Decimal) -> Decimal:
    total, factor = Decimal(0), Decimal(1)
    for k, x in enumerate(derivatives):
        total += Decimal(float(x)) * factor
        factor *= t / (k + 1)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bare springs", "every drive", "rigid first", "followers", "damped"])
@pytest.mark.sweep(first=2)
def test_derivatives_along_the_motion_by_differences_of_many_digits(name: str) -> None:
    """What springs carry and how that changes, and from it the motors by the laws of a spring."""
    arm = EVERY[name]
    states = motion(arm, 5)
    made = elastic_inverse(arm, *states)
    y, yd, ydd = loads_of(arm, states)
    for j in elastic_freedoms(arm):
        spring = arm.joints[j].elasticity
        assert spring is not None
        e, ed, edd = made.deflection[j], made.deflection_rate[j], made.thetadd[j] - states[2][j]
        f, slope, bend = spring_by_differences(spring, e)
        D = spring.damping
        size = abs(y[j])
        assert f + D * ed == pytest.approx(y[j], abs=EXACT * size)
        scale = max(abs(yd[j]), abs(slope * ed))
        assert slope * ed + D * edd == pytest.approx(yd[j], abs=1e-8 * scale)
        if not D:
            assert slope * edd + bend * ed * ed == pytest.approx(ydd[j], abs=1e-6 * max(abs(ydd[j]), scale))


def spring_by_differences(spring: Elasticity, e: float) -> tuple[float, float, float]:
    """f and its slopes from f alone, pieces of cubics: differences are exact but for rounding."""
    if spring.stiffness is not None:
        return spring.stiffness * e, spring.stiffness, 0.0
    h = 2e-6
    a, b, f, d, e = (float(spring_torque(spring, e + k * h)) for k in range(-2, 3))
    slope = (8.0 * (d - b) - (e - a)) / (12.0 * h)
    return f, slope, (16.0 * (d + b) - (e + a) - 30.0 * f) / (12.0 * h * h)


@pytest.mark.parametrize("kind", ["chain", "turning", "tree"])
def test_stiff_springs_give_the_rigid_arm_back_as_1_over_K(kind: str) -> None:
    """With friction, bearings and gears; at speeds where theta turns as q does."""
    arm = loaded_arm(kind, 93, 3)
    states = motion(arm, 7)
    truth, apart = dynamics.inverse(arm, *states[:3]), []
    for K in (1e6, 1e7, 1e8):
        made = elastic_inverse(arm.with_drives(elasticity=Elasticity(stiffness=K)), *states)
        apart.append(np.abs(made.tau - truth).max())
        assert np.abs(made.theta - states[0]).max() < 1e3 / K
    assert np.divide(apart[:-1], apart[1:]) == pytest.approx([10.0, 10.0], rel=0.02)


def test_voltages_are_those_of_the_motors_own_speed() -> None:
    arm = fa.load("puma560").with_drives(elasticity=Elasticity(stiffness=1.3e4))
    states = motion(arm, 8)
    made = elastic_inverse(arm, *states)
    assert made.voltage is not None
    for j, joint in enumerate(arm.joints):
        motor = joint.motor
        assert motor is not None
        assert motor.resistance is not None
        assert motor.torque_constant is not None
        K = motor.gear_ratio * motor.torque_constant
        V = motor.resistance * made.tau[j] / K + K * made.thetad[j]
        assert made.voltage[j] == pytest.approx(V, rel=1e-12)
    unknown = arm.with_drives({"joint2": {"motor": {"resistance": None}}})
    assert elastic_inverse(unknown, *states).voltage is None


@pytest.mark.parametrize("name", ["every drive", "damped"])
def test_batches_are_rows_and_what_is_not_known_is_nan(name: str) -> None:
    arm = EVERY[name]
    rows = [np.array(x) for x in zip(*(motion(arm, k) for k in range(3)), strict=True)]
    rows[4][1, 2] = np.nan
    many, none = elastic_inverse(arm, *rows), elastic_inverse(arm, *np.zeros((5, 0, arm.n)))
    ones = [elastic_inverse(arm, *motion(arm, k)) for k in (0, 2)]
    for what in ("tau", "theta", "thetad", "thetadd", "deflection", "deflection_rate", "voltage"):
        found = getattr(many, what)
        assert np.isnan(found[1]).all()
        assert_agree(found[[0, 2]], [getattr(one, what) for one in ones], 1e-9)
        assert getattr(none, what).shape == (0, arm.n)


def test_a_given_deflection_is_a_state() -> None:
    """D ed = y - f(e), whatever e is given; undamped joints do not look at it."""
    arm = DAMPED["damped"]
    states = motion(arm, 9)
    settled = elastic_inverse(arm, *states)
    given = settled.deflection + [1e-4, -2e-4, 1.5e-4]
    made = elastic_inverse(arm, *states, deflection=given)
    assert (made.deflection == given).all()
    for j, joint in enumerate(arm.joints):
        assert joint.elasticity is not None
        here, there = (spring_by_differences(joint.elasticity, x[j])[0] for x in (given, settled.deflection))
        faster = made.deflection_rate[j] - settled.deflection_rate[j]
        assert abs(here - there + joint.elasticity.damping * faster) < 1e-9 * abs(here)
    other = ARMS["every drive"]
    free, ignored = (elastic_inverse(other, *motion(other, 1), deflection=x) for x in (None, 0.1))
    assert (free.tau == ignored.tau).all()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rotor_axis": (0.0, 0.0, 1.0)}, r"derivatives of the motion up to order 6\. Omit rotor_axis"),
    ({"half_gap": 1e-3}, r"with the backlash of joint1, joint2 .* Omit half_gap"),
]


def test_what_has_no_inverse_is_refused() -> None:
    rest = np.zeros((5, 1, 2))
    for more, text in REFUSED:
        arm = with_springs(simple_drives(random_arm(94, 2)), 1, "linear", **more)
        with pytest.raises(ModelError, match=text):
            elastic_inverse(arm, *rest)
        with pytest.raises(ModelError, match=text):
            elastic_inverse_along(arm, [0.0], *rest)
    with pytest.raises(InputError, match="elastic_inverse: 'ur5' has no elastic joint"):
        elastic_inverse(fa.load("ur5"), *np.zeros((5, 6)))
