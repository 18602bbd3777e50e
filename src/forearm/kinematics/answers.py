"""What inverse kinematics answers: branches of one pose or of many, the nearest posture, a followed path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nearest:
    """The posture q (n,) that comes nearest to a pose: the hand's pose (4, 4) there,
    how far it is off in m and in rad.

    Nearest by the least distance^2 + angle^2; with three joints by the distance alone, and the angle is 0.
    """

    q: Floats
    pose: Floats
    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class IKResult:
    """Every branch q (m, n) that brings the hand to one pose, none if there is none.

    `reachable` says that there is one within what was asked (limits or not). `singular` says that at some
    branch the hand cannot move in every direction: either the joints named in `undetermined` can move while
    the hand stands, and one of many solutions is given, or two branches meet. `message` says it in words.
    `nearest` is there when it was asked for and nothing reaches the pose.
    """

    q: Floats
    reachable: bool
    singular: bool
    message: str
    undetermined: tuple[str, ...] = ()
    nearest: Nearest | None = None


@dataclass(frozen=True, eq=False)
class IKBatch:
    """Branches of many poses: q (B, branches, n) with NaN where a branch does not exist, valid (B, branches).

    `reachable` (B,) says that some branch is valid, `singular` (B,) that the hand cannot move in
    every direction at one.
    """

    q: Floats
    valid: Truths
    reachable: Truths
    singular: Truths


@dataclass(frozen=True)
class PathEvent:
    """Something to know of a path at the pose `index`."""

    index: int
    kind: Literal["unreachable", "singular", "crossing", "jump"]
    message: str


@dataclass(frozen=True, eq=False)
class FollowedPath:
    """Postures q (B, n) along a path of poses, NaN where the pose is not reached;
    what happened on the way in `events`.

    `complete` says that every pose was reached without a jump.
    """

    q: Floats
    complete: bool
    events: tuple[PathEvent, ...]
