"""Ways of the hand through space, by length: straight and circular ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class HandWay(Protocol):
    """A curve of the hand's origin in the base frame, smooth throughout: a `JointPath` of three coordinates
    in m is one too.
    """

    @property
    def length(self) -> float:
        """From its start to its end, m."""
        ...

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Place and its first two derivatives by s at ways s (m,), (m, 3) each."""
        ...


@dataclass(frozen=True, eq=False)
class StraightWay:
    """From `start` (3,) along the unit vector `along` (3,), for a length in m."""

    start: Array
    along: Array
    length: float

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Place, direction and 0 at ways s (m,), (m, 3) each."""
        places = self.start + s[:, None] * self.along
        return places, np.broadcast_to(self.along, places.shape), np.zeros_like(places)


@dataclass(frozen=True, eq=False)
class CircularWay:
    """Round `centre` (3,) from centre + radius x towards centre + radius y, unit vectors at a right angle,
    for a length in m.
    """

    centre: Array
    x: Array
    y: Array
    radius: float
    length: float

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Place, direction and curvature at ways s (m,), (m, 3) each."""
        angle = (s / self.radius)[:, None]
        outward = np.cos(angle) * self.x + np.sin(angle) * self.y
        along = np.cos(angle) * self.y - np.sin(angle) * self.x
        return self.centre + self.radius * outward, along, -outward / self.radius


def straight(start: Array, end: Array) -> StraightWay:
    """From one place (3,) to another."""
    length = float(np.linalg.norm(end - start))
    return StraightWay(start, (end - start) / length, length)
