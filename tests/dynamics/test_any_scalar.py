"""The same formulations over another scalar: forty decimal digits.
What floats give is right to the last few bits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import INERTIA, INVERSE, SERIAL_ONLY, assert_agree, random_load, random_state, with_kinds

import forearm as fa
from forearm import Arm, dynamics
from forearm.dynamics.forward import articulated_body
from forearm.dynamics.reference import INERTIA as MATRICES
from forearm.dynamics.reference import INVERSE as METHODS
from forearm.model import Base, Model, Wrench, model_of
from forearm.symbols.linear import inverse_symmetric, solve_symmetric

DIGITS = 40
FLOATS = 1e-13  # what some hundred operations on floats lose, against the largest answer
EXACT = 1e-30  # what is left of forty digits when methods are compared with each other

ARMS: dict[str, Arm] = {
    "standard": with_kinds(random_arm(1, 3, "standard"), "RPR"),
    "modified": with_kinds(random_arm(2, 3, "modified"), "RRP"),
    "frames": with_kinds(random_arm(3, 3, "frames"), "PRR"),
    "tree": with_kinds(random_arm(4, 4, "standard", tree=True), "RRPR"),
    "puma560": fa.load("puma560").rigid(),
    "stanford": fa.load("stanford").rigid(),
}
each_arm = pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS.keys())


class Precise:
    """A number of forty digits that takes floats beside it and brings its own cosine and sine."""

    def __init__(self, value: Decimal | float) -> None:
        self.value: Decimal = value if isinstance(value, Decimal) else Decimal(float(value))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __neg__(self) -> Precise:
        return Precise(-self.value)

    def __float__(self) -> float:
        return float(self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def _with(self, other: Any, operation: Callable[[Decimal, Decimal], Decimal]) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # arrays go element by element
        return Precise(operation(self.value, digits_of(other)))

    def cos(self) -> Precise:
        return self._series(Decimal(1), 0)

    def sin(self) -> Precise:
        return self._series(self.value, 1)

    def _series(self, term: Decimal, k: int) -> Precise:
        total = Decimal(0)
        while abs(term) > Decimal(10) ** -(DIGITS + 5):
            total += term
            term *= -self.value * self.value / ((k + 1) * (k + 2))
            k += 2
        return Precise(total)


def digits_of(value: Any) -> Decimal:
    return value.value if isinstance(value, Precise) else Decimal(float(value))


def precise(model: Model) -> Model:
    return model.map(Precise)


def vector(values: Any) -> Any:
    return np.array([Precise(v) for v in values], dtype=object)


def surroundings() -> tuple[Base, Wrench]:
    load = random_load(1)
    assert load.base_motion is not None
    assert load.hand_force is not None
    assert load.hand_moment is not None
    return Base(*(vector(v) for v in load.base_motion)), Wrench(
        vector(load.hand_force), vector(load.hand_moment)
    )


def difference(found: Any, truth: Any) -> float:
    """max|found - truth| / max|truth| with all digits."""
    found, truth = np.ravel(np.asarray(found, dtype=object)), np.ravel(np.asarray(truth, dtype=object))
    apart = max(abs(digits_of(a) - digits_of(b)) for a, b in zip(found, truth, strict=True))
    return float(apart / max(abs(digits_of(b)) for b in truth))


@pytest.mark.slow
@each_arm
@pytest.mark.sweep(first=4)
def test_inverse_dynamics_of_many_digits(arm: Arm) -> None:
    """Loads and a moving base too. The methods agree to what forty digits leave,
    and floats to what floats leave.
    """
    state, load = random_state(arm, 1), random_load(1)
    with localcontext() as context:
        context.prec = DIGITS
        model, (base, hand) = precise(model_of(arm)), surroundings()
        q, qd, qdd = ([Precise(v) for v in values] for values in state)
        truth = METHODS["newton-euler"](model, q, qd, qdd, base, hand)
        for name in INVERSE:
            if name in SERIAL_ONLY and not arm.is_serial:
                continue
            found = METHODS[name](model, q, qd, qdd, base, hand)
            # Rotations of the arm are rounded floats: orthogonal to 1e-16 only,
            # and the methods use that differently.
            assert difference(found, truth) <= FLOATS
            assert_agree(dynamics.inverse(arm, *state, name, *load), [float(t) for t in found], FLOATS)


@each_arm
def test_inertia_matrix_of_many_digits(arm: Arm) -> None:
    state = random_state(arm, 2)
    with localcontext() as context:
        context.prec = DIGITS
        model, q = precise(model_of(arm)), [Precise(v) for v in state.q]
        for name in INERTIA:
            found = np.array([[float(x) for x in row] for row in MATRICES[name](model, q)])
            assert_agree(dynamics.inertia_matrix(arm, state.q, name), found, FLOATS)


@each_arm
def test_forward_dynamics_of_many_digits(arm: Arm) -> None:
    """Articulated bodies and the symmetric solve give back the accelerations of the inverse dynamics."""
    state = random_state(arm, 3)
    with localcontext() as context:
        context.prec = DIGITS
        model, (base, hand) = precise(model_of(arm)), surroundings()
        q, qd, qdd = ([Precise(v) for v in values] for values in state)
        none = [Precise(0.0)] * arm.n
        tau = METHODS["newton-euler"](model, q, qd, qdd, base, hand)
        condition = float(np.linalg.cond(dynamics.inertia_matrix(arm, state.q)))
        found = articulated_body(model, q, qd, tau, none, base, hand)
        assert difference(found, qdd) <= FLOATS * condition
        bias = METHODS["newton-euler"](model, q, qd, none, base, hand)
        right = np.array([t - b for t, b in zip(tau, bias, strict=True)], dtype=object)
        M = np.array(MATRICES["composite-body"](model, q), dtype=object)
        assert difference(solve_symmetric(M, right), qdd) <= FLOATS * condition


def test_the_solve_keeps_every_digit() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    with localcontext() as context:
        context.prec = DIGITS
        M = np.array([[Precise(v) for v in row] for row in A @ A.T + np.eye(5)], dtype=object)
        M = np.array([[M[max(i, j), min(i, j)] for j in range(5)] for i in range(5)], dtype=object)
        x = vector(rng.normal(size=5))
        assert difference(solve_symmetric(M, M @ x), x) <= EXACT
        inverse = inverse_symmetric(M)
        assert difference(inverse @ (M @ x), x) <= EXACT
        assert (inverse == inverse.T).all()
