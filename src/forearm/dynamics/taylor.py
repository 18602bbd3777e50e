"""Second-order Taylor arithmetic: values with first and second time derivatives, over any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np


class Taylor:
    """A value with its first and second time derivative, each a float or an array of one shape, elementwise.

    Signs are piecewise constant: where a value crosses 0 the derivatives are those of its side.
    """

    __slots__ = ("rate", "second", "value")

    def __init__(self, value: Any, rate: Any = 0.0, second: Any = 0.0) -> None:
        self.value, self.rate, self.second = value, rate, second

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy iterates over the elements
        if not isinstance(other, Taylor):
            return Taylor(self.value + other, self.rate, self.second)
        return Taylor(self.value + other.value, self.rate + other.rate, self.second + other.second)

    def __neg__(self) -> Taylor:
        return Taylor(-self.value, -self.rate, -self.second)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Taylor):
            return Taylor(self.value * other, self.rate * other, self.second * other)
        return Taylor(
            self.value * other.value,
            self.value * other.rate + self.rate * other.value,
            self.value * other.second + 2.0 * (self.rate * other.rate) + self.second * other.value,
        )

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        inverse = 1.0 / self.value
        return self._through(inverse, -inverse * inverse, 2.0 * inverse * inverse * inverse) * other

    __radd__ = __add__
    __rmul__ = __mul__

    def __abs__(self) -> Taylor:
        return Taylor(abs(self.value), *(np.sign(self.value) * x for x in (self.rate, self.second)))

    def __lt__(self, other: Any) -> Any:
        return self.value < _value(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _value(other)

    def cos(self) -> Taylor:
        """The cosine."""
        c, s = np.cos(self.value), np.sin(self.value)
        return self._through(c, -s, -c)

    def sin(self) -> Taylor:
        """The sine."""
        c, s = np.cos(self.value), np.sin(self.value)
        return self._through(s, c, -s)

    def sqrt(self) -> Taylor:
        """The square root."""
        root = np.sqrt(self.value)
        return self._through(root, 0.5 / root, -0.25 / (root * self.value))

    def exp(self) -> Taylor:
        """The exponential."""
        made = np.exp(self.value)
        return self._through(made, made, made)

    def sign(self) -> Taylor:
        """The sign, -1, 0 or 1, with zero derivatives."""
        return Taylor(np.sign(self.value))

    def _through(self, value: Any, slope: Any, bend: Any) -> Taylor:
        """A function with this value, slope and second derivative at this point."""
        return Taylor(value, slope * self.rate, slope * self.second + bend * self.rate * self.rate)


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Taylor) else other
