"""The page's functions, traced on the expression graph: no formula is duplicated in JavaScript."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced, traced_formula
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import needs_reactions
from forearm.drives.motor import constants_of
from forearm.model import Array, Scalar, steps, symbolic
from forearm.reduction import recursion
from forearm.symbols import refined
from forearm.symbols.scalars import choose, quantised
from forearm.trajectories.switching import segment_state

FULL = 6  # joints needed for any hand orientation


def traced_poses(arm: Arm) -> Traced:
    """Poses of every moving body and, last, of the hand, row by row, in the world frame."""
    tracing = Tracing(arm, {})
    model = tracing.whole_model
    base: tuple[Array, Array] = (arm.base[:3, :3].astype(object), arm.base[:3, 3].astype(object))
    made: list[tuple[Array, Array]] = []
    for step, body in zip(steps(model, model.coordinates(tracing.q)), model.bodies, strict=True):
        R, p = made[body.parent] if body.parent >= 0 else base
        turned = R @ body.Rb @ step.Rz
        made.append((turned @ body.Ra, p + R @ step.l + turned @ body.pa))
    R, p = made[model.hand] if model.hand >= 0 else base
    made.append((R @ model.R_hand, p + R @ model.p_hand))
    rows = [np.column_stack([R, p]) for R, p in made]
    table = symbolic([np.vstack([row, [0.0, 0.0, 0.0, 1.0]]).ravel() for row in rows])
    return _traced(tracing, {"poses": table}, ("q",))


def traced_reach(arm: Arm) -> Traced:
    """Newton's inverse kinematics from q to a pose T; with fewer than six joints to its position."""
    t = Tracing(arm, {})
    found, left = t.numeric_inverse(attitude=arm.n >= FULL)
    results = {"q_found": symbolic(found), "error": symbolic([*left, 0.0][:2])}
    graph, made = refined(t.graph, results)
    inputs = (Argument("q", (arm.n,), ""), Argument("T", (4, 4), ""))
    return Traced(graph, made, inputs, (Argument("q_found", (arm.n,), ""), Argument("error", (2,), "")))


def traced_torques(arm: Arm, parameters: dict[str, float]) -> Traced:
    """Torques of a motion, and their friction part."""
    t = Tracing(arm, parameters)
    tau = t.inverse(t.qd, t.qdd)
    rates, accelerations = t.rates(t.qd), t.rates(t.qdd)
    if needs_reactions(arm):
        rigid, _ = t.joint_reactions(rates, accelerations)
    else:
        rigid = recursion.inverse(t.chain, t.rates(t.q), rates, accelerations, t.note)
    smooth = [x + a * J for x, a, J in zip(t.model.gathered(rigid), t.qdd, t.rotor, strict=True)]
    friction = [x - y for x, y in zip(tau, smooth, strict=True)]
    return _traced(t, {"tau": tau, "friction": friction}, ("q", "qd", "qdd"))


def traced_energy(arm: Arm, parameters: dict[str, float]) -> Traced:
    """Kinetic and potential energy."""
    t = Tracing(arm, parameters)
    return _traced(t, {"energy": [t.kinetic_energy(), t.potential_energy()]}, ("q", "qd"))


def traced_voltage(arm: Arm) -> Traced:
    """Motor voltages for given torques: V = R tau / K + K qd. Swartz (11)."""
    c = constants_of(arm)

    def formula(tau: list[Scalar], qd: list[Scalar]) -> dict[str, Any]:
        rows = zip(tau, qd, c.K.tolist(), c.R.tolist(), strict=True)
        return {"voltage": [x * (R / K) + v * K for x, v, K, R in rows]}

    return traced_formula(formula, {"tau": arm.n, "qd": arm.n})


def traced_encoder(n: int) -> Traced:
    """Positions measured by encoders with the given step."""

    def formula(q: list[Scalar], step: list[Scalar]) -> dict[str, Any]:
        return {"seen": [quantised(x, h) for x, h in zip(q, step, strict=True)]}

    return traced_formula(formula, {"q": n, "step": n})


def traced_motion(n: int) -> Traced:
    """A planned motion from rest to rest; `at` is the time since its start and the time to its end, s."""

    def formula(
        q0: list[Scalar], q1: list[Scalar], phases: list[Scalar], rates: list[Scalar], at: list[Scalar]
    ) -> dict[str, Any]:
        rows = [
            segment_state(
                at[0],
                at[1],
                (q0[j], 0.0, q1[j], 0.0),
                (phases[3 * j], phases[3 * j + 2]),
                (rates[3 * j], rates[3 * j + 2]),
            )
            for j in range(n)
        ]
        return {name: [row[k] for row in rows] for k, name in enumerate(("q", "qd", "qdd"))}

    sizes = {"q0": n, "q1": n, "phases": 3 * n, "rates": 3 * n, "at": 2}
    return traced_formula(formula, sizes)


def traced_payload(arm: Arm) -> Traced:
    """Mass, centre and inertia (xx, xy, xz, yy, yz, zz) of the link that carries the hand, with a given point
    mass at the hand.
    """
    link, place = arm.link(arm.hand.link), arm.hand.pose[:3, 3]
    return traced_formula(
        lambda mass: {"link": with_point(link.mass, link.com, link.inertia, mass[0], place)}, {"mass": 1}
    )


def with_point(m0: float, com: Array, inertia: Array, m: Scalar, place: Array) -> list[Scalar]:
    """A body and a point mass as one body, over any scalar: mass, centre, six entries of the inertia
    about it. Swartz (16)-(18).
    """
    total = m0 + m
    share = choose(0.0, total, m / choose(0.0, total, total, 1.0), 0.0)
    centre = [c + share * (p - c) for c, p in zip(com.tolist(), place.tolist(), strict=True)]
    reduced = m0 * share  # of the two masses about their common centre
    d = (place - com).tolist()
    square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    moved = [float(inertia[i, j]) + reduced * ((square if i == j else 0.0) - d[i] * d[j]) for i, j in pairs]
    return [total, *centre, *moved]


def _traced(tracing: Tracing, results: dict[str, Any], inputs: tuple[str, ...]) -> Traced:
    graph, made = refined(tracing.graph, results)
    return Traced.of(graph, dict.fromkeys(inputs, tracing.arm.n), made)
