"""Results of inverse kinematics: branches for one pose or many, the nearest configuration, a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Flags, Floats
from forearm.values import frozen


@frozen
class Nearest:
    """The configuration nearest to a pose, minimising distance^2 + angle^2; with three joints the distance
    only.

    Attributes:
        q: joint coordinates (n,).
        pose: the hand (4, 4) there, in the base frame.
        distance: position error of its origin, m.
        angle: rotation error, rad; with three joints 0.
    """

    q: Floats
    pose: Floats
    distance: float
    angle: float


@frozen
class IKResult:
    """All inverse kinematics branches of one pose, possibly none.

    Attributes:
        q: joint coordinates (m, n), one branch per row.
        reachable: whether there is a valid branch (within limits, if requested).
        singular: whether the hand cannot move in every direction at some branch: either the joints of
            `undetermined` allow self-motion with the hand fixed, and one of many solutions is given, or two
            branches meet.
        message: summary in words.
        undetermined: names of joints that can move while the hand stays fixed.
        nearest: the nearest configuration, if requested and the pose is not reached; else None.
        certain: how many of the branches the closed form proves: all, unless the arm's axes meet only nearly
            and the pose is beside a singular one, where the others come from a search and one may be missing.
    """

    q: Floats
    reachable: bool
    singular: bool
    message: str
    undetermined: tuple[str, ...] = ()
    nearest: Nearest | None = None
    certain: int = 0


@frozen
class IKBatch:
    """All inverse kinematics branches of many poses.

    Attributes:
        q: joint coordinates (B, branches, n), NaN if a branch does not exist.
        valid: (B, branches), whether a branch exists.
        reachable: (B,), whether some branch is valid.
        singular: (B,), whether the hand cannot move in every direction at a valid branch.
        certain: (B,), how many of the valid branches are certain, as in `IKResult`.
    """

    q: Floats
    valid: Flags
    reachable: Flags
    singular: Flags
    certain: NDArray[np.int64]


@dataclass(frozen=True)
class PathEvent:
    """An event along a path.

    Attributes:
        index: index of the pose.
        kind: "unreachable", "singular", "crossing" or "jump".
        message: a sentence.
    """

    index: int
    kind: Literal["unreachable", "singular", "crossing", "jump"]
    message: str


@frozen
class FollowedPath:
    """Configurations along a path of poses.

    Attributes:
        q: joint coordinates (B, n), NaN if the pose is not reached.
        complete: whether every pose was reached without a jump.
        events: events along the path.
    """

    q: Floats
    complete: bool
    events: tuple[PathEvent, ...]
