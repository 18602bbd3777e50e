"""Lagrange with 4x4 matrices: Waters' six stages, from full products to linear recurrences. Waters II, IV.

W_i is the pose of link i in the base, U_ij = dW_i/dq_j, V_i = dW_i/dt, J_i the 4x4 pseudo-inertia about the
link's origin, G the row of gravity. F_i = sum over j >= i of tr(U_ji J_j (P_j + L_j)^T) - m_j G U_ji r_j.
All six are for serial chains, as the document is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from forearm.kinematics.matrices import base_rates, homogeneous, joint_matrices
from forearm.model import (
    AT_REST,
    Array,
    Base,
    Model,
    Note,
    Scalar,
    Vector,
    Wrench,
    noted,
    refuse_tree,
    silent,
)
from forearm.portable import total
from forearm.spatial import pseudo_from_inertia
from forearm.symbols.scalars import Values

Matrix = Any  # 4x4: an array, or an object that counts operations


@dataclass(eq=False)
class ChainMatrices:
    """A_i, dA_i/dq_i, d2A_i/dq_i2 and constants: J_i, m_i r_i (homogeneous), the row G. Zero-based lists."""

    A: list[Matrix]
    dA: list[Matrix]
    ddA: list[Matrix]
    J: list[Matrix]
    mr: list[Array]
    G: Array
    qd: Vector
    qdd: Vector

    @property
    def n(self) -> int:
        """The number of links."""
        return len(self.A)


def chain_of(model: Model, q: Vector, qd: Vector, qdd: Vector, what: str) -> ChainMatrices:
    """The matrices of a serial chain; trees are refused, with `what` in the message."""
    refuse_tree(model, what)
    return matrices_of(model, q, qd, qdd)


def matrices_of(model: Model, q: Vector, qd: Vector, qdd: Vector) -> ChainMatrices:
    """The matrices used by every stage. Waters II, in the order x y z 1."""
    joints = [joint_matrices(body, qi) for body, qi in zip(model.bodies, q, strict=True)]
    A, dA, ddA = ([joint[k] for joint in joints] for k in range(3))
    J = [pseudo_inertia(body.m, body.r, body.I) for body in model.bodies]
    mr = [np.append(body.m * body.r, body.m) for body in model.bodies]
    return ChainMatrices(A, dA, ddA, J, mr, np.append(model.g, 0.0), qd, qdd)


def pseudo_inertia(m: Scalar, r: Array, inertia: Array) -> Array:
    """J = integral of r r^T dm over the link, homogeneous, from mass, centre and inertia about the centre.
    Silver 2.11.
    """
    second = pseudo_from_inertia(inertia) + m * r[:, None] * r[None, :]
    return np.vstack([np.hstack([second, (m * r)[:, None]]), np.append(m * r, m)[None, :]])


def trace_of_product(X: Matrix, Y: Matrix) -> Scalar:
    """tr(X Y^T): an operation of order 16, as only the diagonal is needed."""
    if isinstance(X, np.ndarray):
        return (X * Y).sum()
    return X.trace_with(Y)


def naive(c: ChainMatrices, note: Note) -> Values:
    """Waters' equations as written: every U multiplied out wherever needed. Order n^5 in 4x4 products."""
    U = partial(multiplied_out, c)

    def P(j: int) -> Matrix:
        P_j = total(U(j, k) * c.qdd[k] for k in range(j + 1))
        note("P", j, P_j)
        return P_j

    def L(j: int) -> Matrix:
        L_j = total(U(j, k, m) * (c.qd[k] * c.qd[m]) for k in range(j + 1) for m in range(j + 1))
        note("L", j, L_j)
        return L_j

    tau = []
    for i in range(c.n):
        terms = [
            trace_of_product(U(j, i) @ c.J[j], P(j) + L(j)) - c.G @ (U(j, i) @ c.mr[j]) for j in range(i, c.n)
        ]
        tau.append(total(terms))
        note("F", i, tau[i])
    return tau


def multiplied_out(c: ChainMatrices, j: int, *by: int) -> Matrix:
    """dW_j by the named coordinates: A_0 ... A_j with the derivatives inserted, j products."""
    factors = [(c.A, c.dA, c.ddA)[by.count(k)][k] for k in range(j + 1)]
    return reduce(lambda X, Y: X @ Y, factors)


def uicker(c: ChainMatrices, note: Note) -> Values:
    """The closed form D, h, c with the products W stored: order n^4. Dhanaraj A.1."""
    U, UU = kept_derivatives(c)
    for j in range(c.n):
        note("U", j, U[j])
    tau = []
    for i in range(c.n):
        terms = []
        for j in range(i, c.n):
            UJ = U[j][i] @ c.J[j]
            terms += [trace_of_product(UJ, U[j][k]) * c.qdd[k] for k in range(j + 1)]
            terms += [
                trace_of_product(UJ, UU(j, k, m)) * (c.qd[k] * c.qd[m])
                for k in range(j + 1)
                for m in range(j + 1)
            ]
            terms.append(-(c.G @ (U[j][i] @ c.mr[j])))
        tau.append(total(terms))
        note("tau", i, tau[i])
    return tau


