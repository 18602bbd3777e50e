"""Stability of fixed steps: decay rates due to viscous friction and back-EMF, spring frequencies, and the
longest stable step.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.drives.coordinates import Coordinates
from forearm.drives.elasticity import spring_stiffness
from forearm.drives.joint import drives_of, rotor_inertia
from forearm.drives.motor import constants_of
from forearm.dynamics.reference import inertia_matrix
from forearm.errors import StepWarning
from forearm.kernels.kept import MOST_KEPT
from forearm.kernels.rollout import Simulator
from forearm.simulation.methods import tableau_of

Floats = NDArray[np.float64]
FARTHEST = 4.0  # no explicit method of up to four stages is stable with steps of so many decay times
LEAST = 0.5  # all are stable with this many, at any phase angle
NEAR = 0.3  # the inertia seen by a drive seldom falls below this share of its value
ROUNDING = 1e-9
OPPOSED = np.array([[1.0, -1.0], [-1.0, 1.0]])  # link and rotor
LOOKED_AT = 200  # deflections sampled along a curve


def fastest_decay(coordinates: Coordinates, voltage: bool, q: Floats) -> tuple[complex, int]:
    """The largest rate, 1/s, at which M(q) qdd = -B qd decays, and the degree of freedom that dominates that
    mode, at link positions q. With springs the rate is complex; its imaginary part is the angular frequency.
    """
    damping, stiffness = _local_terms(coordinates, voltage)
    if not damping.any() and not stiffness.any():
        return 0.0, 0
    mobility = _mobility(coordinates, q)
    if not np.isfinite(mobility).all():  # a massless joint has no accelerations either
        return 0.0, 0
    if not stiffness.any():
        return _fastest(damping, mobility)
    return _fastest_swing(stiffness, damping, mobility, coordinates)


def _fastest_swing(
    stiffness: Floats, damping: Floats, W: Floats, coordinates: Coordinates
) -> tuple[complex, int]:
    """Eigenvalue of x'' = -W (K x + D x') of the largest magnitude, and its dominant coordinate."""
    m = len(W)
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-W @ stiffness, -W @ damping]])
    values, vectors = np.linalg.eig(A)
    k = int(np.argmax(np.abs(values)))
    fastest = int(np.argmax(np.abs(vectors[m:, k])))
    rate = complex(-values[k].real, abs(values[k].imag))
    return (rate if rate.imag > 0.0 else rate.real), coordinates.joint_of[fastest]


def _fastest(D: Floats, W: Floats) -> tuple[float, int]:
    root = np.sqrt(np.diagonal(D))
    rates, modes = np.linalg.eigh(root[:, None] * W * root)  # similar to M^-1 B, and symmetric
    return float(rates[-1]), int(np.argmax(np.abs(W @ (root * modes[:, -1]))))


