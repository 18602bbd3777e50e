"""Test torques on an arm that holds a load: which torques to apply, and what the accelerations say about the
load.

Torques are linear in the ten parameters pi of the load about the hand's origin, and in the accelerations:
tau = tau0 + M qdd + (Y0 + sum_j Y1_j qdd_j) pi. Waters IV.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load, driven, drives_of, held_freedoms
from forearm.errors import InputError, ModelError
from forearm.identification.payload.regressor import payload_regressor
from forearm.kernels.kept import kernel_of
from forearm.kinematics.arguments import states_of
from forearm.model import model_of
from forearm.values import as_floats, check_number, frozen

Floats = NDArray[np.float64]
MOST_TESTS = 10_000


@frozen
class TorqueModel:
    """The parts of tau at B tests: tau0 (B, n), M (B, n, n), Y0 (B, n, 10), and Y1 (B, n, n, 10) by
    accelerating joint.
    """

    tau0: Floats
    M: Floats
    Y0: Floats
    Y1: Floats

    def inertia(self, pi: Floats) -> Floats:
        """M of the arm with the load, (B, n, n)."""
        return self.M + self.Y1 @ pi

    def torque(self, qdd: Floats, pi: Floats) -> Floats:
        """tau of the arm with the load at accelerations, (B, n)."""
        return np.asarray(self.tau0 + np.einsum("bij,bj->bi", self.M, qdd) + self.regressor(qdd) @ pi)

    def regressor(self, qdd: Floats) -> Floats:
        """Y at accelerations (B, n): (B, n, 10)."""
        return np.asarray(self.Y0 + np.einsum("bijk,bj->bik", self.Y1, qdd))


def canonical_tests(arm: Arm, q: ArrayLike, size: ArrayLike) -> tuple[Floats, Floats]:
    """Configurations and torques (B, n) of the tests: at each configuration gravity compensation, then a
    torque of either sign on each joint in turn.

    Without knowledge of its load the arm first sags; that acceleration is an observation too.

    Args:
        arm: the arm without the load.
        q: configurations (n,) or (m, n).
        size: torque amplitudes, (n,) or one for all, N m (N): small, but enough to break the joint away.
    """
    (postures,) = states_of(arm, q=q)
    postures = np.atleast_2d(postures)
    count = len(postures) * (2 * arm.n + 1)
    if count > MOST_TESTS:
        raise InputError(
            f"{len(postures)} configurations make {count} tests; at most {MOST_TESTS} are allowed.",
            "canonical_tests",
        )
    given = as_floats(size, "canonical_tests, size")
    if given.shape not in ((), (arm.n,)) or not (np.isfinite(given) & (given > 0.0)).all():
        raise InputError(
            f"expected one torque above 0, or one for each of {arm.n} joints.", "canonical_tests", "size"
        )
    pushes = np.concatenate([np.zeros((1, arm.n)), np.diag(np.broadcast_to(given, arm.n))])
    pushes = np.concatenate([pushes, -pushes[1:]])
    held = kernel_of(arm).gravity(postures)
    return np.repeat(postures, len(pushes), axis=0), (held[:, None, :] + pushes).reshape(-1, arm.n)


def refuse_load_friction(arm: Arm) -> None:
    """Refuse arms whose torques are nonlinear in the load."""
    if depends_on_load(arm):
        raise ModelError(
            f"friction of {arm.name!r} depends on the load (bearings or a transmission), so "
            "torques are nonlinear in it; use an arm with viscous and Coulomb friction only.",
            "payload",
        )


def answers_of(arm: Arm, q: Floats, qd: Floats) -> TorqueModel:
    """Torque of the arm without the load at the tests, and the contribution of the load."""
    refuse_load_friction(arm)
    # tests share their configurations
    states, which = np.unique(np.concatenate([q, qd], axis=1), axis=0, return_inverse=True)
    q, qd = np.split(states, 2, axis=1)
    rest, which = np.zeros_like(q), which.ravel()
    Y0 = payload_regressor(arm, q, qd, rest)
    still = payload_regressor(arm, q, rest, rest)
    units = [payload_regressor(arm, q, rest, np.broadcast_to(row, q.shape)) - still for row in np.eye(arm.n)]
    kernel = kernel_of(arm)
    parts = kernel.bias(q, qd), kernel.inertia_matrix(q), Y0, np.stack(units, axis=2)
    return TorqueModel(*(part[which] for part in parts))


def friction_at_rest(arm: Arm, qd: Floats, qdd: Floats, least: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Dry friction of joints at rest when tested, (B, n), and which rows can be used.

    A joint that starts to move, with acceleration above `least`, has the friction of its direction. One that
    does not may hold any torque below its friction, so its row carries no information.
    """
    check_number(least, "payload, least acceleration", minimum=0.0)
    standing = (qd == 0.0) & np.array(held_freedoms(arm), dtype=bool)
    begins = np.where(standing & (np.abs(qdd) > least), np.sign(qdd), 0.0)
    model, friction = model_of(arm), np.zeros_like(qd)
    for b in np.flatnonzero(begins.any(axis=1)):
        ways = [float(np.sign(v)) for v in model.rates(begins[b].tolist())]
        still = [0.0] * len(ways)
        friction[b] = model.gathered(driven(drives_of(arm), still, None, still, ways))
    return friction, ~standing | (begins != 0.0)
