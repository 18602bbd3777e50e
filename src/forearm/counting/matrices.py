"""4x4 matrices that count as Waters does: products of order 64, and operations of order 16. Waters IV.

The functions of `dynamics.lagrange` run on them as they run on arrays; only the matrices that they start from differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.counting.counts import retold, rigid_model
from forearm.counting.models import Chain as GenericChain
from forearm.dynamics.lagrange import Chain, chain_of
from forearm.dynamics.model import Model
from forearm.dynamics.reference import INVERSE

WATERS = (
    "lagrange-naive",
    "lagrange-uicker",
    "lagrange-stored",
    "lagrange-recursive",
    "lagrange-recursive-d",
    "lagrange-waters",
)


@dataclass(frozen=True)
class MatrixCounts:
    """m products of 4x4 matrices, a operations of order 16: sums, scalar or vector times matrix, trace of a product."""

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


class Node:
    """One operation on matrices: what it is, and the operations that its operands came from."""

    __slots__ = ("counts", "operands")

    def __init__(self, counts: MatrixCounts, *operands: Any) -> None:
        self.counts, self.operands = counts, [x.node for x in operands if isinstance(x, Matrix | Vector | Number)]


GIVEN = MatrixCounts()
PRODUCT, ORDER_16 = MatrixCounts(m=1), MatrixCounts(a=1)


class Matrix:
    """A 4x4 matrix whose operations are recorded."""

    __array_ufunc__ = None  # so that arrays leave products to us

    def __init__(self, value: Any, node: Node | None = None) -> None:
        self.value, self.node = value, node or Node(GIVEN)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Matrix):
            return Matrix(self.value @ other.value, Node(PRODUCT, self, other))
        vector = other.value if isinstance(other, Vector) else other
        return Vector(self.value @ vector, Node(ORDER_16, self, other))

    def __add__(self, other: Any) -> Matrix:
        return Matrix(self.value + other.value, Node(ORDER_16, self, other))

    def __mul__(self, scalar: float) -> Matrix:
        return Matrix(self.value * scalar, Node(ORDER_16, self))

    @property
    def T(self) -> Matrix:
        """The transpose, which costs nothing."""
        return Matrix(self.value.T, self.node)

    def trace_with(self, other: Matrix) -> Number:
        """tr(X Y^T), of order 16."""
        return Number(float((self.value * other.value).sum()), Node(ORDER_16, self, other))


class Vector:
    """A homogeneous vector that came from matrices; what is done among vectors is of lower order and ignored."""

    __array_ufunc__ = None

    def __init__(self, value: Any, node: Node) -> None:
        self.value, self.node = value, node

    def __add__(self, other: Any) -> Vector:
        return Vector(self.value + (other.value if isinstance(other, Vector) else other), Node(GIVEN, self, other))

    __radd__ = __add__

    def __rmatmul__(self, row: Any) -> Number:
        return Number(float(row @ self.value), Node(GIVEN, self))


class Number:
    """A scalar that came from matrices; sums of scalars are of lower order and ignored."""

    def __init__(self, value: float, node: Node) -> None:
        self.value, self.node = value, node

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, Node(GIVEN, self, other))

    def __sub__(self, other: Number) -> Number:
        return Number(self.value - other.value, Node(GIVEN, self, other))

    def __mul__(self, scalar: float) -> Number:
        return Number(self.value * scalar, Node(GIVEN, self))

    def __neg__(self) -> Number:
        return Number(-self.value, self.node)


def count_matrices(arm: Arm | GenericChain, name: str) -> MatrixCounts:
    """What a Lagrange formulation costs in 4x4 matrices; matrices that no force needs are not counted."""
    return cost_of([number.node for number in run_matrices(arm, name)[0]])


def matrices_by_quantity(arm: Arm | GenericChain, name: str) -> dict[str, MatrixCounts]:
    """The same by the symbol for which an operation was first done, all links together; "F" is what the forces add."""
    forces, noted = run_matrices(arm, name)
    needed: set[Node] = set()
    cost_of([number.node for number in forces], needed)
    taken: set[Node] = set()
    table: dict[str, MatrixCounts] = {}
    for symbol, value in [*noted, *(("F", force) for force in forces)]:
        found = _claimed([value.node], taken) if isinstance(value, Matrix | Vector | Number) else []
        own = sum((n.counts for n in found if n in needed), GIVEN)
        table[symbol] = table.get(symbol, GIVEN) + own
    return table


def run_matrices(arm: Arm | GenericChain, name: str) -> tuple[list[Number], list[tuple[str, Any]]]:
    """The forces, and what was noted on the way, by the very function that computes with arrays."""
    model: Model = arm.model() if isinstance(arm, GenericChain) else rigid_model(arm)
    n = len(model.bodies)
    q, qd, qdd = ([first + step * j for j in range(n)] for first, step in ((0.4, 0.37), (0.31, 0.23), (0.57, 0.23)))

    def counting_chain(*given: Any) -> Chain:
        c = chain_of(*given)
        A, dA, ddA, J = ([Matrix(x) for x in table] for table in (c.A, c.dA, c.ddA, c.J))
        return Chain(A, dA, ddA, J, c.mr, c.G, c.qd, c.qdd)

    noted: list[tuple[str, Any]] = []
    told = retold(INVERSE[name], chain_of=counting_chain)
    forces = told(model, q, qd, qdd, note=lambda symbol, _link, value: noted.append((symbol, value)))
    return forces, noted


def cost_of(nodes: list[Node], taken: set[Node] | None = None) -> MatrixCounts:
    """Everything that these results need."""
    return sum((node.counts for node in _claimed(nodes, set() if taken is None else taken)), GIVEN)


def _claimed(nodes: list[Node], taken: set[Node]) -> list[Node]:
    """The operations that these need and that are not taken yet; they are then."""
    found, open_ends = [], list(nodes)
    while open_ends:
        node = open_ends.pop()
        if node not in taken:
            taken.add(node)
            found.append(node)
            open_ends += node.operands
    return found
