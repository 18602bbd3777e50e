"""Suggests measurement configurations that best determine what is poorly observable."""

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
    """Suggest configurations (count, n) within limits to measure in addition to q.

    Of random configurations it picks, one after the other, the one that raises the least singular value of
    the Jacobian most, over the observable directions of the unknowns. Collisions are not checked.

    Args:
        arm: the arm.
        q: configurations already measured (B, n); None: nothing measured yet.
        count: number of configurations to suggest.
        poses: True: poses are measured; False: points.
        hand_point: the measured point (3,) in the hand frame, m; None: unknown.
        unknowns, base: as in `calibrate`.
        seed: of the random configurations.
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
