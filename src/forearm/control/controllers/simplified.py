"""Simplified arms and equations: operations saved, and the cost. Waters IV."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.joint import Limits
from forearm.checking.balancing import Balance, balance, with_counterweights
from forearm.control.controller import States
from forearm.control.controllers.forces import forces_of
from forearm.control.model_error import without_gravity
from forearm.control.reference import default_motion, sampled
from forearm.errors import InputError, shorten
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats

PERIOD = 1e-2  # s between the samples at which torques are compared


@dataclass(frozen=True)
class Saving:
    """One simplification, its savings and its cost.

    Attributes:
        name: the simplification.
        operations: remaining operations of the inverse dynamics.
        saved: share of operations saved.
        torque_error: rms torque error along a motion over the rms torque; 0 if the arm is built that way.
        torque: rms torque over that of the original arm.
        cost: the cost in words.
    """

    name: str
    operations: int
    saved: float
    torque_error: float
    torque: float
    cost: str


def savings(
    arm: Arm, motion: object = None, locked: int | None = None, distance: float = 0.2
) -> list[Saving]:
    """Savings from dropping terms, locking the last joints and counterbalancing a rigid arm.

    Args:
        arm: the arm.
        motion: the reference motion; None: `default_motion`.
        locked: number of last joints to lock, at their coordinates at the start of the motion; None: half of
            them.
        distance: of counterweights from the axes, m.
    """
    rigid = arm.rigid()
    wanted = sampled(rigid, default_motion(arm) if motion is None else motion, PERIOD)
    states = (wanted.q, wanted.qd, wanted.qdd)
    exact = kernel_of(rigid).inverse_dynamics(*states)
    whole = forces_of(rigid).counts.operations
    found = [Saving("nothing left out", whole, 0.0, 0.0, 1.0, "")]
    for name, cost in (
        ("no-velocity-terms", "wrong when the arm moves fast"),
        ("no-gravity", "wrong unless it is counterbalanced"),
        ("own-link-only", "wrong unless each link is much lighter than the one before"),
    ):
        if name == "own-link-only" and not arm.is_serial:
            continue
        forces = forces_of(rigid, name)
        tau = np.array([forces.call(*row) for row in zip(*states, wanted.qd, strict=True)])
        error, left = _rms(tau - exact) / _rms(exact), forces.counts.operations
        found.append(
            Saving(name.replace("-", " "), left, 1.0 - left / whole, error, _rms(tau) / _rms(exact), cost)
        )
    found.append(_locked(rigid, states, exact, arm.n // 2 if locked is None else locked, whole))
    found.append(_counterbalanced(rigid, states, exact, distance, whole))
    return found


def locked_arm(arm: Arm, still: ArrayLike, q: Floats) -> Arm:
    """The arm with pinned joints, which leaves fewer joints to compute.

    Args:
        arm: the arm.
        still: (n,), which joints are locked.
        q: joint coordinates (n,) at which they are locked.
    """
    try:
        chosen = np.asarray(still, dtype=bool)
    except ValueError:
        raise InputError(f"expected one truth value per joint, got {shorten(still)}.", "still") from None
    if chosen.shape != (arm.n,) or chosen.all():
        raise InputError(
            f"expected one truth value for each of the {arm.n} joints, and at least one joint that moves.",
            "locked_arm",
        )
    return arm.lock(
        {joint.name: float(x) for joint, x, is_held in zip(arm.joints, q, chosen, strict=True) if is_held}
    )


def counterbalanced(arm: Arm, distance: float = 0.2) -> Arm:
    """The arm with counterweights that balance gravity at its joints, where fixed weights can.

    Args:
        arm: the arm.
        distance: of the counterweights from the axes, m.
    """
    return with_counterweights(arm, weights_of(arm, distance).counterweights)


def weights_of(arm: Arm, distance: float) -> Balance:
    """Its counterweights, which do not depend on joint ranges; the slow search for worst configurations is
    skipped.
    """
    held = (dataclasses.replace(j, limits=Limits(0.0, 0.0)) if j.kind != "fixed" else j for j in arm.tree)
    return balance(arm.replace(tree=tuple(held)), distance)


def _locked(arm: Arm, states: States, exact: Floats, count: int, whole: int) -> Saving:
    if not 0 <= count < arm.n:
        raise InputError(f"expected from 0 to {arm.n - 1} joints, got {count}.", "savings", "locked")
    still = np.arange(arm.n) >= arm.n - count
    less = locked_arm(arm, still, states[0][0])
    q, qd, qdd = (np.ascontiguousarray(block[:, ~still]) for block in states)
    tau = kernel_of(less).inverse_dynamics(q, qd, qdd)
    left = forces_of(less).counts.operations
    names = ", ".join(joint.name for joint, is_held in zip(arm.joints, still, strict=True) if is_held)
    share = _rms(tau) / _rms(exact[:, ~still])
    return Saving(f"{count} joints locked", left, 1.0 - left / whole, 0.0, share, f"{names} cannot move")


def _counterbalanced(arm: Arm, states: States, exact: Floats, distance: float, whole: int) -> Saving:
    found = weights_of(arm, distance)
    heavy = with_counterweights(arm, found.counterweights)
    true, tau = (kernel_of(some).inverse_dynamics(*states) for some in (heavy, without_gravity(heavy)))
    left = forces_of(heavy, "no-gravity").counts.operations
    cost = (
        f"{sum(weight.mass for weight in found.counterweights):.4g} kg more to move, "
        f"{distance:g} m from the axes"
    )
    if found.hopeless:
        cost += f"; no fixed weight can balance {', '.join(name for name, _ in found.hopeless)}"
    error = _rms(tau - true) / _rms(true)
    return Saving("counterbalanced", left, 1.0 - left / whole, error, _rms(true) / _rms(exact), cost)


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))
