"""Further forms in the documents beyond the thirteen: Gibbs' function itself, the plain sums, and Silver's
other representation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.gibbs_appell import gibbs_appell_sum, gibbs_function, inertia_sum
from forearm.dynamics.inertia import inertia_moving_links
from forearm.dynamics.jets import Jet
from forearm.dynamics.silver import lagrange_silver_w
from forearm.errors import InputError
from forearm.kinematics.arguments import one_state
from forearm.model import Model, model_of
from forearm.spatial import Floats
from forearm.values import chosen, frozen

VARIANTS: dict[str, Callable[..., Any]] = {
    "gibbs-appell-sum": gibbs_appell_sum,  # Mata (13), order n^2
    "silver-w": lagrange_silver_w,  # Silver 1.2
}


@frozen
class Gibbs:
    """Gibbs' function of the rigid arm at a state.

    Attributes:
        G: its value.
        gradient: in qdd (n,), which is the torque.
        hessian: in qdd (n, n), which is the inertia matrix.
    """

    G: float
    gradient: Floats
    hessian: Floats


def gibbs(arm: Arm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Gibbs:
    """G of the rigid arm and its derivatives in qdd, by differentiating the function. Mata (3)-(5), (19).

    Args:
        arm: the arm.
        q, qd, qdd: joint coordinates, velocities and accelerations (n,).
    """
    model, states = _one_state(arm, "gibbs", q=q, qd=qd, qdd=qdd)
    if not model.bodies:
        return Gibbs(0.0, np.zeros(0), np.zeros((0, 0)))
    variables = Jet.variables(np.array(states[2]))
    G = gibbs_function(model.map(float), states[0], states[1], variables)
    return Gibbs(float(G.value), G.gradient, G.hessian)


def variant(arm: Arm, name: str, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
    """The torques (n,) of the rigid arm by a variant of a formulation.

    Args:
        arm: the arm.
        name: "gibbs-appell-sum" or "silver-w".
        q, qd, qdd: joint coordinates, velocities and accelerations (n,).
    """
    compute = chosen(VARIANTS, name, "variant")
    model, states = _one_state(arm, "variant", q=q, qd=qd, qdd=qdd)
    return np.array(compute(model, *states), dtype=np.float64)


def inertia_by_sum(arm: Arm, q: ArrayLike) -> Floats:
    """The inertia matrix (n, n) of the rigid arm by the plain sum, order n^3. Mata (21).

    Args:
        arm: the arm.
        q: joint coordinates (n,).
    """
    model, states = _one_state(arm, "inertia_by_sum", q=q)
    return np.asarray(inertia_sum(model, states[0]), dtype=np.float64)


def inertia_by_moving_links(arm: Arm, q: ArrayLike) -> Floats:
    """The rigid arm's inertia matrix (n, n) by Walker and Orin's second method: only moving links are
    computed.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
    """
    model, states = _one_state(arm, "inertia_by_moving_links", q=q)
    return np.asarray(inertia_moving_links(model, states[0]), dtype=np.float64)


def _one_state(arm: Arm, what: str, **given: ArrayLike) -> tuple[Model, list[list[float]]]:
    states = one_state(arm, what, **given)
    model = model_of(arm.rigid())
    if model.has_followers:
        raise InputError(
            f"{arm.name!r} has mimicking joints, which this form does not support; fa.dynamics.inverse does.",
            what,
        )
    return model, [state.tolist() for state in states]
