"""Kane's equations with the natural orthogonal complement, linear in n. Angeles, Ma and Rojas, cited by Mata.

The twist of a body is (w, velocity of its centre of mass); tau = T^T (M td + W M t), with T the complement
that maps joint rates to twists. The recursion multiplies by T^T without forming it.
"""

from __future__ import annotations

from forearm.dynamics.gibbs_appell import partials
from forearm.dynamics.symmetric import zeros
from forearm.model import AT_REST, Array, Base, Model, Note, Vector, Wrench, children, noted, silent, steps
from forearm.symbols.scalars import Values


def kane(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """Joint torques and forces: inertia wrenches projected on the joints' partial twists, inwards."""
    at, cross = steps(model, q), model.cross
    count = len(model.bodies)
    # Outwards from centre of mass to centre of mass: levers from the parent's centre to the joint
    # and on to the body's own centre.
    w, wd, cdd = {-1: base.w}, {-1: base.wd}, {-1: base.a - model.g}
    ahead, behind, moment, force = [], [], [], []
    for i, body in enumerate(model.bodies):
        k, step, z = body.parent, at[i], body.z
        ahead.append(step.l if k < 0 else step.l - model.bodies[k].r)
        behind.append(body.r if body.ends_at_joint else body.r + body.s)
        w_in = step.down(w[k])
        acceleration = step.down(cdd[k] + cross(wd[k], ahead[i]) + cross(w[k], cross(w[k], ahead[i])))
        if body.revolute:
            w[i] = w_in + z * qd[i]
            wd[i] = step.down(wd[k]) + z * qdd[i] + cross(w_in, z * qd[i])
        else:
            w[i], wd[i] = w_in, step.down(wd[k])
            acceleration = acceleration + z * qdd[i] + 2.0 * cross(w_in, z * qd[i])
        cdd[i] = acceleration + cross(wd[i], behind[i]) + cross(w[i], cross(w[i], behind[i]))
        moment.append(body.I @ wd[i] + cross(w[i], body.I @ w[i]))
        force.append(body.m * cdd[i])
        noted(note, i, w=w[i], wd=wd[i], cdd=cdd[i])
    if hand is not None and model.hand >= 0:
        push = model.R_hand @ hand.force
        force[model.hand] = force[model.hand] - push
        lever = model.p_hand - model.bodies[model.hand].r
        moment[model.hand] = moment[model.hand] - model.R_hand @ hand.moment - cross(lever, push)
    tau = [None] * count
    on = children(model)
    for i in reversed(range(count)):
        body = model.bodies[i]
        for c in on[i]:
            push = at[c].up(force[c])
            turn = at[c].up(moment[c] + cross(behind[c], force[c]))
            moment[i] = moment[i] + turn + cross(ahead[c], push)
            force[i] = force[i] + push
        tau[i] = body.z @ (moment[i] + cross(behind[i], force[i])) if body.revolute else body.z @ force[i]
        noted(note, i, moment=moment[i], force=force[i], tau=tau[i])
    return tau


def inertia_orthogonal_complement(model: Model, q: Vector, note: Note = silent) -> Array:
    """T^T M T with the natural orthogonal complement T formed explicitly, six rows per body. Mata, after
    Angeles and Ma.
    """
    by = partials(model, steps(model, q))
    D = zeros(model)
    for i, body in enumerate(model.bodies):
        # The six rows of body i: dw/dqd_j over dv/dqd_j, and their product with M.
        note("T", i, [*by.wd[i].values(), *by.rdd[i].values()])
        for j, spin in by.wd[i].items():
            angular, linear = body.I @ spin, body.m * by.rdd[i][j]
            for k in by.wd[i]:
                if k <= j:
                    D[j, k] = D[j, k] + by.wd[i][k] @ angular + by.rdd[i][k] @ linear
    for j in range(len(model.bodies)):
        for k in range(j):
            D[k, j] = D[j, k]
        note("D", j, D[j, : j + 1])
    return D
