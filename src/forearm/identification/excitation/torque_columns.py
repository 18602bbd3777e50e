"""The torques of an arm as columns times parameters: base inertial parameters, friction and rotors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Motor
from forearm.identification.regressor import base_regressor, base_regressor_slopes
from forearm.reduction.base import base_parameters
from forearm.reduction.sampled import RANGES
from forearm.spatial import Floats
from forearm.values import frozen

KINDS = ("friction.viscous", "friction.coulomb.positive", "friction.coulomb.negative", "motor.rotor_inertia")
DEPENDENT = 1e-8  # of a column's size: remainder below which it depends on others
STATES = 4  # random torques per column, to detect dependent ones
States = tuple[Floats, Floats, Floats]


@frozen
class TorqueColumns:
    """W(q, qd, qdd) such that W @ parameters are the torques, without gear losses and bearings.

    Attributes:
        arm: the arm.
        torque_side: "motor" or "link".
        names, labels: of the parameters.
        values: in the arm (p,); NaN if it has none.
        freedoms, kinds, factors: for the drive columns (d,): joint, index into KINDS, and torque at the joint
            per unit of the parameter.
        dependent: sentences on drive columns that depend on others and are omitted.
    """

    arm: Arm
    torque_side: str
    names: tuple[str, ...]
    labels: tuple[str, ...]
    values: Floats
    freedoms: NDArray[np.intp]
    kinds: NDArray[np.intp]
    factors: Floats
    dependent: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def inertial(self) -> int:
        """Number of columns of inertial parameters."""
        return len(self.names) - len(self.freedoms)

    def rows(self, q: Floats, qd: Floats, qdd: Floats, smooth: Floats | None = None) -> Floats:
        """W at states (m, n): (m, n, p).

        With `smooth` (n,) Coulomb friction reverses as tanh(qd / smooth), otherwise abruptly.
        """
        m, n = q.shape
        W = np.zeros((m, n, len(self)))
        W[..., : self.inertial] = base_regressor(self.arm)(q, qd, qdd)
        columns, _, _ = self._of_drives(qd, qdd, smooth)
        W[:, self.freedoms, np.arange(self.inertial, len(self))] = columns
        return W

    def slopes(self, q: Floats, qd: Floats, qdd: Floats, V: Floats, smooth: Floats) -> States:
        """d sum(V * W) / d q, qd, qdd of each state (m, n) with V (m, n, p) constant, by reverse-mode
        differentiation.
        """
        m, n = q.shape
        held = np.ascontiguousarray(V[..., : self.inertial]).reshape(m, -1)
        made = base_regressor_slopes(self.arm)(q, qd, qdd, held)
        by_q, by_qd, by_qdd = (made[:, k * n : (k + 1) * n].copy() for k in range(3))
        _, along_qd, along_qdd = self._of_drives(qd, qdd, smooth)
        held = V[:, self.freedoms, np.arange(self.inertial, len(self))]
        for k, i in enumerate(self.freedoms):
            by_qd[:, i] += held[:, k] * along_qd[:, k]
            by_qdd[:, i] += held[:, k] * along_qdd[:, k]
        return by_q, by_qd, by_qdd

    def _of_drives(self, qd: Floats, qdd: Floats, smooth: Floats | None) -> States:
        """The drive columns (m, d), each in the row of its joint, and their derivatives by qd and qdd."""
        v, a = qd[:, self.freedoms], qdd[:, self.freedoms]
        if smooth is None:
            way, turn = np.sign(v), np.zeros_like(v)
        else:
            way = np.tanh(v / smooth[self.freedoms])
            turn = (1.0 - way * way) / smooth[self.freedoms]
        zero, one = np.zeros_like(v), np.ones_like(v)
        # dry friction of a direction is direction (f - b) / 2 + direction^2 (f + b) / 2
        value = np.choose(self.kinds, [v, 0.5 * way * (way + 1.0), 0.5 * way * (way - 1.0), a])
        by_qd = np.choose(self.kinds, [one, (way + 0.5) * turn, (way - 0.5) * turn, zero])
        by_qdd = np.choose(self.kinds, [zero, zero, zero, one])
        return self.factors * value, self.factors * by_qd, self.factors * by_qdd


@lru_cache(maxsize=16)
def torque_columns(arm: Arm, torque_side: str) -> TorqueColumns:
    """Torque columns for one side of the gears, without dependent ones."""
    base = base_parameters(arm)
    drives = list(_drive_columns(arm, torque_side))
    names, freedoms, kinds, factors, values = zip(*drives, strict=True) if drives else ((),) * 5
    whole = TorqueColumns(
        arm,
        torque_side,
        (*base.names, *names),
        (*base.labels, *names),
        np.array([*base.values, *values]),
        np.array(freedoms, dtype=np.intp),
        np.array(kinds, dtype=np.intp),
        np.array(factors),
        (),
    )
    return _independent(whole)


def _drive_columns(arm: Arm, torque_side: str) -> Iterator[tuple[str, int, int, float, float]]:
    """Name, freedom, kind, factor and value of each drive parameter observable on one side."""
    for i, joint in enumerate(arm.joints):
        friction, motor = joint.friction, joint.motor or Motor()
        at_motor = friction is not None and friction.side == "motor"
        if at_motor and torque_side == "link":
            continue
        N = abs(motor.gear_ratio) if at_motor else 1.0
        rubs = Friction(viscous=0.0) if friction is None else friction
        values = (rubs.viscous, *rubs.coulomb)
        for kind, (factor, value) in enumerate(zip((N * N, N, N), values, strict=True)):
            yield f"{joint.name}.{KINDS[kind]}", i, kind, factor, np.nan if friction is None else value
        if joint.motor is not None and torque_side == "motor":
            yield f"{joint.name}.{KINDS[3]}", i, 3, motor.gear_ratio**2, motor.rotor_inertia


def _independent(whole: TorqueColumns) -> TorqueColumns:
    """The same without drive columns that depend on earlier ones."""
    W = _random_rows(whole)
    W /= np.linalg.norm(W, axis=0)
    basis = np.linalg.qr(W[:, : whole.inertial])[0]
    kept, said = [], []
    for k in range(len(whole.freedoms)):
        left = W[:, whole.inertial + k]
        for _ in range(2):  # twice is enough
            left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > DEPENDENT:
            basis = np.column_stack([basis, left / size])
            kept.append(k)
        else:
            name = whole.names[whole.inertial + k]
            said.append(f"{name} cannot be separated from inertial parameters by any motion.")
    places = [*range(whole.inertial), *(whole.inertial + k for k in kept)]
    return replace(
        whole,
        names=tuple(whole.names[k] for k in places),
        labels=tuple(whole.labels[k] for k in places),
        values=whole.values[places],
        freedoms=whole.freedoms[kept],
        kinds=whole.kinds[kept],
        factors=whole.factors[kept],
        dependent=tuple(said),
    )


def _random_rows(columns: TorqueColumns) -> Floats:
    n, rng = columns.arm.n, np.random.default_rng(0)
    count = 2 + STATES * len(columns) // n
    q, qd, qdd = (size * (2.0 * rng.random((count, n)) - 1.0) for size in RANGES.values())
    return columns.rows(q, qd, qdd).reshape(count * n, -1)
