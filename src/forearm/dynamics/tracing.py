"""Traces: every intermediate quantity of a formulation, by link and by the document's symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.newton_euler import linear_velocities
from forearm.dynamics.reference import INERTIA, INVERSE, as_base, as_wrench
from forearm.dynamics.states import joint_states
from forearm.errors import InputError
from forearm.kinematics.arguments import one_state
from forearm.model import model_of
from forearm.values import chosen

TRACED = {**INVERSE, **{name: method for name, method in INERTIA.items() if name not in INVERSE}}


def trace(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    formulation: str = "newton-euler",
    hand_force: ArrayLike | None = None,
    hand_moment: ArrayLike | None = None,
    base_motion: Sequence[ArrayLike] | None = None,
) -> dict[str, dict[str, Any]]:
    """Every intermediate quantity of a formulation, by link and by the document's symbol: {"link1":
    {"w": ..., ...}, ...}.

    The trace covers the rigid arm: drives are not part of any formulation. "newton-euler" also has the linear
    velocity v of each link's origin, Swartz (3), relative to the base's origin. Inertia matrices depend on q
    alone; "composite-body" has M, c* and E* of Swartz (16)-(18), and column H of each joint down to its
    diagonal.

    Args:
        arm: the arm.
        q, qd, qdd: joint coordinates, velocities and accelerations (n,).
        formulation: one of `formulations()["inverse"]`, or a method of `formulations()["inertia_matrix"]`;
            "gibbs-appell" is the inverse one.
        hand_force, hand_moment, base_motion: as in `inverse`; not accepted with an inertia matrix.
    """
    method = chosen(TRACED, formulation, "formulation")
    states = one_state(arm, "trace", q=q, qd=qd, qdd=qdd)
    base, hand = as_base(base_motion), as_wrench(hand_force, hand_moment)
    if formulation not in INVERSE and (hand is not None or base_motion is not None):
        raise InputError(
            f"{formulation} gives the inertia matrix, which depends on q alone, got "
            "hand_force, hand_moment or base_motion; leave them out or choose an inverse "
            "formulation.",
            "trace",
        )
    model = model_of(arm)
    table: dict[str, dict[str, Any]] = {b.joint.child: {} for b in arm.moving.bodies}
    names = list(table)

    def note(symbol: str, link: int, value: Any) -> None:
        table[names[link]][symbol] = float(value) if np.ndim(value) == 0 else np.array(value, dtype=float)

    if not model.bodies:
        return table
    joints = joint_states(model, *states)
    if formulation not in INVERSE:
        method(model, joints[0], note)
    else:
        method(model, *joints, base, hand, note)
    rows = table.values()
    if formulation == "newton-euler":
        w = [row["w"] for row in rows]
        for i, v in enumerate(linear_velocities(model, joints[0], joints[1], w, base)):
            note("v", i, v)
    if formulation == "composite-body":
        for row, body in zip(rows, model.bodies, strict=True):
            # the method measures centres from the joint's origin, Swartz from the link's
            row["c*"], row["E*"] = row.pop("c") - body.s, row.pop("E")
    return table
