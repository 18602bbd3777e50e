"""Geometry of an arm from measured poses or points of its hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError, shorten
from forearm.identification.calibration import alignment
from forearm.identification.calibration.fit import LOOSE, RANK, CalibrationTask, GeometryFit, descended
from forearm.identification.calibration.hand_formula import flat_poses, residual_function
from forearm.identification.calibration.measurements import Measurements, measurements_of
from forearm.identification.calibration.observability import SHOWN, hidden_in_words, random_postures
from forearm.identification.calibration.outliers import fit_without_outliers
from forearm.identification.calibration.result import Calibration
from forearm.identification.calibration.unknowns import (
    BASE,
    HAND,
    SIX,
    GeometryUnknowns,
    path_to_hand,
    unknowns_of,
    with_values,
)
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.payload.estimate import student
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, inverse_pose, pose, pose_xyz_rpy, rpy_of
from forearm.values import as_pose, check_number, frozen_array

FAR_TURNED = 0.5  # rad: a hand that is turned by more is found in closed form first
MANY = 400  # postures that tell what can be shown at all
LARGE = 0.02  # of the reach: more than that left is no noise
EXCESS = 5.0  # deviations of chi^2


def calibrate(
    arm: Arm,
    q: ArrayLike,
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

    What the data do not show stays at the file's values, and is said. A row that does not belong to the others is left
    out, and said.

    Args:
        arm: the arm as its file has it.
        q: joint coordinates (B, n), rad (m).
        poses: of the hand in the frame of the measuring device (B, 4, 4); None: points are given.
        points: of the hand in the frame of the measuring device (B, 3), m; None: poses are given.
        hand_point: where the measured point is in the hand frame (3,), m; None: unknown, and estimated.
        unknowns: names ("joint2.a"), joints ("joint2"), "hand", or groups: "offsets" (the zeros of the joints), "dh",
            "frames", "all" (default: "all").
        base: True: where the device stands is unknown; False: it measures in the base frame; or the base frame (4, 4)
            in the device's, known.
        prior: how far the file's values are off, standard deviations in m and rad, or by name; None: open.
        noise: standard deviation of a measured coordinate, m, and of a turn, rad; None: from what is left.
        confidence: probability that an interval is to hold.
    """
    return calibrated(
        arm,
        measurements_of(arm, q, poses, points),
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
    setting = _setting(arm, found, hand_point, unknowns, base)
    sigma = _noise(noise, found.poses is not None)
    task, start = _task(setting, found, prior)
    _check_count(setting, task, len(found.q))
    fit, kept, far = fit_without_outliers(task, start.values, sigma, setting.reach)
    return _result(setting, found, task, start, fit, kept, far, sigma, confidence)


@dataclass(frozen=True, eq=False)
class CalibrationSetting:
    """What is asked: the arm with its hand at the known point, unknowns, the base where it is known, the reach."""

    arm: Arm
    before: Arm
    unknowns: GeometryUnknowns
    is_pose: bool
    base: Floats | None
    point: Floats
    reach: float

    @property
    def scale(self) -> Floats:
        """What brings unknowns to one size (m,)."""
        return np.where(self.unknowns.is_length, self.reach, 1.0)


@dataclass(frozen=True, eq=False)
class CalibrationStart:
    """Where a fit starts: the base in the device's frame, and values of the unknowns."""

    base: Floats
    values: Floats


def _setting(
    arm: Arm,
    found: Measurements,
    hand_point: ArrayLike | None,
    unknowns: str | Sequence[str] | None,
    base: bool | ArrayLike,
) -> CalibrationSetting:
    is_pose = found.poses is not None
    if is_pose and hand_point is not None:
        raise InputError("calibrate, hand_point: it is for points; poses are of the hand frame itself.")
    return setting_of(arm, is_pose, hand_point, unknowns, base)


def setting_of(
    arm: Arm,
    is_pose: bool,
    hand_point: ArrayLike | None,
    unknowns: str | Sequence[str] | None,
    base: bool | ArrayLike,
) -> CalibrationSetting:
    """What is asked, checked."""
    if not any(step.freedom >= 0 for step in path_to_hand(arm)):
        raise ModelError(f"calibrate: the hand of {arm.name!r} is fixed to the base; no joint moves it.")
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
    if not is_pose and hand_point is None:  # a point that is not known is unknown, whatever was named
        names = [*wanted.names, *(f"{HAND}.{x}" for x in SIX[:3])]
        wanted = unknowns_of(here, list(dict.fromkeys(names)), free)
    reach = float(np.linalg.norm(forward(here, random_postures(here, MANY))[:, :3, 3], axis=1).max())
    return CalibrationSetting(here, arm, wanted, is_pose, known, point, reach if reach > 1e-6 else 1.0)


def _noise(given: float | Sequence[float] | None, is_pose: bool) -> Floats | None:
    if given is None:
        return None
    values = [given] if isinstance(given, int | float) else list(given)
    if len(values) != (2 if is_pose else 1) and not (len(values) == 2 and not is_pose):
        wanted = (
            "two numbers, of positions (m) and of turns (rad),"
            if is_pose
            else "one number, of positions (m),"
        )
        raise InputError(f"calibrate, noise: expected {wanted} got {shorten(given)}.")
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
                    f"calibrate, prior: {shorten(name)} is not among the unknowns: {', '.join(names)}."
                )
            made[names.index(name)] = check_number(value, f"calibrate, prior, {name}", above=0.0)
        return made
    values = list(given)
    if len(values) != 2:
        raise InputError(f"calibrate, prior: expected (m, rad), or deviations by name, got {shorten(given)}.")
    length, angle = (check_number(v, "calibrate, prior", above=0.0) for v in values)
    of_file = [
        not name.startswith(f"{BASE}.") and (setting.is_pose or not name.startswith(f"{HAND}."))
        for name in names
    ]
    return np.where(of_file, np.where(setting.unknowns.is_length, length, angle), math.inf)


