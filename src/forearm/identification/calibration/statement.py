"""The report of a geometric fit in words and tables."""

from __future__ import annotations

import math

import numpy as np

from forearm.identification.calibration.fit import LOOSE, CalibrationTask, GeometryFit, descended
from forearm.identification.calibration.measurements import Measurements
from forearm.identification.calibration.observability import SHOWN, hidden_in_words
from forearm.identification.calibration.result import Calibration
from forearm.identification.calibration.setting import CalibrationSetting, shown_at_all
from forearm.identification.calibration.unknowns import BASE, HAND, SIX, with_values
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.payload.estimate import student
from forearm.spatial import Floats, pose_xyz_rpy

LARGE = 0.02  # of the reach: a larger residual is not noise
EXCESS = 5.0  # standard deviations of chi^2


def stated_calibration(
    setting: CalibrationSetting,
    found: Measurements,
    task: CalibrationTask,
    fit: GeometryFit,
    noise: Floats | None,
    confidence: float,
) -> Calibration:
    """Report a fit in words and tables."""
    names, unknowns, kept = setting.unknowns.names, setting.unknowns, fit.kept
    by_name = dict(zip(names, fit.values.tolist(), strict=True))
    moved, hand = ([by_name.get(f"{owner}.{part}", 0.0) for part in SIX] for owner in (BASE, HAND))
    geometry = {k: v for k, v in by_name.items() if setting.is_pose or not k.startswith(f"{HAND}.")}
    std, half = _deviations(fit, noise, confidence, task)
    # residuals of each row in a fit without it, to first order: (1 - H)^-1 r
    spread = np.eye(len(fit.sigma)) * (1.0 + 1e-9) - fit.leverage
    left_out = np.linalg.solve(spread, (fit.left / fit.sigma)[..., None])[..., 0] * fit.sigma
    before = _before(setting, task.rows(kept), fit)
    findings = [
        f"{found.name}: row {found.rows[k]} is {fit.far[k]:.3g} standard deviations off the others' "
        "prediction, excluded."
        for k in np.flatnonzero(~kept)
    ]
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
        unobservable=_unobservable(setting, fit),
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
        base=task.base @ pose_xyz_rpy(moved[:3], moved[3:]),
        hand_point=np.zeros(3) if setting.is_pose else setting.point + hand[:3],
        singular_values=fit.singular,
        shown=fit.shown.shape[1],
        findings=(*found.findings, *findings, *_doubts(setting, fit, noise)),
    )


def _deviations(
    fit: GeometryFit, noise: Floats | None, confidence: float, task: CalibrationTask
) -> tuple[Floats, Floats]:
    """Standard deviations, infinite if part of an unknown is unobservable, and half widths of intervals."""
    hidden = np.sqrt(np.maximum(np.diag(np.eye(len(fit.values)) - fit.shown @ fit.shown.T), 0.0))
    # a small share of an unobservable direction widens the deviation by the prior uncertainty of that
    # direction
    variance = np.maximum(np.diag(fit.covariance), 0.0) + (LOOSE * task.scale * hidden) ** 2
    std = np.where(hidden > SHOWN, math.inf, np.sqrt(variance))
    if noise is None and fit.freedom <= 0 and not np.isfinite(task.prior).all():
        std = np.full(len(std), math.inf)
    return std, student(confidence, fit.freedom if noise is None else 0) * std


def _before(setting: CalibrationSetting, task: CalibrationTask, fit: GeometryFit) -> Floats:
    """Residuals of the arm as given, with the best-fitting device and hand point."""
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


def _unobservable(setting: CalibrationSetting, fit: GeometryFit) -> tuple[str, ...]:
    """Sentences on unobservable directions, noting whether other configurations would show them."""
    if not fit.hidden.shape[1]:
        return ()
    slopes, _ = shown_at_all(setting, fit.values)
    many = (slopes * (setting.sizes / fit.sigma)[:, None]).reshape(-1, slopes.shape[2])
    # directions that some configurations can show, and those that none can
    _, s, Vt = np.linalg.svd(many @ fit.hidden, full_matrices=True)
    can = np.zeros(fit.hidden.shape[1], dtype=bool)
    can[: len(s)] = s * math.sqrt(fit.left.size / len(many)) * LOOSE >= 1.0
    never = hidden_in_words(setting.unknowns.names, fit.hidden @ Vt[~can].T, setting.scale)
    others = hidden_in_words(setting.unknowns.names, fit.hidden @ Vt[can].T, setting.scale)
    return (*never, *(f"{text}; other configurations would show it" for text in others))


def _doubts(setting: CalibrationSetting, fit: GeometryFit, noise: Floats | None) -> list[str]:
    said, rms = [], _rms(fit.left[:, :3])
    if not fit.settled:
        said.append("The fit did not converge; do not rely on its values or intervals.")
    if noise is not None and fit.freedom > 0:
        quality = float(np.sum((fit.left / noise) ** 2)) / fit.freedom
        if quality > 1.0 + EXCESS * math.sqrt(2.0 / fit.freedom):
            said.append(
                f"Residuals are {math.sqrt(quality):.3g} times the stated noise: the noise is larger, other "
                "geometry is wrong (add unknowns), or the arm bends."
            )
    if noise is None and fit.freedom <= 0:
        said.append(
            "No degrees of freedom are left to estimate the noise, so there are no intervals. Measure more, "
            "or state the noise."
        )
    if rms > LARGE * setting.reach:
        said.append(f"The residual, {1e3 * rms:.3g} mm, is large: check joint order, signs, zeros and units.")
    return said
