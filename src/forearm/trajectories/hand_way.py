"""Cartesian paths of the hand by arc length: straight and circular ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.sampling import States
from forearm.values import frozen


class HandWay(Protocol):
    """A smooth curve of the hand's origin in the base frame: a `JointPath` of three coordinates in m is one
    too.
    """

    @property
    def length(self) -> float:
        """Arc length, m."""
        ...

    def at(self, s: Floats) -> States:
        """Position and its first two derivatives by s at arc lengths s (m,), (m, 3) each."""
        ...


@frozen
class StraightWay:
    """A line from `start` (3,) along the unit vector `along` (3,), of a length in m."""

    start: Floats
    along: Floats
    length: float

    def at(self, s: Floats) -> States:
        """Position, direction and 0 at arc lengths s (m,), (m, 3) each."""
        places = self.start + s[:, None] * self.along
        return places, np.broadcast_to(self.along, places.shape), np.zeros_like(places)


@frozen
class CircularWay:
    """A circular arc about `centre` (3,) from centre + radius x towards centre + radius y, perpendicular unit
    vectors, of a length in m.
    """

    centre: Floats
    x: Floats
    y: Floats
    radius: float
    length: float

    def at(self, s: Floats) -> States:
        """Position, direction and curvature at arc lengths s (m,), (m, 3) each."""
        angle = (s / self.radius)[:, None]
        outward = np.cos(angle) * self.x + np.sin(angle) * self.y
        along = np.cos(angle) * self.y - np.sin(angle) * self.x
        return self.centre + self.radius * outward, along, -outward / self.radius


def straight(start: Floats, end: Floats) -> StraightWay:
    """The line from one position (3,) to another."""
    length = float(np.linalg.norm(end - start))
    return StraightWay(start, (end - start) / length, length)