def _task(
    setting: CalibrationSetting, found: Measurements, prior: Sequence[float] | Mapping[str, float] | None
) -> tuple[CalibrationTask, CalibrationStart]:
    """The equations, with measurements in the frame that the base starts in."""
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
    """The base, and the hand where it is unknown, as they fit the arm of the file."""
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


def shown_at_all(setting: CalibrationSetting, values: Floats, postures: int = MANY) -> tuple[Floats, Floats]:
    """Slopes (N, k, m) over the reach and in scaled unknowns at many postures, and the directions (m, r) that they
    show.
    """
    function = residual_function(setting.arm, setting.unknowns.names, setting.is_pose)
    q = random_postures(setting.arm, postures)
    slopes = scaled_slopes(setting, function, q, values)
    _, s, Vt = np.linalg.svd(np.linalg.qr(slopes.reshape(-1, slopes.shape[2]), mode="r"))
    return slopes, Vt[: len(s)][s > RANK * s[0]].T


def scaled_slopes(setting: CalibrationSetting, function: object, q: Floats, values: Floats) -> Floats:
    """d left / d unknowns at postures, where measured is what is predicted: lengths over the reach."""
    measured = flat_poses(_predicted(setting, q, values)) if setting.is_pose else np.zeros((len(q), 3))
    many = np.broadcast_to(values, (len(q), len(values))).copy()
    slopes = function(np.ascontiguousarray(q), many, np.ascontiguousarray(measured))[1]  # type: ignore[operator]
    rows = np.array([setting.reach] * 3 + [1.0] * (3 if setting.is_pose else 0))
    return np.asarray(slopes * setting.scale / rows[:, None])


def _predicted(setting: CalibrationSetting, q: Floats, values: Floats) -> Floats:
    """Poses of the hand in the frame that the base starts in."""
    by_name = dict(zip(setting.unknowns.names, values.tolist(), strict=True))
    moved = [by_name.get(f"{BASE}.{part}", 0.0) for part in SIX]
    return np.asarray(pose_xyz_rpy(moved[:3], moved[3:]) @ forward(with_values(setting.arm, by_name), q))


