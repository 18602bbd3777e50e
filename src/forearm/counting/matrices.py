"""4x4 matrices that count operations as Waters does: products of order 64, operations of order 16. Waters IV.

The formulations on 4x4 matrices run on them as on arrays; only the initial matrices differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.counting.counts import counted_model
from forearm.counting.models import GenericChain
from forearm.dynamics.lagrange import ChainMatrices, matrices_of
from forearm.dynamics.reference import INVERSE
from forearm.symbols.counts import Counts
from forearm.values import frozen


@dataclass(frozen=True)
class MatrixCounts:
    """m products of 4x4 matrices and a operations of order 16: sum, scalar or vector times matrix, trace of a
    product.
    """

    m: int = 0
    a: int = 0

    def __add__(self, other: MatrixCounts) -> MatrixCounts:
        return MatrixCounts(self.m + other.m, self.a + other.a)

    def __sub__(self, other: MatrixCounts) -> MatrixCounts:
        return MatrixCounts(self.m - other.m, self.a - other.a)

    @property
    def weight(self) -> int:
        """Scalar multiplications by Waters' weights: 64 m + 16 a."""
        return 64 * self.m + 16 * self.a

    def __str__(self) -> str:
        return f"{self.m}m+{self.a}a"


class MatrixOperation:
    """One matrix operation: its cost in Waters' units and in scalars, and its operands' operations."""

    __slots__ = ("counts", "operands", "scalars")

    def __init__(self, counts: MatrixCounts, scalars: Counts, *operands: Any) -> None:
        self.counts, self.scalars = counts, scalars
        self.operands = [x.node for x in operands if isinstance(x, Matrix | Vector | Number)]


NOTHING, PRODUCT, ORDER_16 = MatrixCounts(), MatrixCounts(m=1), MatrixCounts(a=1)
ROW_BY_VECTOR = Counts(4, 3)  # which Waters mostly neglects


def given() -> MatrixOperation:
    """The origin of a given matrix: no operation."""
    return MatrixOperation(NOTHING, Counts())


class Matrix:
    """A 4x4 matrix that records its operations, all entries generic; `empty` if it is known to be 0."""

    __array_ufunc__ = None  # so that NumPy defers products to this class

    def __init__(self, value: Any, node: MatrixOperation | None = None) -> None:
        self.value, self.node = value, node or given()
        self.empty = node is None and not np.any(value)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Matrix):
            if self.empty or other.empty:
                return Matrix(np.zeros((4, 4)))
            return Matrix(self.value @ other.value, MatrixOperation(PRODUCT, Counts(64, 48), self, other))
        vector = other.value if isinstance(other, Vector) else other
        return Vector(self.value @ vector, MatrixOperation(ORDER_16, Counts(16, 12), self, other))

    def __rmatmul__(self, other: Any) -> Matrix:
        """Array times matrix: the base's identity, or its 0."""
        return self if np.array_equal(other, np.eye(4)) else Matrix(other) @ self

    def __add__(self, other: Matrix) -> Matrix:
        if self.empty or other.empty:
            return other if self.empty else self
        return Matrix(self.value + other.value, MatrixOperation(ORDER_16, Counts(0, 16), self, other))

    def __mul__(self, scalar: float) -> Matrix:
        return (
            self if self.empty else Matrix(self.value * scalar, MatrixOperation(ORDER_16, Counts(16), self))
        )

    @property
    def T(self) -> Matrix:
        """The transpose; no operation."""
        return Matrix(self.value.T, self.node)

    def trace_with(self, other: Matrix) -> Number:
        """tr(X Y^T), of order 16."""
        return Number(
            float((self.value * other.value).sum()), MatrixOperation(ORDER_16, Counts(16, 15), self, other)
        )


