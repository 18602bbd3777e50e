"""The inertia matrix by unit accelerations and by composite bodies.
Swartz p. 10-12, Walker-Orin 1, 2 and 3.
"""

from __future__ import annotations

import numpy as np

from forearm.dynamics.energy import without_gravity
from forearm.dynamics.newton_euler import inward, newton_euler
from forearm.dynamics.symmetric import mirrored, turned_symmetric, zeros
from forearm.model import Array, Model, Note, Vector, children, noted, silent, steps, tilde
from forearm.symbols.scalars import is_zero


def inertia_unit_acceleration(model: Model, q: Vector, note: Note = silent) -> Array:
    """Column j is the torque of a unit acceleration of joint j at rest without gravity. Swartz p. 10."""
    still = without_gravity(model)
    count = len(model.bodies)
    H = zeros(model)
    for j in range(count):
        unit = np.zeros(count)
        unit[j] = 1.0
        H[:, j] = newton_euler(still, q, np.zeros(count), unit)
        note("H", j, H[:, j])
    return H


def inertia_moving_links(model: Model, q: Vector) -> Array:
    """As by unit accelerations, but only the links behind joint j move, and only the elements
    on its way down are new.

    Walker-Orin 2: at rest the links before joint j have no acceleration, and H is symmetric.
    """
    at, cross = steps(model, q), model.cross
    count = len(model.bodies)
    H = zeros(model)
    for j in range(count):
        wd = {}
        a = {}
        F, N = [np.zeros(3) for _ in range(count)], [np.zeros(3) for _ in range(count)]
        for i in range(j, count):
            body, step = model.bodies[i], at[i]
            if i == j:
                wd[i] = body.z if body.revolute else np.zeros(3)
                a[i] = cross(body.z, body.s) if body.revolute else body.z
            elif body.parent in wd:
                wd[i] = step.down(wd[body.parent])
                a[i] = step.down(a[body.parent] + cross(wd[body.parent], step.l)) + cross(wd[i], body.s)
            else:
                continue  # on another branch
            F[i] = body.m * (a[i] + cross(wd[i], body.r))
            N[i] = body.I @ wd[i]
        column = inward(model, at, F, N, None, silent)
        i = j
        while i >= 0:
            H[i, j] = H[j, i] = column[i]
            i = model.bodies[i].parent
    return H


def inertia_composite_body(model: Model, q: Vector, note: Note = silent) -> Array:
    """Links j to N as one rigid "hand" that joint j accelerates; forces passed down the static
    arm. Swartz (16)-(26).
    """
    at = steps(model, q)
    count = len(model.bodies)
    on = children(model)
    M, c, E = ([None] * count for _ in range(3))
    for j in reversed(range(count)):
        # (16)-(18): mass, centre and inertia of the composite, about its centre, in the axes of link j
        pieces = [(model.bodies[j].m, model.bodies[j].r, model.bodies[j].I)]
        pieces += [(M[k], at[k].l + at[k].up(c[k]), turned_symmetric(at[k], E[k])) for k in on[j]]
        mass, first = pieces[0][0], pieces[0][0] * pieces[0][1]
        for m, r, _ in pieces[1:]:
            mass, first = mass + m, first + m * r
        centre = pieces[0][1] if is_zero(mass) else first * (1.0 / mass)
        inertia = pieces[0][2]
        for m, r, own in pieces[1:]:
            inertia = inertia + own - m * (tilde(r - centre) @ tilde(r - centre))
        if len(pieces) > 1:
            shift = tilde(pieces[0][1] - centre)
            inertia = inertia - pieces[0][0] * (shift @ shift)
        s = model.bodies[j].s
        M[j], c[j], E[j] = mass, (centre if model.bodies[j].ends_at_joint else centre + s), mirrored(inertia)
        noted(note, j, M=M[j], c=c[j], E=E[j])
    H, cross = zeros(model), model.cross
    for j in range(count):
        body, z = model.bodies[j], model.bodies[j].z
        # (19)-(22); c is measured from the joint's origin here, Swartz's c + p
        if body.revolute:
            f = M[j] * cross(z, c[j])
            n = E[j] @ z + cross(c[j], f)
        else:
            f = M[j] * z
            n = cross(c[j], f)
        H[j, j] = z @ n if body.revolute else z @ f
        # (24)-(26): n about the joint's origin, taken down to each joint before
        i = j
        while model.bodies[i].parent >= 0:
            step, below = at[i], model.bodies[model.bodies[i].parent]
            f = step.up(f)
            n = step.up(n) + cross(step.l, f)
            if not below.ends_at_joint:
                n = n + cross(below.s, f)
            i = model.bodies[i].parent
            H[i, j] = H[j, i] = below.z @ n if below.revolute else below.z @ f
        note("H", j, H[: j + 1, j])
    return H
