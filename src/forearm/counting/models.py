"""The generic chain that is counted for general n: a model over generic floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.model import Model, RigidBody

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


@dataclass(frozen=True)
class GenericChain:
    """A generic serial arm. Every option is a convention on which a printed count may depend.

    `kinds` has an R or a P for each joint. `dh`: the constant transform of a joint lies before it
    ("modified") or behind it ("standard"). An `aligned` base has z0 along the first axis and its
    origin on it, so that joint 1 has no constant part before it (and gravity lies along that axis).
    `inertia` is "full" or "diagonal".
    """

    kinds: str
    dh: str = "modified"
    aligned: bool = False
    inertia: str = "full"

    def model(self) -> Model:
        """The model over generic floats, except for the 0 and 1 of the conventions."""
        bodies = tuple(self._body(i) for i in range(len(self.kinds)))
        n = len(bodies)
        return Model(
            name=f"generic {self.kinds}",
            bodies=bodies,
            g=np.array([0.0, 0.0, -9.81]),
            hand=n - 1,
            R_hand=np.eye(3),
            p_hand=np.zeros(3),
            n=n,
            freedom=tuple(range(n)),
            multiplier=(1.0,) * n,
            offset=(0.0,) * n,
        )

    def _body(self, i: int) -> RigidBody:
        u = [math.modf((i + 1) * math.sqrt(prime))[0] for prime in PRIMES]
        alpha, a, d, theta = 0.3 + u[0], 0.2 + 0.3 * u[1], 0.1 + 0.2 * u[2], 0.2 + u[3]
        c, s = math.cos(alpha), math.sin(alpha)
        twist = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        # The angle of a prismatic joint is a parameter: a second elementary rotation, about z.
        c, s = math.cos(theta), math.sin(theta)
        about_z = (
            np.eye(3) if self.kinds[i] == "R" else np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        )
        d = d if self.kinds[i] == "R" else 0.0
        one, none = np.eye(3), np.zeros(3)
        if self.dh == "standard":
            frames = (about_z, none, twist, np.array([a, 0.0, d]))
        elif self.aligned and i == 0:
            frames = (one, none, about_z, none)
        else:
            frames = (twist, np.array([a, 0.0, 0.0]) + d * twist[:, 2], about_z, none)
        r = np.array([0.1 + 0.1 * u[4], 0.05 + 0.1 * u[5], 0.02 + 0.1 * u[6]])
        inertia = np.diag([0.2 + 0.1 * u[7], 0.3 + 0.1 * u[8], 0.35 + 0.1 * u[9]])
        if self.inertia == "full":
            xy, xz, yz = (0.01 + 0.03 * v for v in u[10:13])
            inertia = inertia + np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
        return RigidBody(i - 1, self.kinds[i] == "R", *frames, 1.0 + u[0] + u[7], r, inertia)


def chain(n: int, **conventions: Any) -> GenericChain:
    """The generic chain of n revolute joints."""
    return GenericChain("R" * n, **conventions)
