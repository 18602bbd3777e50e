"""Second-order forward differentiation: values with gradient and Hessian, over any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.spatial import Floats


class Jet:
    """A value with gradient (n,) and Hessian (n, n) in n variables, exact to rounding through +, - and *."""

    __slots__ = ("gradient", "hessian", "value")

    def __init__(self, value: float, gradient: Floats, hessian: Floats) -> None:
        self.value, self.gradient, self.hessian = value, gradient, hessian

    @staticmethod
    def variables(values: Floats) -> list[Jet]:
        """One variable per value, with a unit gradient and zero Hessian."""
        n = len(values)
        return [Jet(float(v), np.eye(n)[i], np.zeros((n, n))) for i, v in enumerate(values)]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)
        return Jet(self.value + other, self.gradient, self.hessian)

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, -self.hessian)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return Jet(self.value * other, self.gradient * other, self.hessian * other)
        mixed = np.outer(self.gradient, other.gradient)
        return Jet(
            self.value * other.value,
            self.gradient * other.value + other.gradient * self.value,
            self.hessian * other.value + other.hessian * self.value + mixed + mixed.T,
        )

    __radd__ = __add__
    __rmul__ = __mul__
