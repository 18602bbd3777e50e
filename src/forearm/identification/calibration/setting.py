"""The calibration problem and its starting point: unknowns, device, equations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

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
    file_value,
    is_length,
    path_to_hand,
    unknowns_of,
)
from forearm.kernels.traced_function import TracedFunction
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, inverse_pose, pose, rpy_of
from forearm.values import as_pose, check_number, frozen_array

FAR_TURNED = 0.5  # rad: a larger rotation of the hand is first found in closed form
MANY = 100  # configurations used to determine observability, or one per unknown


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class CalibrationStart:
    """Starting point of a fit: the base in the device's frame, and values of the unknowns."""

    base: Floats
    values: Floats


def setting_of(
    arm: Arm,
    is_pose: bool,
    hand_point: ArrayLike | None,
    unknowns: str | Sequence[str] | None,
    base: bool | ArrayLike,
) -> CalibrationSetting:
    """The checked problem."""
    if not any(step.freedom >= 0 for step in path_to_hand(arm)):
        raise ModelError(f"the hand of {arm.name!r} is fixed to the base; no joint moves it.", "calibrate")
    point = (
        np.zeros(3)
        if hand_point is None
        else np.array(frozen_array(hand_point, (3,), "calibrate, hand_point"))
    )
    known = (
        None if base is True else np.eye(4) if base is False else np.array(as_pose(base, "calibrate, base"))
    )
    free: dict[str, Sequence[str]] = {} if known is not None else {BASE: SIX}
    if is_pose or hand_point is None:
        free[HAND] = SIX if is_pose else SIX[:3]
    here = arm.replace(hand=arm.hand.pose @ pose(p=point)) if point.any() else arm
    wanted = unknowns_of(here, unknowns, free)
    if not is_pose and hand_point is None:
        # an unknown hand point is always estimated, whichever unknowns were named
        names = [*wanted.names, *(f"{HAND}.{x}" for x in SIX[:3])]
        wanted = unknowns_of(here, list(dict.fromkeys(names)), free)
    reach = float(np.linalg.norm(forward(here, random_postures(here, MANY))[:, :3, 3], axis=1).max())
    return CalibrationSetting(here, arm, wanted, is_pose, known, point, reach if reach > 1e-6 else 1.0)


def noise_of(given: float | Sequence[float] | None, is_pose: bool) -> Floats | None:
    """Standard deviations of the values of a measurement (k,), if stated."""
    if given is None:
        return None
    values = [given] if isinstance(given, int | float) else list(given)
    if len(values) != (2 if is_pose else 1) and not (len(values) == 2 and not is_pose):
        wanted = (
            "two values, for positions (m) and rotations (rad),"
            if is_pose
            else "one value, for positions (m),"
        )
        raise InputError(f"expected {wanted} got {shorten(given)}.", "calibrate", "noise")
    checked = [check_number(v, "calibrate, noise", above=0.0) for v in values]
    return np.repeat(checked if is_pose else checked[:1], 3)


def _prior(setting: CalibrationSetting, given: Sequence[float] | Mapping[str, float] | None) -> Floats:
    names = setting.unknowns.names
    made = np.full(len(names), math.inf)
    if given is None:
        return made
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in names:
                raise InputError(
                    f"{shorten(name)} is not one of the unknowns: {', '.join(names)}.", "calibrate", "prior"
                )
            made[names.index(name)] = check_number(value, f"calibrate, prior, {name}", above=0.0)
        return made
    values = list(given)
    if len(values) != 2:
        raise InputError(
            f"expected (m, rad) or standard deviations by name, got {shorten(given)}.", "calibrate", "prior"
        )
    length, angle = (check_number(v, "calibrate, prior", above=0.0) for v in values)
    of_file = [
        not name.startswith(f"{BASE}.") and (setting.is_pose or not name.startswith(f"{HAND}."))
        for name in names
    ]
    return np.where(of_file, np.where(setting.unknowns.is_length, length, angle), math.inf)


def task_of(
    setting: CalibrationSetting, found: Measurements, prior: Sequence[float] | Mapping[str, float] | None
) -> tuple[CalibrationTask, CalibrationStart]:
    """The equations, with measurements in the frame of the starting base."""
    start = _start(setting, found)
    back = inverse_pose(start.base)
    if found.poses is not None:
        measured = flat_poses(back @ found.poses)
    else:
        measured = found.positions @ back[:3, :3].T + back[:3, 3]
    function = residual_function(setting.arm, setting.unknowns.names, setting.is_pose)
    task = CalibrationTask(
        function,
        np.ascontiguousarray(found.q),
        np.ascontiguousarray(measured),
        start.values,
        setting.scale,
        _prior(setting, prior),
        setting.unknowns.start,
    )
    return task, start


