"""Waters' own ways of doing the steps, where the code has a better one: what his printed
counts count. Waters IV.
"""

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
    total,
    trace_of_product,
    waters,
)
from forearm.model import Note


def naive_shared(n: int) -> MatrixCounts:
    """As written, but U_ji multiplied out once for both of its terms, and its product with J_j left out."""

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
    """U_ji, U_jkl, P_j, L_j multiplied out once each and recorded, all j^2 terms of L_j;
    the trace as written for each pair.
    """

    def stage(c: ChainMatrices, _note: Note) -> list[Any]:
        U = [[multiplied_out(c, j, i) for i in range(j + 1)] for j in range(n)]
        return _sums_as_written(c, U, [_P(c, j, U[j]) for j in range(n)], [_L(c, j) for j in range(n)])

    return _run(n, stage).counts()


def recursive(n: int) -> MatrixCounts:
    """Recurrences, V_n too; tr(U_ji J_j (P_j + L_j)^T) as written for each pair,
    sum and product by J_j included.
    """

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        U_ii, P, L = recurrences(c, note)
        return _sums_as_written(c, all_U(c, U_ii), P, L)

    return _run(n, stage).counts("V")


def recursive_d(n: int) -> MatrixCounts:
    """The recurrence for D; V_n is computed as well, though nothing needs it, W_n is not."""
    return run_matrices(chain(n), "lagrange-recursive-d").counts("V")


def final(n: int, plain: bool = False) -> MatrixCounts:
    """The recurrence for gravity; V_n computed, and G U_ii G_i as two operations of order 16.
    `plain`: as the code has it.
    """
    return _his(_run(n, waters), plain)


def without_velocity(n: int, plain: bool = False) -> MatrixCounts:
    """The same with L_j = 0, for which no V is needed."""

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        U_ii, P, _ = recurrences(c, note)
        return by_recurrences(c, U_ii, P, [Matrix([[0.0] * 4] * 4) for _ in P], note)

    return _his(_run(n, stage), plain, last_V=False)


def without_gravity(n: int, plain: bool = False) -> MatrixCounts:
    """The same without the gravity terms."""

    def stage(c: ChainMatrices, note: Note) -> list[Any]:
        c.G = _NoRow()
        return waters(c, note)

    return _his(_run(n, stage), plain)


def own_link_only(n: int, plain: bool = False) -> MatrixCounts:
    """The same with the outer sum left out."""
    return _his(_run(n, own_links), plain)


def _run(n: int, stage: Callable[[ChainMatrices, Note], list[Any]]) -> MatrixRun:
    noted: list[tuple[str, int, Any]] = []
    c = counting_matrices(chain(n).model(), *state(n))
    return MatrixRun(stage(c, lambda *given: noted.append(given)), noted)


def _his(run: MatrixRun, plain: bool, last_V: bool = True) -> MatrixCounts:
    if plain:
        return run.counts()
    rows = sum(node.scalars == ROW_BY_VECTOR for node in run.needed())
    return run.counts(*(["V"] if last_V else [])) + MatrixCounts(a=rows)


def _sums_as_written(c: ChainMatrices, U: Any, P: Any, L: Any) -> list[Number]:
    """F_i = sum over j of tr(U_ji J_j (P_j + L_j)^T) - G_ji with nothing shared between the pairs (j, i)."""
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
    """Gravity's row where there is no gravity: its product with anything is a plain 0."""

    def __matmul__(self, _other: Any) -> Number:
        return Number(0.0)
