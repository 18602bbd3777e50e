"""Mata's algorithms 4.1 and 4.2 by the accounting that yields his printed counts, where our recursions
fold more. Mata 4.1, 4.2.

He prints no counts for the first two links and the last, only the totals over all links. `Accounting` has the
choices that are open there; its defaults yield his totals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from forearm.counting.counts import GENERAL, conventional
from forearm.counting.models import chain
from forearm.dynamics.gibbs_appell import skew_part
from forearm.dynamics.modified_newton_euler import acceleration_matrix, mixed_products
from forearm.model import Array, JointTransform, Model, RigidBody, cross, steps, tilde
from forearm.spatial import pseudo_from_inertia
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder
from forearm.values import frozen

Z = np.array([0.0, 0.0, 1.0])
UPPER = np.triu_indices(3)
# How Omega_1, whose last row and column are 0, is multiplied by a vector and added to (0, 0, g): with nine
# products, the six of its upper rows, or the four nonzero ones; "and g": 0 + g counts as an addition.
OmegaProduct = Literal["nine, and g", "six, and g", "six", "four, and g", "four"]


@dataclass(frozen=True)
class Accounting:
    """Choices in counting 4.1 at the first two links and the last.

    Attributes:
        to_joint_2: how Omega_1 s_12 is computed.
        to_centre_1: how Omega_1 r_11 is computed.
        whole_f: whether f_1 is computed in full, though no torque needs its last component.
        whole_phi: whether phi_1 is computed in full, though no torque needs its last component.
        last_phi: whether phi_n = 0 is added to f_n.
        known_sum: t_1 as (J_xx + J_yy) times the acceleration of joint 1 with a precomputed sum;
            otherwise two products.
        no_moment: whether t_1 = 0 is added to chi_1 without joint accelerations.
        flat_Omega: whether Omega_2 omits two additions without joint accelerations, as link 2 then has no
            angular acceleration along its axis.
        flat_turn: whether the same zero is omitted in the rotation to link 3.
    """

    to_joint_2: OmegaProduct = "nine, and g"
    to_centre_1: OmegaProduct = "four, and g"
    whole_f: bool = True
    whole_phi: bool = True
    last_phi: bool = False
    known_sum: bool = True
    no_moment: bool = True
    flat_Omega: bool = True
    flat_turn: bool = False


HIS = Accounting()


@frozen
class CountedChain:
    """A generic chain at a state, gravity along z0, over recording scalars or floats."""

    model: Model
    at: list[JointTransform]
    qd: Any
    qdd: Any
    gravity: Any
    graph: Recorder | None = None

    def opened(self, value: Any) -> Any:
        """The value with an input in place of each plain number, so that nothing folds."""
        if isinstance(value, np.ndarray):
            return np.array([self.opened(x) for x in value])
        if self.graph is None or not isinstance(value, float):
            return value
        return self.graph.input(f"{value} at {len(self.graph)}")

    def given(self, value: Array) -> Array:
        """The array with an input in place of every entry, so that none is known offline."""
        return value if self.graph is None else self.graph.inputs(f"given at {len(self.graph)}", *value.shape)


def recorded(n: int, accelerating: bool = True) -> CountedChain:
    """The chain of n revolute joints, z0 along the first axis, over recording scalars."""
    graph = Recorder()
    model = conventional(chain(n, aligned=True).model(), graph, GENERAL)
    at = steps(model, graph.inputs("q", n))
    qdd = graph.inputs("qdd", n) if accelerating else [0.0] * n
    return CountedChain(model, at, graph.inputs("qd", n), qdd, graph.input("g"), graph)


def count_41(n: int, accelerating: bool = True, by: Accounting = HIS) -> Counts:
    """Operations of 4.1 for n revolute joints; without joint accelerations, those of the bias."""
    on = recorded(n, accelerating)
    tau, whole = inverse_41(on, by)
    assert on.graph is not None
    return on.graph.counts([*tau, whole])


def inverse_41(on: CountedChain, by: Accounting = HIS) -> tuple[list[Any], Array]:
    """Steps 1 to 3: the torques, and other values computed in full."""
    f, t = _outward(on, by)
    last = len(f) - 1
    every = f[last] + on.opened(np.zeros(3)) if by.last_phi else f[last]
    chi = cross(on.model.bodies[last].r, f[last]) + t[last]
    tau, phi = [chi[2]], every
    for i in reversed(range(last)):
        phi = on.at[i + 1].up(every)
        chi = cross(on.model.bodies[i].r, f[i]) + cross(on.at[i + 1].l, phi) + on.at[i + 1].up(chi) + t[i]
        every = f[i] + phi
        tau.insert(0, chi[2])
    return tau, np.concatenate([f[0] if by.whole_f else [], phi if by.whole_phi else []])


def _outward(on: CountedChain, by: Accounting) -> tuple[list[Array], list[Array]]:
    """Steps 1 and 2: f and t of every link."""
    w, wd = Z * on.qd[0], Z * on.qdd[0]
    Omega, sdd = acceleration_matrix(w, wd, mixed_products(w)), Z * on.gravity
    f, t = [], []
    for i, body in enumerate(on.model.bodies):
        if i > 0:
            step = on.at[i]
            lifted = _lifted(on, sdd, Omega, step.l, by.to_joint_2) if i == 1 else sdd + Omega @ step.l
            sdd, w_in = step.down(lifted), step.down(w)
            w = w_in + Z * on.qd[i]
            flat = wd if i != 2 or by.flat_turn else on.opened(wd)
            wd = step.down(flat) + Z * on.qdd[i] + cross(w_in, Z * on.qd[i])
            turned = wd if i != 1 or by.flat_Omega else on.opened(wd)
            Omega = acceleration_matrix(w, turned, mixed_products(w))
        rdd = _lifted(on, sdd, Omega, body.r, by.to_centre_1) if i == 0 else sdd + Omega @ body.r
        f.append(body.m * rdd)
        moment = _first_moment(on, by) if i == 0 else skew_part(Omega, pseudo_from_inertia(body.I))
        t.append(moment)
    return f, t


def _lifted(on: CountedChain, sdd: Array, Omega: Array, s: Array, way: OmegaProduct) -> Array:
    """sdd + Omega s of the first link, by one of the `OmegaProduct` choices."""
    products, _, summed = way.partition(", ")
    whole = {"nine": 3, "six": 2, "four": 0}[products]  # rows
    x, y, z = np.array([*(on.opened(row) for row in Omega[:whole]), *Omega[whole:]]) @ s
    return sdd + np.array([x, y, on.opened(z) if summed else z])


def _first_moment(on: CountedChain, by: Accounting) -> Array:
    """t_1, of which only the last component enters a torque."""
    J, qdd = pseudo_from_inertia(on.model.bodies[0].I), on.qdd[0]
    last = (J[0, 0] + J[1, 1]) * qdd if by.known_sum else J[0, 0] * qdd + J[1, 1] * qdd
    return np.array([0.0, 0.0, on.opened(last) if by.no_moment else last])


def count_42(n: int) -> Counts:
    """Operations of 4.2 for n revolute joints."""
    on = recorded(n)
    assert on.graph is not None
    D, whole = inertia_42(on)
    return on.graph.counts([*D.flat, *whole])


def count_psi() -> tuple[Counts, Counts]:
    """Operations of one psi in step 5, and of the one entry of psi_1 that is needed."""
    on = recorded(3)
    assert on.graph is not None
    own, phi, outer = (
        on.graph.inputs(name, *shape) for name, shape in (("E", (3, 3)), ("phi", (3,)), ("psi", (3, 3)))
    )
    whole = _psi(on.at[2], own, phi, on.given(outer), on)
    return on.graph.counts(whole[UPPER]), on.graph.counts(_last_entry(on.at[2], own, phi, outer, on))


def inertia_42(on: CountedChain) -> tuple[Array, Array]:
    """Steps 1 to 7: the inertia matrix, and values computed in full though not all entries are needed.

    Rotated quantities count as unknown offline; the last column of a link's rotation is available.
    """
    bodies, n = on.model.bodies, len(on.model.bodies)
    mass, phi, psi = bodies[-1].m, [bodies[-1].m * bodies[-1].r], [_about_origin(bodies[-1])]
    for i in range(n - 2, -1, -1):
        s, body = on.at[i + 1].l, bodies[i]
        turned, outer = on.at[i + 1].up(on.given(phi[0])), on.given(psi[0])
        own = _about_origin(body) - mass * (tilde(s) @ tilde(s))
        psi.insert(0, _psi(on.at[i + 1], own, turned, outer, on))
        if i == 0:
            first = _last_entry(on.at[1], own, turned, outer, on)
        phi.insert(0, body.m * body.r + mass * s + turned)
        mass = mass + body.m
    D = np.zeros((n, n), dtype=psi[0].dtype)
    z, s = _ways(on)
    for j in range(n):
        D[j, j] = psi[j][2, 2] if j > 0 else first
        for k in range(j):
            D[j, k] = D[k, j] = z[k, j] @ (psi[j][:, 2] + cross(s[k, j], cross(Z, phi[j])))
    return D, np.concatenate([*phi, *(tensor[UPPER] for tensor in psi[1:])])


def _ways(on: CountedChain) -> tuple[dict[tuple[int, int], Array], dict[tuple[int, int], Array]]:
    """Steps 2 and 3: the axis of joint k, and the vector from its origin to that of joint j, in axes of j."""
    z: dict[tuple[int, int], Array] = {}
    turned: dict[tuple[int, int], Array] = {}
    s: dict[tuple[int, int], Array] = {}
    for j in range(1, len(on.at)):
        step = on.at[j]
        for k in range(j):
            z[k, j] = on.given(step.down(Z)) if k == j - 1 else step.down(z[k, j - 1])
            turned[k, j] = step.down(on.given(step.l) if k == j - 1 else turned[k, j - 1])
        for k in reversed(range(j)):
            s[k, j] = turned[k, j] + s[k + 1, j] if k < j - 1 else turned[k, j]
    return z, s


def _psi(step: JointTransform, own: Array, phi: Array, outer: Array, on: CountedChain) -> Array:
    """Step 5: E - tilde(s) tilde(phi) - (tilde(s) tilde(phi))^T + R psi R^T, with 2 s precomputed
    and squares and products of cosine and sine recomputed at each rotation, the twist included.
    """
    (x, y, z), (fx, fy, fz) = step.l, phi
    xx, yy, zz = (2.0 * a * b for a, b in zip(step.l, phi, strict=True))
    xy, xz, yz = -(x * fy + y * fx), -(x * fz + z * fx), -(y * fz + z * fy)
    moved = np.array([[yy + zz, xy, xz], [xy, xx + zz, yz], [xz, yz, xx + yy]])
    return own + moved + turned_by_squares(_twist(step, on), 0, turned_by_squares(step.Rz, 2, outer))


def _last_entry(step: JointTransform, own: Array, phi: Array, outer: Array, on: CountedChain) -> Any:
    """psi_1 about the joint's axis: the quadratic form of psi_2 with the last row of R, computed first."""
    r = step.Rz.T @ _twist(step, on)[2]
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = outer
    row = (xx * r[0] + (xy + xy) * r[1] + (xz + xz) * r[2]) * r[0] + (yy * r[1] + (yz + yz) * r[2]) * r[1]
    x, y, _ = step.l
    return own[2, 2] + (2.0 * x * phi[0] + 2.0 * y * phi[1]) + (row + zz * r[2] * r[2])


def _twist(step: JointTransform, on: CountedChain) -> Array:
    """The twist before a joint, with cosine and sine unknown offline."""
    Rb = step.body.Rb
    c, s = on.given(Rb[1:, 1])
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]], dtype=Rb.dtype)


def turned_by_squares(R: Array, k: int, S: Array) -> Array:
    """R S R^T of a symmetric S for a rotation about axis k: 11 multiplications, 11 additions."""
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = R[i, i], R[j, i]
    cc, cs = c * c, c * s
    ss, twice = 1.0 - cc, cs + cs
    made = np.array(S)
    made[i, i] = cc * S[i, i] + ss * S[j, j] - twice * S[i, j]
    made[j, j] = S[i, i] + S[j, j] - made[i, i]
    made[i, j] = made[j, i] = cs * (S[i, i] - S[j, j]) + (cc - ss) * S[i, j]
    made[i, k] = made[k, i] = c * S[i, k] - s * S[j, k]
    made[j, k] = made[k, j] = s * S[i, k] + c * S[j, k]
    return made


def _about_origin(body: RigidBody) -> Array:
    """The inertia about the origin of the link's frame."""
    return body.I - body.m * (tilde(body.r) @ tilde(body.r))
