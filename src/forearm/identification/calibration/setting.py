"""The calibration problem and its starting point: unknowns, device, equations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError, shorten
from forearm.identification.calibration import alignment
from forearm.identification.calibration.fit import RANK, CalibrationTask
from forearm.identification.calibration.hand_formula import flat_poses, hand_frame, residual_function
from forearm.identification.calibration.measurements import Measurements
from forearm.identification.calibration.observability import random_postures
from forearm.identification.calibration.unknowns import (
    BASE,
    HAND,
    SIX,
    GeometryUnknowns,
    path_to_hand,
    unknowns_of,
)
from forearm.identification.requests import GeometryModel
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, inverse_pose, pose, rpy_of
from forearm.values import frozen

FAR_TURNED = 0.5  # rad: a larger rotation of the hand is first found in closed form
MANY = 100  # configurations used to determine observability, or one per unknown


@frozen
class CalibrationSetting:
    """A calibration problem: the arm with its hand at the known point, unknowns, the base if known, the
    reach.
    """

    arm: Arm
    before: Arm
    unknowns: GeometryUnknowns
    is_pose: bool
    base: Floats | None
    point: Floats
    reach: float

    @property
    def scale(self) -> Floats:
        """Scale factors that bring unknowns to a common size (m,)."""
        return np.where(self.unknowns.is_length, self.reach, 1.0)

    @property
    def sizes(self) -> Floats:
        """Scale factors of the values of a measurement (k,)."""
        return np.array([self.reach] * 3 + [1.0] * (3 if self.is_pose else 0))


def setting_of(arm: Arm, is_pose: bool, model: GeometryModel) -> CalibrationSetting:
    """The problem for an arm."""
    if not any(step.freedom >= 0 for step in path_to_hand(arm)):
        raise ModelError(f"the hand of {arm.name!r} is fixed to the base; no joint moves it.", "calibrate")
    base, unknown_point = model.base, not is_pose and model.hand_point is None
    point = np.zeros(3) if model.hand_point is None else np.array(model.hand_point)
    known = None if base is True else np.eye(4) if base is False else np.array(base)
    free: dict[str, Sequence[str]] = {} if known is not None else {BASE: SIX}
    if is_pose or unknown_point:
        free[HAND] = SIX if is_pose else SIX[:3]
    here = arm.replace(hand=arm.hand.pose @ pose(p=point)) if point.any() else arm
    wanted = unknowns_of(here, model.unknowns, free)
    if unknown_point:
        # always estimated, whichever unknowns were named
        names = [*wanted.names, *(f"{HAND}.{x}" for x in SIX[:3])]
        wanted = unknowns_of(here, list(dict.fromkeys(names)), free)
    reach = float(np.linalg.norm(forward(here, random_postures(here, MANY))[:, :3, 3], axis=1).max())
    return CalibrationSetting(here, arm, wanted, is_pose, known, point, reach if reach > 1e-6 else 1.0)


def noise_of(given: Any, is_pose: bool) -> Floats | None:
    """Standard deviations of the values of a measurement (k,), if stated."""
    if given is None:
        return None
    if is_pose and len(given) != 2:
        raise InputError("expected two values, for positions (m) and rotations (rad).", "calibrate", "noise")
    return np.repeat(given if is_pose else given[:1], 3)


def _prior(setting: CalibrationSetting, given: Sequence[float] | Mapping[str, float] | None) -> Floats:
    names = setting.unknowns.names
    made = np.full(len(names), math.inf)
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in names:
                raise InputError(
                    f"{shorten(name)} is not one of the unknowns: {', '.join(names)}.", "calibrate", "prior"
                )
            made[names.index(name)] = value
    elif given is not None:
        others = (f"{BASE}.",) if setting.is_pose else (f"{BASE}.", f"{HAND}.")
        of_file = np.array([not name.startswith(others) for name in names])
        made[of_file] = np.where(setting.unknowns.is_length, *given)[of_file]
    return made


def task_of(
    setting: CalibrationSetting, found: Measurements, prior: Sequence[float] | Mapping[str, float] | None
) -> CalibrationTask:
    """The equations, with measurements in the frame of the starting base."""
    base, values = _start(setting, found)
    back = inverse_pose(base)
    if found.poses is not None:
        measured = flat_poses(back @ found.poses)
    else:
        measured = found.positions @ back[:3, :3].T + back[:3, 3]
    return CalibrationTask(
        residual_function(setting.arm, setting.unknowns.names, setting.is_pose),
        np.ascontiguousarray(found.q),
        np.ascontiguousarray(measured),
        values,
        setting.scale,
        _prior(setting, prior),
        setting.unknowns.start,
        setting.sizes,
        base,
    )


def _start(setting: CalibrationSetting, found: Measurements) -> tuple[Floats, Floats]:
    """The base, and values with those of the hand if unknown, fitted to the arm of the file."""
    names, values = setting.unknowns.names, setting.unknowns.start.copy()
    F = forward(setting.arm, found.q)
    has_hand = any(name.startswith(f"{HAND}.") for name in names)
    if setting.base is not None or len(F) < 3:
        return np.eye(4) if setting.base is None else setting.base, values
    H = np.eye(4)
    if found.poses is None:
        B, H[:3, 3] = (
            alignment.base_and_point(found.positions, F)
            if has_hand
            else (alignment.base_of_points(found.positions, F[:, :3, 3]), 0.0)
        )
    else:
        B = alignment.base_of_poses(found.poses, F)
        trace = np.einsum("bij,bij->b", found.poses[:, :3, :3], B[:3, :3] @ F[:, :3, :3])
        if has_hand and np.median(trace) < 1.0 + 2.0 * math.cos(FAR_TURNED):
            B, H = alignment.base_and_hand_of_poses(found.poses, F)
    for part, value in zip(SIX, (*H[:3, 3], *rpy_of(H[:3, :3])), strict=True):
        if f"{HAND}.{part}" in names:
            values[names.index(f"{HAND}.{part}")] = value
    return B, values


def shown_at_all(setting: CalibrationSetting, values: Floats) -> tuple[Floats, Floats]:
    """Jacobians (N, k, m) over the reach and in scaled unknowns at many configurations, and the directions
    (m, r) that they determine.
    """
    slopes = scaled_slopes(setting, random_postures(setting.arm, max(MANY, len(values))), values)
    _, s, Vt = np.linalg.svd(np.linalg.qr(slopes.reshape(-1, slopes.shape[2]), mode="r"))
    return slopes, Vt[: len(s)][s > RANK * s[0]].T


@lru_cache(maxsize=32)
def most_shown(arm: Arm, names: tuple[str, ...], is_pose: bool) -> int:
    """Number of directions of these unknowns that can be observed at all, for the arm of the file."""
    unknowns = GeometryUnknowns.of(arm, names)
    setting = CalibrationSetting(arm, arm, unknowns, is_pose, None, np.zeros(3), 1.0)
    slopes = scaled_slopes(setting, random_postures(arm, max(MANY, len(names))), unknowns.start)
    s = np.linalg.svd(slopes.reshape(-1, len(names)), compute_uv=False)
    return int(np.sum(s > RANK * s[0]))


def scaled_slopes(setting: CalibrationSetting, q: Floats, values: Floats) -> Floats:
    """d residual / d unknowns at configurations, with measurements equal to predictions: lengths over the
    reach.
    """
    measured, names = np.zeros((len(q), 3)), setting.unknowns.names
    if setting.is_pose:  # as the compiled function takes them, in the frame of the starting base
        frame = hand_frame(setting.arm, list(q.T), dict(zip(names, values.tolist(), strict=True)))
        numbers = [*(v for axis in frame.axes for v in axis), *frame.origin]
        measured = np.stack([np.broadcast_to(v, len(q)) for v in numbers], axis=1)
    function = residual_function(setting.arm, names, setting.is_pose)
    many = np.tile(values, (len(q), 1))
    slopes = function(np.ascontiguousarray(q), many, np.ascontiguousarray(measured))[1]
    return np.asarray(slopes * setting.scale / setting.sizes[:, None])
