"""Forward dynamics by conjugate gradients and by articulated bodies. Swartz (13)-(15); Walker-Orin 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import rotor_inertia
from forearm.dynamics.symmetric import mirrored, turned, turned_symmetric
from forearm.errors import Advice, ModelError, Sentence, shorten
from forearm.model import (
    AT_REST,
    Array,
    Base,
    JointTransform,
    Model,
    Vector,
    Wrench,
    children,
    cross,
    steps,
    tilde,
)
from forearm.symbols.scalars import Values

CONVERGED = 1e-14  # of the right-hand side's norm: tolerance of the residual


def idle_joints(arm: Arm) -> list[str]:
    """The degrees of freedom that move neither mass nor inertia nor a rotor."""
    bodies = arm.moving.bodies
    carries = [bool(body.mass or body.inertia.any()) for body in bodies]
    for i, body in reversed(list(enumerate(bodies))):
        if body.parent >= 0 and carries[i]:
            carries[body.parent] = True
    moved = {body.freedom for body, loaded in zip(bodies, carries, strict=True) if loaded}
    rotors = rotor_inertia(arm)
    return [joint.name for i, joint in enumerate(arm.joints) if i not in moved and rotors[i] == 0.0]


def singular(arm: Arm, q: Array | None = None) -> ModelError:
    """The error message for torques that do not determine accelerations, at q or anywhere."""
    if idle := idle_joints(arm):
        return ModelError(
            f"{', '.join(idle[:5])}{', ...' if idle[5:] else ''} "
            f"{'moves' if len(idle) == 1 else 'move'} neither mass nor inertia, so that the "
            "inertia matrix is singular and no torque fixes the acceleration. Give the links "
            f"behind mass, the motor a rotor inertia, or hold the joint: arm.lock({{{idle[0]!r}"
            ": 0.0}).",
            f"forward dynamics of {arm.name!r}",
        )
    where = "every q" if q is None else f"q = {shorten(q.tolist())}"
    return ModelError(
        Sentence(
            f"the inertia matrix is singular at {where}: a joint moves no inertia about its axis. ",
            Advice("fa.checking.check(arm)", "'forearm check'"),
            " names it; give the links behind it inertia.",
        ),
        f"forward dynamics of {arm.name!r}",
    )


def conjugate_gradient(product: Callable[[Array], Array], right: Array, steps: int | None = None) -> Array:
    """Solve M x = right without forming M: `product` computes M p by inverse dynamics. Walker-Orin 4.

    In exact arithmetic n steps suffice; with rounding a few more may be needed. With `steps` exactly that
    many are taken, over any scalar and without a convergence test; otherwise it iterates over floats until
    convergence.
    """
    x = np.zeros(len(right))
    residual = np.array(right, dtype=float if steps is None else None)
    p, rr = residual.copy(), residual @ residual
    first = rr
    for _ in range(20 * len(right) + 20 if steps is None else steps):
        if steps is None and rr <= CONVERGED**2 * first:
            break
        Mp = product(p)
        pMp = p @ Mp
        if steps is None and not pMp > 0.0:  # M is singular: no inertia in this direction
            break
        step = rr / pMp
        x, residual = x + step * p, residual - step * Mp
        before, rr = rr, residual @ residual
        p = residual + (rr / before) * p
    return x


def articulated_body(
    model: Model,
    q: Vector,
    qd: Vector,
    tau: Vector,
    rotor: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
) -> Values:
    """Accelerations by articulated-body inertias, linear in n. Mata 5.1, after Featherstone.

    Spatial quantities are (angular, linear) at each link's joint origin, in the link's axes; an inertia is
    [[I, H], [H^T, M]]. `rotor` is the motor inertia added on each joint's diagonal.
    """
    at = steps(model, q)
    inertia, push, drift = _own(model, at, qd, base, hand)
    U, d, u = _articulated(model, at, inertia, push, drift, tau, rotor)
    a = {-1: (base.wd, base.a - model.g)}
    qdd = []
    for i, body in enumerate(model.bodies):
        step = at[i]
        lever = _lever(model, i, step)
        angular, linear = a[body.parent]
        reached = np.concatenate([step.down(angular), step.down(linear + cross(angular, lever))]) + drift[i]
        qdd.append((u[i] - U[i] @ reached) / d[i])
        own = body.z * qdd[i]
        a[i] = (reached[:3] + own, reached[3:]) if body.revolute else (reached[:3], reached[3:] + own)
    return qdd


def _own(
    model: Model, at: list[JointTransform], qd: Vector, base: Base, hand: Wrench | None
) -> tuple[list[Array], list[Array], list[Array]]:
    """Outward pass, for each body alone: its inertia, its velocity-dependent force, and its
    velocity-dependent acceleration.
    """
    w = {-1: base.w}
    inertia = []
    push = []
    drift = []
    for i, body in enumerate(model.bodies):
        k, step, z = body.parent, at[i], body.z
        w_in = step.down(w[k])
        lever = _lever(model, i, step)
        centripetal = step.down(cross(w[k], cross(w[k], lever)))
        if body.revolute:
            w[i] = w_in + z * qd[i]
            drift.append(np.concatenate([cross(w_in, z * qd[i]), centripetal]))
        else:
            w[i] = w_in
            drift.append(np.concatenate([np.zeros(3), centripetal + 2.0 * cross(w_in, z * qd[i])]))
        centre = body.r + body.s
        C, m = tilde(centre), body.m
        inertia.append(block(body.I - m * (C @ C), m * C, m * np.eye(3)))
        spin = cross(w[i], cross(w[i], centre)) * m
        push.append(np.concatenate([cross(w[i], body.I @ w[i]) + cross(centre, spin), spin]))
    if hand is not None and model.hand >= 0:
        force = model.R_hand @ hand.force
        lever = model.p_hand + model.bodies[model.hand].s
        push[model.hand] = push[model.hand] - np.concatenate(
            [model.R_hand @ hand.moment + cross(lever, force), force]
        )
    return inertia, push, drift


def _articulated(
    model: Model,
    at: list[JointTransform],
    inertia: list[Array],
    push: list[Array],
    drift: list[Array],
    tau: Vector,
    rotor: Vector,
) -> tuple[list[Array], Values, Values]:
    """Inward pass: the force U for a unit acceleration of each joint, its component d along the axis, and the
    residual joint torque u.
    """
    count = len(model.bodies)
    on = children(model)
    U: list[Any] = [None] * count
    d: list[Any] = [None] * count
    u: list[Any] = [None] * count
    for i in reversed(range(count)):
        body = model.bodies[i]
        for c in on[i]:
            rest = mirrored(inertia[c] - U[c][:, None] * (U[c] / d[c])[None, :])
            need = push[c] + rest @ drift[c] + U[c] * (u[c] / d[c])
            lever = at[c].l + body.s
            inertia[i] = inertia[i] + moved_inertia(at[c], rest, lever)
            push[i] = push[i] + moved_force(at[c], need, lever)
        axis = np.concatenate([body.z, np.zeros(3)] if body.revolute else [np.zeros(3), body.z])
        U[i] = inertia[i] @ axis
        d[i] = axis @ U[i] + rotor[i]
        u[i] = tau[i] - axis @ push[i]
    return U, d, u


def _lever(model: Model, i: int, step: JointTransform) -> Array:
    """From the parent's joint origin to that of body i, in the parent's axes."""
    k = model.bodies[i].parent
    return step.l if k < 0 else step.l + model.bodies[k].s


def block(I: Array, H: Array, M: Array) -> Array:  # noqa: E741
    """[[I, H], [H^T, M]]."""
    return np.vstack([np.hstack([I, H]), np.hstack([H.T, M])])


def moved_inertia(step: JointTransform, X: Array, lever: Array) -> Array:
    """An articulated inertia, transformed to the parent's joint origin and axes."""
    I, H, M = turned_symmetric(step, X[:3, :3]), turned(step, X[:3, 3:]), turned_symmetric(step, X[3:, 3:])  # noqa: E741
    C = tilde(lever)
    raised = H + C @ M
    return block(mirrored(I + C @ H.T + raised @ C.T), raised, M)


def moved_force(step: JointTransform, f: Array, lever: Array) -> Array:
    """A spatial force, transformed to the parent's joint origin and axes."""
    moment, force = step.up(f[:3]), step.up(f[3:])
    return np.concatenate([moment + cross(lever, force), force])
