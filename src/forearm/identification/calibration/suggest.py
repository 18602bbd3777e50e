"""Suggests measurement configurations that best determine what is poorly observable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.identification.calibration.observability import best_additions, random_postures
from forearm.identification.calibration.setting import scaled_slopes, setting_of, shown_at_all
from forearm.identification.requests import GeometryModel
from forearm.kinematics.arguments import as_coordinates
from forearm.records import flat
from forearm.spatial import Floats
from forearm.values import check_whole

MOST = 1000
CANDIDATES = 500


@flat(model=GeometryModel)
def suggest_postures(
    arm: Arm,
    q: ArrayLike | None,
    count: int,
    *,
    poses: bool = True,
    model: GeometryModel | None = None,
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
        model: as in `calibrate`.
        seed: of the random configurations.
    """
    check_arm(arm, "suggest_postures, arm", moves=True)
    count = check_whole(count, "suggest_postures, count", 1, MOST)
    model = model or GeometryModel()
    setting = setting_of(arm, poses, replace(model, hand_point=None) if poses else model)
    values = setting.unknowns.start
    _, directions = shown_at_all(setting, values)
    candidates = random_postures(arm, max(CANDIDATES, 2 * count), seed)
    offered = scaled_slopes(setting, candidates, values) @ directions
    information = np.zeros((directions.shape[1],) * 2)
    if q is not None:
        there = np.atleast_2d(as_coordinates(arm, q))
        rows = (scaled_slopes(setting, there, values) @ directions).reshape(-1, directions.shape[1])
        information = rows.T @ rows
    return candidates[best_additions(information, offered, count)]