def kept_derivatives(c: ChainMatrices) -> tuple[list[list[Matrix]], Any]:
    """U_ji from stored products of A's, and a function for U_jkm, each in a few products. Dhanaraj A.1."""
    # kW_j = A_{k+1} ... A_j, and W_{k-1} dA_k once for each k.
    W = [[None] * c.n for _ in range(c.n)]
    for k in range(c.n):
        for j in range(k + 1, c.n):
            W[k][j] = c.A[j] if j == k + 1 else W[k][j - 1] @ c.A[j]
    poses = [c.A[0]]
    for k in range(1, c.n):
        poses.append(poses[-1] @ c.A[k])
    first = [c.dA[k] if k == 0 else poses[k - 1] @ c.dA[k] for k in range(c.n)]
    second = [c.ddA[k] if k == 0 else poses[k - 1] @ c.ddA[k] for k in range(c.n)]

    def onward(X: Matrix, k: int, j: int) -> Matrix:
        return X if k == j else X @ W[k][j]

    def UU(j: int, k: int, m: int) -> Matrix:
        k, m = min(k, m), max(k, m)
        if k == m:
            return onward(second[k], k, j)
        middle = first[k] if m == k + 1 else first[k] @ W[k][m - 1]
        return onward(middle @ c.dA[m], m, j)

    return [[onward(first[i], i, j) for i in range(j + 1)] for j in range(c.n)], UU


def stored(c: ChainMatrices, note: Note) -> Values:
    """Every value computed once and stored: U, U_jkm, P, L, G. Order n^3 in stored values. Waters IV."""
    U, UU = kept_derivatives(c)
    P = [total(U[j][k] * c.qdd[k] for k in range(j + 1)) for j in range(c.n)]
    L = []
    for j in range(c.n):
        squares = [UU(j, k, k) * (c.qd[k] * c.qd[k]) for k in range(j + 1)]
        pairs = [(k, m) for k in range(j + 1) for m in range(k + 1, j + 1)]
        mixed = [UU(j, k, m) * (2.0 * c.qd[k] * c.qd[m]) for k, m in pairs]
        L.append(total([*squares, *mixed]))
        noted(note, j, U=U[j], P=P[j], L=L[j])
    return sums(c, U, P, L, note)


def recursive(c: ChainMatrices, note: Note) -> Values:
    """Recurrences for U, P, V and L; the outer sum over j remains. Waters IV."""
    U_ii, P, L = recurrences(c, note)
    return sums(c, all_U(c, U_ii), P, L, note)


def recursive_d(c: ChainMatrices, note: Note) -> Values:
    """Also the recurrence D_i = A_{i+1} D_{i+1} + J_i (P_i + L_i)^T; U_ji is now used for gravity only.
    Waters IV.
    """
    U_ii, P, L = recurrences(c, note)
    U = all_U(c, U_ii)
    D = inward(c, moved(c, P, L), note, "D")
    tau = []
    for i in range(c.n):
        gravity = total(c.G @ (U[j][i] @ c.mr[j]) for j in range(i, c.n))
        tau.append(trace_of_product(U_ii[i], D[i].T) - gravity)
        note("F", i, tau[i])
    return tau


def waters(c: ChainMatrices, note: Note) -> Values:
    """And the recurrence for gravity, G_i = A_{i+1} G_{i+1} + m_i r_i: linear in n throughout. Waters IV."""
    return by_recurrences(c, *recurrences(c, note), note)


def by_recurrences(
    c: ChainMatrices, U_ii: list[Matrix], P: list[Matrix], L: list[Matrix], note: Note
) -> Values:
    """F_i = tr(U_ii D_i) - G U_ii G_i, with D and G by their recurrences. Waters IV."""
    D = inward(c, moved(c, P, L), note, "D")
    g = inward(c, c.mr, note, "G")
    tau = []
    for i in range(c.n):
        tau.append(trace_of_product(U_ii[i], D[i].T) - c.G @ (U_ii[i] @ g[i]))
        note("F", i, tau[i])
    return tau


def recurrences(c: ChainMatrices, note: Note) -> tuple[list[Matrix], list[Matrix], list[Matrix]]:
    """U_ii, P_j and L_j outwards, with W and V on the way. Waters II, IV."""
    W, V = c.A[0], c.dA[0] * c.qd[0]
    U, P, L = [c.dA[0]], [c.dA[0] * c.qdd[0]], [c.ddA[0] * (c.qd[0] * c.qd[0])]
    noted(note, 0, W=W, U_jj=U[0], V=V, P=P[0], L=L[0])
    for j in range(1, c.n):
        U.append(W @ c.dA[j])
        U_jjj = W @ c.ddA[j]
        P.append(P[-1] @ c.A[j] + U[j] * c.qdd[j])
        L.append(L[-1] @ c.A[j] + (V @ c.dA[j]) * (2.0 * c.qd[j]) + U_jjj * (c.qd[j] * c.qd[j]))
        V = V @ c.A[j] + U[j] * c.qd[j]
        W = W @ c.A[j]
        noted(note, j, W=W, U_jj=U[j], V=V, P=P[j], L=L[j])
    return U, P, L