class Vector:
    """A homogeneous vector computed from matrices; Waters neglects operations among vectors."""

    __array_ufunc__ = None

    def __init__(self, value: Any, node: MatrixOperation) -> None:
        self.value, self.node = value, node

    def __add__(self, other: Any) -> Vector:
        value = self.value + (other.value if isinstance(other, Vector) else other)
        return Vector(value, MatrixOperation(NOTHING, Counts(0, 4), self, other))

    __radd__ = __add__

    def __rmatmul__(self, row: Any) -> Number:
        return Number(float(row @ self.value), MatrixOperation(NOTHING, ROW_BY_VECTOR, self))


class Number:
    """A scalar computed from matrices; Waters neglects sums of scalars."""

    def __init__(self, value: float, node: MatrixOperation | None = None) -> None:
        self.value, self.node = value, node or given()

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, MatrixOperation(NOTHING, Counts(0, 1), self, other))

    def __sub__(self, other: Number) -> Number:
        return Number(self.value - other.value, MatrixOperation(NOTHING, Counts(0, 1), self, other))

    def __mul__(self, scalar: float) -> Number:
        return Number(self.value * scalar, MatrixOperation(NOTHING, Counts(1), self))

    def __neg__(self) -> Number:
        return Number(-self.value, self.node)


@frozen
class MatrixRun:
    """A formulation that was run on counting matrices."""

    forces: list[Number]
    noted: list[tuple[str, int, Any]]

    def needed(self, *symbols: str) -> list[MatrixOperation]:
        """The operations that the forces need, and all those for noted quantities of these symbols."""
        kept = [value.node for symbol, _, value in self.noted if symbol in symbols]
        return claimed([force.node for force in self.forces] + kept, set())

    def counts(self, *symbols: str) -> MatrixCounts:
        """In Waters' units."""
        return sum((node.counts for node in self.needed(*symbols)), NOTHING)

    def scalars(self) -> Counts:
        """In scalars, with every entry of every matrix generic."""
        return sum((node.scalars for node in self.needed()), Counts())

    def by_quantity(self) -> dict[tuple[str, int], MatrixCounts]:
        """For every noted quantity (symbol, link) the operations first done for it."""
        needed, taken = set(self.needed()), set[MatrixOperation]()
        table: dict[tuple[str, int], MatrixCounts] = {}
        for symbol, link, value in [*self.noted, *(("F", i, force) for i, force in enumerate(self.forces))]:
            nodes = [value.node] if isinstance(value, Matrix | Vector | Number) else []
            own = sum((n.counts for n in claimed(nodes, taken) if n in needed), NOTHING)
            table[symbol, link] = table.get((symbol, link), NOTHING) + own
        return table


def claimed(nodes: list[MatrixOperation], taken: set[MatrixOperation]) -> list[MatrixOperation]:
    """The operations behind these nodes that are not in `taken` yet; adds them to it."""
    found, open_ends = [], list(nodes)
    while open_ends:
        node = open_ends.pop()
        if node not in taken:
            taken.add(node)
            found.append(node)
            open_ends += node.operands
    return found


def count_matrices(arm: Arm | GenericChain, name: str) -> MatrixCounts:
    """The cost of a Lagrange formulation in 4x4 matrices, without matrices that no force needs."""
    return run_matrices(arm, name).counts()


def run_matrices(arm: Arm | GenericChain, name: str) -> MatrixRun:
    """Run the formulation, the same function as for arrays, on counting matrices."""
    model = counted_model(arm)
    noted = []
    forces = INVERSE[name](
        model, *state(len(model.bodies)), note=lambda *given: noted.append(given), matrices=counting_matrices
    )
    return MatrixRun(forces, noted)


def state(n: int) -> list[list[float]]:
    """Generic q, qd and qdd of n joints."""
    return [[first + step * j for j in range(n)] for first, step in ((0.4, 0.37), (0.31, 0.23), (0.57, 0.23))]


def counting_matrices(*given: Any) -> ChainMatrices:
    """Waters' matrices, counting."""
    c = matrices_of(*given)
    A, dA, ddA, J = ([Matrix(x) for x in table] for table in (c.A, c.dA, c.ddA, c.J))
    return ChainMatrices(A, dA, ddA, J, c.mr, c.G, c.qd, c.qdd)
