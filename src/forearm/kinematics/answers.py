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
    """The posture that comes nearest to a pose, by the least distance^2 + angle^2; with three joints by the
    distance alone.

    Attributes:
        q: joint coordinates (n,).
        pose: the hand (4, 4) there, in the base frame.
        distance: how far its origin is off, m.
        angle: by how much it is turned, rad; with three joints 0.
    """

    q: Floats
    pose: Floats
    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class IKResult:
    """Every branch that brings the hand to one pose, none if there is none.

    Attributes:
        q: joint coordinates (m, n), a branch per row.
        reachable: whether there is a branch within what was asked (limits or not).
        singular: whether at some branch the hand cannot move in every direction: either the joints of
            `undetermined` can move while the hand stands, and one of many solutions is given, or two branches
            meet.
        message: the same in words.
        undetermined: names of joints that can move while the hand stands.
        nearest: the nearest posture, where it was asked for and nothing reaches the pose; else None.
    """

    q: Floats
    reachable: bool
    singular: bool
    message: str
    undetermined: tuple[str, ...] = ()
    nearest: Nearest | None = None


@dataclass(frozen=True, eq=False)
class IKBatch:
    """Branches of many poses.

    Attributes:
        q: joint coordinates (B, branches, n), NaN where a branch does not exist.
        valid: (B, branches), whether it does.
        reachable: (B,), whether some branch is valid.
        singular: (B,), whether at a valid one the hand cannot move in every direction.
    """

    q: Floats
    valid: Truths
    reachable: Truths
    singular: Truths


@dataclass(frozen=True)
class PathEvent:
    """Something to know of a path.

    Attributes:
        index: the pose at which it is.
        kind: "unreachable", "singular", "crossing" or "jump".
        message: a sentence.
    """

    index: int
    kind: Literal["unreachable", "singular", "crossing", "jump"]
    message: str


@dataclass(frozen=True, eq=False)
class FollowedPath:
    """Postures along a path of poses.

    Attributes:
        q: joint coordinates (B, n), NaN where the pose is not reached.
        complete: whether every pose was reached without a jump.
        events: what happened on the way.
    """

    q: Floats
    complete: bool
    events: tuple[PathEvent, ...]
