"""Prior of the parameters: a mean and a standard deviation for each."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.reference import inertial_parameters
from forearm.spatial import Floats, inverse_pose
from forearm.values import check_number, frozen

SMALLEST = 0.03  # m: smallest body size
SOLID = 1000.0  # kg/m^3: between a hollow casting and a full one
SLENDER = 4.0  # assumed length-to-thickness ratio of a link


@frozen
class Prior:
    """Prior of the parameters, before any data.

    Attributes:
        mean: (P,).
        std: standard deviations (P,); infinite: no prior.
    """

    mean: Floats
    std: Floats


def cad_prior(arm: Arm, share: float = 0.3) -> Prior:
    """Prior from the arm's own inertial parameters, with standard deviations proportional to each body: (10
    N,).

    CAD models omit cables, screws and grease, and densities are guessed: masses are wrong by a fraction, and
    so are moments, relative to the size of the body rather than of the entry. A product of inertia that is 0
    in CAD is no better known than the moments of inertia. With m and L of the body, standard deviations are
    share x m, share x m L for first moments and share x m L^2 for inertias about the origin. L is the radius
    of gyration about the body's origin, or half the distance to its farthest joint or the hand if that is
    more; at least 3 cm.

    A body without mass is treated as unknown. Its mean stays 0, and its standard deviations are those of a
    guess: the median mass of the arm's other bodies or, if no body has any, a bar as long as its reach, a
    quarter as thick, of 1000 kg/m^3.

    Args:
        arm: the arm.
        share: standard deviation of a mass over the mass.
    """
    share = check_number(share, "cad_prior, share", above=0.0)
    mean = inertial_parameters(arm)
    tens = mean.reshape(-1, 10)
    masses = [float(pi[0]) for pi in tens if pi[0] > 0.0]
    std = []
    for pi, reach in zip(tens, _reaches(arm), strict=True):
        mass, part = float(pi[0]), share
        length = max(0.5 * reach, SMALLEST)
        if mass > 0.0:
            second = 0.5 * float(pi[4] + pi[6] + pi[9])
            length = max(length, math.sqrt(max(second, 0.0) / mass))
        else:
            part = 1.0
            mass = (
                float(np.median(masses)) if masses else SOLID * 2.0 * length * (2.0 * length / SLENDER) ** 2
            )
        std += [part * mass * size for size in (1.0, *[length] * 3, *[length * length] * 6)]
    return Prior(mean, np.array(std))


def _reaches(arm: Arm) -> list[float]:
    """Distance from each body's origin to the farthest of its child joints and the hand, m."""
    bodies = arm.moving.bodies
    far = [float(np.linalg.norm(inverse_pose(body.after)[:3, 3])) for body in bodies]
    for body in bodies:
        if body.parent >= 0:
            far[body.parent] = max(far[body.parent], float(np.linalg.norm(body.before[:3, 3])))
    index, T = arm.moving.frames[arm.hand.link]
    if index >= 0:
        far[index] = max(far[index], float(np.linalg.norm((T @ arm.hand.pose)[:3, 3])))
    return far
