"""Chains of any length with generic parameters, identical on every machine: chain1, chain7, chain100."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import from_dh
from forearm.errors import InputError
from forearm.spatial import rotation_rpy, turn_inertia

MAX_JOINTS = 9999  # with the base, the maximum number of links of an arm


def chain(n: int) -> Arm:
    """A serial arm of n revolute joints whose parameters are all different and none is 0 or special.

    Values are the fractional parts of multiples of square roots: evenly spread, without a random generator.
    Link lengths shrink as 1/sqrt(n), which keeps long chains within a few metres.
    """
    if not 1 <= n <= MAX_JOINTS:
        raise InputError(f"a chain has 1 to {MAX_JOINTS} joints.", f"chain{n}")
    spread = [
        [
            math.modf((i + 1) * math.sqrt(prime))[0]
            for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
        ]
        for i in range(n)
    ]
    size = 1.0 / math.sqrt(n)
    rows, mass, com, inertia = [], [], [], []
    for u in spread:
        length = size * (0.2 + 0.3 * u[0])
        rows.append((length, math.pi * (u[1] - 0.5), size * 0.3 * (u[2] - 0.5), math.pi * (u[3] - 0.5)))
        com.append((-length * (0.2 + 0.6 * u[5]), 0.2 * length * (u[6] - 0.5), 0.3 * length * (u[7] - 0.5)))
        # A solid box with unequal edges, rotated by three angles: a full, physically consistent tensor.
        x, y, z = length * (0.8 + u[8]), length * (0.3 + 0.3 * u[9]), length * (0.15 + 0.2 * u[10])
        mass.append(2000.0 * (0.5 + u[4]) * x * y * z)  # kg, with the density of a light casting
        box = mass[-1] / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
        inertia.append(turn_inertia(rotation_rpy((u[11], u[12], u[0] + u[1])), box))
    arm = from_dh(f"chain{n}", rows, convention="modified", mass=mass, com=com, inertia=np.array(inertia))
    return arm.replace(
        source="made by formula, forearm.arm.chain", notes=f"{n} revolute joints with generic numbers."
    )
