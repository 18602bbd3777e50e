"""How fast viscous friction and back-EMF wear velocities down, and whether steps of a fixed
length can follow that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from functools import cache

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
NEAR = 0.3  # the inertia that a drive feels seldom falls to less than this share of itself
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
    """The longest step with which a decay at this rate does not grow."""
    return _decay_times(method) / rate if rate else math.inf


@cache
def _decay_times(method: str) -> float:
    """How many decay times a stable step may take: where |R(-x)| = 1 for the method's polynomial R."""
    c, a, b = tableau_of(method).floats
    stages = len(c)
    A = np.zeros((stages, stages))
    for i, row in enumerate(a):
        A[i, : len(row)] = row
    weights = [
        1.0,
        *(float(np.asarray(b) @ np.linalg.matrix_power(A, k) @ np.ones(stages)) for k in range(stages)),
    ]
    near, far = 1.0, FARTHEST
    while far - near > ROUNDING:
        middle = 0.5 * (near + far)
        is_stable = abs(sum(w * (-middle) ** k for k, w in enumerate(weights))) <= 1.0
        near, far = (middle, far) if is_stable else (near, middle)
    return near


def warn_of_long_steps(
    arm: Arm,
    voltage: bool,
    method: str,
    step: float,
    postures: Iterable[Floats],
    where: str,
    instead: str = "",
) -> float:
    """Say that steps of this length cannot follow a drive, whose motion would come out as nonsense
    that may look like one.

    `instead` is another remedy than shorter steps. It is said once, of the first posture where it is so; they
    are looked at until one leaves so much room that the inertia of no other takes it. The step as a share of
    the longest that is left.
    """
    share = 0.0
    for q in postures:
        rate, freedom = fastest_decay(arm, q, voltage)
        most = longest_step(method, rate)
        share = step / most
        if share > 1.0:
            warnings.warn(
                f"{where}: steps of {step:g} s are too long for {arm.joints[freedom].name}, which its drive "
                f"brakes within {1.0 / rate:.2g} s: what comes out is not its motion. Take steps of at most "
                f"{most:.2g} s{instead}.",
                StepWarning,
                stacklevel=3,
            )
        if not is_near(share):
            break
    return share


def is_near(share: float) -> bool:
    """Whether steps that are this share of the longest in one posture may be too long in another."""
    return NEAR < share <= 1.0
