"""How fast viscous friction and back-EMF wear velocities down, and whether steps of a fixed length can follow that."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.drives.motor import constants_of
from forearm.dynamics.reference import inertia_matrix
from forearm.errors import StepWarning
from forearm.simulation.methods import tableau_of

Floats = NDArray[np.float64]
FARTHEST = 4.0  # no explicit method of four stages or fewer is stable with steps of so many decay times
ROUNDING = 1e-9


def fastest_decay(arm: Arm, q: Floats, voltage: bool) -> tuple[float, int]:
    """The largest rate, 1/s, at which M(q) qdd = -B qd decays, and the freedom that does most of it."""
    damping = np.zeros(arm.n)
    for drive in drives_of(arm):
        damping[drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
    if voltage:
        c = constants_of(arm)
        damping += c.K**2 / c.R
    if not damping.any():
        return 0.0, 0
    values, vectors = np.linalg.eigh(inertia_matrix(arm, q))
    if values[0] <= ROUNDING**2 * values[-1]:  # a joint that moves no mass has no accelerations either
        return 0.0, 0
    root = vectors / np.sqrt(values)  # M^-1 = root root^T, so that root^T B root has the rates
    rates, modes = np.linalg.eigh(root.T * damping @ root)
    return float(rates[-1]), int(np.argmax(np.abs(root @ modes[:, -1])))


def longest_step(method: str, rate: float) -> float:
    """The longest step with which a decay at this rate does not grow: where |R(-h rate)| = 1 for the method's polynomial R."""
    c, a, b = tableau_of(method).floats
    stages = len(c)
    A = np.zeros((stages, stages))
    for i, row in enumerate(a):
        A[i, : len(row)] = row
    weights = [1.0, *(float(np.asarray(b) @ np.linalg.matrix_power(A, k) @ np.ones(stages)) for k in range(stages))]
    near, far = 1.0, FARTHEST
    while far - near > ROUNDING:
        middle = 0.5 * (near + far)
        is_stable = abs(sum(w * (-middle) ** k for k, w in enumerate(weights))) <= 1.0
        near, far = (middle, far) if is_stable else (near, middle)
    return near / rate if rate else math.inf


def warn_of_long_steps(arm: Arm, q: Floats, voltage: bool, method: str, step: float, where: str) -> None:
    """Say that steps of this length cannot follow a drive, whose motion would come out as nonsense that may look like one."""
    rate, freedom = fastest_decay(arm, q, voltage)
    most = longest_step(method, rate)
    if step > most:
        warnings.warn(
            f"{where}: steps of {step:g} s are too long for {arm.joints[freedom].name}, which its drive brakes within "
            f"{1.0 / rate:.2g} s: what comes out is not its motion. Take steps of at most {most:.2g} s, or method 'radau'.",
            StepWarning, stacklevel=3,
        )  # fmt: skip
