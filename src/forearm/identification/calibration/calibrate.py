"""Kinematic calibration of an arm from measured poses or points of its hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.calibration.fit import CalibrationTask
from forearm.identification.calibration.measurements import Measurements, measurements_of
from forearm.identification.calibration.mistakes import refuse_mistaken_columns
from forearm.identification.calibration.outliers import fit_without_outliers
from forearm.identification.calibration.result import Calibration
from forearm.identification.calibration.setting import (
    CalibrationSetting,
    most_shown,
    noise_of,
    setting_of,
    task_of,
)
from forearm.identification.calibration.statement import stated_calibration
from forearm.values import check_number


def calibrate(
    arm: Arm,
    q: ArrayLike | Measurements,
    *,
    poses: ArrayLike | None = None,
    points: ArrayLike | None = None,
    hand_point: ArrayLike | None = None,
    unknowns: str | Sequence[str] | None = None,
    base: bool | ArrayLike = True,
    prior: Sequence[float] | Mapping[str, float] | None = None,
    noise: float | Sequence[float] | None = None,
    confidence: float = 0.95,
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
        hand_point: the measured point (3,) in the hand frame, m; None: unknown, estimated.
        unknowns: names ("joint2.a"), joints ("joint2"), "hand", or groups: "offsets" (the zeros of the
            joints), "dh", "frames", "all" (default: "all").
        base: True: the pose of the device is unknown; False: it measures in the base frame; or the known base
            frame (4, 4) in the device's frame.
        prior: standard deviations of the errors in the file's values, (m, rad) or by name; None: no prior.
        noise: standard deviation of a measured coordinate, m, and of a rotation, rad; None: estimated from
            the residuals.
        confidence: probability that an interval contains the true value.
    """
    if isinstance(q, Measurements) and not (poses is None and points is None):
        raise InputError(
            "these measurements already contain poses or points; do not pass others.", "calibrate"
        )
    return calibrated(
        arm,
        q if isinstance(q, Measurements) else measurements_of(arm, q, poses, points),
        hand_point=hand_point,
        unknowns=unknowns,
        base=base,
        prior=prior,
        noise=noise,
        confidence=confidence,
    )


def calibrated(
    arm: Arm,
    found: Measurements,
    *,
    hand_point: ArrayLike | None = None,
    unknowns: str | Sequence[str] | None = None,
    base: bool | ArrayLike = True,
    prior: Sequence[float] | Mapping[str, float] | None = None,
    noise: float | Sequence[float] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Calibrate from measurements that are already read; arguments as for `calibrate`."""
    confidence = check_number(confidence, "calibrate, confidence", above=0.0, maximum=1.0 - 1e-12)
    is_pose = found.poses is not None
    if is_pose and hand_point is not None:
        raise InputError(
            "applies to points only; poses are those of the hand frame itself.", "calibrate", "hand_point"
        )
    setting = setting_of(arm, is_pose, hand_point, unknowns, base)
    has_point = not is_pose and "hand.x" in setting.unknowns.names
    refuse_mistaken_columns(setting.arm, found, setting.base, has_point, setting.reach)
    sigma = noise_of(noise, is_pose)
    task, start = task_of(setting, found, prior)
    _check_count(setting, task, len(found.q))
    fit, kept, far = fit_without_outliers(task, start.values, sigma, setting.reach)
    return stated_calibration(setting, found, task, start, fit, kept, far, sigma, confidence)


def _check_count(setting: CalibrationSetting, task: CalibrationTask, count: int) -> None:
    """Refuse fewer equations than identifiable unknowns."""
    told = most_shown(setting.arm, setting.unknowns.names, setting.is_pose)
    needed = -(-told // task.size)
    if count < needed and not np.isfinite(task.prior).all():
        raise InputError(
            f"{count} rows of {task.size} values are too few for {told} identifiable "
            f"unknowns; expected at least {needed} rows, better {3 * needed}. Measure more, "
            "or select fewer unknowns, such as 'offsets'.",
            "calibrate",
        )
