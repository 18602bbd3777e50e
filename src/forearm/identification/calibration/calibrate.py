"""Geometry of an arm from measured poses or points of its hand."""

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
    """The geometry of an arm from poses or points of its hand, measured at joint coordinates.

    What the data do not show stays at the file's values, and is said. A row that does not belong to the
    others is left out, and said.

    Args:
        arm: the arm as its file has it.
        q: joint coordinates (B, n), rad (m), or what `read_measurements` gave, poses or points included.
        poses: of the hand in the frame of the measuring device (B, 4, 4); None: points are given.
        points: of the hand in the frame of the measuring device (B, 3), m; None: poses are given.
        hand_point: where the measured point is in the hand frame (3,), m; None: unknown, and estimated.
        unknowns: names ("joint2.a"), joints ("joint2"), "hand", or groups: "offsets" (the zeros of the
            joints), "dh", "frames", "all" (default: "all").
        base: True: where the device stands is unknown; False: it measures in the base frame; or the base
            frame (4, 4) in the device's, known.
        prior: how far the file's values are off, standard deviations in m and rad, or by name; None: open.
        noise: standard deviation of a measured coordinate, m, and of a turn, rad; None: from what is left.
        confidence: probability that an interval is to hold.
    """
    if isinstance(q, Measurements) and not (poses is None and points is None):
        raise InputError("calibrate: what was read has its poses or points already; give no others.")
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
    """The same from measurements that were read; arguments as those of `calibrate`."""
    confidence = check_number(confidence, "calibrate, confidence", above=0.0, maximum=1.0 - 1e-12)
    is_pose = found.poses is not None
    if is_pose and hand_point is not None:
        raise InputError("calibrate, hand_point: it is for points; poses are of the hand frame itself.")
    setting = setting_of(arm, is_pose, hand_point, unknowns, base)
    has_point = not is_pose and "hand.x" in setting.unknowns.names
    refuse_mistaken_columns(setting.arm, found, setting.base, has_point, setting.reach)
    sigma = noise_of(noise, is_pose)
    task, start = task_of(setting, found, prior)
    _check_count(setting, task, len(found.q))
    fit, kept, far = fit_without_outliers(task, start.values, sigma, setting.reach)
    return stated_calibration(setting, found, task, start, fit, kept, far, sigma, confidence)


def _check_count(setting: CalibrationSetting, task: CalibrationTask, count: int) -> None:
    """Refuse fewer equations than unknowns that can be told."""
    told = most_shown(setting.arm, setting.unknowns.names, setting.is_pose)
    needed = -(-told // task.size)
    if count < needed and not np.isfinite(task.prior).all():
        raise InputError(
            f"calibrate: {count} rows of {task.size} numbers are too few for {told} unknowns "
            f"that can be told; at least {needed} are needed, {3 * needed} are good. Measure more, or name "
            "fewer unknowns, such as 'offsets'."
        )
