"""Kinematic calibration of an arm from measured poses or points of its hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.calibration.measurements import Measurements, measurements_of
from forearm.identification.calibration.mistakes import refuse_mistaken_columns
from forearm.identification.calibration.outliers import fit_without_outliers
from forearm.identification.calibration.result import Calibration
from forearm.identification.calibration.setting import most_shown, noise_of, setting_of, task_of
from forearm.identification.calibration.statement import stated_calibration
from forearm.identification.calibration.unknowns import HAND
from forearm.identification.requests import GeometryModel, GeometryNoise
from forearm.records import flat


@flat(model=GeometryModel, statistics=GeometryNoise)
def calibrate(
    arm: Arm,
    q: ArrayLike | Measurements,
    *,
    poses: ArrayLike | None = None,
    points: ArrayLike | None = None,
    model: GeometryModel | None = None,
    statistics: GeometryNoise | None = None,
) -> Calibration:
    """Calibrate the geometry of an arm from poses or points of its hand, measured at known joint coordinates.

    Parameters that the data do not determine keep the file's values and are reported. Outliers are excluded
    and reported.

    Args:
        arm: the arm as in its file.
        q: joint coordinates (B, n), rad (m), or the result of `read_measurements`, which includes poses or
            points.
        poses: poses (B, 4, 4) of the hand in the frame of the measuring device; None if points are given.
        points: positions (B, 3) of the hand point in the frame of the measuring device, m; None if poses are
            given.
        model: which geometry is estimated.
        statistics: what is known of errors.
    """
    if isinstance(q, Measurements) and not (poses is None and points is None):
        raise InputError(
            "these measurements already contain poses or points; do not pass others.", "calibrate"
        )
    found = q if isinstance(q, Measurements) else measurements_of(arm, q, poses, points)
    model, statistics = model or GeometryModel(), statistics or GeometryNoise()
    is_pose = found.poses is not None
    if is_pose and model.hand_point is not None:
        raise InputError(
            "applies to points only; poses are those of the hand frame itself.", "calibrate", "hand_point"
        )
    setting = setting_of(arm, is_pose, model)
    names = setting.unknowns.names
    has_point = not is_pose and f"{HAND}.x" in names
    refuse_mistaken_columns(setting.arm, found, setting.base, has_point, setting.reach)
    noise = noise_of(statistics.noise, is_pose)
    task = task_of(setting, found, statistics.prior)
    # fewer equations than identifiable unknowns
    shown, size, count = most_shown(setting.arm, names, is_pose), len(task.sizes), len(found.q)
    needed = -(-shown // size)
    if count < needed and not np.isfinite(task.prior).all():
        raise InputError(
            f"{count} rows of {size} values are too few for {shown} identifiable "
            f"unknowns; expected at least {needed} rows, better {3 * needed}. Measure more, "
            "or select fewer unknowns, such as 'offsets'.",
            "calibrate",
        )
    fit = fit_without_outliers(task, task.start, noise)
    return stated_calibration(setting, found, task, fit, noise, statistics.confidence)
