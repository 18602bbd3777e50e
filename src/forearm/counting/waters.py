"""Waters' own ways of doing the steps, where the code has a better one: what his printed
counts count. Waters IV.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from forearm.counting.matrices import (
    ROW_BY_VECTOR,
    Matrix,
    MatrixCounts,
    MatrixRun,
    Number,
    counting_chain,
    run_matrices,
)
from forearm.counting.models import chain
from forearm.dynamics.lagrange import (
    ChainMatrices,
    chain_of,
    inward,
    recurrences,
    sums,
    total,
    trace_of_product,
)


def naive_shared(n: int) -> MatrixCounts:
    """As written, but U_ji multiplied out once for both of its terms, and its product with J_j left out."""
    c = _start(n)
    forces = []
    for i in range(n):
        terms = []
        for j in range(i, n):
            U = _multiplied_out(c, j, i)
            terms.append(trace_of_product(U, _P(c, j) + _L(c, j)) - c.G @ (U @ c.mr[j]))
        forces.append(total(terms))
    return MatrixRun(forces, []).counts()


def recorded(n: int) -> MatrixCounts:
    """U_ji, U_jkl, P_j, L_j multiplied out once each and recorded, all j^2 terms of L_j;
    the trace as written for each pair.
    """
    c = _start(n)
    U = [[_multiplied_out(c, j, i) for i in range(j + 1)] for j in range(n)]
    forces = sums_as_written(None, c, U, [_P(c, j, U[j]) for j in range(n)], [_L(c, j) for j in range(n)])
    return MatrixRun(forces, []).counts()


def recursive(n: int) -> MatrixCounts:
    """Recurrences, V_n too; tr(U_ji J_j (P_j + L_j)^T) as written for each pair,
    sum and product by J_j included.
    """
    return run_matrices(chain(n), "lagrange-recursive", {sums: sums_as_written}).counts("V")


def recursive_d(n: int) -> MatrixCounts:
    """The recurrence for D; V_n is computed as well, though nothing needs it, W_n is not."""
    return run_matrices(chain(n), "lagrange-recursive-d").counts("V")


def final(n: int, plain: bool = False) -> MatrixCounts:
    """The recurrence for gravity; V_n computed, and G U_ii G_i as two operations of order 16.
    `plain`: as the code has it.
    """
    return _his(run_matrices(chain(n), "lagrange-waters"), plain)


def without_velocity(n: int, plain: bool = False) -> MatrixCounts:
    """The same with L_j = 0, for which no V is needed."""
    return _his(run_matrices(chain(n), "lagrange-waters", {recurrences: _no_velocity}), plain, last_V=False)


def without_gravity(n: int, plain: bool = False) -> MatrixCounts:
    """The same without the gravity terms."""
    return _his(run_matrices(chain(n), "lagrange-waters", {chain_of: _weightless}), plain)


def own_link_only(n: int, plain: bool = False) -> MatrixCounts:
    """The same with the outer sum left out: D_i = J_i (P_i + L_i)^T, G_i = m_i r_i."""
    return _his(
        run_matrices(chain(n), "lagrange-waters", {inward: lambda _chain, own, _note, _symbol: own}), plain
    )


def _his(run: MatrixRun, plain: bool, last_V: bool = True) -> MatrixCounts:
    if plain:
        return run.counts()
    rows = sum(node.scalars == ROW_BY_VECTOR for node in run.needed())
    return run.counts(*(["V"] if last_V else [])) + MatrixCounts(a=rows)


def sums_as_written(_model: Any, c: ChainMatrices, U: Any, P: Any, L: Any, *_others: Any) -> list[Number]:
    """F_i = sum over j of tr(U_ji J_j (P_j + L_j)^T) - G_ji with nothing shared between the pairs (j, i)."""
    return [
        total(
            trace_of_product(U[j][i] @ c.J[j], P[j] + L[j]) - c.G @ (U[j][i] @ c.mr[j]) for j in range(i, c.n)
        )
        for i in range(c.n)
    ]


def _start(n: int) -> ChainMatrices:
    model = chain(n).model()
    return counting_chain(
        model, *([first + 0.3 * j for j in range(n)] for first in (0.4, 0.31, 0.57)), "Waters' count"
    )


def _multiplied_out(c: ChainMatrices, j: int, *by: int) -> Matrix:
    factors = [(c.A, c.dA, c.ddA)[by.count(k)][k] for k in range(j + 1)]
    product: Matrix = reduce(lambda X, Y: X @ Y, factors)
    return product


def _P(c: ChainMatrices, j: int, U: Any = None) -> Matrix:
    made: Matrix = total((U[k] if U else _multiplied_out(c, j, k)) * c.qdd[k] for k in range(j + 1))
    return made


def _L(c: ChainMatrices, j: int) -> Matrix:
    pairs = [(k, m) for k in range(j + 1) for m in range(j + 1)]
    made: Matrix = total(_multiplied_out(c, j, k, m) * (c.qd[k] * c.qd[m]) for k, m in pairs)
    return made


def _no_velocity(c: ChainMatrices, note: Any) -> Any:
    U, P, _ = recurrences(c, note)
    return U, P, [Matrix([[0.0] * 4] * 4) for _ in P]


class _NoRow:
    """Gravity's row where there is no gravity: its product with anything is a plain 0."""

    def __matmul__(self, _other: Any) -> Number:
        return Number(0.0)


def _weightless(*given: Any) -> ChainMatrices:
    c = counting_chain(*given)
    c.G = _NoRow()
    return c
