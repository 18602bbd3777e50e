"""Three-vectors and 3x3 matrices of any scalar as plain lists; products with constant 0 are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.portable import total
from forearm.symbols.scalars import is_zero

Scalar = Any
Array = Any  # rows of scalars
Vector = list[Scalar]


def behind(base: Array, point: Vector) -> Vector:
    """A point of the base frame in the frame of the first axis."""
    moved = [x - float(b) for x, b in zip(point, base[:3, 3], strict=True)]
    return [dot([float(v) for v in base[:3, j]], moved) for j in range(3)]


def inverted(R: Array, p: Vector) -> tuple[Array, Vector]:
    """R^T, -R^T p."""
    back = [[R[j][i] for j in range(3)] for i in range(3)]
    return back, [-x for x in apply(back, p)]


def rotation(T: Array) -> Array:
    """The upper left 3x3 part of a pose as lists."""
    return [[T[i][j] for j in range(3)] for i in range(3)]


def matmul(A: Array, B: Array) -> Array:
    """The product of two 3x3 matrices of scalars, the second of numbers."""
    columns = [[float(v) for v in np.asarray(B)[:, j]] for j in range(3)]
    return [[dot(column, row) for column in columns] for row in A]


def apply(A: Array, v: Any) -> Vector:
    """A v."""
    return [dot(v, row) for row in A]


def dot(a: Any, b: Any) -> Scalar:
    """The sum of products, skipping those with constant 0."""
    terms = [x * y for x, y in zip(a, b, strict=True) if not (is_zero(x) or is_zero(y))]
    return total(terms)


def plus(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return [x + y for x, y in zip(a, b, strict=True)]
