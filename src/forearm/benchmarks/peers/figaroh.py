"""figaroh's linear stage: a regressor row by row from Pinocchio, zero columns removed, base parameters by two
QR decompositions, all samples in memory at once.

figaroh installs 300 MB of packages, so it is not part of the extra `bench`; `PinocchioFit` does the same
arithmetic with Pinocchio and NumPy only. `tools/identification_memory.py` runs either in a fresh process.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.peers.pinocchio import with_limits
from forearm.benchmarks.timing import Work, keeping
from forearm.files.urdf_write import urdf_text
from forearm.spatial import Floats

EXTRAS = ("fv", "fs", "ia", "off")  # viscous, Coulomb, rotor inertia, offset: one column each per joint
ZERO = 1e-6  # figaroh's bound of a column's squared norm


@dataclass(frozen=True, eq=False)
class Measured:
    """Samples of an arm with n joints.

    Attributes:
        q, qd, qdd: positions and derivatives, (N, n).
        tau: efforts, (N, n).
    """

    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats


class PinocchioFit:
    """Least squares with Pinocchio's regressor and one QR decomposition of all samples."""

    who = "Pinocchio and NumPy"

    def __init__(self, arm: Arm, measured: Measured, extras: tuple[str, ...] = EXTRAS) -> None:
        self.pin = import_module("pinocchio")
        self.model = self.pin.buildModelFromXML(urdf_text(with_limits(arm)))
        self.measured, self.extras = measured, extras

    def predicted(self) -> Floats:
        """Efforts of the fit (N, n), independent of the choice of base parameters."""
        whole, tau = self.regressor(), self.measured.tau.T.ravel()
        kept = whole[:, np.einsum("ij,ij->j", whole, whole) >= ZERO]
        q, r = np.linalg.qr(kept)
        u, s, v = np.linalg.svd(r)
        rank = int(np.sum(s > s[0] * max(r.shape) * np.finfo(float).eps))
        found = v[:rank].T @ ((u.T @ (q.T @ tau))[:rank] / s[:rank])
        return self._rows(kept @ found)

    def regressor(self) -> Floats:
        """Rows joint after joint, ten columns per link and one of each extra per joint."""
        m, n, data = self.measured, self.model.nv, self.model.createData()
        count = len(m.q)
        whole = np.zeros((n, count, (10 + len(self.extras)) * n))
        for k in range(count):
            whole[:, k, : 10 * n] = self.pin.computeJointTorqueRegressor(
                self.model, data, m.q[k], m.qd[k], m.qdd[k]
            )
        columns = {"fv": m.qd, "fs": np.sign(m.qd), "ia": m.qdd, "off": np.ones_like(m.qd)}
        for i, extra in enumerate(self.extras):
            for j in range(n):
                whole[j, :, (10 + i) * n + j] = columns[extra][:, j]
        return whole.reshape(n * count, -1)

    def work(self) -> Work:
        """The work to be timed; the result is the predicted efforts."""
        return keeping(self.who, self.predicted)

    def _rows(self, stacked: Floats) -> Floats:
        return stacked.reshape(self.measured.tau.shape[::-1]).T


def samples_of(arm: Arm, count: int, noise: float = 0.1, seed: int = 1) -> Measured:
    """Random states with efforts of the rigid arm, viscous and Coulomb friction and noise in N m."""
    from forearm.kernels.kernel import compile as compile_arm

    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, count, arm.n))
    tau = compile_arm(arm).inverse_dynamics(q, qd, qdd) + 0.3 * qd + 0.2 * np.sign(qd)
    return Measured(q, qd, qdd, tau + noise * rng.standard_normal(tau.shape))
