"""The effect of single precision: every operation rounded to float32, compared with float64. Mata 5.1."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.joint import rotor_inertia
from forearm.dynamics.forward import articulated_body
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import INERTIA, INVERSE, inertia_matrix
from forearm.errors import InputError
from forearm.kinematics.arguments import as_coordinates
from forearm.model import Model, model_of, refuse_tree
from forearm.spatial import Floats
from forearm.symbols.linear import solve_symmetric
from forearm.values import frozen

METHODS = ("articulated-body", "composite-body", "gibbs-appell")


class Single:
    """A number that is rounded to float32 after every operation, whatever its other operand."""

    __slots__ = ("value",)

    def __init__(self, value: float | np.floating[Any]) -> None:
        self.value = np.float32(value)

    def __float__(self) -> float:
        return float(self.value)

    def _rounded(self, other: Any, operation: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy iterates over the elements
        theirs = other.value if isinstance(other, Single) else np.float32(other)
        return Single(operation(theirs, self.value) if swapped else operation(self.value, theirs))

    def __add__(self, other: Any) -> Any:
        return self._rounded(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._rounded(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._rounded(other, operator.sub, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._rounded(other, operator.mul)

    def __truediv__(self, other: Any) -> Any:
        return self._rounded(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._rounded(other, operator.truediv, swapped=True)

    def __neg__(self) -> Single:
        return Single(-self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def cos(self) -> Single:
        """Cosine, rounded to float32."""
        return Single(math.cos(float(self.value)))

    def sin(self) -> Single:
        """Sine, rounded to float32."""
        return Single(math.sin(float(self.value)))


@frozen
class PrecisionStudy:
    """Accelerations in double and in single precision.

    Attributes:
        q: configurations (B, n).
        double: accelerations (B, n) in double precision.
        single: accelerations (B, n) in single precision, by method.
        condition: condition number of M (B,).
    """

    q: Floats
    double: Floats
    single: dict[str, Floats]
    condition: Floats

    def difference(self, method: str, joint: int) -> tuple[float, float]:
        """Largest and mean difference of one joint's acceleration.

        Args:
            method: "articulated-body", "composite-body" or "gibbs-appell".
            joint: index of the joint, from 0.
        """
        apart = np.abs(self.single[method][:, joint] - self.double[:, joint])
        return float(apart.max()), float(apart.mean())


def precision_study(arm: Arm, q: ArrayLike) -> PrecisionStudy:
    """Forward dynamics of a serial arm at rest without torques; rotors are included.

    Args:
        arm: a serial arm.
        q: configurations (B, n).
    """
    model, rotor = model_of(arm), rotor_inertia(arm)
    refuse_tree(model, "the precision study")
    postures = as_coordinates(arm, q)
    if postures.ndim != 2:
        raise InputError(
            f"expected configurations of shape (B, {arm.n}), got {postures.shape}.", "precision_study"
        )
    rest = [0.0] * arm.n
    small = model.map(Single)
    double = []
    single: dict[str, list[Any]] = {method: [] for method in METHODS}
    for row in postures:
        double.append(
            accelerations(model, "articulated-body", [float(v) for v in row], rest, rest, list(rotor))
        )
        at, still, extra = ([Single(v) for v in values] for values in (row, rest, rotor))
        for method in METHODS:
            values = accelerations(small, method, at, still, still, extra)
            single[method].append([float(v) for v in values])
    condition = np.array(
        [
            np.linalg.cond(M) if M.size and np.isfinite(M).all() else np.nan
            for M in inertia_matrix(arm, postures)
        ]
    )
    return PrecisionStudy(
        postures,
        np.array(double, dtype=float),
        {k: np.array(v, dtype=float) for k, v in single.items()},
        condition,
    )


def accelerations(
    model: Model, method: str, q: list[Any], qd: list[Any], tau: list[Any], rotor: list[Any]
) -> list[Any]:
    """Forward dynamics over any scalar: articulated bodies, or an inertia matrix, the matching bias and a
    linear solve.
    """
    if method == "articulated-body":
        return articulated_body(model, q, qd, tau, rotor)
    inverse = INVERSE.get(method, newton_euler)
    bias = inverse(model, q, qd, [0.0] * len(q))
    M = INERTIA[method](model, q)
    for i, extra in enumerate(rotor):
        M[i, i] = M[i, i] + extra
    right = np.empty(len(q), dtype=M.dtype)
    for i in range(len(q)):
        right[i] = tau[i] - bias[i]
    return list(solve_symmetric(M, right))
