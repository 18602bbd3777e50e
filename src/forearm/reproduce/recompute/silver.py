"""Silver's identities between w and Wd as residuals on an arm with both types of joint, and his counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics import (
    angular_velocity,
    inertia_matrix,
    inverse,
    potential_energy,
    rotation_rate,
    trace,
    variant,
)
from forearm.files.builtin import load_builtin
from forearm.kinematics import forward, jacobian, jacobian_derivative
from forearm.reproduce.recompute import Figures, apart
from forearm.spatial import Floats, inertia_from_pseudo, pseudo_from_inertia, tilde

ARM, LINK = "stanford", "link6"  # five revolute joints, one prismatic
H = 1e-5  # rad, m, s: step of the central differences, of second order
PUBLISHED = ("uicker", "hollerbach-4x4", "hollerbach-3x3", "newton-euler")


class LinkState:
    """A link at a state: rotation W, central inertia tensor, columns dv/dqd_j and dw/dqd_j."""

    def __init__(self, arm: Arm, q: Floats, qd: Floats) -> None:
        body = arm.link(LINK)
        self.W = forward(arm, q, link=LINK)[:3, :3]
        self.own = body.inertia
        self.tensor = self.W @ self.own @ self.W.T
        J = jacobian(arm, q, link=LINK, point=body.com)
        Jd = jacobian_derivative(arm, q, qd, link=LINK, point=body.com)
        (self.dv, self.dw), (self.dv_rate, self.dw_rate) = (J[:3], J[3:]), (Jd[:3], Jd[3:])
        self.v, self.w = self.dv @ qd, self.dw @ qd


def state() -> tuple[Arm, Floats, Floats, Floats]:
    """The arm without drives, and one random q, qd, qdd."""
    arm = load_builtin(ARM).rigid()
    q, qd, qdd = np.random.default_rng(1981).uniform(0.2, 0.9, (3, arm.n))
    return arm, q, qd, qdd


def cross_tensor() -> Figures:
    """Silver 2.2, (2.2)-(2.4): the components of P, from the cross-product matrices of the basis vectors,
    and its two identities.
    """
    one = np.eye(3)
    P = np.array([tilde(e).T for e in one])  # P_ijk = (e_i x e_j) . e_k
    pairs = np.einsum("jl,km->jklm", one, one) - np.einsum("jm,kl->jklm", one, one)
    arm, q, qd, _ = state()
    W = LinkState(arm, q, qd).W
    even = [P[i, j, k] for i, j, k in product(range(3), repeat=3) if (j - i) % 3 == 1 and (k - j) % 3 == 1]
    odd = [P[i, j, k] for i, j, k in product(range(3), repeat=3) if (j - i) % 3 == 2 and (k - j) % 3 == 2]
    return {
        "P of an even permutation": common(even),
        "P of an odd permutation": common(odd),
        "P otherwise": np.abs(P).sum() - np.abs(even).sum() - np.abs(odd).sum(),
        "2.2, W W^T - 1": apart(W @ W.T, one),
        "2.3": apart(np.einsum("ijk,ijl->kl", P, P), 2.0 * one),
        "2.4": apart(np.einsum("ijk,ilm->jklm", P, P), pairs),
    }


def freedoms() -> Figures:
    """Silver 1.5: how many of the nine components of Wd the rates of the joints move independently."""
    arm, q, qd, _ = state()
    at = LinkState(arm, q, qd)
    rates = np.array([rotation_rate(w, at.W).ravel() for w in at.dw.T])
    return {"independent": np.linalg.matrix_rank(rates)}


def rotations() -> Figures:
    """Silver (2.5)-(2.11) and the table of 2.4: relative residuals between both representations."""
    arm, q, qd, qdd = state()
    at, after, before = LinkState(arm, q, qd), LinkState(arm, q + H * qd, qd), LinkState(arm, q - H * qd, qd)
    W, w, own = at.W, at.w, at.own
    Wd = rotation_rate(w, W)
    wd = at.dw @ qdd + at.dw_rate @ qd
    Wdd = tilde(wd) @ W + tilde(w) @ tilde(w) @ W
    J = pseudo_from_inertia(own)
    moment = at.tensor @ wd + np.cross(w, at.tensor @ w)
    by_W = np.array([np.trace(tilde(c) @ W @ J @ Wdd.T) for c in at.dw.T])
    return {
        "2.5, against a difference quotient of W": apart(Wd, (after.W - before.W) / (2.0 * H)),
        "2.6": apart(angular_velocity(W, Wd), w),
        "2.8 and 2.10, kinetic energy": apart(0.5 * np.trace(Wd @ J @ Wd.T), 0.5 * w @ at.tensor @ w),
        "2.11, I from J": apart(inertia_from_pseudo(J), own),
        "2.11, J from I": apart(0.5 * np.trace(own) * np.eye(3) - own, J),
        "table of 2.4, generalised force": apart(by_W, moment @ at.dw),
    }


def derivation() -> Figures:
    """Silver (3.4)-(3.7), (3.10), (A.2), (A.3) of one link: relative residuals of both sides."""
    arm, q, qd, _ = state()
    at = LinkState(arm, q, qd)
    w, c = at.w, at.dw
    pushed = [(LinkState(arm, q + step, qd), LinkState(arm, q - step, qd)) for step in H * np.eye(arm.n)]
    dv, dw, dI = (
        [(getattr(up, name) - getattr(down, name)) / (2.0 * H) for up, down in pushed]
        for name in ("v", "w", "tensor")
    )
    Wd = rotation_rate(w, at.W)
    rate = Wd @ at.own @ at.W.T + at.W @ at.own @ Wd.T
    turning = np.cross(w, at.tensor @ w)
    moved = np.array(
        [[(up.dw[:, k] - down.dw[:, k]) / (2.0 * H) for up, down in pushed] for k in range(arm.n)]
    )
    pairs = [(k, j) for k in range(arm.n) for j in range(k + 1)]
    spins = np.cumsum(c * qd, axis=1)  # w_j of the links before, from the joints up to j
    return {
        "3.4": apart(at.dv_rate, np.array(dv).T),
        "3.5": apart(w @ rate @ c, turning @ c),
        "3.6": apart(at.dw_rate, np.array(dw).T + np.cross(w, c.T).T),
        "3.7": apart(w @ at.tensor @ np.cross(w, c.T).T, -turning @ c),
        "3.10": apart(np.array([0.5 * w @ d @ w for d in dI]), -turning @ c),
        "A.2": apart(at.dw_rate, np.cross(spins.T, c.T).T),
        "A.3": apart(
            np.array([moved[k, j] for k, j in pairs]),
            np.array([np.cross(c[:, j], c[:, k]) for k, j in pairs]),
        ),
    }


def forces() -> Figures:
    """Silver (1.2), (3.1), (3.11)-(3.16) and 3.2: generalised forces by his double sum against other
    formulations, and gravity in two ways.
    """
    arm, q, qd, qdd = state()
    silver = inverse(arm, q, qd, qdd, formulation="lagrange-silver")
    links = trace(arm, q, qd, qdd, formulation="lagrange-silver")
    none, weightless = np.zeros(3), arm.replace(gravity=(0.0, 0.0, 0.0))
    lifted = inverse(
        weightless, q, qd, qdd, formulation="lagrange-silver", base_motion=(none, none, -arm.gravity)
    )
    steps = H * np.eye(arm.n)
    slope = np.array(
        [(potential_energy(arm, q + s) - potential_energy(arm, q - s)) / (2.0 * H) for s in steps]
    )
    force, moment = np.array([3.0, -2.0, 5.0]), np.array([0.4, 0.7, -0.2])
    T = forward(arm, q)[:3, :3]
    at_rest = inverse(arm, q, 0.0 * q, 0.0 * q, formulation="lagrange-silver")
    pushed = inverse(arm, q, qd, qdd, formulation="lagrange-silver", hand_force=force, hand_moment=moment)
    energy = sum(0.5 * m * v @ v + 0.5 * w @ tensor @ w for m, v, w, tensor in _each(arm, q, qd))
    return {
        "3.1, kinetic energy of the chain": apart(np.array(energy), 0.5 * qd @ inertia_matrix(arm, q) @ qd),
        "3.11 against Newton-Euler": apart(silver, inverse(arm, q, qd, qdd, formulation="newton-euler")),
        "3.11 against 1.2 in W": apart(silver, variant(arm, "silver-w", q, qd, qdd)),
        "3.14, w of the last link": apart(np.array(links[LINK]["w"]), jacobian(arm, q)[3:] @ qd),
        "3.2, gravity as acceleration of the base": apart(lifted, silver),
        "3.2, gravity as potential energy": apart(slope, at_rest),
        "3.2, force and moment on the hand": apart(
            silver - pushed, jacobian(arm, q).T @ np.r_[T @ force, T @ moment]
        ),
    }


def published() -> Figures:
    """Silver 1.2, 1.4: ratios of published counts, multiplications plus additions, six links."""
    from forearm.counting.printed import figure

    counts = [sum(figure(f"dhanaraj-1.1-{name}")["printed"]) for name in PUBLISHED]
    return {"operations": counts[0]} | ratios(*counts)


def ratios(direct: float, big: float, small: float, plain: float) -> Figures:
    """What he compares: Uicker's form, the recursions on 4x4 and on 3x3 matrices, and Newton-Euler."""
    return {
        "4x4 over Newton-Euler": big / plain,
        "direct over 4x4": direct / big,
        "4x4 over 3x3": big / small,
        "3x3 over Newton-Euler": small / plain,
    }


def growth() -> Figures:
    """Silver 1.2-1.4: the order in n of our counts of the formulations he names."""
    from forearm.counting.cost import general

    names = {
        "direct (1.2)": "lagrange-uicker",
        "Newton-Euler": "newton-euler",
        "recursive, 4x4": "lagrange-hollerbach-4x4",
        "recursive, 3x3": "lagrange-hollerbach",
    }
    return {label: general(name).degree for label, name in names.items()}


def _each(arm: Arm, q: Floats, qd: Floats) -> list[tuple[float, Floats, Floats, Floats]]:
    """For every link: mass, velocity of the centre of mass, angular velocity, inertia; in base axes."""
    made = []
    for name in (f"link{i + 1}" for i in range(arm.n)):
        J = jacobian(arm, q, link=name, point=arm.link(name).com)
        R = forward(arm, q, link=name)[:3, :3]
        made.append((arm.link(name).mass, J[:3] @ qd, J[3:] @ qd, R @ arm.link(name).inertia @ R.T))
    return made


def common(values: Sequence[float]) -> float:
    """The common value, NaN if they differ."""
    return float(values[0]) if len(set(values)) == 1 else float("nan")