def _check_count(setting: CalibrationSetting, task: CalibrationTask, count: int) -> None:
    """Refuse fewer equations than unknowns that can be told."""
    _, directions = shown_at_all(setting, setting.unknowns.start)
    needed = -(-directions.shape[1] // task.size)
    if count < needed and not np.isfinite(task.prior).all():
        raise InputError(
            f"calibrate: {count} rows of {task.size} numbers are too few for {directions.shape[1]} unknowns that can be "
            f"told; at least {needed} are needed, {3 * needed} are good. Measure more, or name fewer unknowns, such as "
            "'offsets'."
        )


def _result(
    setting: CalibrationSetting,
    found: Measurements,
    task: CalibrationTask,
    start: CalibrationStart,
    fit: GeometryFit,
    kept: NDArray[np.bool_],
    far: Floats,
    noise: Floats | None,
    confidence: float,
) -> Calibration:
    """The fit in words and tables."""
    names, unknowns = setting.unknowns.names, setting.unknowns
    by_name = dict(zip(names, fit.values.tolist(), strict=True))
    moved = [by_name.get(f"{BASE}.{part}", 0.0) for part in SIX]
    geometry = (
        by_name if setting.is_pose else {k: v for k, v in by_name.items() if not k.startswith(f"{HAND}.")}
    )
    hand = np.array([by_name.get(f"{HAND}.{x}", 0.0) for x in SIX[:3]])
    std, half = _deviations(fit, noise, confidence, task.prior, task.scale)
    left_out = _left_out(fit)
    before = _before(setting, task.rows(kept), fit)
    findings = [*found.findings, *_outlier_findings(found, kept, far)]
    findings += _doubts(setting, fit, noise, _rms(fit.left[:, :3]))
    return Calibration(
        arm=with_values(setting.before, geometry),
        before=setting.before,
        parameters=ParameterSet(names, fit.values),
        file_values=ParameterSet(names, unknowns.start),
        std=ParameterSet(names, std),
        covariance=fit.covariance,
        confidence=confidence,
        intervals=np.stack([fit.values - half, fit.values + half], axis=1),
        units=unknowns.units,
        unobservable=_unobservable(setting, fit, task.size),
        rows=found.rows[kept],
        left_out=found.rows[~kept],
        residual=fit.left,
        rms_before=_rms(before[:, :3]),
        rms=_rms(fit.left[:, :3]),
        rms_left_out=_rms(left_out[:, :3]),
        turn_before=_rms(before[:, 3:]),
        turn=_rms(fit.left[:, 3:]),
        turn_left_out=_rms(left_out[:, 3:]),
        noise=(float(fit.sigma[0]), float(fit.sigma[3]) if setting.is_pose else math.nan),
        base=start.base @ pose_xyz_rpy(moved[:3], moved[3:]),
        hand_point=setting.point + hand if not setting.is_pose else np.zeros(3),
        singular_values=fit.singular,
        shown=fit.shown.shape[1],
        findings=tuple(findings),
    )


def _deviations(
    fit: GeometryFit, noise: Floats | None, confidence: float, prior: Floats, scale: Floats
) -> tuple[Floats, Floats]:
    """Standard deviations, infinite where a part of an unknown is not shown, and half widths of intervals."""
    hidden = np.sqrt(np.maximum(np.diag(np.eye(len(fit.values)) - fit.shown @ fit.shown.T), 0.0))
    # a small share of a direction that is not shown widens the deviation by what such a direction may be off
    variance = np.maximum(np.diag(fit.covariance), 0.0) + (LOOSE * scale * hidden) ** 2
    std = np.where(hidden > SHOWN, math.inf, np.sqrt(variance))
    if noise is None and fit.freedom <= 0 and not np.isfinite(prior).all():
        std = np.full(len(std), math.inf)
    factor = (
        student(confidence, fit.freedom) if noise is None else NormalDist().inv_cdf(0.5 + 0.5 * confidence)
    )
    return std, factor * std


def _left_out(fit: GeometryFit) -> Floats:
    """What is left of each row in a fit without it, to first order: (1 - H)^-1 r."""
    spread = np.eye(fit.left.shape[1]) * (1.0 + 1e-9) - fit.leverage
    return np.asarray(np.linalg.solve(spread, (fit.left / fit.sigma)[..., None])[..., 0] * fit.sigma)


def _before(setting: CalibrationSetting, task: CalibrationTask, fit: GeometryFit) -> Floats:
    """What the arm as given leaves, with the device and its point where they fit it best."""
    free = [
        name.startswith(f"{BASE}.") or (not setting.is_pose and name.startswith(f"{HAND}."))
        for name in setting.unknowns.names
    ]
    values = np.where(free, task.start, task.file)
    basis = np.diag(task.scale)[:, free]
    if basis.shape[1]:
        values, _ = descended(task, values, basis, fit.sigma)
    return task.left(values)[0]


def _rms(left: Floats) -> float:
    return float(np.sqrt(np.mean(np.sum(left**2, axis=1)))) if left.shape[1] else math.nan


def _unobservable(setting: CalibrationSetting, fit: GeometryFit, size: int) -> tuple[str, ...]:
    """Sentences on hidden directions, with a word on whether other postures would show them."""
    if not fit.hidden.shape[1]:
        return ()
    slopes, _ = shown_at_all(setting, fit.values)
    rows = np.array([setting.reach] * 3 + [1.0] * (size - 3))
    many = (slopes * (rows / fit.sigma)[:, None]).reshape(-1, slopes.shape[2])
    strength = np.linalg.norm(many @ fit.hidden, axis=0) * math.sqrt(fit.left.size / len(many))
    ever = strength * LOOSE >= 1.0
    if not ever.any() or ever.all():
        said = hidden_in_words(setting.unknowns.names, fit.hidden, setting.scale)
        return tuple(f"{text}; other postures would show it" for text in said) if ever.all() else said
    # directions that postures can show, and those that none can, apart
    _, s, Vt = np.linalg.svd(many @ fit.hidden, full_matrices=True)
    can = np.zeros(fit.hidden.shape[1], dtype=bool)
    can[: len(s)] = s * math.sqrt(fit.left.size / len(many)) * LOOSE >= 1.0
    never = hidden_in_words(setting.unknowns.names, fit.hidden @ Vt[~can].T, setting.scale)
    others = hidden_in_words(setting.unknowns.names, fit.hidden @ Vt[can].T, setting.scale)
    return (*never, *(f"{text}; other postures would show it" for text in others))


def _outlier_findings(found: Measurements, kept: NDArray[np.bool_], far: Floats) -> list[str]:
    return [
        f"{found.name}: row {found.rows[k]} is {far[k]:.3g} deviations off what the others say, left out."
        for k in np.flatnonzero(~kept)
    ]


def _doubts(setting: CalibrationSetting, fit: GeometryFit, noise: Floats | None, rms: float) -> list[str]:
    said = []
    if not fit.settled:
        said.append("The fit did not come to rest: neither values nor intervals are to be relied on.")
    if noise is not None and fit.freedom > 0:
        quality = float(np.sum((fit.left / noise) ** 2)) / fit.freedom
        if quality > 1.0 + EXCESS * math.sqrt(2.0 / fit.freedom):
            said.append(
                f"Residuals are {math.sqrt(quality):.3g} times the noise stated: the noise is larger, or something else is "
                "wrong with the geometry (more unknowns), or the arm bends."
            )
    if noise is None and fit.freedom <= 0:
        said.append(
            "No row is left over to tell the noise: there are no intervals. Measure more, or state the noise."
        )
    if rms > LARGE * setting.reach:
        said.append(
            f"What is left, {1e3 * rms:.3g} mm, is large: check that joints are in the order of the arm, with its signs and "
            "zeros, and that units are right."
        )
    return said
