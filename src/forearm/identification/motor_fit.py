"""Motor constants from logs of voltage and current: V = R i + N Kt qd, a small least-squares problem per
joint.
"""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.motor import constants_of
from forearm.errors import InputError
from forearm.identification.condensed import Condenser
from forearm.identification.measured_log import torque_constants
from forearm.identification.samples import PreparedLog
from forearm.spatial import Floats
from forearm.values import frozen

AVERAGED = 20  # samples averaged per row: noise of currents, which are regressors, would bias R low
SIZE = 3  # columns: current, speed, voltage


@frozen
class MotorFit:
    """Motor constants estimated from logs of voltage and current.

    Attributes:
        R, R_std: resistances (n,), ohm.
        K, K_std: N Kt (n,), N m / A.
    """

    R: Floats
    R_std: Floats
    K: Floats
    K_std: Floats

    def named(self, arm: Arm) -> dict[str, tuple[float, float]]:
        """Values and standard deviations by their names in an arm file."""
        made = {}
        for i, joint in enumerate(arm.joints):
            N = joint.motor.gear_ratio if joint.motor is not None else 1.0
            made[f"{joint.name}.motor.resistance"] = float(self.R[i]), float(self.R_std[i])
            made[f"{joint.name}.motor.torque_constant"] = float(self.K[i] / N), float(self.K_std[i] / abs(N))
        return made


def fit_motors(arm: Arm, logs: list[PreparedLog]) -> MotorFit:
    """Estimate R and N Kt of every motor from logs with voltages and currents."""
    condensers = [Condenser(SIZE) for _ in range(arm.n)]
    for log in logs:
        for s in log.blocks():
            assert s.current is not None
            for i, condenser in enumerate(condensers):
                rows = np.stack([s.current[:, i], s.qd[:, i], s.effort[:, i]], axis=1)[s.usable[:, i]]
                whole = len(rows) // AVERAGED
                condenser.add(rows[: whole * AVERAGED].reshape(whole, AVERAGED, SIZE).mean(axis=1))
    found = []
    for joint, condenser in zip(arm.joints, condensers, strict=True):
        triangle = condenser.triangle()
        A, y = triangle[:, :2], triangle[:, 2]
        sizes = np.linalg.norm(A, axis=0)
        if not sizes.all() or np.linalg.cond(A / sizes) > 1e8:
            raise InputError(
                f"current and speed of {joint.name} do not vary independently, so resistance "
                "and torque constant cannot be separated; move it with and without a load, "
                "or give the constants in the arm file and remove the currents.",
                "identify",
            )
        inverse = np.linalg.pinv(A / sizes) / sizes[:, None]
        values = inverse @ y
        variance = float(np.sum((A @ values - y) ** 2)) / max(condenser.count - 2, 1)
        found.append((*values, *np.sqrt(variance * np.diag(inverse @ inverse.T))))
    R, K, R_std, K_std = np.array(found).T
    return MotorFit(R, R_std, K, K_std)


def motor_constants(arm: Arm, log: PreparedLog, motors: MotorFit | None) -> tuple[Floats, Floats]:
    """N Kt and R of the motors (n,) for converting a log's efforts: as fitted, or the arm's."""
    if log.signals.effort == "tau":
        return np.ones(arm.n), np.ones(arm.n)
    if motors is not None:
        return motors.K, motors.R
    if log.signals.effort == "current":
        return torque_constants(arm), np.ones(arm.n)
    constants = constants_of(arm)
    return constants.K, constants.R