def _start(setting: CalibrationSetting, found: Measurements) -> CalibrationStart:
    """The base, and the hand if unknown, fitted to the arm of the file."""
    names, values = setting.unknowns.names, setting.unknowns.start.copy()
    F = forward(setting.arm, found.q)
    has_hand = any(name.startswith(f"{HAND}.") for name in names)
    if setting.base is not None or len(F) < 3:
        return CalibrationStart(np.eye(4) if setting.base is None else setting.base, values)
    if found.poses is None:
        if not has_hand:
            return CalibrationStart(alignment.base_of_points(found.positions, F[:, :3, 3]), values)
        B, h = alignment.base_and_point(found.positions, F)
        moved = [*h, 0.0, 0.0, 0.0]
    else:
        B = alignment.base_of_poses(found.poses, F)
        H = np.eye(4)
        trace = np.einsum("bij,bij->b", found.poses[:, :3, :3], B[:3, :3] @ F[:, :3, :3])
        if has_hand and np.median(trace) < 1.0 + 2.0 * math.cos(FAR_TURNED):
            B, H = alignment.base_and_hand_of_poses(found.poses, F)
        moved = [*H[:3, 3], *rpy_of(H[:3, :3])]
    for part, value in zip(SIX, moved, strict=True):
        if f"{HAND}.{part}" in names:
            values[names.index(f"{HAND}.{part}")] = value
    return CalibrationStart(B, values)


def shown_at_all(setting: CalibrationSetting, values: Floats) -> tuple[Floats, Floats]:
    """Jacobians (N, k, m) over the reach and in scaled unknowns at many configurations, and the directions
    (m, r) that they determine.
    """
    function = residual_function(setting.arm, setting.unknowns.names, setting.is_pose)
    q = random_postures(setting.arm, max(MANY, len(values)))
    slopes = scaled_slopes(setting, function, q, values)
    _, s, Vt = np.linalg.svd(np.linalg.qr(slopes.reshape(-1, slopes.shape[2]), mode="r"))
    return slopes, Vt[: len(s)][s > RANK * s[0]].T


@lru_cache(maxsize=32)
def most_shown(arm: Arm, names: tuple[str, ...], is_pose: bool) -> int:
    """Number of directions of these unknowns that can be observed at all, for the arm of the file."""
    function = residual_function(arm, names, is_pose)
    values = np.array([file_value(arm, name) for name in names])
    lengths = np.array([is_length(arm, name) for name in names])
    setting = CalibrationSetting(
        arm, arm, GeometryUnknowns(names, values, lengths), is_pose, None, np.zeros(3), 1.0
    )
    slopes = scaled_slopes(setting, function, random_postures(arm, max(MANY, len(names))), values)
    s = np.linalg.svd(slopes.reshape(-1, len(names)), compute_uv=False)
    return int(np.sum(s > RANK * s[0]))


def scaled_slopes(setting: CalibrationSetting, function: TracedFunction, q: Floats, values: Floats) -> Floats:
    """d residual / d unknowns at configurations, with measurements equal to predictions: lengths over the
    reach.
    """
    measured = _predicted(setting, q, values) if setting.is_pose else np.zeros((len(q), 3))
    many = np.broadcast_to(values, (len(q), len(values))).copy()
    slopes = function(np.ascontiguousarray(q), many, np.ascontiguousarray(measured))[1]
    rows = np.array([setting.reach] * 3 + [1.0] * (3 if setting.is_pose else 0))
    return np.asarray(slopes * setting.scale / rows[:, None])


def _predicted(setting: CalibrationSetting, q: Floats, values: Floats) -> Floats:
    """Hand poses in the layout of the compiled function (B, 12), in the frame of the starting base."""
    frame = hand_frame(
        setting.arm, list(q.T), dict(zip(setting.unknowns.names, values.tolist(), strict=True))
    )
    numbers = [*(v for axis in frame.axes for v in axis), *frame.origin]
    return np.stack([np.broadcast_to(v, len(q)) for v in numbers], axis=1)
