"""Neglecting terms, and the resulting error along a motion. Waters IV, simplifying the dynamic equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.lagrange import ChainMatrices, chain_of, recurrences, trace_of_product
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.states import joint_states
from forearm.errors import InputError
from forearm.kinematics.arguments import states_of
from forearm.model import Model, Note, Vector, model_of, silent
from forearm.spatial import Floats
from forearm.symbols.scalars import Values
from forearm.values import frozen

Method = Callable[..., list[Any]]


def no_velocity_terms(model: Model, q: Vector, qd: Vector, qdd: Vector) -> Values:
    """Torques without the velocity terms L: valid for slow arms only."""
    return newton_euler(model, q, [0.0 for _ in qd], qdd)


def no_gravity(model: Model, q: Vector, qd: Vector, qdd: Vector) -> Values:
    """Torques without gravity: valid for counterbalanced arms only."""
    return newton_euler(without_gravity(model), q, qd, qdd)


def own_link_only(model: Model, q: Vector, qd: Vector, qdd: Vector) -> Values:
    """Torques as if each joint moved its own link only, without the links behind it."""
    return own_links(chain_of(model, q, qd, qdd, "own-link-only"), silent)


def own_links(c: ChainMatrices, note: Note) -> Values:
    """F_i = tr(U_ii J_i (P_i + L_i)^T) - G_ii: without the outer sum. Waters IV."""
    U, P, L = recurrences(c, note)
    return [trace_of_product(U[i] @ c.J[i], P[i] + L[i]) - c.G @ (U[i] @ c.mr[i]) for i in range(c.n)]


DROPPED: dict[str, Method] = {
    "no-velocity-terms": no_velocity_terms,
    "no-gravity": no_gravity,
    "own-link-only": own_link_only,
}


@frozen
class DropError:
    """The error of neglecting terms along a motion, per joint (n,), N m (N).

    Attributes:
        dropped: the neglected terms.
        largest: largest torque error.
        rms: rms torque error.
        torque_rms: rms of the torque itself.
    """

    dropped: str
    largest: Floats
    rms: Floats
    torque_rms: Floats

    @property
    def relative(self) -> Floats:
        """The rms error relative to the rms torque, per joint; 0 where there is no torque."""
        return np.divide(self.rms, self.torque_rms, out=np.zeros_like(self.rms), where=self.torque_rms > 0.0)


def drop_errors(arm: Arm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> list[DropError]:
    """The error of each simplification along a motion of the rigid arm; the own-link one for serial chains
    only.

    Args:
        arm: the arm.
        q, qd, qdd: samples (B, n) of joint coordinates, velocities and accelerations.
    """
    states = states_of(arm, q=q, qd=qd, qdd=qdd)
    if states[0].ndim != 2 or not len(states[0]):
        raise InputError(
            f"expected one or more samples of shape (B, {arm.n}), got {states[0].shape}.", "drop_errors"
        )
    model = model_of(arm.rigid())
    rows = [joint_states(model, *row) for row in zip(*states, strict=True)]

    def torques(method: Method) -> Floats:
        return np.array([model.gathered(method(model, *row)) for row in rows], dtype=np.float64)

    exact = torques(newton_euler)
    found = []
    for name, method in DROPPED.items():
        if name == "own-link-only" and not (model.is_serial and model.bodies):
            continue
        error = torques(method) - exact
        found.append(DropError(name, np.abs(error).max(axis=0), _rms(error), _rms(exact)))
    return found


def _rms(values: Floats) -> Floats:
    rms: Floats = np.sqrt(np.mean(values**2, axis=0))
    return rms
