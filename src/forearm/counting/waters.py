"""The algorithms behind Waters' printed counts, where the package implements a cheaper one. Waters IV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forearm.counting.matrices import (
    ROW_BY_VECTOR,
    Matrix,
    MatrixCounts,
    MatrixRun,
    Number,
    counting_matrices,
    run_matrices,
    state,
)
from forearm.counting.models import chain
from forearm.dynamics.dropping import own_links
from forearm.dynamics.lagrange import (
    ChainMatrices,
    all_U,
    by_recurrences,
    multiplied_out,
    recurrences,
    trace_of_product,
    waters,
)
from forearm.model import Note
from forearm.portable import total


def naive_shared(n: int) -> MatrixCounts:
    """As written, but U_ji multiplied out once for both of its terms; its product with J_j is not counted."""

    def stage(c: ChainMatrices, _note: Note) -> list[Any]:
        forces = []
        for i in range(n):
            terms = []
            for j in range(i, n):
                U = multiplied_out(c, j, i)
                terms.append(trace_of_product(U, _P(c, j) + _L(c, j)) - c.G @ (U @ c.mr[j]))
            forces.append(total(terms))
        return forces

    return _run(n, stage).counts()


def recorded(n: int) -> MatrixCounts:
    """U_ji, U_jkl, P_j and L_j multiplied out once each and stored, all j^2 terms of L_j;
    the trace evaluated as written for each pair (j, i).
    """

    def stage(c: ChainMatrices, _note: Note) -> list[Any]:
        U = [[multiplied_out(c, j, i) for i in range(j + 1)] for j in range(n)]
        return _sums_as_written(c, U, [_P(c, j, U[j]) for j in range(n)], [_L(c, j) for j in range(n)])

    return _run(n, stage).counts()


def recursive(n: int) -> MatrixCounts:
    """Recurrences, V_n included; tr(U_ji J_j (P_j + L_j)^T) evaluated as written for each pair (j, i),
    with the sum and the product by J_j.
    """

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        U_ii, P, L = recurrences(c, note)
        return _sums_as_written(c, all_U(c, U_ii), P, L)

    return _run(n, stage).counts("V")


def recursive_d(n: int) -> MatrixCounts:
    """The recurrence for D; counts V_n, which no result uses, but not W_n."""
    return run_matrices(chain(n), "lagrange-recursive-d").counts("V")


def final(n: int, plain: bool = False) -> MatrixCounts:
    """The recurrence for gravity; counts V_n, and G U_ii G_i as two operations of order 16.
    `plain`: count what the code does instead.
    """
    return _his(_run(n, waters), plain)


def without_velocity(n: int, plain: bool = False) -> MatrixCounts:
    """As `final`, with L_j = 0, which needs no V."""

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        U_ii, P, _ = recurrences(c, note)
        return by_recurrences(c, U_ii, P, [Matrix([[0.0] * 4] * 4) for _ in P], note)

    return _his(_run(n, stage), plain, last_V=False)


def without_gravity(n: int, plain: bool = False) -> MatrixCounts:
    """As `final`, without the gravity terms."""

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        c.G = _NoRow()
        return waters(c, note)

    return _his(_run(n, stage), plain)


def own_link_only(n: int, plain: bool = False) -> MatrixCounts:
    """As `final`, without the outer sum."""
    return _his(_run(n, own_links), plain)


def _run(n: int, stage: Callable[[ChainMatrices, Note], list[Any]]) -> MatrixRun:
    noted = []
    c = counting_matrices(chain(n).model(), *state(n))
    return MatrixRun(stage(c, lambda *given: noted.append(given)), noted)


def _his(run: MatrixRun, plain: bool, last_V: bool = True) -> MatrixCounts:
    if plain:
        return run.counts()
    rows = sum(node.scalars == ROW_BY_VECTOR for node in run.needed())
    return run.counts(*(["V"] if last_V else [])) + MatrixCounts(a=rows)


def _sums_as_written(c: ChainMatrices, U: Any, P: Any, L: Any) -> list[Number]:
    """F_i = sum over j of tr(U_ji J_j (P_j + L_j)^T) - G_ji, sharing nothing between pairs (j, i)."""
    return [
        total(
            trace_of_product(U[j][i] @ c.J[j], P[j] + L[j]) - c.G @ (U[j][i] @ c.mr[j]) for j in range(i, c.n)
        )
        for i in range(c.n)
    ]


def _P(c: ChainMatrices, j: int, U: Any = None) -> Matrix:
    made: Matrix = total((U[k] if U else multiplied_out(c, j, k)) * c.qdd[k] for k in range(j + 1))
    return made


def _L(c: ChainMatrices, j: int) -> Matrix:
    pairs = [(k, m) for k in range(j + 1) for m in range(j + 1)]
    made: Matrix = total(multiplied_out(c, j, k, m) * (c.qd[k] * c.qd[m]) for k, m in pairs)
    return made


class _NoRow:
    """The gravity row without gravity: its product with anything is 0 and costs nothing."""

    def __matmul__(self, _other: Any) -> Number:
        return Number(0.0)
