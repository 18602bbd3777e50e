"""How fast viscous friction and back-EMF wear velocities down, and whether steps of a fixed
length can follow that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.drives.motor import constants_of
from forearm.dynamics.reference import inertia_matrix
from forearm.errors import StepWarning
from forearm.kernels.kept import MOST_KEPT
from forearm.kernels.rollout import Simulator
from forearm.simulation.methods import tableau_of

Floats = NDArray[np.float64]
FARTHEST = 4.0  # no explicit method of four stages or fewer is stable with steps of so many decay times
NEAR = 0.3  # the inertia that a drive feels seldom falls to less than this share of itself
ROUNDING = 1e-9
PUSH = 1e-3  # V: no motor's limit is below it


def fastest_decay(simulator: Simulator, q: Floats) -> tuple[float, int]:
    """The largest rate, 1/s, at which M(q) qdd = -B qd decays, and the freedom that does most of it."""
    damping = _damping(simulator.arm, simulator.voltage)
    return _fastest(damping, _mobility(simulator, q)) if damping.any() else (0.0, 0)


def decay_at(arm: Arm, voltage: bool, q: Floats) -> tuple[float, int]:
    """The same without machine code."""
    damping = _damping(arm, voltage)
    if not damping.any():
        return 0.0, 0
    return _fastest(damping, np.asarray(np.linalg.inv(inertia_matrix(arm, q)), dtype=np.float64))


def _fastest(damping: Floats, W: Floats) -> tuple[float, int]:
    root = np.sqrt(damping)
    if not np.isfinite(W).all():  # a joint that moves no mass has no accelerations either
        return 0.0, 0
    rates, modes = np.linalg.eigh(root[:, None] * W * root)  # similar to M^-1 B, and symmetric
    return float(rates[-1]), int(np.argmax(np.abs(W @ (root * modes[:, -1]))))


def _mobility(simulator: Simulator, q: Floats) -> Floats:
    """M(q)^-1, by the machine code: the accelerations that a small input adds, without friction."""
    n, still, push = simulator.arm.n, np.zeros(simulator.arm.n), PUSH if simulator.voltage else 1.0
    with np.errstate(all="ignore"):
        inputs = push * np.eye(n)
        rest, *pushed = (simulator.accelerations(q, still, u, still, np.ones(n)) for u in (still, *inputs))
        W = (np.array(pushed).T - rest[:, None]) / push
        if simulator.voltage:
            c = constants_of(simulator.arm)
            W = W * (c.R / c.K)
        return 0.5 * (W + W.T)


@lru_cache(maxsize=MOST_KEPT)
def _damping(arm: Arm, voltage: bool) -> Floats:
    """B of each freedom (n,): viscous friction, and back-EMF where voltages drive."""
    damping = np.zeros(arm.n)
    for drive in drives_of(arm):
        damping[drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
    if voltage:
        c = constants_of(arm)
        damping += c.K**2 / c.R
    return damping


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
    simulator: Simulator,
    method: str,
    step: float,
    postures: Iterable[Floats],
    where: str,
    instead: str = "",
    callers: int = 1,
) -> float:
    """Say that steps of this length cannot follow a drive, whose motion would come out as nonsense
    that may look like one.

    `instead` is another remedy than shorter steps, `callers` how many functions lie between the user and this
    one. It is said once, of the first posture where it is so; they
    are looked at until one leaves so much room that the inertia of no other takes it. The step as a share of
    the longest that is left.
    """
    share = 0.0
    for q in postures:
        rate, freedom = fastest_decay(simulator, q)
        most = longest_step(method, rate)
        share = step / most
        if share > 1.0:
            warnings.warn(
                f"{where}: steps of {step:g} s are too long for {simulator.arm.joints[freedom].name}, which "
                f"its drive brakes within {1.0 / rate:.2g} s: what comes out is not its motion. Take steps "
                f"of at most {most:.2g} s{instead}.",
                StepWarning,
                stacklevel=2 + callers,
            )
        if not is_near(share):
            break
    return share


def is_near(share: float) -> bool:
    """Whether steps that are this share of the longest in one posture may be too long in another."""
    return NEAR < share <= 1.0
