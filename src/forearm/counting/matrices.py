"""4x4 matrices that count as Waters does: products of order 64, and operations of order 16. Waters IV.

The formulations on 4x4 matrices run on them as they run on arrays;
only the matrices that they start from differ.
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


@dataclass(frozen=True)
class MatrixCounts:
    """m products of 4x4 matrices, a operations of order 16:
    sums, scalar or vector times matrix, trace of a product.
    """

    m: int = 0
    a: int = 0

    def __add__(self, other: MatrixCounts) -> MatrixCounts:
        return MatrixCounts(self.m + other.m, self.a + other.a)

    def __sub__(self, other: MatrixCounts) -> MatrixCounts:
        return MatrixCounts(self.m - other.m, self.a - other.a)

    @property
    def weight(self) -> int:
        """Scalar multiplications as Waters weighs them: 64 m + 16 a."""
        return 64 * self.m + 16 * self.a

    def __str__(self) -> str:
        return f"{self.m}m+{self.a}a"


class MatrixOperation:
    """One operation on matrices: its cost in Waters' units and in scalars,
    and the operations that its operands came from.
    """

    __slots__ = ("counts", "operands", "scalars")

    def __init__(self, counts: MatrixCounts, scalars: Counts, *operands: Any) -> None:
        self.counts, self.scalars = counts, scalars
        self.operands = [x.node for x in operands if isinstance(x, Matrix | Vector | Number)]


NOTHING, PRODUCT, ORDER_16 = MatrixCounts(), MatrixCounts(m=1), MatrixCounts(a=1)
ROW_BY_VECTOR = Counts(4, 3)  # of lower order to Waters, most of the time


def given() -> MatrixOperation:
    """Where a matrix that is given comes from."""
    return MatrixOperation(NOTHING, Counts())


class Matrix:
    """A 4x4 matrix whose operations are recorded, every entry taken as generic;
    `empty` is one that is known to be 0.
    """

    __array_ufunc__ = None  # so that arrays leave products to us

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
        """An array from the left: the base's identity, or its 0."""
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
        """The transpose, which costs nothing."""
        return Matrix(self.value.T, self.node)

    def trace_with(self, other: Matrix) -> Number:
        """tr(X Y^T), of order 16."""
        return Number(
            float((self.value * other.value).sum()), MatrixOperation(ORDER_16, Counts(16, 15), self, other)
        )


class Vector:
    """A homogeneous vector that came from matrices; what is done among vectors is of
    lower order to Waters.
    """

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
    """A scalar that came from matrices; sums of scalars are of lower order to Waters."""

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


@dataclass(eq=False)
class MatrixRun:
    """A formulation that has been run on counting matrices."""

    forces: list[Number]
    noted: list[tuple[str, int, Any]]

    def needed(self, *symbols: str) -> list[MatrixOperation]:
        """The operations that the forces need, and those for every noted quantity of these
        symbols, needed or not.
        """
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
    """The operations that these need and that are not taken yet; they are then."""
    found, open_ends = [], list(nodes)
    while open_ends:
        node = open_ends.pop()
        if node not in taken:
            taken.add(node)
            found.append(node)
            open_ends += node.operands
    return found


def count_matrices(arm: Arm | GenericChain, name: str) -> MatrixCounts:
    """What a Lagrange formulation costs in 4x4 matrices; matrices that no force needs are not counted."""
    return run_matrices(arm, name).counts()


def run_matrices(arm: Arm | GenericChain, name: str) -> MatrixRun:
    """The formulation by the very function that computes with arrays, on matrices that count."""
    model = counted_model(arm)
    noted: list[tuple[str, int, Any]] = []
    forces = INVERSE[name](
        model, *state(len(model.bodies)), note=lambda *given: noted.append(given), matrices=counting_matrices
    )
    return MatrixRun(forces, noted)


def state(n: int) -> list[list[float]]:
    """q, qd and qdd of n joints, none of them special."""
    return [[first + step * j for j in range(n)] for first, step in ((0.4, 0.37), (0.31, 0.23), (0.57, 0.23))]


def counting_matrices(*given: Any) -> ChainMatrices:
    """Waters' matrices, counting."""
    c = matrices_of(*given)
    A, dA, ddA, J = ([Matrix(x) for x in table] for table in (c.A, c.dA, c.ddA, c.J))
    return ChainMatrices(A, dA, ddA, J, c.mr, c.G, c.qd, c.qdd)