def _mobility(coordinates: Coordinates, q: Floats) -> Floats:
    """M^-1 of links and rotors, which are where their links have them; infinite if a joint has no mass."""
    mechanics, alone = coordinates.mechanics, [rotor.inertia for rotor in coordinates.alone]
    x = np.concatenate([q[: coordinates.n], q[[rotor.freedom for rotor in coordinates.rotors]]])
    M = inertia_matrix(mechanics, x[: mechanics.n])
    M = np.block([[M, np.zeros((len(M), len(alone)))], [np.zeros((len(alone), len(M))), np.diag(alone)]])
    try:
        return np.asarray(np.linalg.inv(M), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(M.shape, np.inf)


@lru_cache(maxsize=MOST_KEPT)
def _fastest_anywhere(coordinates: Coordinates, voltage: bool) -> float:
    """A bound on the rate in every configuration, as M is never less than the rotors' N^2 J; infinite where
    springs swing.
    """
    damping, stiffness = _local_terms(coordinates, voltage)
    if stiffness.any():
        return math.inf
    decay, least = np.diagonal(damping), rotor_inertia(coordinates.mechanics)
    braked = decay > 0.0
    return (
        math.inf
        if (least[braked] == 0.0).any()
        else float(np.max(decay[braked] / least[braked], initial=0.0))
    )


@lru_cache(maxsize=MOST_KEPT)
def _local_terms(coordinates: Coordinates, voltage: bool) -> tuple[Floats, Floats]:
    """Drive contributions to links and rotors, (m, m) each: damping by viscous friction and back-EMF, and the
    maximum stiffness of springs, with their damping. Bristles are integrated stably at any step size.
    """
    m, arm = coordinates.bodies, coordinates.arm
    D, K = np.zeros((m, m)), np.zeros((m, m))
    bristled = {b.body for b in coordinates.bristles}
    for k, drive in enumerate(drives_of(coordinates.mechanics)):
        if k not in bristled:
            D[drive.freedom, drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
    if voltage:
        c = constants_of(arm)
        back = c.K**2 / c.R
        for freedom in coordinates.windings:
            back[freedom] = 0.0  # a current that is a state is integrated by itself
        D[list(coordinates.motors), list(coordinates.motors)] += back
    for r in coordinates.rotors:
        if r.friction is not None and coordinates.alone and r.friction.bristle_stiffness is None:
            D[r.place, r.place] += r.friction.viscous
        both = np.ix_([r.freedom, r.place], [r.freedom, r.place])
        reach = r.elasticity.curve[-1][0] if r.elasticity.curve else 0.0
        stiffest = float(np.max(spring_stiffness(r.elasticity, np.linspace(0.0, reach, LOOKED_AT))))
        K[both] += stiffest * OPPOSED
        D[both] += r.elasticity.damping * OPPOSED
    return D, K


def longest_step(method: str, rate: complex) -> float:
    """The longest step for which a mode of this rate does not grow."""
    if not rate:
        return math.inf
    return _decay_times(method, round(math.atan2(rate.imag, rate.real), 3)) / abs(rate)


@cache
def _decay_times(method: str, angle: float) -> float:
    """Stability limit in decay times: where |R(-x)| = 1 for the method's polynomial R, along the direction of
    the rate, which is the imaginary axis for an undamped oscillation.
    """
    c, a, b = tableau_of(method).floats
    stages = len(c)
    A = np.zeros((stages, stages))
    for i, row in enumerate(a):
        A[i, : len(row)] = row
    weights = [
        1.0,
        *(float(np.asarray(b) @ np.linalg.matrix_power(A, k) @ np.ones(stages)) for k in range(stages)),
    ]
    near, far, way = LEAST, FARTHEST, complex(math.cos(angle), math.sin(angle))
    while far - near > ROUNDING:
        middle = 0.5 * (near + far)
        is_stable = abs(sum(w * (-middle * way) ** k for k, w in enumerate(weights))) <= 1.0 + ROUNDING
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
    """Warn if steps of this length are unstable for a drive, whose simulated motion would be spurious.

    `instead` is a remedy other than shorter steps, `callers` the number of functions between the user and
    this one. One warning is issued, for the first configuration concerned; configurations are checked until
    one has so much margin that no other can lack it. Returns the step as a share of the longest stable one.
    """
    most = longest_step(method, _fastest_anywhere(simulator.coordinates, simulator.voltage))
    share = step / most if most else math.inf
    for q in postures if share > NEAR else ():
        share, doubt = share_of_longest(simulator.coordinates, simulator.voltage, q, method, step)
        if doubt:
            warnings.warn(f"{where}: {doubt}{instead}.", StepWarning, stacklevel=2 + callers)
        if not is_near(share):
            break
    return share


def share_of_longest(
    coordinates: Coordinates, voltage: bool, q: Floats, method: str, step: float
) -> tuple[float, str]:
    """A step as a share of the longest stable one in a configuration, and a sentence, without its end, if it
    is longer.
    """
    rate, freedom = fastest_decay(coordinates, voltage, q)
    most = longest_step(method, rate)
    if step <= most:
        return step / most, ""
    does = (
        f"whose drive oscillates at {abs(rate) / (2.0 * math.pi):.3g} Hz"
        if isinstance(rate, complex)
        else f"which its drive brakes within {1.0 / rate:.2g} s"
    )
    digits = 10.0 ** (math.floor(math.log10(most)) - 1)  # two digits, rounded down
    below = math.floor(most / digits * (1.0 - ROUNDING)) * digits
    return step / most, (
        f"steps of {step:g} s are too long for {coordinates.arm.joints[freedom].name}, {does}: the simulated "
        f"motion would be spurious. Use steps of at most {below:.2g} s"
    )


def is_near(share: float) -> bool:
    """Whether a step that is this share of the stable limit in one configuration may exceed it in another."""
    return NEAR < share <= 1.0
