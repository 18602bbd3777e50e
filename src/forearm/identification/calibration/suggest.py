"""Where to measure next: postures that show best what others show worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.identification.calibration.hand_formula import residual_function
from forearm.identification.calibration.observability import best_additions, random_postures
from forearm.identification.calibration.setting import scaled_slopes, setting_of, shown_at_all
from forearm.kinematics.arguments import as_coordinates
from forearm.spatial import Floats
from forearm.values import check_whole

MOST = 1000
CANDIDATES = 500


def suggest_postures(
    arm: Arm,
    q: ArrayLike | None,
    count: int,
    *,
    poses: bool = True,
    hand_point: ArrayLike | None = None,
    unknowns: str | Sequence[str] | None = None,
    base: bool | ArrayLike = True,
    seed: int = 0,
) -> Floats:
    """Postures (count, n) within limits to measure beside those at q.

    Of random postures, one after the other is taken that raises the least singular value of the Jacobian
    most, over the directions of the unknowns that any posture shows. Collisions are not looked at.

    Args:
        arm: the arm.
        q: postures that are measured already (B, n); None: none.
        count: how many more.
        poses: whether poses are measured; False: points.
        hand_point: where the measured point is in the hand frame (3,), m; None: unknown.
        unknowns, base: as in `calibrate`.
        seed: of the random postures.
    """
    check_arm(arm, "suggest_postures, arm", moves=True)
    count = check_whole(count, "suggest_postures, count", 1, MOST)
    setting = setting_of(arm, poses, None if poses else hand_point, unknowns, base)
    values = setting.unknowns.start
    _, directions = shown_at_all(setting, values)
    function = residual_function(setting.arm, setting.unknowns.names, setting.is_pose)
    candidates = random_postures(arm, max(CANDIDATES, 2 * count), seed)
    offered = scaled_slopes(setting, function, candidates, values) @ directions
    information = np.zeros((directions.shape[1],) * 2)
    if q is not None:
        there = np.atleast_2d(as_coordinates(arm, q))
        rows = (scaled_slopes(setting, function, there, values) @ directions).reshape(-1, directions.shape[1])
        information = rows.T @ rows
    return candidates[best_additions(information, offered, count)]