def all_U(c: ChainMatrices, U_ii: list[Matrix]) -> list[list[Matrix]]:
    """U_ji = U_{j-1,i} A_j: all of them at the cost of the last row. Waters IV."""
    rows: list[list[Matrix]] = []
    for j in range(c.n):
        rows.append([*(X @ c.A[j] for X in (rows[-1] if rows else [])), U_ii[j]])
    return rows


def inward(c: ChainMatrices, own: list[Any], note: Note, symbol: str) -> list[Any]:
    """X_i = A_{i+1} X_{i+1} + own_i, from the tip to the base. Waters IV, after Luh and Hollerbach."""
    X = list(own)
    for i in range(c.n - 2, -1, -1):
        X[i] = c.A[i + 1] @ X[i + 1] + X[i]
    for i in range(c.n):
        note(symbol, i, X[i])
    return X


def moved(c: ChainMatrices, P: list[Matrix], L: list[Matrix]) -> list[Matrix]:
    """J_j (P_j + L_j)^T of every link."""
    return [c.J[j] @ (P[j] + L[j]).T for j in range(c.n)]


def sums(c: ChainMatrices, U: list[list[Matrix]], P: list[Matrix], L: list[Matrix], note: Note) -> Values:
    """F_i = sum over j >= i of tr(U_ji J_j (P_j + L_j)^T) - G_ji from stored values."""
    own = moved(c, P, L)
    tau = []
    for i in range(c.n):
        tau.append(
            total(trace_of_product(U[j][i], own[j].T) - c.G @ (U[j][i] @ c.mr[j]) for j in range(i, c.n))
        )
        note("F", i, tau[i])
    return tau


def with_surroundings(model: Model, c: ChainMatrices, base: Base, hand: Wrench | None, tau: Values) -> Values:
    """The contributions of a moving base and a loaded hand, in the same matrices.

    The base gives link j the acceleration X0 W_j + 2 V0 V_j with V0 = tilde(w), X0 = tilde(wd) + tilde(w)^2
    and the linear acceleration; the wrench on the hand works along U_hand,i.
    """
    if base is AT_REST and hand is None:
        return tau
    W, V = [c.A[0]], [c.dA[0] * c.qd[0]]
    U_ii = [c.dA[0]]
    for j in range(1, c.n):
        U_ii.append(W[-1] @ c.dA[j])
        V.append(V[-1] @ c.A[j] + U_ii[j] * c.qd[j])
        W.append(W[-1] @ c.A[j])
    U = all_U(c, U_ii)
    if base is not AT_REST:
        V0, X0 = base_rates(base)
        moved = [(X0 @ W[j] + 2.0 * (V0 @ V[j])) @ c.J[j] for j in range(c.n)]
        tau = [
            t + total(trace_of_product(U[j][i], moved[j]) for j in range(i, c.n)) for i, t in enumerate(tau)
        ]
    if hand is not None and model.hand >= 0:
        # force . dp/dq + moment . (axis of the turn), the latter from dR R^T =
        # tilde(axis): half the skew part.
        T = W[model.hand] @ homogeneous(model.R_hand, model.p_hand)
        force, moment = T[:3, :3] @ hand.force, T[:3, :3] @ hand.moment
        for i in range(min(model.hand + 1, c.n)):
            dT = U[model.hand][i] @ homogeneous(model.R_hand, model.p_hand)
            spin = dT[:3, :3] @ T[:3, :3].T
            axis = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            tau[i] = tau[i] - force @ dT[:3, 3] - moment @ axis
    return tau


STAGES: dict[str, Callable[[ChainMatrices, Note], Values]] = {
    "lagrange-naive": naive,
    "lagrange-uicker": uicker,
    "lagrange-stored": stored,
    "lagrange-recursive": recursive,
    "lagrange-recursive-d": recursive_d,
    "lagrange-waters": waters,
}


def by_stage(name: str) -> Callable[..., Values]:
    """A stage as a formulation like the others; `matrices` computes its inputs."""

    def torques(
        model: Model,
        q: Vector,
        qd: Vector,
        qdd: Vector,
        base: Base = AT_REST,
        hand: Wrench | None = None,
        note: Note = silent,
        matrices: Callable[..., ChainMatrices] = matrices_of,
    ) -> Values:
        refuse_tree(model, name)
        c = matrices(model, q, qd, qdd)
        return with_surroundings(model, c, base, hand, STAGES[name](c, note))

    return torques
