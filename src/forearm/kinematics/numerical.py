"""Numeric inverse kinematics: joint coordinates that bring the hand, or a link, to a pose, for any arm,
within its limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kinematics.arguments import as_coordinates, as_poses
from forearm.reading.fields import WholeField
from forearm.records import declared, flag, flat, number, record
from forearm.spatial import Flags, Floats
from forearm.values import frozen

MOST_STARTS, MOST_STEPS = 1000, 10_000
FINEST = 1e-12  # m and rad: below this is rounding
# of the tolerance is required of the machine code, so that other rounding does not contradict `solved`
CLOSER = 0.99


@frozen
class NumericSolution:
    """Result for one pose; (B, ...) for B poses.

    Attributes:
        q: joint coordinates (n,): the solution if `solved`, otherwise the nearest configuration found.
        solved: whether position and rotation are within the tolerance.
        error: residual position, m, and rotation, rad, (2,); rotation is NaN if not requested.
        steps: iterations of all starts.
        starts: number of starts used.
        message: summary in words.
    """

    q: Floats
    solved: bool | Flags
    error: Floats
    steps: int | NDArray[np.int64]
    starts: int | NDArray[np.int64]
    message: str


@record
class NumericOptions:
    """How numeric inverse kinematics searches."""

    position_only: bool = flag("whether to ignore the rotation of T", default=False)
    limits: bool = flag("whether joints stay within their limits", default=True)
    tolerance: float = number(
        "tolerance of position, m, and rotation, rad", minimum=FINEST, maximum=1.0, default=1e-9
    )
    starts: int = declared(WholeField("largest number of starts", 1, MOST_STARTS), default=64)
    seed: int = declared(WholeField("seed of the random starts", 0, 2**64 - 1), default=0)
    most_steps: int = declared(WholeField("largest number of steps per start", 1, MOST_STEPS), default=100)

    @property
    def asked(self) -> tuple[int, int, float, int]:
        """Parameters of the machine code: starts, seed, tolerance and steps."""
        return self.starts, self.seed, CLOSER * self.tolerance, self.most_steps


USUAL = NumericOptions()


@flat(options=NumericOptions)
def inverse_numeric(
    arm: Arm,
    T: ArrayLike,
    *,
    start: ArrayLike | None = None,
    link: str | None = None,
    options: NumericOptions = USUAL,
    threads: int | None = 1,
) -> NumericSolution:
    """Joint coordinates that bring the hand, or a named link, to a pose.

    Damped least squares, dq = J^T (J J^T + damping)^-1 e, from `start` and then from others, until position
    and rotation are within the tolerance. If no start converges, the nearest configuration found is returned,
    minimising position^2 + rotation^2, and `solved` is False. The result for a pose does not depend on the
    others of the batch.

    Args:
        arm: the arm.
        T: pose in the base frame, (4, 4) or (B, 4, 4).
        start: initial joint coordinates (n,) or (B, n); None: random like the others.
        link: name of the link; None: the hand.
        options: the following together.
        threads: number of threads for a batch; None: one per processor if worthwhile.
    """
    return solve_numeric(arm, T, start, link, options, threads)


def solve_numeric(
    arm: Arm,
    T: ArrayLike,
    start: ArrayLike | None,
    link: str | None,
    options: NumericOptions,
    threads: int | None,
    cpu: str | None = None,
) -> NumericSolution:
    """`inverse_numeric` with code for a given processor."""
    check_arm(arm, "inverse_numeric")
    rows, single = poses_of(T)
    first = None if start is None else starts_of(arm, start, len(rows))
    from forearm.kernels.numeric_ik import reacher_of

    name = None if link is None else arm.link(link).name
    reacher = reacher_of(arm, name, options.position_only, options.limits, cpu)
    found = reacher.run(rows, first, *options.asked, threads)
    squares, counts = found[:, -4:-2], found[:, -2:].T
    error, solved = np.sqrt(squares), (squares <= options.asked[2] ** 2).all(axis=1)
    if options.position_only:
        error[:, 1] = np.nan
    parts = (found[:, :-4].copy(), error, solved, *counts)
    return solution_of(*(part[0] if single else part for part in parts))


def solution_of(q: Any, error: Any, solved: Any, steps: Any, starts: Any) -> NumericSolution:
    """Results for one pose or many, from arrays."""
    if np.ndim(q) == 1:
        message = _of_one(bool(solved), error.tolist(), int(steps), int(starts))
        return NumericSolution(q, bool(solved), error, int(steps), int(starts), message)
    flags = np.asarray(solved, dtype=bool)
    return NumericSolution(q, flags, error, steps.astype(np.int64), starts.astype(np.int64), _of_many(flags))


def _of_one(solved: bool, error: list[float], steps: int, starts: int) -> str:
    said = f"{steps} step{'s' * (steps != 1)} from {starts} start{'s' * (starts != 1)}"
    if solved:
        return f"solved in {said}"
    away = f"{error[0]:.3g} m" + ("" if np.isnan(error[1]) else f" and {error[1]:.3g} rad")
    return (
        f"not solved in {said}: the nearest configuration found is {away} away; the pose is out of "
        "reach, or more starts are needed"
    )


def _of_many(solved: Flags) -> str:
    bad = np.flatnonzero(~solved)
    if not len(bad):
        return f"all {len(solved)} solved"
    good = f"{len(solved) - len(bad)} of {len(solved)} solved"
    return f"{good}; for the others, first {bad[0]}, the nearest configuration found is given"


def poses_of(T: ArrayLike) -> tuple[Floats, bool]:
    """The first three rows of each pose, (B, 12), checked, and whether a single pose was given."""
    poses, single = as_poses(T, "inverse_numeric, T")
    return poses[:, :3].reshape(-1, 12), single


def starts_of(arm: Arm, start: ArrayLike, count: int) -> Floats:
    """(1, n) for all, or (B, n)."""
    first = np.atleast_2d(as_coordinates(arm, start, "start"))
    if len(first) not in (1, count):
        raise InputError(
            f"expected one configuration ({arm.n},), or one for each of the {count} poses, "
            f"got {first.shape}.",
            "start",
        )
    unknown = ~np.isfinite(first).all(axis=1)
    if unknown.any():
        raise InputError(f"all values must be finite; row {int(np.flatnonzero(unknown)[0])} is not.", "start")
    return first
